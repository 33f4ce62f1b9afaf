import assert from "node:assert/strict";
import { test } from "node:test";
import { findField } from "../../../src/engine/schema/schema.ts";
import { Bitset } from "../../../src/engine/search/index/bitset.ts";
import type { IndexReader } from "../../../src/engine/search/index/reader.ts";
import { TailIndex } from "../../../src/engine/search/index/tail.ts";
import { sortMatches } from "../../../src/engine/search/sort.ts";
import { parseTextQuery } from "../../../src/engine/search/text/query.ts";
import { searchText } from "../../../src/engine/search/text/search.ts";
import { best, type Doc, Layout, schema, TextModel } from "./model.ts";

/** Enough documents for several blocks of postings and several windows of the scorer. */
const docCount = 10_000;

/** Small and seeded: the same numbers in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Words by a steep curve: the first are in most documents, the last in a few. */
function corpus(seed: number): Map<number, Doc> {
  const random = generator(seed);
  const docs = new Map<number, Doc>();
  for (let i = 0; i < docCount; i++) {
    const length = 3 + Math.floor(random() * 12) * (random() < 0.05 ? 10 : 1);
    const body = Array.from({ length }, () => `w${Math.floor(random() ** 4 * 400)}`).join(" ");
    docs.set(i * 3 + (i % 2), { source: { body }, vectors: {}, sparse: {} });
  }
  return docs;
}

const docs = corpus(1);
const model = new TextModel(docs, "body");

/** The documents spread over three segments, with replaced and deleted ones left behind, and a tail. */
function spread(): Layout {
  const random = generator(2);
  const layout = new Layout();
  const ids = [...docs.keys()].sort(() => random() - 0.5);
  const old: Doc = { source: { body: "w0 w1 w2 w399" }, vectors: {}, sparse: {} };
  ids.forEach((id, i) => {
    if (i % 5 === 0) layout.upsert(id, old);
  });
  layout.seal();
  ids.forEach((id, i) => {
    layout.upsert(id, docs.get(id)!);
    if (i % 50 === 0) {
      layout.upsert(1_000_000 + id, old);
      layout.delete(1_000_000 + id);
    }
    if (i === 3000 || i === 8500) layout.seal();
    if (i <= 8500 || i % 3 !== 0) return;
    for (const earlier of [ids[i - 2000]!, ids[i - 7000]!]) layout.upsert(earlier, docs.get(earlier)!);
  });
  return layout;
}

const layout = spread();

function merged(): Layout {
  const all = new Layout();
  for (const [id, doc] of docs) all.upsert(id, doc);
  all.seal();
  return all;
}

const sealed = merged();

const queries = [
  "w0",
  "w0 w1",
  "w0 w1 w2 w3 w4 w5",
  "w0 w390",
  "w250 w300 w399",
  "w1 w50 w100 w200",
  "w0 w0 w0 w7",
  '"w0 w1" w9',
  '"w0 w0 w1"',
  "w0 w1 nowhere",
];

function clausesOf(text: string): { terms: string[]; offsets: number[] }[] {
  const clauses = new Map<string, { terms: string[]; offsets: number[] }>();
  for (const [, phrase, word] of text.matchAll(/"([^"]*)"|(\S+)/g)) {
    const terms = phrase === undefined ? [word!] : phrase.split(" ");
    clauses.set(terms.join(" "), { terms, offsets: [...terms.keys()] });
  }
  return [...clauses.values()];
}

const shares = [undefined, 2, 20, 500] as const;

function every(share: number | undefined, reader: IndexReader): Bitset | undefined {
  if (share === undefined) return undefined;
  const set = new Bitset(reader.docCount);
  for (let doc = 0; doc < reader.docCount; doc++) if (reader.ids[doc]! % share === 0) set.add(doc);
  return reader.live === undefined ? set : set.and(reader.live);
}

for (const text of queries) {
  for (const operator of ["or", "and"] as const) {
    test(`${operator}: ${text}`, () => {
      const parsed = parseTextQuery(layout.tail.schema, "body", text, operator);
      for (const share of shares) {
        const all = model.search(clausesOf(text), operator, (id) => share === undefined || id % share === 0);
        for (const k of [1, 10, 300]) {
          for (const { readers } of [layout, sealed]) {
            const filters = readers.map((reader) => every(share, reader));
            const found = searchText(readers, parsed, k, filters);
            assert.deepEqual(
              found.map(({ id, score }) => ({ id, score })),
              best(all, k),
              `share ${share}, k ${k}`,
            );
          }
        }
      }
    });
  }
}

test("sorting keeps the first of many", () => {
  const many = new Layout();
  const random = generator(3);
  const numbers = new Map<number, number>();
  for (let id = 0; id < 5000; id++) {
    const n = Math.floor(random() * 1000);
    numbers.set(id, n);
    many.upsert(id, { source: { n }, vectors: {}, sparse: {} });
    if (id === 3000) many.seal();
  }
  const field = findField(schema, "n")!;
  const all = many.readers.map((reader) => Bitset.full(reader.docCount));
  for (const order of ["asc", "desc"] as const) {
    const sign = order === "asc" ? 1 : -1;
    const wanted = [...numbers].sort(([i, x], [j, y]) => sign * (x - y) || i - j).map(([id]) => id);
    const found = sortMatches(many.readers, [{ field, order }], all, 20).map((hit) => hit.id);
    assert.deepEqual(found, wanted.slice(0, 20));
  }
});

test("the parts are of several kinds", () => {
  assert.equal(layout.segments.length, 3);
  assert.ok(layout.tail instanceof TailIndex && layout.tail.liveCount > 1000);
  assert.ok(layout.segments.every((segment) => segment.deletes.count > 0));
});

test("merging gives the bytes of a segment built at once", () => {
  layout.seal();
  layout.merge(0, layout.segments.length);
  assert.equal(layout.segments.length, 1);
  assert.equal(layout.segments[0]!.segment.bytes, sealed.segments[0]!.segment.bytes);
});

test("equal scores go by id, whatever part they are in", () => {
  const same = new Layout();
  const doc: Doc = { source: { body: "same words" }, vectors: {}, sparse: {} };
  for (const first of [2, 0, 1]) {
    for (let id = first; id < 18_000; id += 3) same.upsert(id, doc);
    if (first !== 1) same.seal();
  }
  const parsed = parseTextQuery(same.tail.schema, "body", "same");
  const ids = searchText(same.readers, parsed, 25).map((hit) => hit.id);
  assert.deepEqual(ids, [...Array(25).keys()]);
});

for (const where of ["tail", "segment"] as const) {
  test(`one good document among many poor ones is found in a ${where}`, () => {
    const mixed = new Layout();
    const filler = (words: string): Doc => ({ source: { body: `${words} some other words` }, vectors: {}, sparse: {} });
    for (let id = 0; id < 500; id++) mixed.upsert(id, filler("word word"));
    mixed.seal();
    for (let id = 1000; id < 2000; id++) mixed.upsert(id, filler(id === 1300 ? "word word word" : "word"));
    if (where === "segment") mixed.seal();
    const parsed = parseTextQuery(mixed.tail.schema, "body", "word");
    assert.equal(searchText(mixed.readers, parsed, 10)[0]!.id, 1300);
  });
}
