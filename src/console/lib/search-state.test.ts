import assert from "node:assert/strict";
import { test } from "node:test";
import {
  buildQuery,
  narrowed,
  onlyRetriever,
  parseNumbers,
  parseSparse,
  readState,
  stateParams,
  withoutFilter,
  withSchema,
} from "./search-state.ts";
import type { CollectionSchema } from "./types.ts";

const schema: CollectionSchema = {
  fields: [
    { name: "kind", kind: "keyword" },
    { name: "title", kind: { text: { analyzer: "english" } } },
  ],
  vectors: [{ name: "v", dim: 3, distance: "cosine" }],
};

function stateOf(query: string) {
  return withSchema(readState(new URLSearchParams(query)), schema);
}

test("a state is its address and back, without what is as usual", () => {
  const query = 'c=items&text=red+apple&like=7&filter={"term":{"kind":"fruit"}}&fuse=weighted&text_weight=2';
  const params = stateParams(readState(new URLSearchParams(query)));
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
  assert.deepEqual(given, Object.fromEntries(new URLSearchParams(query)));
});

test("the schema gives the fields that the address leaves out, and replaces ones it has not", () => {
  assert.equal(stateOf("c=items").textField, "title");
  assert.equal(stateOf("c=items&text_field=kind").textField, "title");
  assert.equal(stateOf("c=items&vector_field=w").vectorField, "v");
});

test("a hybrid query has both retrievers, the filter and the fusion", () => {
  const body = buildQuery(stateOf('c=items&text=apple&filter={"term":{"kind":"fruit"}}&vector_weight=0.5&hl=title'), {
    dense: [1, 0, 0],
  });
  assert.deepEqual(body, {
    from: "collections.items",
    retrieve: [
      { text: { field: "title", query: "apple", k: 50 } },
      { vector: { field: "v", query: [1, 0, 0], k: 50, weight: 0.5 } },
    ],
    filter: { term: { kind: "fruit" } },
    fuse: { method: "rrf", k: 60 },
    limit: 10,
    highlight: { fields: ["title"] },
  });
  const text = onlyRetriever(body, "text")!;
  assert.deepEqual(Object.keys(text.retrieve![0]!), ["text"]);
  assert.equal(text.fuse, undefined);
  assert.equal("filter" in withoutFilter(body), false);
});

test("a filter alone is a query too, and one retriever needs no fusion", () => {
  assert.deepEqual(buildQuery(stateOf('c=items&filter={"match_all":{}}'), {}), {
    from: "collections.items",
    filter: { match_all: {} },
    limit: 10,
  });
  assert.equal(buildQuery(stateOf("c=items&text=a"), {}).fuse, undefined);
  assert.equal(onlyRetriever(buildQuery(stateOf("c=items&text=a"), {}), "vector"), undefined);
});

test("a sparse vector is one more retriever; facets, groups and sort are the fused ranking's alone", () => {
  const wide: CollectionSchema = {
    fields: [
      { name: "kind", kind: "keyword", fast: true },
      { name: "note", kind: "keyword" },
    ],
    sparse_vectors: [{ name: "s" }],
  };
  const query = "c=items&facets=kind,note&group=kind&group_size=2&sort=kind&order=desc&sparse_weight=2";
  const state = withSchema(readState(new URLSearchParams(query)), wide);
  const body = buildQuery(state, { sparse: parseSparse("3:0.5, 17:-1") });
  assert.deepEqual(body, {
    from: "collections.items",
    retrieve: [{ sparse: { field: "s", query: { indices: [3, 17], values: [0.5, -1] }, k: 50, weight: 2 } }],
    limit: 10,
    facets: [{ field: "kind" }],
    group_by: { field: "kind", size: 2 },
    sort: [{ field: "kind", order: "desc" }],
  });
  assert.deepEqual(Object.keys(onlyRetriever(body, "sparse")!), ["from", "retrieve", "limit"]);
  assert.equal(withSchema({ ...state, groupBy: "note", sort: "gone" }, wide).groupBy, "", "note is no column");
});

test("a value of a facet narrows the filter that there is", () => {
  assert.equal(narrowed("", "kind", "fruit"), '{"term":{"kind":"fruit"}}');
  assert.deepEqual(JSON.parse(narrowed('{"match_all":{}}', "year", 2020)), {
    and: [{ match_all: {} }, { term: { year: 2020 } }],
  });
});

test("a sparse vector is written as pairs or as JSON", () => {
  assert.deepEqual(parseSparse('{"indices":[1],"values":[2]}'), { indices: [1], values: [2] });
  assert.throws(() => parseSparse("3:0.5 x"), /x is no part of a sparse vector/);
  assert.throws(() => parseSparse("1.5:2"), /index:weight/);
});

test("what is written wrong is told", () => {
  assert.throws(() => buildQuery(stateOf("c=items&filter={"), {}), /not JSON/);
  assert.throws(() => buildQuery(stateOf("c=items&k=many"), {}), /k must be a number/);
  assert.throws(() => parseNumbers("1, two"), /two/);
  assert.deepEqual(parseNumbers("[1, -2.5\n3e-1;4]"), [1, -2.5, 0.3, 4]);
});
