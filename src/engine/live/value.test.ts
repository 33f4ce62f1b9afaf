import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../errors.ts";
import { checkValue } from "./value.ts";

function fieldOf(value: unknown): unknown {
  try {
    checkValue("args", value);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof EngineError);
    return error.details["field"];
  }
}

test("a value that can't be stored is told with its place", () => {
  assert.equal(fieldOf({ a: [1, "x", null, { $int64: "1" }, { $bytes: "" }] }), undefined);
  assert.equal(fieldOf(Number.NaN), "args");
  assert.equal(fieldOf({ a: [1, { b: Number.POSITIVE_INFINITY }] }), "args.a[1].b");
  assert.equal(fieldOf({ a: { b: { $int64: 1 } } }), "args.a.b");
  assert.equal(fieldOf([[{ "": 1 }]]), "args[0][0]");
  assert.equal(fieldOf({ a: "\ud800" }), "args.a");
  let deep: unknown = 1;
  for (let i = 0; i < 33; i++) deep = [deep];
  assert.equal(fieldOf(deep), `args${"[0]".repeat(33)}`);
});
