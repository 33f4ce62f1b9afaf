import assert from "node:assert/strict";
import { test } from "node:test";
import { ratiosFrom, sectionFrom } from "../../scripts/figures.ts";

test("a suite's figures become one table", () => {
  const figures = { rounds: 100, "records acknowledged": 1234567, note: "a|b" };
  assert.equal(
    sectionFrom({ power: { date: "2026-01-02", commit: "abc", figures } }),
    [
      "Run of 2026-01-02 at `abc`:",
      "",
      "| power                |           |",
      "| -------------------- | --------- |",
      "| rounds               | 100       |",
      "| records acknowledged | 1,234,567 |",
      "| note                 | a\\|b      |",
    ].join("\n"),
  );
});

test("a benchmark's rows that people ask for become lines of the readme, with the command that made them", () => {
  const what = "append of 100 records, 16 connections";
  const rows = [
    { what, ours: "900/s", peer: "1000/s", ratio: 0.9 },
    { what: "something else", ours: "1/s", peer: "2/s", ratio: 0.5 },
  ];
  const record = { date: "2026-01-02", commit: "abc", command: "npm run bench -- streams", rows };
  const lines = ratiosFrom({ streams: record }).split("\n");
  assert.equal(lines.length, 3);
  assert.match(lines[2]!, /\| 900\/s \| 1000\/s \| \*\*0\.9\*\* \| `npm run bench -- streams`, 2026-01-02 \|$/);
  assert.equal(ratiosFrom({}), "No run was kept yet.");
});
