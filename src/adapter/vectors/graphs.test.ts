import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFile, mkdtemp, readdir, readFile, rename, rm, truncate, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Worker } from "node:worker_threads";
import { Clusters, flat, generator, nearest, score } from "../../../test/support/vectors.ts";
import { decodeFooter, encodeFooter, footerBytes } from "./footer.ts";
import { UsearchGraphs } from "./graphs.ts";

const dim = 16;
const rowCount = 3_000;
const graphs = new UsearchGraphs();
const clusters = new Clusters(dim, 40, 1);
const rows = flat(clusters.many(rowCount));
const queries = clusters.many(30);
let folder: string;
let count = 0;
const fresh = () => join(folder, `g${count++}`);
let built: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "graphs-"));
  built = fresh();
  await graphs.build(built, { rows, dim, distance: "l2" });
});
after(() => rm(folder, { recursive: true, force: true }));

for (const distance of ["cosine", "dot", "l2"] as const) {
  for (const magnitude of [1, 1e30, 1e-30]) {
    test(`${distance} finds the nearest among numbers of about ${magnitude}`, async () => {
      const scaled = rows.map((value) => value * magnitude);
      const path = fresh();
      const { bytes } = await graphs.build(path, { rows: scaled, dim, distance });
      const graph = await graphs.open(path);
      assert.deepEqual([graph.rowCount, graph.dim, graph.bytes], [rowCount, dim, bytes]);
      let found = 0;
      for (const query of queries) {
        const candidates = new Set(
          graph.search(
            query.map((value) => value * magnitude),
            48,
          ),
        );
        found += nearest(distance, rows, query, 10).filter((row) => candidates.has(row)).length;
      }
      assert.ok(found >= queries.length * 10 * 0.95, `found ${found}`);
    });
  }
}

test("more candidates than rows, one row, and none", async () => {
  const whole = await graphs.open(built);
  assert.equal(new Set(whole.search(queries[0]!, rowCount * 2)).size, rowCount);
  for (const size of [0, 1, 2]) {
    const path = fresh();
    await graphs.build(path, { rows: rows.slice(0, size * dim), dim, distance: "cosine" });
    const graph = await graphs.open(path);
    assert.equal(graph.rowCount, size);
    assert.equal(graph.search(queries[0]!, 10)?.length, size);
  }
});

test("a zero row is as far as its similarity of 0, and a zero query can't be answered", async () => {
  const path = fresh();
  const some = rows.slice(0, 100 * dim);
  some.fill(0, 7 * dim, 8 * dim);
  some.fill(0, 50 * dim, 51 * dim);
  await graphs.build(path, { rows: some, dim, distance: "cosine" });
  const graph = await graphs.open(path);
  const found = [...graph.search(queries[0]!, 100)!];
  assert.equal(found.length, 100);
  const similarities = found.map((row) => score("cosine", queries[0]!, some.subarray(row * dim, (row + 1) * dim)));
  const at = found.indexOf(7);
  // Rounding may swap close neighbours, so a margin on both sides.
  assert.ok(similarities.slice(0, at).every((each) => each > -0.1));
  assert.ok(similarities.slice(at + 1).every((each) => each < 0.1));
  assert.equal(graph.search(new Float32Array(dim), 10), undefined);
  assert.equal(graph.search(new Float32Array(dim).fill(Number.NaN), 10), undefined);
  assert.throws(() => graph.search(new Float32Array(dim + 1), 10), { name: "VectorGraphError" });
});

test("an open graph outlives its file, and a closed one finds nothing", async () => {
  const path = fresh();
  await copyFile(built, path);
  const graph = await graphs.open(path);
  const found = graph.search(queries[0]!, 10);
  const other = fresh();
  await graphs.build(other, { rows: rows.slice(0, 20 * dim), dim, distance: "dot" });
  await rename(other, path);
  assert.deepEqual(graph.search(queries[0]!, 10), found, "replaced");
  const second = await graphs.open(path);
  await unlink(path);
  assert.equal(second.search(queries[0]!, 50)?.length, 20, "deleted");
  graph.close();
  assert.equal(graph.search(queries[0]!, 10), undefined);
});

test("a file that is no whole graph is refused, whatever is wrong with it", async () => {
  const bytes = await readFile(built);
  const random = generator(3);
  const refused = async (contents: Uint8Array) => {
    const path = fresh();
    await writeFile(path, contents);
    await assert.rejects(graphs.open(path), { kind: "damaged" });
  };
  await assert.rejects(graphs.open(join(folder, "missing")), { kind: "damaged" });
  for (const size of [0, 1, 43, 44, 45, 112, bytes.length >> 1, bytes.length - 1])
    await refused(bytes.subarray(0, size));
  await refused(Buffer.concat([bytes, Buffer.alloc(1)]));
  await refused(Buffer.alloc(5_000, 7));
  for (let i = 0; i < 20; i++) {
    const flipped = Buffer.from(bytes);
    flipped[Math.floor(random() * bytes.length)]! ^= 1 << Math.floor(random() * 8);
    await refused(flipped);
  }
  const cut = fresh();
  await copyFile(built, cut);
  await truncate(cut, bytes.length - 4_096);
  await assert.rejects(graphs.open(cut), { kind: "damaged" });
  assert.equal((await graphs.open(built)).rowCount, rowCount);
});

test("a build that is aborted leaves nothing", async () => {
  const path = fresh();
  const stop = new AbortController();
  const building = graphs.build(path, { rows, dim, distance: "cosine" }, stop.signal);
  setImmediate(() => stop.abort(new Error("no longer wanted")));
  await assert.rejects(building, /no longer wanted/);
  const name = path.slice(folder.length + 1);
  assert.deepEqual(
    (await readdir(folder)).filter((each) => each.startsWith(`${name}.`) || each === name),
    [],
  );
});

test("worker threads build a graph and search one file at once", async () => {
  const path = fresh();
  const inWorker = async (data: object) => {
    const worker = new Worker(join(import.meta.dirname, "../../../test/support/graph-worker.ts"), {
      workerData: { path, queries, times: 50, ...data },
    });
    const [found] = await once(worker, "message");
    await worker.terminate();
    return found as number[][];
  };
  const first = await inWorker({ rows, times: 1 });
  const mine = await graphs.open(path);
  const searching = [inWorker({}), inWorker({})];
  const found = queries.map((query) => [...mine.search(query, 10)!]);
  assert.deepEqual(found, first);
  for (const each of await Promise.all(searching)) assert.deepEqual(each, first);
});

for (const distance of ["cosine", "dot", "l2"] as const) {
  test(`${distance}: the walk finds what usearch finds, in files of both forms`, async () => {
    const [walked, mapped] = [fresh(), fresh()];
    // Lengths from 1 to 1,000, so that l2 is bent.
    const uneven = rows.map((value, i) => value * 10 ** ((Math.floor(i / dim) % 7) / 2));
    const input = { rows: uneven, dim, distance };
    await graphs.build(walked, input);
    await new UsearchGraphs(() => {}, 0).build(mapped, input);
    const [walk, usearch] = [await graphs.open(walked), await graphs.open(mapped)];
    assert.ok(walk.shared !== undefined && usearch.shared === undefined);
    assert.equal(walk.effort, usearch.effort);
    let shared = 0;
    let nearestOfWalk = 0;
    let nearestOfUsearch = 0;
    for (const query of queries) {
      const [ours, theirs] = [walk, usearch].map((graph) => new Set(graph.search(query, 200)));
      shared += [...ours!].filter((row) => theirs!.has(row)).length;
      const best = nearest(distance, uneven, query, 10);
      nearestOfWalk += best.filter((row) => ours!.has(row)).length;
      nearestOfUsearch += best.filter((row) => theirs!.has(row)).length;
    }
    assert.ok(shared >= queries.length * 200 * 0.9, `${shared} of ${queries.length * 200} are the same`);
    assert.ok(nearestOfWalk >= nearestOfUsearch * 0.98, `${nearestOfWalk} and ${nearestOfUsearch} of the nearest`);
  });
}

test("a walk that ends early finds nearly as many of the nearest, between groups of alike rows too", async () => {
  const centres = new Clusters(dim, 500, 5).many(200);
  const random = generator(9);
  const groups = centres.flatMap((centre) => Array.from({ length: 20 }, () => centre.map((x) => x + random() / 50)));
  const halfway = Array.from({ length: 100 }, (_, i) => centres[i]!.map((x, d) => (x + centres[i + 100]![d]!) / 2));
  const sets = [
    { path: built, all: rows, asked: queries, count: 400 },
    { path: fresh(), all: flat(groups), asked: halfway, count: 64 },
  ];
  await graphs.build(sets[1]!.path, { rows: sets[1]!.all, dim, distance: "l2" });
  for (const { path, all, asked, count } of sets) {
    const graph = await graphs.open(path);
    let [ofWhole, ofEarly, others] = [0, 0, 0];
    for (const query of asked) {
      const [whole, early] = [undefined, 16].map((watched) => new Set(graph.search(query, count, watched)));
      const best = nearest("l2", all, query, 10);
      ofWhole += best.filter((row) => whole!.has(row)).length;
      ofEarly += best.filter((row) => early!.has(row)).length;
      if ([...whole!].some((row) => !early!.has(row))) others++;
    }
    if (count === 400) assert.ok(others > 0, "no walk ended early");
    assert.ok(ofEarly >= ofWhole * 0.99, `${ofEarly} and ${ofWhole} of the nearest`);
  }
});

test("a graph of an earlier build, and one that was measured so, is walked to its end", async () => {
  const bytes = await readFile(built);
  const at = bytes.length - footerBytes;
  const footer = decodeFooter(bytes.subarray(at))!;
  assert.ok(footer.patience > 0);
  const path = fresh();
  await writeFile(path, Buffer.concat([bytes.subarray(0, at), encodeFooter({ ...footer, patience: 0 })]));
  const [graph, earlier] = [await graphs.open(built), await graphs.open(path)];
  for (const query of queries) assert.deepEqual(earlier.search(query, 400, 16), graph.search(query, 400));
  // Of rows at random in many dimensions too few are found, whatever is tried.
  const random = generator(4);
  const scattered = Float32Array.from({ length: 12_000 * 96 }, () => random() + random() + random() - 1.5);
  const other = fresh();
  const { quality } = await graphs.build(other, { rows: scattered, dim: 96, distance: "cosine" });
  assert.ok(quality!.effort === 4 && quality!.recall < 0.975, JSON.stringify(quality));
  assert.equal(decodeFooter((await readFile(other)).subarray(-footerBytes))!.patience, 0);
});

for (const distance of ["cosine", "dot", "l2"] as const) {
  // Whole lengths of 16 bytes, and an odd number, whose last byte is half empty.
  for (const wide of [64, 77]) {
    test(`${distance} × ${wide}: rows of 4 bits find what rows of 8 find, in less memory`, async () => {
      const spread = new Clusters(wide, 40, 11);
      const all = flat(spread.many(rowCount));
      const asked = spread.many(20);
      const some = Uint32Array.from({ length: Math.ceil(rowCount / 32) }, (_, i) => 0x11111111 << (i % 4));
      const found = [];
      for (const bits of [8, 4] as const) {
        const path = fresh();
        const { bytes } = await new UsearchGraphs(
          () => {},
          undefined,
          () => [bits],
        ).build(path, { rows: all, dim: wide, distance });
        const graph = await graphs.open(path);
        let [walked, compared] = [0, 0];
        for (const query of asked) {
          const ranked = nearest(distance, all, query, rowCount);
          const isAllowed = (row: number) => (some[row >>> 5]! & (1 << (row & 31))) !== 0;
          const near = new Set(graph.search(query, 64));
          walked += ranked.slice(0, 10).filter((row) => near.has(row)).length;
          const passed = graph.nearestOf(query, some, 0, 64)!;
          assert.ok(passed.every(isAllowed));
          compared += ranked
            .filter(isAllowed)
            .slice(0, 10)
            .filter((row) => passed.includes(row)).length;
        }
        found.push({ bytes, walked, compared });
      }
      const [whole, halved] = [found[0]!, found[1]!];
      assert.ok(halved.bytes <= whole.bytes - (rowCount * wide) / 2 + rowCount * 16, JSON.stringify(found));
      assert.ok(halved.walked >= whole.walked * 0.98, JSON.stringify(found));
      assert.ok(halved.compared >= whole.compared * 0.98, JSON.stringify(found));
    });
  }
}

test("rows have 4 bits only where these tell the nearest from others, also for questions unlike the rows", async () => {
  const wide = 64;
  const random = generator(12);
  const vector = () => Float32Array.from({ length: wide }, () => random() + random() + random() - 1.5);
  const directions = Array.from({ length: 5 }, vector);
  const sumOf = (parts: readonly Float32Array[]) => {
    const weights = parts.map(() => random() - 0.5);
    return Float32Array.from({ length: wide }, (_, i) =>
      parts.reduce((sum, part, p) => sum + part[i]! * weights[p]!, 0),
    );
  };
  const centres = new Clusters(wide, 500, 6).many(30);
  const sets = {
    "numbers of one size": [4, Array.from({ length: rowCount }, vector)],
    "groups that differ by less than a sixteenth": [
      8,
      centres.flatMap((centre) => Array.from({ length: 100 }, () => centre.map((x) => x + random() / 20))),
    ],
    "sums of five directions": [8, Array.from({ length: rowCount }, () => sumOf(directions))],
    "two numbers are far greater than the others": [
      8,
      Array.from({ length: rowCount }, () => vector().map((x, i) => (i < 2 ? 30 * x : x))),
    ],
  } as const;
  const both = new UsearchGraphs(
    () => {},
    undefined,
    () => [8, 4],
  );
  for (const [what, [wanted, vectors]] of Object.entries(sets)) {
    const path = fresh();
    await both.build(path, { rows: flat(vectors), dim: wide, distance: "dot" });
    assert.equal(decodeFooter((await readFile(path)).subarray(-footerBytes))!.bits, wanted, what);
  }
});

test("a graph is opened once more from memory that another has", async () => {
  const first = await graphs.open(built);
  const second = graphs.openShared(first.shared!);
  assert.deepEqual([second.rowCount, second.dim, second.bytes], [first.rowCount, first.dim, first.bytes]);
  for (const query of queries) assert.deepEqual(second.search(query, 20), first.search(query, 20));
});

test("equal rows, of which none is nearer, fill the candidates and no more", async () => {
  const path = fresh();
  await graphs.build(path, { rows: new Float32Array(rowCount * dim).fill(1), dim, distance: "cosine" });
  const found = (await graphs.open(path)).search(new Float32Array(dim).fill(1), 100)!;
  assert.equal(new Set(found).size, found.length);
  assert.ok(found.length > 0 && found.every((row) => row < rowCount));
});

test("many zero rows take nothing from the others", async () => {
  const some = rows.map((value, i) => (Math.floor(i / dim) % 7 === 0 ? 0 : value));
  const { quality } = await graphs.build(fresh(), { rows: some, dim, distance: "cosine" });
  assert.ok(quality!.recall >= 0.97, `${quality!.recall}`);
});

test("a thread has one place in a graph, however often it opens it", async () => {
  const first = await graphs.open(built);
  const wanted = first.search(queries[0]!, 10);
  for (let i = 0; i < 100; i++) {
    // As another thread gets it: an object of its own.
    const { home, ...place } = first.shared!;
    const posted = structuredClone(home) as typeof home;
    assert.deepEqual(graphs.openShared({ home: posted, ...place }).search(queries[0]!, 10), wanted);
  }
});
