import assert from "node:assert/strict";
import { test } from "node:test";
import { EntryMemory } from "./entry-memory.ts";

test("a piece is used again once all of its entries are given back", () => {
  const memory = new EntryMemory(100);
  const first = [memory.cut(25), memory.cut(25), memory.cut(25), memory.cut(25)];
  const second = memory.cut(25);
  assert.notEqual(second.piece, first[0]!.piece);
  for (const place of first) memory.free(place, false);
  const third = [1, 2, 3, 4].map(() => memory.cut(25));
  assert.equal(third[3]!.piece, first[0]!.piece);
});

test("a piece that somebody reads is not used again, nor is that of a large entry", () => {
  const memory = new EntryMemory(100);
  const read = [memory.cut(25), memory.cut(25), memory.cut(25), memory.cut(25)];
  const large = memory.cut(26);
  assert.equal(large.bytes.length, 26);
  memory.free(large, false);
  for (const place of read) memory.free(place, place === read[1]);
  const pieces = new Set(Array.from({ length: 12 }, () => memory.cut(25).piece));
  assert.ok(!pieces.has(read[0]!.piece) && !pieces.has(large.piece));
});
