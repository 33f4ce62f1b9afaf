import assert from "node:assert/strict";
import { test } from "node:test";
import { faultPosition } from "./sql-fault.ts";

const query = "SELECT a\nFROM itms\nLIMIT 1";

for (const [what, problem, want] of [
  ["a position", { position: 14, message: "no such table" }, 14],
  ["a line and a caret", { message: "Catalog Error: no table itms\n\nLINE 2: FROM itms\n             ^" }, 14],
  ["a word", { message: 'syntax error at or near "LIMIT"' }, 19],
  ["nothing", { message: "out of memory" }, undefined],
] as const) {
  test(`the place of a fault by ${what}`, () =>
    assert.equal(faultPosition(problem as { message: string }, query), want));
}
