import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { UsearchGraphs } from "../../src/adapter/vectors/graphs.ts";
import { usualCandidates } from "../../src/port/vector-graph.ts";
import { Clusters, flat, generator, nearest } from "../support/vectors.ts";

const dim = 16;
const largeDim = 32;
const rowCount = 3_000;
const graphs = new UsearchGraphs();
const clusters = new Clusters(dim, 40, 1);
const rows = flat(clusters.many(rowCount));
const queries = clusters.many(30);
let folder: string;
let count = 0;
const fresh = () => join(folder, `g${count++}`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "graphs-"));
});
after(() => rm(folder, { recursive: true, force: true }));

for (const distance of ["cosine", "dot", "l2"] as const) {
  test(`${distance}: the nearest of given rows are found without the graph`, async () => {
    const path = fresh();
    await graphs.build(path, { rows, dim, distance });
    const graph = await graphs.open(path);
    const random = generator(5);
    for (const [share, from, to] of [
      [0.3, 0, rowCount],
      [1, 992, 2_016],
      [0.002, 0, rowCount],
      [0, 0, rowCount],
    ] as const) {
      const words = new Uint32Array(Math.ceil((to - from) / 32));
      const given: number[] = [];
      for (let row = from; row < to; row++) {
        if (random() >= share) continue;
        words[(row - from) >>> 5]! |= 1 << ((row - from) & 31);
        given.push(row);
      }
      let found = 0;
      let wanted = 0;
      for (const query of queries) {
        const best = nearest(distance, rows, query, rowCount)
          .filter((row) => given.includes(row))
          .slice(0, 10);
        const candidates = new Set(graph.nearestOf(query, words, from, 28));
        assert.equal(candidates.size, Math.min(28, given.length));
        assert.ok([...candidates].every((row) => given.includes(row)));
        found += best.filter((row) => candidates.has(row)).length;
        wanted += best.length;
      }
      assert.ok(found >= wanted * 0.99, `${found} of ${wanted}`);
    }
    assert.equal(graph.nearestOf(queries[0]!, new Uint32Array(rowCount), 0, 10), undefined, "more rows than there are");
    assert.equal(
      graph.nearestOf(queries[0]!, new Uint32Array(1), 0, 100_000),
      undefined,
      "more than there is room for",
    );
  });
}

test("a build measures how many candidates its rows need", async () => {
  const path = fresh();
  const { quality } = await graphs.build(path, { rows, dim, distance: "cosine" });
  assert.ok(quality !== undefined && quality.recall >= 0.975 && quality.recall <= 1, `${quality?.recall}`);
  assert.ok(quality.effort >= 1 && quality.effort <= 4);
  // Nothing is near anything in noise of so many dimensions: more candidates are needed than among clusters.
  const noiseDim = 256;
  const random = generator(8);
  const noise = Float32Array.from({ length: 4_000 * noiseDim }, () => random() - 0.5);
  const hard = await graphs.build(fresh(), { rows: noise, dim: noiseDim, distance: "cosine" });
  assert.ok(hard.quality!.effort > quality.effort, `${hard.quality!.effort} and ${quality.effort}`);
  const opened = await graphs.open(path, quality);
  assert.deepEqual([opened.effort, opened.recall], [quality.effort, quality.recall]);
  const few = await graphs.build(fresh(), { rows: rows.slice(0, 60 * dim), dim, distance: "cosine" });
  assert.equal(few.quality, undefined);
});

for (const distance of ["cosine", "l2", "dot"] as const) {
  test(`${distance}: rows that lie far from 0 and near each other are told apart, and measured as they are found`, async () => {
    const far = rows.map((value) => value + 100);
    const path = fresh();
    const { quality } = await graphs.build(path, { rows: far, dim, distance });
    const graph = await graphs.open(path, quality);
    const words = new Uint32Array(Math.ceil(rowCount / 32)).fill(0x1111_1111);
    let found = 0;
    let allowed = 0;
    for (const query of queries.map((each) => each.map((value) => value + 100))) {
      const best = nearest(distance, far, query, rowCount);
      const candidates = new Set(graph.search(query, 64 * graph.effort));
      found += best.slice(0, 10).filter((row) => candidates.has(row)).length;
      const compared = new Set(graph.nearestOf(query, words, 0, 64));
      allowed += best
        .filter((row) => row % 4 === 0)
        .slice(0, 10)
        .filter((row) => compared.has(row)).length;
    }
    assert.ok(found >= queries.length * 10 * 0.95, `found ${found}, measured ${quality!.recall}`);
    assert.ok(allowed >= queries.length * 10 * 0.99, `found ${allowed} of those that are allowed`);
  });
}

test("a large graph has more links, finds the nearest of sums of directions, and tells how many candidates that takes", async () => {
  const random = generator(9);
  const words = Array.from({ length: 2_000 }, () => Float32Array.from({ length: largeDim }, () => random() - 0.5));
  const sum = () => {
    const vector = new Float32Array(largeDim);
    for (let i = 0; i < 6; i++) {
      const word = words[Math.floor(words.length * random() ** 2)]!;
      for (let at = 0; at < largeDim; at++) vector[at]! += word[at]!;
    }
    return vector;
  };
  const recalls: number[] = [];
  const bytesPerRow: number[] = [];
  for (const size of [32_767, 32_768]) {
    const large = flat(Array.from({ length: size }, sum));
    const path = fresh();
    const { bytes, quality } = await graphs.build(path, { rows: large, dim: largeDim, distance: "cosine" });
    const graph = await graphs.open(path, quality);
    let found = 0;
    const asked = Array.from({ length: 40 }, sum);
    for (const query of asked) {
      const candidates = new Set(graph.search(query, usualCandidates * graph.effort));
      found += nearest("cosine", large, query, 10).filter((row) => candidates.has(row)).length;
    }
    recalls.push(found / (asked.length * 10));
    bytesPerRow.push(bytes / size);
    assert.ok(graph.effort >= 1 && graph.effort <= 4, `${graph.effort}`);
    assert.equal(graph.recall, quality!.recall);
  }
  assert.ok(recalls[1]! >= 0.95, `${recalls}`);
  assert.ok(Math.abs(bytesPerRow[1]! - bytesPerRow[0]! - 128) < 16, `${bytesPerRow}`);
});
