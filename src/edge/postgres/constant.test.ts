import assert from "node:assert/strict";
import { test } from "node:test";
import { readValue } from "../../engine/sql/value.ts";
import { constantResult } from "./constant.ts";
import { splitStatements } from "./dialect/lexer.ts";

async function rowOf(text: string): Promise<unknown> {
  const result = constantResult(splitStatements(text)[0]!);
  if (result === undefined) return undefined;
  const batch = await result.next();
  assert.equal(await result.next(), undefined);
  return result.columns.map(({ name }, i) => [name, readValue(batch!.columns[i]!, 0)]);
}

for (const [text, want] of [
  ["select 1", [["?column?", 1]]],
  ["select null", [["?column?", null]]],
  [
    "SELECT 1 AS x, 'it''s' AS \"Y\", true",
    [
      ["x", 1],
      ["Y", "it's"],
      ["?column?", true],
    ],
  ],
] as const) {
  test(`${text} needs no engine`, async () => assert.deepEqual(await rowOf(text), want));
}

for (const text of [
  "select",
  "select 1,",
  "select 1 2",
  "select 1 from items",
  "select 1 + 1",
  "select 1.5",
  "select 10000000000",
  "select $1",
  "select E'a'",
  "select title",
  "select 1 as",
  "select 1 limit 0",
]) {
  test(`${text} is the engine's`, async () => assert.equal(await rowOf(text), undefined));
}
