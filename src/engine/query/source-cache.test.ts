import assert from "node:assert/strict";
import { test } from "node:test";
import { SourceCache, sourceCacheLimits } from "./source-cache.ts";

test("a source is found for the changes it was read at, and no others", () => {
  const cache = new SourceCache();
  const made = cache.parsed(1, 10, 7, '{"a":1}');
  assert.deepEqual(made, { a: 1 });
  assert.equal(cache.find(1, 10, 7), made);
  assert.equal(cache.find(1, 11, 7), undefined);
  assert.equal(cache.find(1, 9, 7), undefined);
  assert.equal(cache.find(2, 10, 7), undefined);
  assert.equal(cache.find(1, 10, 8), undefined);
});

test("a later change replaces what was kept, and an earlier one does not bring it back", () => {
  const cache = new SourceCache();
  cache.parsed(1, 10, 7, '{"a":1}');
  cache.parsed(1, 11, 8, '{"a":2}');
  assert.equal(cache.find(1, 11, 7), undefined);
  assert.deepEqual(cache.parsed(1, 10, 7, '{"a":1}'), { a: 1 });
  assert.equal(cache.find(1, 10, 7), undefined);
  assert.deepEqual(cache.find(1, 11, 8), { a: 2 });
});

test("no more is kept than the limit says", () => {
  const cache = new SourceCache();
  const { charactersMax, sourceCharactersMax } = sourceCacheLimits;
  const large = JSON.stringify({ text: "x".repeat(sourceCharactersMax) });
  cache.parsed(1, 1, 0, large);
  assert.equal(cache.find(1, 1, 0), undefined, "one that is too large");
  const source = JSON.stringify({ text: "x".repeat(sourceCharactersMax - 20) });
  const count = Math.floor(charactersMax / source.length);
  for (let id = 0; id < count; id++) cache.parsed(1, 1, id, source);
  assert.ok(cache.find(1, 1, 0) !== undefined && cache.find(1, 1, count - 1) !== undefined);
  cache.parsed(1, 1, count, source);
  assert.equal(cache.find(1, 1, 0), undefined);
  assert.ok(cache.find(1, 1, count) !== undefined);
});
