import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { executeQuery, executeSteps, type QueryParts } from "../../../src/engine/retrieval/execute.ts";
import type { QueryOutcome, RankedHit } from "../../../src/engine/retrieval/outcome.ts";
import { parseQuery } from "../../../src/engine/retrieval/parse.ts";
import { searchPart } from "../../../src/engine/retrieval/plan.ts";
import type { IndexReader } from "../../../src/engine/search/index/reader.ts";
import { searchVectors } from "../../../src/engine/search/vector/exact.ts";
import { apply, build, component, filter, id, oneSegment, optional, step, steps, word } from "./arbitraries.ts";
import { Layout, phraseCount, positionsOf, schema } from "./model.ts";
import { answer, type Docs, type ModelOutcome, textClauses } from "./query-model.ts";

const k = fc.integer({ min: 1, max: 9 });
const weight = fc.constantFrom(1, 1, 0.5, 2, 0);
const seldom = <T>(values: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: values });
const shared = { k, weight, filter: seldom(filter) };
const clean = <T extends object>(value: T) => JSON.parse(JSON.stringify(value)) as T;
const dims = { c: 3, d: 2, l: 6 } as const;

const vector = fc.constantFrom(...(["c", "d", "l"] as const)).chain((field) =>
  fc
    .record({
      ...shared,
      field: fc.constant(field),
      query: fc.array(component, { minLength: dims[field], maxLength: dims[field] }),
      exact: fc.boolean(),
    })
    .map((body) => ({ vector: body })),
);
const words = fc.array(word, { minLength: 1, maxLength: 3 }).map((list) => list.join(" "));
const phrase = fc.array(word, { minLength: 2, maxLength: 3 }).map((list) => `"${list.join(" ")}"`);
const text = fc
  .record({
    ...shared,
    field: fc.constantFrom("body", "body", "note"),
    query: fc.oneof(
      words,
      words,
      phrase,
      fc.tuple(words, phrase).map((both) => both.join(" ")),
    ),
    operator: fc.constantFrom("or", "or", "and"),
  })
  // Stop words leave gaps in a phrase that the model does not know.
  .map((body) => ({ text: body.field === "note" ? { ...body, query: body.query.replaceAll('"', " ") } : body }));
const sparse = fc
  .record({ ...shared, field: fc.constant("s"), indices: fc.uniqueArray(fc.nat(6), { minLength: 1, maxLength: 4 }) })
  .map(({ indices, ...body }) => ({
    sparse: { ...body, query: { indices, values: indices.map((index) => index - 2.5) } },
  }));

const field = fc.constantFrom("tag", "cat", "n", "flag", "at");
const sortKey = fc.record({
  field: fc.constantFrom("tag", "cat", "n", "x", "flag", "at", "_id", "_score"),
  order: optional(fc.constantFrom("asc", "desc")),
});

/** Small pages of what a filter matches, where the choice among many matters most. */
const browsing = fc
  .record({
    filter: fc.oneof(
      seldom(filter),
      fc.array(id, { minLength: 5, maxLength: 12 }).map((values) => ({ ids: { values } })),
    ),
    limit: fc.integer({ min: 1, max: 3 }),
    sort: fc.array(sortKey, { maxLength: 1 }),
    group_by: seldom(fc.record({ field, size: fc.integer({ min: 1, max: 2 }) })),
  })
  .map((body) => clean({ from: "collections.c", ...body }));

const anyQuery = fc
  .record({
    retrieve: fc.array(fc.oneof(vector, text, sparse), { maxLength: 3 }),
    filter: seldom(filter),
    fuse: fc.option(
      fc.oneof(
        fc.constantFrom(1, 60).map((k) => ({ method: "rrf", k })),
        fc.constant({ method: "weighted" }),
      ),
      { nil: undefined },
    ),
    limit: fc.integer({ min: 1, max: 12 }),
    offset: fc.oneof(fc.constant(0), fc.nat(5)),
    sort: fc.oneof(fc.constant([]), fc.array(sortKey, { maxLength: 2 })),
    group_by: fc.option(fc.record({ field, size: fc.integer({ min: 1, max: 3 }) }), { nil: undefined, freq: 2 }),
    facets: fc.uniqueArray(fc.record({ field, limit: fc.integer({ min: 1, max: 4 }) }), {
      maxLength: 2,
      selector: (facet) => facet.field,
    }),
    min_score: optional(fc.constantFrom(0, 0.016, 0.3)),
  })
  .map(({ fuse, min_score, ...body }) =>
    clean({ from: "collections.c", ...body, ...(body.retrieve.length === 0 ? {} : { fuse, min_score }) }),
  );

const query = fc.oneof({ weight: 3, arbitrary: anyQuery }, { weight: 1, arbitrary: browsing });

const bounds = { numRuns: 150, seed: 11, interruptAfterTimeLimit: 60_000 } as const;

const partsOf = (readers: readonly IndexReader[]): QueryParts => ({ readers, steadyMs: () => 0 });
const planOf = (body: object) => structuredClone(searchPart(parseQuery(body, () => schema)));

const plain = ({ hits, groups, facets }: QueryOutcome | ModelOutcome) => {
  const rows = (list: readonly { id: number; score: number }[]) => list.map(({ id, score }) => ({ id, score }));
  return { hits: rows(hits), groups: groups?.map(({ key, hits }) => ({ key, hits: rows(hits) })), facets };
};

/** The same documents in every layout. */
function layouts(given: Layout, docs: Docs): Layout[] {
  const tail = new Layout();
  for (const [id, doc] of docs) tail.upsert(id, doc);
  const merged = new Layout();
  [...docs].forEach(([id, doc], i) => {
    if (i % 3 === 0) merged.upsert(id, { source: {}, vectors: {}, sparse: {} });
    if (i % 7 === 6) merged.seal();
    merged.upsert(id, doc);
  });
  merged.seal();
  merged.merge(0, merged.segments.length);
  return [given, tail, oneSegment(docs), merged];
}

test("every query gives the answer of a scan over the documents, in every layout", () => {
  let asked = 0;
  let answered = 0;
  fc.assert(
    fc.property(steps, fc.array(query, { minLength: 1, maxLength: 5 }), (steps, queries) => {
      const { docs, layout } = build(steps);
      const all = layouts(layout, docs);
      for (const body of queries) {
        const wanted = plain(answer(docs, body));
        asked++;
        if (wanted.hits.length > 0 || (wanted.groups?.length ?? 0) > 0) answered++;
        for (const { readers } of all) {
          assert.deepEqual(plain(executeQuery(planOf(body), partsOf(readers))), wanted, JSON.stringify(body));
        }
      }
    }),
    bounds,
  );
  // Queries that find nothing would prove nothing.
  assert.ok(answered > asked / 3, `${answered} of ${asked} queries found something`);
});

test("a merge changes no answer", () => {
  fc.assert(
    fc.property(steps, fc.array(query, { minLength: 1, maxLength: 4 }), (steps, queries) => {
      const { layout } = build(steps);
      const ask = () => queries.map((body) => plain(executeQuery(planOf(body), partsOf(layout.readers))));
      const before = ask();
      layout.seal();
      assert.deepEqual(ask(), before);
      layout.merge(0, layout.segments.length);
      assert.deepEqual(ask(), before);
    }),
    { ...bounds, numRuns: 60 },
  );
});

test("graphs of single parts are searched one by one, and the rest exactly", () => {
  fc.assert(
    fc.property(steps, vector, optional(filter), (steps, retriever, common) => {
      const { docs, layout } = build(steps);
      const body = clean({ from: "c", retrieve: [retriever], filter: common });
      const { readers } = layout;
      let graphSearches = 0;
      const outcome = executeQuery(planOf(body), {
        ...partsOf(readers),
        graphs: readers.map((reader) => (reader.idsAscending ? reader.docCount : undefined)),
        vectorSearch: (readers, graphs, field, query, k, { filters }) => {
          graphSearches++;
          assert.deepEqual(graphs, [readers[0]!.docCount]);
          return searchVectors(readers, field, query, k, filters);
        },
      });
      assert.deepEqual(plain(outcome), plain(answer(docs, body)));
      assert.equal(graphSearches, retriever.vector.exact ? 0 : layout.segments.length);
    }),
    bounds,
  );
});

test("writes between two steps do not reach a query under way", () => {
  fc.assert(
    fc.property(steps, query, fc.array(step, { minLength: 1, maxLength: 40 }), (first, body, later) => {
      const { docs, layout } = build(first);
      const wanted = plain(answer(docs, body));
      const running = executeSteps(planOf(body), partsOf(layout.readers));
      const writes = [...later];
      for (;;) {
        const turn = running.next();
        if (turn.done) {
          assert.deepEqual(plain(turn.value), wanted);
          break;
        }
        for (const write of writes.splice(0, 8)) apply(write, docs, layout);
      }
    }),
    bounds,
  );
});

function checkSources(hit: RankedHit, body: Record<string, unknown>, docs: Docs, wanted: ModelOutcome): void {
  ((body["retrieve"] ?? []) as Record<string, never>[]).forEach((entry, r) => {
    const source = hit.sources![r]!;
    const at = wanted.rankings[r]!.findIndex(({ id }) => id === hit.id);
    assert.equal(source.rank, at === -1 ? undefined : at + 1);
    assert.equal(source.score, wanted.rankings[r]![at]?.score);
    const asked = entry["text"] as { field: string; query: string } | undefined;
    if (asked === undefined) return;
    const positions = positionsOf(docs.get(hit.id)!, asked.field);
    const terms = textClauses(asked.field, asked.query)
      .filter((clause) => phraseCount(positions, clause.terms, clause.offsets) > 0)
      .map(({ terms }) => (terms.length === 1 ? terms[0]! : `"${terms.join(" ")}"`));
    assert.deepEqual([...source.matched!].sort(), terms.sort());
  });
}

test("explain gives each retriever's rank and score, and the terms that matched", () => {
  fc.assert(
    fc.property(steps, query, (steps, body) => {
      const { docs, layout } = build(steps);
      const wanted = answer(docs, body);
      const { hits, groups, stats } = executeQuery(planOf({ ...body, explain: true }), partsOf(layout.readers));
      for (const hit of [...hits, ...(groups ?? []).flatMap((group) => group.hits)]) {
        checkSources(hit, body, docs, wanted);
      }
      assert.deepEqual(
        stats.retrieved,
        wanted.rankings.map((ranking) => ranking.length),
      );
      assert.equal(
        stats.parts!.reduce((sum, part) => sum + part.documents, 0),
        docs.size,
      );
      assert.equal(stats.parts!.filter(({ kind }) => kind === "tail").length, 1);
    }),
    bounds,
  );
});

test("a query is stopped between two steps", () => {
  const { layout } = build([]);
  for (let id = 0; id < 50; id++) {
    layout.upsert(id, { source: { body: "ant" }, vectors: {}, sparse: {} });
    if (id % 10 === 9) layout.seal();
  }
  const body = { from: "c", retrieve: [{ text: { field: "body", query: "ant", k: 5 } }] };
  let asked = 0;
  assert.throws(
    () => executeQuery(planOf(body), partsOf(layout.readers), () => ++asked === 3),
    (error: { reason?: string }) => error.reason === "deadline_exceeded",
  );
  assert.equal(asked, 3);
});

test("queries of many steps that take turns give the answers they give alone", () => {
  const layout = new Layout();
  const count = 40_000;
  const at = (id: number) => [((id * 7919) % 1000) / 1000, ((id * 104_729) % 777) / 777];
  for (let id = 0; id < count; id++) {
    const source = { n: id % 1000, tag: `t${id % 7}`, body: id % 3 === 0 ? "ant bee" : "bee" };
    layout.upsert(id, { source, vectors: { d: at(id) }, sparse: {} });
    if (id === 30_000) layout.seal();
  }
  const ids = [...Array(count).keys()];
  const near = (query: readonly number[]) =>
    ids
      .map((id) => ({ id, score: Math.fround(at(id)[0]!) * query[0]! + Math.fround(at(id)[1]!) * query[1]! }))
      .sort((x, y) => y.score - x.score || x.id - y.id)
      .slice(0, 5);
  const bodies = [
    { retrieve: [{ vector: { field: "d", query: [1, 0.5], k: 5 } }] },
    { retrieve: [{ vector: { field: "d", query: [-1, 0.25], k: 5 } }] },
    {
      sort: [{ field: "n", order: "desc" }],
      limit: 3,
      facets: [
        { field: "tag", limit: 2 },
        { field: "n", limit: 1 },
      ],
    },
    { group_by: { field: "tag", size: 2 }, sort: [{ field: "n" }], limit: 2 },
    { retrieve: [{ text: { field: "body", query: "ant bee", k: 3 } }], filter: { range: { n: { gte: 500 } } } },
  ];
  const running = bodies.map((body) => executeSteps(planOf({ from: "c", ...body }), partsOf(layout.readers)));
  const outcomes: QueryOutcome[] = [];
  let turns = 0;
  while (outcomes.filter(Boolean).length < bodies.length) {
    running.forEach((steps, i) => {
      const turn = steps.next();
      if (turn.done && turn.value !== undefined) outcomes[i] = turn.value;
    });
    turns++;
  }
  assert.ok(turns > 5);
  assert.deepEqual(plain(outcomes[0]!).hits, near([1, 0.5]));
  assert.deepEqual(plain(outcomes[1]!).hits, near([-1, 0.25]));
  const [, , browsed, grouped, texts] = outcomes.map((outcome) => plain(outcome));
  assert.deepEqual(
    browsed!.hits.map(({ id }) => id),
    [999, 1999, 2999],
  );
  assert.deepEqual(browsed!.facets, [
    [
      { value: "t0", count: 5715 },
      { value: "t1", count: 5715 },
    ],
    [{ value: 0, count: 40 }],
  ]);
  assert.deepEqual(
    grouped!.groups!.map(({ key, hits }) => [key, hits.map(({ id }) => id)]),
    [
      ["t0", [0, 7000]],
      ["t6", [1000, 8000]],
    ],
  );
  assert.deepEqual(
    texts!.hits.map(({ id }) => id),
    [501, 504, 507],
  );
  bodies.forEach((body, i) => {
    assert.deepEqual(plain(executeQuery(planOf({ from: "c", ...body }), partsOf(layout.readers))), plain(outcomes[i]!));
  });
});
