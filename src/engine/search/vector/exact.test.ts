import assert from "node:assert/strict";
import { test } from "node:test";
import { allocateShared, viewShared } from "../../../port/shared-bytes.ts";
import type { Distance, Schema } from "../../schema/schema.ts";
import { parseSchema } from "../../schema/schema-parse.ts";
import { extract } from "../document.ts";
import { Bitset } from "../index/bitset.ts";
import type { IndexReader } from "../index/reader.ts";
import { openSegment, SegmentReader } from "../index/segment.ts";
import { mergeSegments } from "../index/segment-writer.ts";
import { TailIndex } from "../index/tail.ts";
import { dotAt, inverseNorm } from "./distance.ts";
import { dotKernel } from "./dot-kernel.ts";
import { rowScore, searchVectors } from "./exact.ts";

/** Seeded numbers around 0. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
}

/** The same documents in a segment, in memory that SIMD reads in place. */
function sharedSegment(schema: Schema, tail: TailIndex): SegmentReader {
  const bytes = mergeSegments(schema, [tail]);
  const view = viewShared(allocateShared(Math.max(bytes.length, 2 ** 21)));
  view.set(bytes);
  return new SegmentReader(openSegment(view));
}

/** Scales at which single precision overflows, underflows, or neither. */
const scales = [1, 1e-3, 1e-25, 1e25, 1e-38] as const;

for (const distance of ["cosine", "dot", "l2"] as const satisfies readonly Distance[]) {
  for (const dim of [1, 3, 4, 17, 64, 130]) {
    test(`${distance} in ${dim} dimensions finds the same as scoring every row`, () => {
      const schema = parseSchema({ vectors: [{ name: "v", dim, distance }] });
      const random = generator(dim);
      for (const scale of scales) {
        const tail = new TailIndex(schema);
        for (let id = 0; id < 700; id++) {
          const size = id % 50 === 0 ? 0 : scale * (1 + (id % 3));
          const vector = Array.from({ length: dim }, () => Math.fround(random() * size));
          tail.add(id, 1, extract(schema, {}, { v: vector }));
        }
        const rows = tail.vectors("v")!;
        const segment = sharedSegment(schema, tail);
        const few = new Bitset(rows.rowCount);
        for (let doc = 3; doc < rows.rowCount; doc += 11) few.add(doc);
        for (const queryScale of scales) {
          const query = Float32Array.from({ length: dim }, () => random() * queryScale);
          const norm = inverseNorm(query);
          const wanted = Array.from({ length: rows.rowCount }, (_, id) => ({
            id,
            score: rowScore(rows, query, norm, id),
          }))
            .sort((x, y) => y.score - x.score || x.id - y.id)
            .slice(0, 10);
          const found = searchVectors([tail], "v", query, 10).map(({ id, score }) => ({ id, score }));
          assert.deepEqual(found, wanted, `scales ${scale}, ${queryScale}`);
          const inPlace = searchVectors([segment], "v", query, 10).map(({ id, score }) => ({ id, score }));
          assert.deepEqual(inPlace, wanted, `in place, scales ${scale}, ${queryScale}`);
          // Few enough to be looked up one by one.
          const lookedUp = (reader: IndexReader) => searchVectors([reader], "v", query, 10, [few]).map(({ id }) => id);
          assert.deepEqual(lookedUp(segment), lookedUp(tail), `looked up, scales ${scale}, ${queryScale}`);
        }
      }
    });
  }
}

test("among rows of one length, those that are looked up are found whatever their product rules out", () => {
  const dim = 24;
  const schema = parseSchema({ vectors: [{ name: "v", dim, distance: "cosine" }] });
  const random = generator(5);
  const tail = new TailIndex(schema);
  const unit = () => {
    const vector = Float32Array.from({ length: dim }, () => 0.7 + random());
    return vector.map((value) => value * inverseNorm(vector));
  };
  for (let id = 0; id < 2_000; id++) tail.add(id, 1, extract(schema, {}, { v: Array.from(unit()) }));
  const rows = tail.vectors("v")!;
  const segment = sharedSegment(schema, tail);
  const few = new Bitset(rows.rowCount);
  for (let doc = 3; doc < rows.rowCount; doc += 5) few.add(doc);
  for (let round = 0; round < 20; round++) {
    const query = unit();
    const wanted = Array.from(few.toArray(), (id) => ({ id, score: rowScore(rows, query, inverseNorm(query), id) }))
      .sort((x, y) => y.score - x.score || x.id - y.id)
      .slice(0, 20);
    const found = searchVectors([segment], "v", query, 20, [few]).map(({ id, score }) => ({ id, score }));
    assert.deepEqual(found, wanted);
  }
});

test("the kernel takes vectors of the greatest dimension, and any number of rows", () => {
  const random = generator(7);
  const shared = new Float32Array(viewShared(allocateShared(2 ** 26)).buffer, 2 ** 20, 2 ** 20);
  const cases = [1, 5, 16, 31, 4096].flatMap((dim) => [true, false].map((inPlace) => ({ dim, inPlace })));
  for (const { dim, inPlace } of cases) {
    const kernel = dotKernel(inPlace ? shared : new Float32Array(1));
    const query = Float32Array.from({ length: dim }, random);
    kernel.setQuery(query);
    const count = Math.min(kernel.rowsMax, Math.floor(shared.length / dim));
    const data = inPlace ? shared : new Float32Array(count * dim);
    for (let i = 0; i < count * dim; i++) data[i] = random();
    const products = kernel.products(data, 0, count);
    for (let row = 0; row < count; row += 7) {
      assert.ok(Math.abs(products[row]! - dotAt(query, data, row * dim, dim)) < 1e-3);
    }
    const list = Uint32Array.from({ length: Math.min(count, 37) }, (_, i) => (i * 5) % count);
    const listed = kernel.productsOf(data, list, list.length);
    assert.equal(listed !== undefined, inPlace);
    for (const [i, row] of list.entries()) {
      if (listed !== undefined) assert.ok(Math.abs(listed[i]! - dotAt(query, data, row * dim, dim)) < 1e-3);
    }
    const last = kernel.products(data, count - 1, 1)[0]!;
    assert.ok(Math.abs(last - dotAt(query, data, (count - 1) * dim, dim)) < 1e-3);
  }
});

test("a zero vector has cosine 0, and scores are those of their distance", () => {
  const vectors = [
    [0, 0],
    [3, 4],
    [-3, -4],
  ];
  const expected: Record<Distance, number[]> = {
    cosine: [0, 1, -1],
    dot: [0, 50, -50],
    l2: [1 / 101, 1 / 26, 1 / 226],
  };
  for (const distance of ["cosine", "dot", "l2"] as const) {
    const schema = parseSchema({ vectors: [{ name: "v", dim: 2, distance }] });
    const tail = new TailIndex(schema);
    vectors.forEach((vector, id) => {
      tail.add(id, 1, extract(schema, {}, { v: vector }));
    });
    const found = searchVectors([tail], "v", Float32Array.of(6, 8), 3);
    for (const { id, score } of found) assert.ok(Math.abs(score - expected[distance][id]!) < 1e-12);
    assert.equal(found.length, 3);
  }
});

test("a product that overflows on the way does not hide its row", () => {
  const schema = parseSchema({ vectors: [{ name: "v", dim: 4, distance: "dot" }] });
  const tail = new TailIndex(schema);
  for (let id = 0; id < 20; id++) tail.add(id, 1, extract(schema, {}, { v: [0, 0, 0, 1] }));
  tail.add(20, 1, extract(schema, {}, { v: [-3.6e19, 3.3e19, 1.6e19, 1.6e19] }));
  assert.deepEqual(
    searchVectors([tail], "v", Float32Array.of(1e19, 1e19, 1e19, 1e19), 2).map(({ id }) => id),
    [20, 0],
  );
});
