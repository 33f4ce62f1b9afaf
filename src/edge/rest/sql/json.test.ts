import assert from "node:assert/strict";
import { test } from "node:test";
import type { SqlColumn } from "../../../engine/sql/batch.ts";
import { memberNames, rowTexts } from "./json.ts";

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

for (const [kind, value] of [
  ["text", `${"a\u00e9\n\ud83d\ude00".repeat(20_000)}`],
  ["json", JSON.stringify({ a: "\ud83d\ude00\n".repeat(20_000), b: Array(20_000).fill([]) })],
  ["json", `{${"x".repeat(40_000)}`],
] as const) {
  test(`a long ${kind} is written in short parts, and means the same`, () => {
    const data = Buffer.from(value);
    const offsets = Int32Array.of(0, data.length);
    const column: SqlColumn = { layout: "bytes", type: { kind }, validity: undefined, offsets, data };
    const texts = [...rowTexts(["x"], { rows: 1, columns: [column] }, true)];
    assert.ok(texts.every((text) => text.length < 131_072));
    const isObject = kind === "json" && value.endsWith("}");
    assert.deepEqual(JSON.parse(texts.join("")), { x: isObject ? JSON.parse(value) : value });
  });
}

test("columns of the same name are numbered, and a number that is there already is passed over", () => {
  const named = (...names: readonly string[]) => memberNames(names.map((name) => ({ name, type: { kind: "int32" } })));
  assert.deepEqual(named("a", "a_1", "a", "a", "b", "a_1"), ["a", "a_1", "a_2", "a_3", "b", "a_1_1"]);
});
