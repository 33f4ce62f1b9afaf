import assert from "node:assert/strict";
import { test } from "node:test";
import type { SqlColumn } from "../../engine/sql/batch.ts";
import { rowTexts } from "./sql-json.ts";

const count = 50_000;
const numbers: SqlColumn = {
  layout: "fixed",
  type: { kind: "int32" },
  validity: undefined,
  data: Int32Array.from({ length: count }, (_, i) => i),
};
const list: SqlColumn = {
  layout: "list",
  type: { kind: "list", item: numbers.type },
  validity: undefined,
  offsets: Int32Array.of(0, count),
  items: numbers,
};
const struct: SqlColumn = {
  layout: "struct",
  type: { kind: "struct", fields: [{ name: "a", type: list.type }] },
  validity: undefined,
  fields: [list],
};

for (const [what, column] of [
  ["list", list],
  ["struct with a list", struct],
] as const) {
  test(`a long ${what} is written in short parts, between which others have their turn`, () => {
    const texts = [...rowTexts(["x"], { rows: 1, columns: [column] }, true)];
    assert.ok(texts.every((text) => text.length < 32_768));
    const [value] = Object.values(JSON.parse(texts.join("")) as Record<string, unknown>);
    const found = what === "list" ? value : (value as { a: unknown }).a;
    assert.deepEqual(found, [...numbers.data]);
  });
}
