import assert from "node:assert/strict";
import { test } from "node:test";
import { characterAt, EditedQuery } from "./edits.ts";

test("a place after edits is found in the original", () => {
  const edited = new EditedQuery("select a from bb where c", [
    { start: 14, end: 16, text: "longer name" },
    { start: 7, end: 8, text: "" },
  ]);
  assert.equal(edited.text, "select  from longer name where c");
  for (const word of ["select", "from", "where", "c"]) {
    assert.equal(edited.originalOf(edited.text.lastIndexOf(word)), "select a from bb where c".lastIndexOf(word), word);
  }
  assert.equal(edited.originalOf(edited.text.indexOf("name")), 14);
});

test("edits that overlap are a bug", () => {
  assert.throws(
    () =>
      new EditedQuery("abc", [
        { start: 0, end: 2, text: "" },
        { start: 1, end: 3, text: "" },
      ]),
  );
});

test("bytes of UTF-8 become characters", () => {
  assert.equal(characterAt("abc", 2), 2);
  assert.equal(characterAt("éa", 2), 1);
  assert.equal(characterAt("日本x", 6), 2);
  assert.equal(characterAt("😀x", 4), 2);
});
