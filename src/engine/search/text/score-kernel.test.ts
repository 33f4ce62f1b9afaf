import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { generator } from "../../../../test/support/vectors.ts";
import { allocateShared, viewShared, wasmBytesMin } from "../../../port/shared-bytes.ts";
import { parseSchema } from "../../schema/schema-parse.ts";
import { extract } from "../document.ts";
import { Bitset } from "../index/bitset.ts";
import { openSegment, SegmentReader } from "../index/segment.ts";
import { buildSegment } from "../index/segment-writer.ts";
import { textStatistics } from "./bm25.ts";
import { parseTextQuery } from "./query.ts";
import { searchText, searchTextSteps } from "./search.ts";

const schema = parseSchema({ fields: [{ name: "t", kind: "text" }], vectors: [] });

/** Words of which the first are in most documents and the last in few, some of them many times. */
function documents(count: number, firstId: number, seed: number) {
  const random = generator(seed);
  return Array.from({ length: count }, (_, i) => {
    const words = Array.from({ length: 1 + Math.floor(random() * 12) }, () => {
      const word = `w${Math.floor(random() ** 4 * 60)}`;
      return random() < 0.02 ? `${word} `.repeat(Math.floor(random() * 400)) : word;
    });
    return { id: firstId + i, version: 1, document: extract(schema, { t: words.join(" ") }, {}) };
  });
}

/** The same segment in a memory that the module can read, and in one of its own. */
function segments(count: number, firstId: number, seed: number): { inPlace: SegmentReader; plain: SegmentReader } {
  const bytes = buildSegment(schema, documents(count, firstId, seed));
  const shared = allocateShared(Math.max(bytes.length, wasmBytesMin));
  const view = viewShared(shared).subarray(0, bytes.length);
  view.set(bytes);
  return { inPlace: new SegmentReader(openSegment(view)), plain: new SegmentReader(openSegment(bytes)) };
}

const parts = [segments(9_000, 100_000, 1), segments(70_500, 0, 2), segments(300, 90_000, 3)];
for (const { inPlace, plain } of parts) {
  const random = generator(9);
  for (let doc = 0; doc < plain.docCount; doc++) {
    if (plain.docCount === 300 || random() > 0.01) continue;
    plain.delete(plain.ids[doc]!);
    inPlace.delete(inPlace.ids[doc]!);
  }
}

function queryOf(words: readonly string[]) {
  return parseTextQuery(schema, "t", words.join(" "));
}

test("a search in place finds what the plain one finds, to the last bit", () => {
  const random = generator(5);
  const shares = [undefined, 0.9, 0.3, 0.08];
  const filters = shares.map((share) =>
    parts.map(({ plain }) => {
      if (share === undefined) return undefined;
      const filter = new Bitset(plain.docCount);
      for (let doc = 0; doc < plain.docCount; doc++) if (random() < share) filter.add(doc);
      if (plain.live !== undefined) filter.and(plain.live);
      return filter;
    }),
  );
  const asked = fc.record({
    words: fc.uniqueArray(fc.nat(60), { minLength: 1, maxLength: 18 }),
    k: fc.constantFrom(1, 2, 10, 50, 512, 513),
    share: fc.nat(shares.length - 1),
  });
  fc.assert(
    fc.property(asked, ({ words, k, share }) => {
      const query = queryOf(words.map((word) => `w${word}`));
      const [inPlace, plain] = (["inPlace", "plain"] as const).map((which) =>
        searchText(
          parts.map((part) => part[which]),
          query,
          k,
          filters[share],
        ),
      );
      assert.deepEqual(inPlace, plain);
    }),
    { numRuns: 150 },
  );
});

test("searches that take turns step by step do not mix", () => {
  const readers = parts.map(({ inPlace }) => inPlace);
  const queries = [["w1", "w30"], ["w2"], ["w55", "w0", "w3", "w7"]].map(queryOf);
  const expected = queries.map((query) => searchText(readers, query, 20));
  const running = queries.map((query) =>
    searchTextSteps(readers, query, 20, undefined, textStatistics(readers, query)),
  );
  const found = running.map(() => undefined as unknown);
  let steps = 0;
  for (let open = running.length; open > 0; ) {
    for (const [i, search] of running.entries()) {
      if (found[i] !== undefined) continue;
      const step = search.next();
      steps++;
      if (!step.done) continue;
      found[i] = step.value;
      open--;
    }
  }
  assert.ok(steps > 4 * queries.length, "the large segment takes several steps");
  assert.deepEqual(found, expected);
});
