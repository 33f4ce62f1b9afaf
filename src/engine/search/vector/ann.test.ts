import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { Clusters, generator, graphOf, vectorGraphs, vectorSegment } from "../../../../test/support/vectors.ts";
import { NodeClock } from "../../../adapter/node/clock.ts";
import type { VectorGraph } from "../../../port/vector-graph.ts";
import { extract } from "../document.ts";
import { Bitset } from "../index/bitset.ts";
import type { IndexReader } from "../index/reader.ts";
import type { SegmentReader } from "../index/segment.ts";
import { TailIndex } from "../index/tail.ts";
import { type AnnOptions, searchAnn, suitsGraph } from "./ann.ts";
import { rowScore, searchVectors } from "./exact.ts";
import { measureRecall } from "./recall.ts";

const dim = 24;
const rowCount = 6_000;
const clusters = new Clusters(dim, 60, 1);
const vectors = clusters.many(rowCount);
const queries = clusters.many(40);
let folder: string;
let segment: SegmentReader;
let readers: IndexReader[];
let graphs: (VectorGraph | undefined)[];
/** The same with codes in place of the graph. */
let coded: (VectorGraph | undefined)[];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "ann-"));
  segment = vectorSegment(vectors, "cosine", true);
  // A graph of all, a segment too small for one, and a tail, with ids of their own.
  const small = vectorSegment(clusters.many(300), "cosine", false, rowCount * 2);
  for (let i = 0; i < 300; i += 5) small.delete((rowCount + i) * 2);
  const tail = new TailIndex(segment.schema);
  for (const [i, vector] of clusters.many(200).entries()) {
    tail.add(1_000_001 + i, 1, extract(segment.schema, {}, { v: vector }));
  }
  readers = [segment, small, tail];
  for (let id = 0; id < rowCount * 2; id += 2) if (id % 11 === 0) segment.delete(id);
  graphs = [await graphOf(segment, join(folder, "a")), undefined, undefined];
  coded = [await graphOf(segment, join(folder, "b"), vectorGraphs.coded), undefined, undefined];
});
after(() => rm(folder, { recursive: true, force: true }));

/** Documents are taken evenly, or by how near they are to the first query: the filter a graph is worst at. */
function filterOf(reader: IndexReader, share: number, how: "even" | "far"): Bitset {
  const filter = new Bitset(reader.docCount);
  const random = generator(7);
  if (how === "even") {
    for (let doc = 0; doc < reader.docCount; doc++) if (random() < share) filter.add(doc);
  } else {
    const ranked = searchVectors([reader], "v", queries[0]!, reader.docCount);
    for (const { doc } of ranked.slice(Math.floor(ranked.length * (1 - share)))) filter.add(doc);
  }
  if (reader.live !== undefined) filter.and(reader.live);
  return filter;
}

function recallOf(options: AnnOptions, k: number, by = graphs): number {
  let found = 0;
  let wanted = 0;
  for (const query of queries) {
    const exact = new Set(searchVectors(readers, "v", query, k, options.filters).map(({ id }) => id));
    wanted += exact.size;
    found += searchAnn(readers, by, "v", query, k, options).filter(({ id }) => exact.has(id)).length;
  }
  return found / wanted;
}

for (const share of [1, 0.5, 0.05, 0.005]) {
  test(`recall with a filter that leaves ${share * 100} %`, () => {
    const filters = share === 1 ? undefined : readers.map((reader) => filterOf(reader, share, "even"));
    for (const by of [graphs, coded]) {
      for (const k of [1, 10, 100]) {
        const recall = recallOf({ filters }, k, by);
        assert.ok(recall >= 0.95, `k ${k}: ${recall}`);
      }
    }
  });
}

test("a filter that takes out most of what is near leaves the answer as sure as a whole walk", () => {
  const whole: VectorGraph = {
    ...graphs[0]!,
    ...{ rowCount: graphs[0]!.rowCount, dim, effort: graphs[0]!.effort },
    search: (query, count) => graphs[0]!.search(query, count),
    nearestOf: (...question) => graphs[0]!.nearestOf(...question),
  };
  const random = generator(8);
  let [ofEarly, ofWhole, wanted] = [0, 0, 0];
  for (const query of queries) {
    const filter = Bitset.full(segment.docCount);
    filter.and(segment.live!);
    const ranked = searchVectors([segment], "v", query, segment.docCount);
    for (const { doc } of ranked.slice(0, rowCount / 3)) if (random() < 0.85) filter.delete(doc);
    const exact = new Set(searchVectors([segment], "v", query, 10, [filter]).map(({ id }) => id));
    const [early, all] = [graphs[0]!, whole].map((graph) =>
      searchAnn([segment], [graph], "v", query, 10, { filters: [filter] }).filter(({ id }) => exact.has(id)),
    );
    wanted += exact.size;
    ofEarly += early!.length;
    ofWhole += all!.length;
  }
  assert.ok(ofEarly >= ofWhole - wanted * 0.01, `${ofEarly} and ${ofWhole} of ${wanted}`);
});

test("a graph is asked further when a filter leaves too little of what it found, and not for few matches", () => {
  const points = new Clusters(4, 500, 3);
  const large = vectorSegment(points.many(40_000), "cosine");
  const query = points.next();
  const ranked = searchVectors([large], "v", query, large.docCount);
  const asked: number[] = [];
  const perfect: VectorGraph = {
    rowCount: large.docCount,
    dim: 4,
    effort: 1,
    recall: undefined,
    bytes: 0,
    shared: undefined,
    search(_, count) {
      asked.push(count);
      return Uint32Array.from(ranked.slice(0, count), ({ doc }) => doc);
    },
    nearestOf: () => undefined,
    close() {},
  };
  const ask = (options: AnnOptions) => {
    asked.length = 0;
    assert.deepEqual(
      searchAnn([large], [perfect], "v", query, 10, options),
      searchVectors([large], "v", query, 10, options.filters),
    );
    return [...asked];
  };
  const without = (nearest: number) => {
    const filter = Bitset.full(large.docCount);
    for (const { doc } of ranked.slice(0, nearest)) filter.delete(doc);
    return { filters: [filter] };
  };
  assert.deepEqual(ask({}), [64]);
  assert.deepEqual(ask({ ef: 200 }), [200]);
  assert.deepEqual(ask(without(30)), [64]);
  assert.deepEqual(ask(without(100)), [64, 256]);
  assert.deepEqual(ask(without(1_000)), [64, 256]);
  assert.deepEqual(ask(without(5_000)), [64, 256], "then all are compared");
  assert.deepEqual(ask({ filters: [filterOf(large, 0.01, "even")] }), []);
  assert.deepEqual(ask({ exact: true }), []);
});

test("k matches are found where k exist, with exact scores, in order, under any filter", () => {
  const model = fc.record({
    share: fc.constantFrom(1, 0.9, 0.6, 0.3, 0.1, 0.01, 0),
    how: fc.constantFrom("even" as const, "far" as const),
    k: fc.constantFrom(1, 2, 10, 100, 1_000, 10_000),
    ef: fc.constantFrom(undefined, 1, 50, 20_000),
    query: fc.nat(queries.length - 1),
    isCoded: fc.boolean(),
  });
  fc.assert(
    fc.property(model, ({ share, how, k, ef, query, isCoded }) => {
      const filters = readers.map((reader) => filterOf(reader, share, how));
      const hits = searchAnn(readers, isCoded ? coded : graphs, "v", queries[query]!, k, { filters, ef });
      const all = searchVectors(readers, "v", queries[query]!, 10_000, filters);
      assert.equal(hits.length, Math.min(k, all.length));
      const scores = new Map(all.map((hit) => [hit.id, hit]));
      for (const hit of hits) assert.deepEqual(hit, scores.get(hit.id));
      assert.deepEqual(
        hits,
        [...hits].sort((a, b) => b.score - a.score || a.id - b.id),
      );
    }),
    { numRuns: 100 },
  );
});

test("a zero query finds the lowest ids, and exact search is the same as without graphs", () => {
  const zero = new Float32Array(dim);
  for (const by of [graphs, coded]) {
    assert.deepEqual(searchAnn(readers, by, "v", zero, 5), searchVectors(readers, "v", zero, 5));
  }
  for (const query of queries.slice(0, 5)) {
    assert.deepEqual(
      searchAnn(readers, graphs, "v", query, 20, { exact: true }),
      searchVectors(readers, "v", query, 20),
    );
  }
});

test("a graph of other rows is not used, and an unknown field finds nothing", async () => {
  const other = vectorSegment(vectors.slice(0, 2_500), "cosine");
  const query = queries[0]!;
  assert.deepEqual(searchAnn([other], graphs, "v", query, 10), searchVectors([other], "v", query, 10));
  assert.deepEqual(searchAnn(readers, graphs, "nothing", query, 10), []);
});

test("recall measures itself", async () => {
  const random = { next: generator(5), bytes: (size: number) => new Uint8Array(size) };
  const clock = new NodeClock();
  let pauses = 0;
  const pause = async () => {
    pauses++;
  };
  const good = await measureRecall(readers, graphs, "v", { num: 20, k: 10, random, clock, pause });
  assert.ok(good.recall >= 0.95 && good.recall <= 1);
  assert.equal(good.queries, 20);
  assert.equal(pauses, 20);
  const poor: VectorGraph = {
    rowCount: graphs[0]!.rowCount,
    dim,
    effort: 1,
    recall: undefined,
    bytes: 0,
    shared: undefined,
    nearestOf: () => undefined,
    close() {},
    search: (query) => {
      const score = (row: number) => rowScore(segment.vectors("v")!, query, 1, row);
      return Uint32Array.from({ length: 64 }, (_, row) => row).sort((a, b) => score(b) - score(a));
    },
  };
  const bad = await measureRecall([segment], [poor], "v", { num: 20, k: 10, random, clock });
  assert.ok(bad.recall < 0.5, `recall ${bad.recall}`);
  const one = readers.map((reader) => new Bitset(reader.docCount));
  one[0]!.add(segment.find(2));
  const filtered = await measureRecall(readers, graphs, "v", { num: 3, k: 10, filters: one, random, clock });
  assert.deepEqual([filtered.recall, filtered.queries], [1, 3]);
  const none = await measureRecall(readers, graphs, "nothing", { num: 3, k: 10, random, clock });
  assert.deepEqual([none.recall, none.queries], [1, 0]);
});

test("rows suit a graph when they are many, and most of them no copies", () => {
  const suits = (of: (row: number) => readonly number[], count = 3_000) =>
    suitsGraph(
      vectorSegment(
        Array.from({ length: count }, (_, row) => Float32Array.from(of(row))),
        "l2",
        true,
      ).vectors("v")!,
    );
  const own = (row: number) => vectors[row]!;
  assert(suits((row) => [...own(row)]));
  assert(!suits((row) => [...own(row)], 1_999));
  assert(!suits((row) => [...own(row % 100)]), "thirty copies of each");
  const random = generator(6);
  for (const values of [
    [0, 1],
    [-1, 1],
    [0, 1, 2, 3, 4],
  ]) {
    const whole = () => values[Math.floor(random() * values.length)]!;
    assert(
      suits(() => Array.from({ length: 24 }, whole)),
      `whole numbers: ${values}`,
    );
  }
  assert(
    suits((row) => [...own(row % 300)]),
    "ten copies of each",
  );
  assert(
    suits((row) => [...own(row < 500 ? 0 : row)]),
    "one that a sixth has",
  );
});
