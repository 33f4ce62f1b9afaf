import assert from "node:assert/strict";
import { test } from "node:test";
import { sectionFrom } from "../../scripts/figures.ts";

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
