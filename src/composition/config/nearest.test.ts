import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "./nearest.ts";

const words = ["stream", "sql", "serve", "ns", "collection"];

for (const [given, want] of [
  ["strem", "stream"],
  ["streams", "stream"],
  ["colection", "collection"],
  ["sqll", "sql"],
  ["zz", undefined],
  ["frobnicate", undefined],
] as const) {
  test(`${given} is near ${want}`, () => assert.equal(nearest(given, words), want));
}
