import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTree } from "./syntax-tree.ts";

for (const [text, want] of [
  ['{"value":Infinity}', { value: Number.POSITIVE_INFINITY }],
  ['[-Infinity,NaN,"Infinity","a\\"NaN"]', [Number.NEGATIVE_INFINITY, null, "Infinity", 'a"NaN']],
  ['{"a":1}', { a: 1 }],
] as const) {
  test(`the tree ${text}`, () => assert.deepEqual(parseTree(text), want));
}

test("what is no tree is refused", () => {
  for (const text of ["", "{Infinity}", "[Infinityx]"]) assert.throws(() => parseTree(text), SyntaxError);
});
