import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Worker } from "node:worker_threads";
import { Clusters, flat, generator, nearest, score } from "../../../test/support/vectors.ts";
import { crc32 } from "../../port/checksum.ts";
import type { VectorGraph, VectorGraphInput } from "../../port/vector-graph.ts";
import { blockRows, centreCount, codesLayout } from "./codes-file.ts";
import { decodeFooter, encodeFooter, footerBytes } from "./footer.ts";
import { UsearchGraphs } from "./graphs.ts";
import { NearRows } from "./near-rows.ts";
import { scaleQuery } from "./scale.ts";

const distances = ["cosine", "dot", "l2"] as const;
const rowCount = 3_000;
const near = new NearRows(new UsearchGraphs());
let folder: string;
let count = 0;
const fresh = () => join(folder, `n${count++}`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "near-"));
});
after(() => rm(folder, { recursive: true, force: true }));

async function built(input: VectorGraphInput): Promise<{ graph: VectorGraph; path: string }> {
  const path = fresh();
  const { bytes, quality } = await near.build(path, input);
  const graph = await near.open(path, quality);
  assert.deepEqual([graph.rowCount, graph.dim, graph.bytes], [input.rows.length / input.dim, input.dim, bytes]);
  return { graph, path };
}

/** How far a query is from the codes of each row, worked out from the file number by number, and how far a row could be at most. */
function plainDistances(file: Buffer, query: Float32Array): { plain: number[]; greatest: number; parts: number } {
  const footer = decodeFooter(file.subarray(-footerBytes))!;
  const { parts, numbers, pairs, centresAt, codesAt } = codesLayout(
    file.readUInt32LE(0),
    footer.rowCount,
    query.length,
  );
  const scaled = scaleQuery(query, footer.distance, footer)!;
  const table = Array.from({ length: parts }, (_, part) =>
    Array.from({ length: centreCount }, (_, centre) => {
      let distance = 0;
      for (let i = 0; i < numbers && part * numbers + i < query.length; i++) {
        const there = file.readFloatLE(centresAt + ((part * (numbers + 1) + i) * centreCount + centre) * 4);
        const given = scaled[part * numbers + i]!;
        distance += footer.distance === "l2" ? (given - there) ** 2 : -given * there;
      }
      return distance;
    }),
  );
  const plain = Array.from({ length: footer.rowCount }, (_, row) => {
    let distance = 0;
    for (const [part, ofCentres] of table.entries()) {
      const pair = file[codesAt + (Math.floor(row / blockRows) * pairs + (part >> 1)) * blockRows + (row % blockRows)]!;
      distance += ofCentres[part % 2 === 0 ? pair & 15 : pair >> 4]!;
    }
    return distance;
  });
  const greatest = table.reduce((sum, ofCentres) => sum + Math.max(...ofCentres) - Math.min(...ofCentres), 0);
  return { plain, greatest, parts };
}

/** As the service scores it. */
function scoreOf(distance: VectorGraphInput["distance"], query: Float32Array, row: Float32Array): number {
  const near = score(distance, query, row);
  if (distance === "l2") return 1 / (1 - near);
  return distance === "dot" ? near : near / Math.hypot(...query);
}

for (const distance of distances) {
  // One part a number, and two; an odd number of parts; half a part at the end; parts of four and of eight.
  for (const dim of [6, 23, 64, 101, 260, 1_030]) {
    test(`${distance} × ${dim}: rows come in the order of their codes, with a filter and without`, async () => {
      const clusters = new Clusters(dim, 60, dim);
      const rows = flat(clusters.many(dim < 200 ? rowCount : 1_500));
      const { graph, path } = await built({ rows, dim, distance });
      assert.ok(graph.reaching !== undefined, "codes were made");
      const file = await readFile(path);
      const some = Uint32Array.from({ length: Math.ceil(graph.rowCount / 32) }, (_, i) => 0x11111111 << (i % 4));
      const last = graph.rowCount % 32;
      if (last > 0) some[some.length - 1]! &= 2 ** last - 1;
      const isAllowed = (row: number) => (some[row >>> 5]! & (1 << (row & 31))) !== 0;
      for (const query of clusters.many(3)) {
        const { plain, greatest, parts } = plainDistances(file, query);
        // Each part of a distance is rounded to a byte, of a sum of at most 254.
        const rounding = ((8 * Math.sqrt(parts / 12)) / 254) * greatest;
        for (const words of [undefined, some]) {
          const allowed = plain.map((_, row) => row).filter((row) => words === undefined || isAllowed(row));
          const ranked = allowed.map((row) => plain[row]!).sort((a, b) => a - b);
          const found = [...(words ? graph.nearestOf(query, words, 0, 100) : graph.search(query, 100))!];
          assert.equal(new Set(found).size, 100);
          assert.ok(found.every((row) => allowed.includes(row)));
          let furthest = Number.NEGATIVE_INFINITY;
          for (const row of found) {
            assert.ok(plain[row]! >= furthest - rounding, `${plain[row]} after ${furthest}`);
            furthest = Math.max(furthest, plain[row]!);
          }
          assert.ok(furthest <= ranked[99]! + rounding, `${furthest} and ${ranked[99]}`);
        }
      }
    });
  }

  for (const magnitude of [1, 1e30, 1e-30]) {
    test(`${distance} finds the nearest among numbers of about ${magnitude}, and tells how many may be as near`, async () => {
      const dim = 32;
      const clusters = new Clusters(dim, 300, 8);
      const rows = flat(clusters.many(rowCount)).map((value) => value * magnitude);
      const { graph } = await built({ rows, dim, distance });
      let [found, reached] = [0, 0];
      for (const vector of clusters.many(40)) {
        const query = vector.map((value) => value * magnitude);
        const list = [...graph.search(query, 400)!];
        const best = nearest(distance, rows, query, 10);
        found += best.filter((row) => list.slice(0, 128).includes(row)).length;
        const reaching = graph.reaching!(scoreOf(distance, query, rows.subarray(best[9]! * dim, (best[9]! + 1) * dim)));
        reached += best.filter((row) => list.slice(0, Math.max(32, reaching)).includes(row)).length;
      }
      assert.ok(found >= 400 * 0.97, `found ${found}`);
      assert.ok(reached >= 400 * 0.95, `reached ${reached}`);
    });
  }
}

test("questions unlike the rows reach as many as they need", async () => {
  const dim = 64;
  const random = generator(3);
  const vector = () => Float32Array.from({ length: dim }, () => random() + random() + random() - 1.5);
  const directions = Array.from({ length: 5 }, vector);
  const rows = flat(
    Array.from({ length: 8_000 }, () => {
      const weights = directions.map(() => random() - 0.5);
      return Float32Array.from({ length: dim }, (_, i) =>
        directions.reduce((sum, d, w) => sum + d[i]! * weights[w]!, 0),
      );
    }),
  );
  const { graph } = await built({ rows, dim, distance: "cosine" });
  let found = 0;
  for (let i = 0; i < 40; i++) {
    const query = vector();
    const best = nearest("cosine", rows, query, 10);
    const list = graph.search(query, 4_000)!;
    const worst = scoreOf("cosine", query, rows.subarray(best[9]! * dim, (best[9]! + 1) * dim));
    const reached = list.subarray(0, graph.reaching!(worst));
    found += best.filter((row) => reached.includes(row)).length;
  }
  assert.ok(found >= 400 * 0.9, `${found}`);
});

test("few rows behind a filter are found, however far they are, and no more than there are", async () => {
  const dim = 24;
  const clusters = new Clusters(dim, 50, 2);
  const rows = flat(clusters.many(rowCount));
  const { graph } = await built({ rows, dim, distance: "l2" });
  const query = clusters.next();
  const ranked = nearest("l2", rows, query, rowCount);
  const far = new Uint32Array(Math.ceil(rowCount / 32));
  for (const row of ranked.slice(-20)) far[row >>> 5]! |= 1 << (row & 31);
  assert.deepEqual(new Set(graph.nearestOf(query, far, 0, 64)), new Set(ranked.slice(-20)));
  assert.equal(graph.nearestOf(query, new Uint32Array(far.length), 0, 64)!.length, 0);
  assert.equal(new Set(graph.search(query, rowCount * 2)).size, rowCount);
  assert.equal(graph.search(query, 0)!.length, 0);
});

test("a zero query, numbers out of range and a query of another length can't be answered; a closed one finds nothing", async () => {
  const dim = 16;
  const { graph } = await built({ rows: flat(new Clusters(dim, 40, 1).many(rowCount)), dim, distance: "cosine" });
  assert.equal(graph.search(new Float32Array(dim), 10), undefined);
  assert.equal(graph.search(new Float32Array(dim).fill(Number.NaN), 10), undefined);
  assert.throws(() => graph.search(new Float32Array(dim + 1).fill(1), 10), { name: "VectorGraphError" });
  graph.close();
  assert.equal(graph.search(new Float32Array(dim).fill(1), 10), undefined);
});

test("equal rows and zero rows have codes like others", async () => {
  const dim = 16;
  const rows = flat(new Clusters(dim, 40, 1).many(rowCount));
  rows.fill(0, 0, 500 * dim);
  rows.fill(0.5, 500 * dim, 1_000 * dim);
  for (const distance of distances) {
    const path = fresh();
    const { quality } = await near.build(path, { rows, dim, distance });
    const graph = await near.open(path, quality);
    const found = graph.search(new Float32Array(dim).fill(1), 200)!;
    assert.equal(new Set(found).size, 200);
    assert.ok(found.every((row) => row < rowCount));
  }
});

test("rows that are few, or whose codes take more room than a graph's walk is worth, have a graph", async () => {
  for (const size of [0, 1, 40]) {
    const { graph } = await built({
      rows: flat(new Clusters(16, 4, 1).many(40)).slice(0, size * 16),
      dim: 16,
      distance: "dot",
    });
    assert.equal(graph.reaching, undefined);
    assert.equal(graph.search(new Float32Array(16).fill(1), 10)?.length, Math.min(10, size));
  }
  const limited = new NearRows(new UsearchGraphs(), () => {}, 1_000);
  const path = fresh();
  await limited.build(path, { rows: flat(new Clusters(16, 4, 1).many(500)), dim: 16, distance: "dot" });
  assert.equal((await limited.open(path)).reaching, undefined);
});

test("a file that is not whole is refused, and an aborted build leaves nothing", async () => {
  const rows = flat(new Clusters(16, 40, 1).many(rowCount));
  const { path } = await built({ rows, dim: 16, distance: "l2" });
  const bytes = await readFile(path);
  const random = generator(3);
  for (let i = 0; i < 20; i++) {
    const flipped = Buffer.from(bytes);
    flipped[Math.floor(random() * bytes.length)]! ^= 1 << Math.floor(random() * 8);
    await writeFile(path, flipped);
    await assert.rejects(near.open(path), { kind: "damaged" });
  }
  const footer = decodeFooter(bytes.subarray(-footerBytes))!;
  for (const forged of [
    { rowCount: 4e8, dim: 0, graphBytes: 32, checksum: crc32(bytes.subarray(0, 32)) },
    { rowCount: 4e8 },
    { dim: 1 },
  ]) {
    const body = bytes.subarray(0, forged.graphBytes ?? footer.graphBytes);
    await writeFile(path, Buffer.concat([body, encodeFooter({ ...footer, ...forged })]));
    await assert.rejects(near.open(path), { kind: "damaged" });
  }
  const stop = new AbortController();
  const aborted = fresh();
  const building = near.build(aborted, { rows, dim: 16, distance: "cosine" }, stop.signal);
  setImmediate(() => stop.abort(new Error("no longer wanted")));
  await assert.rejects(building, /no longer wanted/);
  assert.deepEqual(
    (await readdir(folder)).filter((each) => aborted.endsWith(each.split(".")[0]!)),
    [],
  );
});

test("threads search one memory at once", async () => {
  const dim = 16;
  const clusters = new Clusters(dim, 40, 1);
  const { graph } = await built({ rows: flat(clusters.many(rowCount)), dim, distance: "l2" });
  const queries = clusters.many(30);
  const again = near.openShared(graph.shared!);
  const wanted = queries.map((query) => [...graph.search(query, 10)!]);
  assert.deepEqual(
    queries.map((query) => [...again.search(query, 10)!]),
    wanted,
  );
  const workers = [1, 2].map(
    () =>
      new Worker(join(import.meta.dirname, "../../../test/support/graph-worker.ts"), {
        workerData: { shared: graph.shared, queries, times: 50 },
      }),
  );
  for (const [found] of await Promise.all(workers.map((worker) => once(worker, "message")))) {
    assert.deepEqual(found, wanted);
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
});
