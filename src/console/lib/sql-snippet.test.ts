import assert from "node:assert/strict";
import { test } from "node:test";
import type { QueryBody } from "./search-state.ts";
import { sql } from "./sql-snippet.ts";

const text = { field: "title", query: 'Ada\'s "red" apple', k: 50 };
const vector = { field: "v", query: [1, 0.5, -0.25], k: 50 };
const filter = { and: [{ term: { kind: "fruit" } }, { range: { price: { gte: 2, lt: 9.5 } } }] };
const fuse = { method: "rrf", k: 60 };
const body: QueryBody = { from: "collections.items", retrieve: [{ text }, { vector }], filter, fuse, limit: 10 };

test("SQL says the same with table functions", () => {
  assert.equal(
    sql(body),
    `SELECT *
FROM rrf(
  text_search(items, 'Ada''s "red" apple', title, 50),
  vector_search(items, [1, 0.5, -0.25], v, 50)
)
WHERE (kind = 'fruit' AND price >= 2 AND price < 9.5)
ORDER BY _score DESC, _id
LIMIT 10`,
  );
});

test("weights, the operator, a sparse vector and the constant have their arguments", () => {
  const weighted: QueryBody = {
    from: "collections.items",
    retrieve: [
      { text: { field: "title", query: "a", k: 5, weight: 2, operator: "and" } },
      { sparse: { field: "s", query: { indices: [3], values: [0.5] }, k: 5 } },
    ],
    fuse: { method: "rrf", k: 30 },
    limit: 5,
  };
  assert.match(
    sql(weighted),
    /FROM rrf\(\n {2}text_search\(items, 'a', title, 5, weight := 2, operator := 'and'\),\n {2}sparse_search\(items, '{"indices":\[3\],"values":\[0\.5\]}', s, 5\),\n {2}k := 30\n\)/,
  );
});

test("a filter without words in WHERE goes to the retrievers, and is told where there are none", () => {
  const wildcard = { wildcard: { kind: "a*" } };
  assert.match(sql({ ...body, filter: wildcard }), /title, 50, filter := '{"wildcard":{"kind":"a\*"}}'\)/);
  const alone = sql({ from: "collections.My-items", filter: wildcard, limit: 5 });
  assert.match(alone, /^-- This filter has no form in SQL/);
  assert.match(alone, /FROM "My-items"/);
  assert.doesNotMatch(alone, /WHERE /);
});

test("what SQL has no words for, or says otherwise, is said", () => {
  assert.match(sql({ ...body, fuse: { method: "weighted" } }), /^-- SQL fuses by rank/);
  assert.match(sql({ ...body, highlight: { fields: ["title"] } }), /^-- Highlights have no form in SQL/);
});

test("sort, groups and facets", () => {
  const shaped: QueryBody = {
    from: "collections.items",
    retrieve: [{ text: { field: "title", query: "a", k: 5 } }],
    limit: 10,
    sort: [{ field: "price", order: "desc" }],
    group_by: { field: "kind", size: 2 },
    facets: [{ field: "kind" }],
  };
  assert.equal(
    sql(shaped),
    `-- A facet is a statement of its own:
-- SELECT kind AS value, count(*) AS count
-- FROM text_search(items, 'a', title, 5)
-- WHERE kind IS NOT NULL
-- GROUP BY kind
-- ORDER BY count DESC, value
-- LIMIT 10
-- LIMIT counts rows here; the query API's counts groups, and orders them by their best row.
SELECT *
FROM text_search(items, 'a', title, 5)
WHERE kind IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY kind ORDER BY price DESC NULLS LAST, _id) <= 2
ORDER BY kind, price DESC NULLS LAST, _id
LIMIT 20`,
  );
});
