import assert from "node:assert/strict";
import { test } from "node:test";
import { SourceCache, sourceCacheLimits } from "./source-cache.ts";

test("a source is found from the changes on that it was read at, until it changes", () => {
  const cache = new SourceCache();
  cache.follow(1, 10);
  const made = cache.parsed(1, 10, 7, '{"a":1}');
  assert.deepEqual(made.source, { a: 1 });
  assert.equal(cache.find(1, 10, 7), made);
  assert.equal(cache.find(1, 9, 7), undefined);
  assert.equal(cache.find(2, 10, 7), undefined);
  assert.equal(cache.find(1, 10, 8), undefined);
  assert.ok(cache.onChanges(1, [8, 9], 12));
  assert.equal(cache.find(1, 12, 7), made, "another one changed");
  assert.ok(cache.onChanges(1, [7], 13));
  assert.equal(cache.find(1, 13, 7), undefined);
  assert.equal(cache.find(1, 12, 7), undefined);
});

test("what was read before a change is not kept as what is there after it", () => {
  const cache = new SourceCache();
  cache.follow(1, 10);
  cache.onChanges(1, [7], 11);
  assert.deepEqual(cache.parsed(1, 10, 7, '{"a":1}').source, { a: 1 });
  assert.equal(cache.find(1, 11, 7), undefined);
  cache.parsed(1, 10, 8, '{"a":2}');
  assert.deepEqual(cache.find(1, 11, 8)?.source, { a: 2 }, "one that did not change");
  assert.deepEqual(cache.parsed(1, 11, 7, '{"a":3}').source, { a: 3 });
  assert.deepEqual(cache.find(1, 11, 7)?.source, { a: 3 });
});

test("nothing is kept of a collection whose changes are not told, or were told too long ago to be remembered", () => {
  const cache = new SourceCache();
  cache.parsed(1, 10, 7, '{"a":1}');
  assert.equal(cache.find(1, 10, 7), undefined, "none are told");
  cache.follow(1, 10);
  cache.parsed(1, 9, 7, '{"a":1}');
  assert.equal(cache.find(1, 10, 7), undefined, "told from 10 on");
  const many = Array.from({ length: sourceCacheLimits.changedMax + 1 }, (_, i) => 1000 + i);
  cache.parsed(1, 10, 7, '{"a":1}');
  assert.ok(cache.onChanges(1, many, 10 + many.length));
  assert.deepEqual(cache.find(1, 10 + many.length, 7)?.source, { a: 1 }, "kept before, and not among them");
  cache.parsed(1, 10, 8, '{"a":1}');
  assert.equal(cache.find(1, 10 + many.length, 8), undefined, "it may have been among them");
});

test("a collection that nobody asks is not told of for ever", () => {
  const cache = new SourceCache();
  cache.follow(1, 0);
  const many = (from: number) => Array.from({ length: sourceCacheLimits.changedMax + 1 }, (_, i) => from + i);
  assert.ok(cache.onChanges(1, many(0), 20_000));
  assert.equal(cache.onChanges(1, many(50_000), 40_000), false);
  assert.equal(cache.onChanges(1, [1], 40_001), false);
});

test("of too many collections the one that was followed first is given up", () => {
  const cache = new SourceCache();
  for (let id = 0; id <= sourceCacheLimits.collectionsMax; id++) cache.follow(id, 0);
  assert.equal(cache.follows(0), false);
  assert.ok(cache.follows(1) && cache.follows(sourceCacheLimits.collectionsMax));
  assert.equal(cache.onChanges(0, [1], 1), false);
});

test("no more is kept than the limit says, and what changed counts no longer", () => {
  const cache = new SourceCache();
  const { charactersMax, sourceCharactersMax } = sourceCacheLimits;
  cache.follow(1, 1);
  const large = JSON.stringify({ text: "x".repeat(sourceCharactersMax) });
  cache.parsed(1, 1, 0, large);
  assert.equal(cache.find(1, 1, 0), undefined, "one that is too large");
  const source = JSON.stringify({ text: "x".repeat(sourceCharactersMax - 20) });
  const count = Math.floor(charactersMax / source.length);
  for (let id = 0; id < count; id++) cache.parsed(1, 1, id, source);
  assert.ok(cache.find(1, 1, 0) !== undefined && cache.find(1, 1, count - 1) !== undefined);
  cache.onChanges(1, [1], 2);
  cache.parsed(1, 2, count, source);
  assert.ok(cache.find(1, 2, 0) !== undefined, "there was room");
  cache.parsed(1, 2, count + 1, source);
  assert.equal(cache.find(1, 2, 0), undefined);
  assert.ok(cache.find(1, 2, count + 1) !== undefined);
});
