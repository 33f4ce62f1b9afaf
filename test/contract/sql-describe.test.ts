import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Engine } from "../../src/engine/engine.ts";
import { parseSchema } from "../../src/engine/schema/schema-parse.ts";
import type { SqlParameter } from "../../src/engine/sql/sql.ts";
import { startMemoryEngine } from "../support/memory-engine.ts";

/** What a statement takes and gives is told without running it, also where nothing tells a parameter's type. */

let engine: Engine;
before(async () => {
  engine = await startMemoryEngine();
  await engine.metastore.createNamespace("m");
  const fields = [
    { name: "tag", kind: "keyword" },
    { name: "n", kind: "i64" },
  ];
  const schema = parseSchema({ fields, vectors: [{ name: "v", dim: 2, distance: "cosine" }] });
  await engine.collections.create("m", "docs", schema);
});
after(() => engine.stop());

const docs = ["_id int64", "tag text", "n int64", "v list", "_source json"];

for (const [query, columns, parameters, params = []] of [
  ["select n from docs where n = $1 limit ?", ["n int64"], ["int64", "int64"]],
  ["select * from docs where n = any($1)", docs, [undefined]],
  ["select * from docs where tag like $1 or $2 is null", docs, ["text", undefined]],
  ["select $1", ["$1 text"], [undefined]],
  ["select $1", ["$1 float64"], [undefined], [{ value: 1.5 }]],
  ["select $1 as x, $2 as y", ["x int64", "y boolean"], [undefined, undefined], [{ value: 7n }, { value: true }]],
  ["select $1 + 1 as x", ["x int64"], [undefined], [{ value: 2 }]],
  ["select $1 = $2 as same", ["same boolean"], [undefined, undefined]],
  ["select _id, _score from vector_search(docs, $1, v, k = $2) where n > $3", ["_id int64", "_score float64"]],
] as const satisfies readonly (readonly [
  string,
  readonly string[],
  (readonly unknown[])?,
  (readonly SqlParameter[])?,
])[]) {
  test(`${query} with ${params.length} values`, async () => {
    const found = await engine.sql.describe({ namespace: "m", query, params });
    assert.deepEqual(
      found.columns.map(({ name, type }) => `${name} ${type.kind}`),
      columns,
    );
    if (parameters === undefined) assert.equal(found.parameters.length, 3);
    else
      assert.deepEqual(
        found.parameters.map((type) => type?.kind),
        parameters,
      );
  });
}
