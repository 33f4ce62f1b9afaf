import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Bitset } from "../../src/engine/search/index/bitset.ts";
import { searchAnn } from "../../src/engine/search/vector/ann.ts";
import { searchVectors } from "../../src/engine/search/vector/exact.ts";
import type { VectorGraph } from "../../src/port/vector-graph.ts";
import { Clusters, generator, graphOf, vectorGraphs, vectorSegment } from "../support/vectors.ts";

const dim = 24;
const clusters = new Clusters(dim, 60, 1);

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "ann-"));
});
after(() => rm(folder, { recursive: true, force: true }));

test("recall by l2 where the lengths of the vectors differ much", async () => {
  const random = generator(9);
  const stretched = (count: number) => clusters.many(count).map((vector) => scaled(vector, Math.exp(6 * random())));
  const uneven = vectorSegment(stretched(8_000), "l2");
  const queries = stretched(100);
  for (const [kind, graphs] of Object.entries(vectorGraphs)) {
    const graph = await graphOf(uneven, join(folder, `uneven ${kind}`), graphs);
    let found = 0;
    for (const query of queries) {
      const exact = new Set(searchVectors([uneven], "v", query, 10).map(({ id }) => id));
      found += searchAnn([uneven], [graph], "v", query, 10).filter(({ id }) => exact.has(id)).length;
    }
    assert.ok(found >= 950, `${kind}: ${found} of 1000`);
  }
});

for (const distance of ["cosine", "l2", "dot"] as const) {
  test(`by ${distance} each of some alike rows among clusters finds itself, and the others`, async () => {
    const wide = new Clusters(64, 200, 3);
    const next = gaussian(21);
    const base = wide.next();
    const rows = Array.from({ length: 8_000 }, (_, i) =>
      i % 53 === 0 ? base.map((x) => x + 0.02 * next()) : wide.next(),
    );
    const reader = vectorSegment(rows, distance);
    const codes = await graphOf(reader, join(folder, `few alike ${distance}`), vectorGraphs.coded);
    for (const k of [1, 10, 100]) {
      let found = 0;
      for (let i = 0; i < 40; i++) {
        const query = rows[i * 3 * 53]!;
        const exact = searchVectors([reader], "v", query, k);
        const hits = searchAnn([reader], [codes], "v", query, k);
        found += hits.filter(({ score }) => score >= exact.at(-1)!.score).length;
      }
      assert.ok(found >= 0.98 * 40 * k, `k ${k}: ${found / 40 / k}`);
    }
  });
}

function scaled(vector: Float32Array, by: number): Float32Array {
  return vector.map((value) => value * by);
}

/** Normal numbers from a seed. */
function gaussian(seed: number): () => number {
  const random = generator(seed);
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Rows that are hard to tell apart, and questions. */
const alikes: Record<string, (next: () => number) => { row: (i: number) => number[]; query: () => number[] }> = {
  "groups side by side": (next) => {
    const base = Array.from({ length: 80 }, () => vectorOf(next));
    return { row: (i) => near(base[Math.floor(i / 100)]!, 0.01, next), query: () => vectorOf(next) };
  },
  "a group among others": (next) => {
    const base = vectorOf(next);
    return {
      row: (i) => (i % 40 === 0 ? near(base, 0.005, next) : vectorOf(next)),
      query: () => near(base, 0.005, next),
    };
  },
  "copies in many places": (next) => {
    const base = vectorOf(next);
    const random = generator(52);
    return { row: () => (random() < 0.22 ? base : vectorOf(next)), query: () => base };
  },
};

function vectorOf(next: () => number): number[] {
  return Array.from({ length: dim }, next);
}

function near(vector: readonly number[], by: number, next: () => number): number[] {
  return vector.map((value) => value + by * next());
}

for (const distance of ["cosine", "l2", "dot"] as const) {
  for (const [[what, make], [kind, graphs]] of Object.entries(alikes).flatMap((alike) =>
    Object.entries(vectorGraphs).map((each) => [alike, each] as const),
  )) {
    test(`${kind}: ${what} are told apart by ${distance}`, async () => {
      const next = gaussian(77);
      const { row, query } = make(next);
      const rows = Array.from({ length: 8_000 }, (_, i) => Float32Array.from(row(i)));
      const reader = vectorSegment(rows, distance, true);
      const graph = await graphOf(reader, join(folder, `${kind} ${what} ${distance}`), graphs);
      const filter = new Bitset(reader.docCount);
      for (let doc = 0; doc < reader.docCount; doc += 40) filter.add(doc);
      for (const filters of [undefined, [filter]]) {
        let found = 0;
        for (let i = 0; i < 30; i++) {
          const question = Float32Array.from(query());
          const exact = searchVectors([reader], "v", question, 10, filters);
          const hits = searchAnn([reader], [graph], "v", question, 10, { filters });
          // Copies are told by their ids alone.
          if (what.startsWith("copies")) assert.deepEqual(hits, exact);
          found += hits.filter(({ score }) => score >= exact.at(-1)!.score).length;
        }
        // Questions far from all groups are the hardest.
        const least = !what.startsWith("groups") ? 0.95 : distance === "dot" ? 0.65 : 0.8;
        assert.ok(found >= least * 300, `recall ${found / 300}${filters === undefined ? "" : " with a filter"}`);
      }
    });
  }
}

test("one document of very many behind a filter is found", () => {
  const rowCount = 262_144;
  const large = vectorSegment(
    Array.from({ length: rowCount }, (_, i) => Float32Array.of(i + 1, 1)),
    "l2",
  );
  const all: VectorGraph = {
    rowCount,
    dim: 2,
    effort: 1,
    recall: 1,
    bytes: 0,
    shared: undefined,
    search: () => undefined,
    nearestOf: (_, words, firstRow) => new Bitset(words.length * 32, words).toArray().map((bit) => firstRow + bit),
    close() {},
  };
  const filter = new Bitset(large.docCount);
  filter.add(200_000);
  const hits = searchAnn([large], [all], "v", Float32Array.of(5, 1), 10, { filters: [filter] });
  assert.deepEqual(
    hits.map(({ doc }) => doc),
    [200_000],
  );
});
