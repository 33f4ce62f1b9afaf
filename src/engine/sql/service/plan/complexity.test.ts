import assert from "node:assert/strict";
import { test } from "node:test";
import { Parser } from "../parser.ts";
import { knownAggregates } from "./complexity.ts";

/** Functions over a window alone; they are no aggregates wherever they stand. */
const windowed = ["cume_dist", "dense_rank", "fill", "first_value", "lag", "last_value", "lead", "nth_value", "ntile"];
const ranked = ["percent_rank", "rank", "rank_dense", "row_number"];

test("every aggregate of the database is known", async () => {
  const parser = new Parser();
  const query =
    "select string_agg(distinct function_name, ' ') from duckdb_functions() where function_type = 'aggregate'";
  const names = String(await parser.evaluate(query, [])).split(" ");
  await parser.close();
  assert.ok(names.length > 60);
  const others = new Set([...windowed, ...ranked]);
  assert.deepEqual(
    names.filter((name) => !knownAggregates.has(name) && !others.has(name)),
    [],
  );
});
