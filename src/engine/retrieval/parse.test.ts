import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError, notFound } from "../errors.ts";
import { parseSchema } from "../schema/schema-parse.ts";
import { queryLimits } from "./limits.ts";
import { holdsQueries, parseQueries, parseQuery } from "./parse.ts";
import { searchPart } from "./plan.ts";

const schema = parseSchema({
  fields: [
    { name: "title", kind: "text" },
    { name: "bare", kind: { text: { positions: false } }, indexed: false },
    { name: "tag", kind: "keyword", fast: true },
    { name: "plain", kind: "keyword" },
    { name: "year", source_path: "meta.year", kind: "i64" },
    { name: "blob", kind: "json" },
  ],
  vectors: [{ name: "v", dim: 3, distance: "cosine" }],
  sparse_vectors: [{ name: "s" }],
});

const schemaOf = (name: string) => {
  if (name !== "c") throw notFound(`no collection "${name}"`);
  return schema;
};
const parse = (body: Record<string, unknown>) => parseQuery({ from: "collections.c", ...body }, schemaOf);

function failure(work: () => unknown): EngineError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof EngineError, String(error));
    return error;
  }
  assert.fail("accepted");
}

const vector = (more: Record<string, unknown>) => ({ vector: { field: "v", query: [1, 2, 3], k: 5, ...more } });
const text = (more: Record<string, unknown>) => ({ text: { field: "title", query: "a b", k: 5, ...more } });

function nested(levels: number): unknown {
  let filter: unknown = { match_all: {} };
  for (let i = 0; i < levels; i++) filter = i % 2 === 0 ? { not: filter } : { and: [filter] };
  return filter;
}

const refused: readonly (readonly [body: Record<string, unknown>, field: string, message?: RegExp])[] = [
  [{ from: undefined }, "from", /required/],
  [{ from: 3 }, "from"],
  [{ from: "collections." }, "from"],
  [{ from: "streams/x" }, "from"],
  [{ retreive: [] }, "retreive", /unknown/],
  [{ retreive: [], limmit: 1 }, "retreive", /unknown field, as is limmit; known are from, /],
  [{ ["x".repeat(1_000_000)]: 1 }, "x".repeat(256)],
  [{ retrieve: {} }, "retrieve"],
  [{ retrieve: [3] }, "retrieve[0]"],
  [{ retrieve: [{}] }, "retrieve[0]"],
  [{ retrieve: [{ image: {} }] }, "retrieve[0].image"],
  [{ retrieve: [{ ...vector({}), ...text({}) }] }, "retrieve[0]"],
  [{ retrieve: [{ vector: [] }] }, "retrieve[0].vector"],
  [{ retrieve: Array(queryLimits.retrieversMax + 1).fill(text({})) }, "retrieve"],
  [{ retrieve: [text({}), vector({ field: "nope" })] }, "retrieve[1].vector.field", /no vector/],
  [{ retrieve: [vector({ field: "title" })] }, "retrieve[0].vector.field", /not a vector/],
  [{ retrieve: [vector({ field: null })] }, "retrieve[0].vector.field", /required/],
  [{ retrieve: [vector({ query: [1, 2] })] }, "retrieve[0].vector.query", /3 numbers, not 2/],
  [{ retrieve: [vector({ query: "x" })] }, "retrieve[0].vector.query"],
  [{ retrieve: [vector({ query: null })] }, "retrieve[0].vector.query", /required/],
  [{ retrieve: [vector({ query: [1, 2, "3"] })] }, "retrieve[0].vector.query[2]"],
  [{ retrieve: [text({}), vector({ query: [1, Number.NaN, 3] })] }, "retrieve[1].vector.query[1]"],
  [{ retrieve: [vector({ query: [1, 2, Number.POSITIVE_INFINITY] })] }, "retrieve[0].vector.query[2]"],
  [{ retrieve: [vector({ query: [1, 2, 1e39] })] }, "retrieve[0].vector.query[2]"],
  [{ retrieve: [vector({ query: [1, null, 3] })] }, "retrieve[0].vector.query[1]"],
  [{ retrieve: [vector({ k: 0 })] }, "retrieve[0].vector.k"],
  [{ retrieve: [vector({ k: 1_000_000 })] }, "retrieve[0].vector.k", /10000/],
  [{ retrieve: [vector({ k: 1.5 })] }, "retrieve[0].vector.k"],
  [{ retrieve: [text({ k: "5" })] }, "retrieve[0].text.k"],
  [{ retrieve: [vector({ ef: 0 })] }, "retrieve[0].vector.ef"],
  [{ retrieve: [vector({ exact: 1 })] }, "retrieve[0].vector.exact"],
  [{ retrieve: [vector({ weight: -1 })] }, "retrieve[0].vector.weight"],
  [{ retrieve: [vector({ weight: Number.NaN })] }, "retrieve[0].vector.weight"],
  [{ retrieve: [vector({ operator: "and" })] }, "retrieve[0].vector.operator"],
  [{ retrieve: [text({ exact: true })] }, "retrieve[0].text.exact"],
  [{ retrieve: [text({ operator: "xor" })] }, "retrieve[0].text.operator"],
  [{ retrieve: [text({ field: "tag" })] }, "retrieve[0].text.field", /not a text field/],
  [{ retrieve: [text({ field: "bare" })] }, "retrieve[0].text.field", /not indexed/],
  [{ retrieve: [text({ query: 5 })] }, "retrieve[0].text.query"],
  [{ retrieve: [text({ filter: { term: { nope: 1 } } })] }, "retrieve[0].text.filter.term.nope"],
  [{ retrieve: [{ sparse: { field: "v", query: { indices: [], values: [] } } }] }, "retrieve[0].sparse.field"],
  [{ retrieve: [{ sparse: { field: "s" } }] }, "retrieve[0].sparse.query"],
  [
    { retrieve: [{ sparse: { field: "s", query: { indices: [1, 1], values: [1, 2] } } }] },
    "retrieve[0].sparse.query.indices[1]",
  ],
  [{ filter: { term: { year: "x" } } }, "filter.term.year"],
  [{ filter: { term: { blob: "x" } } }, "filter.term.blob"],
  [{ filter: { and: [{ nope: {} }] } }, "filter.and[0].nope"],
  [{ filter: { ids: { values: [-1] } } }, "filter.ids.values[0]"],
  [{ filter: { or: Array(20_000).fill({ match_all: {} }) } }, "filter", /clauses/],
  [{ fuse: { method: "rrf" } }, "fuse", /needs retrieve/],
  [{ retrieve: [text({})], fuse: { method: "magic" } }, "fuse.method"],
  [{ retrieve: [text({})], fuse: { k: 0 } }, "fuse.k"],
  [{ retrieve: [text({})], fuse: { method: "weighted", k: 3 } }, "fuse.k"],
  [{ retrieve: [text({})], fuse: { method: "rrf", c: 3 } }, "fuse.c"],
  [{ limit: 0 }, "limit"],
  [{ limit: -1 }, "limit"],
  [{ limit: 10_001 }, "limit"],
  [{ limit: 1, offset: 10_000 }, "offset", /10000/],
  [{ offset: -1 }, "offset"],
  [{ offset: 9_995, limit: 6 }, "offset"],
  [{ sort: [{ field: "plain" }] }, "sort[0].field", /not fast/],
  [{ sort: [{ field: "year", order: "up" }] }, "sort[0].order"],
  [{ sort: ["year"] }, "sort[0]"],
  [{ sort: [{ field: "nope" }] }, "sort[0].field"],
  [{ facets: [{ field: "plain" }] }, "facets[0].field", /not fast/],
  [{ facets: [{ field: "tag", limit: 0 }] }, "facets[0].limit"],
  [{ facets: [{ field: "tag" }, { field: "tag" }] }, "facets[1].field", /twice/],
  [{ group_by: { field: "title" } }, "group_by.field", /not fast/],
  [{ group_by: { field: "tag", size: 0 } }, "group_by.size"],
  [{ group_by: { field: "tag", size: 100 }, limit: 1000 }, "group_by.size"],
  [{ highlight: { fields: ["title", "tag"] } }, "highlight.fields[1]", /not a text field/],
  [{ highlight: { fields: ["nope"] } }, "highlight.fields[0]"],
  [{ highlight: {} }, "highlight.fields", /required/],
  [{ highlight: true }, "highlight"],
  [{ select: ["title", "nope"] }, "select[1]"],
  [{ select: "title" }, "select"],
  [{ select: [1] }, "select[0]"],
  [{ exclude: ["_id"] }, "exclude[0]"],
  [{ include_vectors: "yes" }, "include_vectors"],
  [{ min_score: 1 }, "min_score", /needs retrieve/],
  [{ retrieve: [text({})], min_score: Number.NaN }, "min_score"],
  [{ consistency: "weak" }, "consistency"],
  [{ explain: 1 }, "explain"],
];

for (const [body, field, message = /./] of refused) {
  test(`refuses ${JSON.stringify(body).slice(0, 100)}`, () => {
    const error = failure(() => parse(body));
    assert.equal(error.reason, "invalid_argument");
    assert.equal(error.details["field"], field);
    assert.match(error.message, message);
    assert.ok(error.message.length < 1000);
  });
}

for (const value of [undefined, null, 3, "x", []]) {
  test(`refuses the body ${JSON.stringify(value)}`, () => {
    assert.equal(failure(() => parseQuery(value, schemaOf)).details["field"], "body");
  });
}

test("a filter 1,000 levels deep is refused without following it", () => {
  const error = failure(() => parse({ filter: nested(1000) }));
  assert.match(error.message, /^filter.*nested more than 64 levels/);
  assert.ok(String(error.details["field"]).length <= 200);
});

test("an unknown collection is not found", () => {
  assert.equal(failure(() => parse({ from: "collections.other" })).reason, "not_found");
});

test("a text of a megabyte is analysed up to the limit", () => {
  const words = Array.from({ length: 150_000 }, (_, i) => `word${i}`).join(" ");
  const retriever = parse({ retrieve: [text({ query: words })] }).retrievers[0]!;
  assert.ok(retriever.kind === "text" && retriever.text.length === 16_384 && retriever.query.clauses.length === 1024);
});

test("absent options have their defaults, and null is absent", () => {
  const bare = parse({ from: "c" });
  assert.deepEqual(searchPart(bare), {
    collection: "c",
    retrievers: [],
    limit: 10,
    offset: 0,
    sort: [],
    facets: [],
    consistency: "strong",
    explain: false,
  });
  const nulls = Object.fromEntries(
    [
      "retrieve",
      "filter",
      "fuse",
      "limit",
      "offset",
      "sort",
      "select",
      "exclude",
      "include_vectors",
      "highlight",
      "group_by",
      "facets",
      "min_score",
      "consistency",
      "explain",
    ].map((name) => [name, null]),
  );
  assert.deepEqual(parse(nulls), bare);
  const [one] = parse({
    retrieve: [{ vector: { field: "v", query: [1, 2, 3], k: null, ef: null } }],
    limit: 70,
  }).retrievers;
  assert.deepEqual(one, {
    kind: "vector",
    field: "v",
    k: 70,
    weight: 1,
    query: Float32Array.of(1, 2, 3),
    exact: false,
  });
});

test("a plan can be posted to another thread, and equal filters stay one object", () => {
  const filter = { range: { year: { gte: 2000 } } };
  const plan = parse({
    retrieve: [vector({ filter }), text({ filter }), { sparse: { field: "s", query: { indices: [4], values: [1] } } }],
    filter: { term: { tag: "x" } },
    fuse: { method: "weighted" },
    sort: [{ field: "year" }, { field: "_score" }],
    highlight: { fields: ["title"] },
    group_by: { field: "tag" },
    facets: [{ field: "tag" }],
    min_score: 0.5,
  });
  const posted = structuredClone(plan);
  assert.deepEqual(posted, plan);
  assert.equal(posted.retrievers[0]!.filter, posted.retrievers[1]!.filter);
  assert.equal(plan.sort[1]!.order, "desc");
});

test("select, exclude and include_vectors choose what is shown", () => {
  const shown = (body: Record<string, unknown>) => {
    const { fields, vectors, sparseVectors } = parse(body).projection;
    return [...fields.map(({ name }) => name), ...vectors, ...sparseVectors].join(" ");
  };
  assert.equal(shown({}), "title bare tag plain year blob");
  assert.equal(shown({ select: [] }), "");
  assert.equal(shown({ select: ["year", "_id", "_score", "title"] }), "title year");
  assert.equal(shown({ select: ["title", "v"] }), "title v");
  assert.equal(shown({ exclude: ["blob", "bare"] }), "title tag plain year");
  assert.equal(shown({ select: ["title", "tag"], exclude: ["tag"] }), "title");
  assert.equal(shown({ select: [], include_vectors: true }), "v s");
  assert.equal(shown({ select: [], include_vectors: true, exclude: ["v"] }), "s");
});

test("several queries of one request", () => {
  const one = { from: "c" };
  assert.equal(holdsQueries({ queries: [] }), true);
  assert.equal(holdsQueries(one), false);
  assert.equal(parseQueries({ queries: [one, { ...one, limit: 3 }] }, schemaOf)[1]!.limit, 3);
  const at = (body: unknown) => failure(() => parseQueries(body, schemaOf)).details["field"];
  assert.equal(at({ queries: [] }), "queries");
  assert.equal(at({ queries: null }), "queries");
  assert.equal(at({ queries: Array(33).fill(one) }), "queries");
  assert.equal(at({ queries: [one], limit: 3 }), "limit");
  assert.equal(at({ queries: [one, { ...one, retrieve: [vector({ k: 0 })] }] }), "queries[1].retrieve[0].vector.k");
  assert.equal(at({ queries: [one, 5] }), "queries[1]");
});
