import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { aggregateFunctions, scalarFunctions } from "./allowed-functions.ts";
import { tableFunctions } from "./guard.ts";
import { refusedFunctions, refusedPrefixes } from "./refused-functions.ts";

test("every function of the bundled database is on one list: run scripts/sql-functions.ts after an update", async () => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const types = "('scalar', 'macro', 'aggregate')";
  const query = `SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type IN ${types}`;
  const all = (await connection.runAndReadAll(query)).getRows().map(([name]) => String(name));
  connection.closeSync();
  instance.closeSync();
  const allowed = new Set([...scalarFunctions, ...aggregateFunctions]);
  const refused = new Set(Object.values(refusedFunctions).flatMap((names) => names.split(" ")));
  const isRefused = (name: string) => refused.has(name) || refusedPrefixes.some((prefix) => name.startsWith(prefix));
  assert.deepEqual(
    all.filter((name) => allowed.has(name) === isRefused(name)),
    [],
  );
  assert.deepEqual(
    [...allowed].filter((name) => !all.includes(name)),
    [],
  );
});

test("docs/sql.md tells every function that is refused, and the table functions", () => {
  const page = readFileSync(new URL("../../../../../docs/sql.md", import.meta.url), "utf8");
  const names = [...Object.values(refusedFunctions).flatMap((each) => each.split(" ")), ...refusedPrefixes];
  const missing = [...names, ...tableFunctions].filter((name) => !page.includes(`\`${name}\``));
  assert.deepEqual(missing, [], "run scripts/sql-functions.ts");
});
