import assert from "node:assert/strict";
import { test } from "node:test";
import { csvLine } from "./csv.ts";
import { cell, displayWidth, formatBytes, formatDuration, formatTable } from "./output.ts";

test("a table sets numbers to the right and cuts what is too long", () => {
  const rows = [
    ["a", "5"],
    ["a very long name", "10"],
  ];
  assert.equal(
    formatTable(["NAME", "N"], rows, 8),
    ["NAME       N", "────────  ──", "a          5", "a very …  10"].join("\n"),
  );
});

test("wide characters take two columns", () => {
  assert.deepEqual(["漢字", "é", "e\u0301", "abc"].map(displayWidth), [4, 1, 1, 3]);
});

test("a cell has one line and no control characters", () => {
  assert.deepEqual([null, undefined, "a\nb\tc\u001b[2J", { a: 1 }, true, 0].map(cell), [
    "",
    "",
    "a\\nb\\tc\\x1b[2J",
    '{"a":1}',
    "true",
    "0",
  ]);
});

test("sizes and times", () => {
  assert.deepEqual([0, 1023, 1536, 3 * 1024 ** 3].map(formatBytes), ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]);
  assert.deepEqual([900, 61_000, 7_260_000, 2_592_000_000, Infinity].map(formatDuration), [
    "1 s",
    "1 min 1 s",
    "2 h 1 min",
    "30 d 0 h",
    "?",
  ]);
});

test("CSV quotes what needs it, and tells an empty text from a missing one", () => {
  assert.equal(
    csvLine([1, "a,b", 'say "x"', "", null, " pad", [1, 2], "two\nlines"]),
    '1,"a,b","say ""x""","",," pad","[1,2]","two\nlines"',
  );
});
