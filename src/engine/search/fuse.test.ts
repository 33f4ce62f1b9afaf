import assert from "node:assert/strict";
import { test } from "node:test";
import { fuse } from "./fuse.ts";
import type { Hit } from "./index/top-k.ts";

function ranking(weight: number, ...hits: [number, number][]): { weight: number; hits: Hit[] } {
  return { weight, hits: hits.map(([id, score]) => ({ id, score, reader: 0, doc: id })) };
}

test("reciprocal ranks add up, weighted, with ties by id", () => {
  const fused = fuse([ranking(1, [5, 9], [3, 8]), ranking(2, [3, 0.1], [7, 0.1])], { method: "rrf", k: 60 }, true);
  assert.deepEqual(
    fused.map(({ id, score }) => [id, score]),
    [
      [3, 1 / 62 + 2 / 61],
      [7, 2 / 62],
      [5, 1 / 61],
    ],
  );
  assert.deepEqual(fused[0]!.sources, [
    { rank: 2, score: 8 },
    { rank: 1, score: 0.1 },
  ]);
  assert.deepEqual(fused[2]!.sources, [{ rank: 1, score: 9 }, undefined]);
  const tied = fuse([ranking(1, [9, 1]), ranking(1, [4, 1])]);
  assert.deepEqual(
    tied.map(({ id }) => id),
    [4, 9],
  );
});

test("weighted fusion brings each retriever to 0 to 1", () => {
  const fused = fuse([ranking(2, [1, 30], [2, 20], [3, 10]), ranking(1, [3, -4])], { method: "weighted" });
  assert.deepEqual(
    fused.map(({ id, score }) => [id, score]),
    [
      [1, 2],
      [2, 1],
      [3, 1],
    ],
  );
});

test("no hits fuse to none", () => {
  assert.deepEqual(fuse([ranking(1), ranking(1)]), []);
  assert.deepEqual(fuse([]), []);
});
