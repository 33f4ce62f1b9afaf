import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeChanges } from "../write-record.ts";
import { RecentDocuments, recentLimits } from "./recent-documents.ts";

function changesOf(...ids: readonly number[]): Uint8Array {
  return encodeChanges(ids.map((id) => ({ id, version: 1, document: Buffer.from(`document ${id}`) })));
}

test("what the file has is let go, what it lacks is kept", () => {
  let stored = 10;
  const recent = new RecentDocuments(() => stored);
  recent.add(changesOf(1, 2), 12);
  recent.add(changesOf(3), 13);
  recent.add(changesOf(1), 14);
  assert(recent.isWhole(14));
  stored = 13;
  assert(recent.isWhole(14));
  assert.equal(recent.find(2), undefined);
  assert.equal(recent.find(3), undefined);
  assert.equal(recent.find(1)?.change, 14);
});

test("nothing is told of a moment that the file has passed", () => {
  let stored = 10;
  const recent = new RecentDocuments(() => stored);
  recent.add(changesOf(1), 11);
  stored = 12;
  assert(!recent.isWhole(11));
  assert(recent.isCurrent(11));
});

test("changes from before the first that was told must be in the file", () => {
  let stored = 9;
  const recent = new RecentDocuments(() => stored);
  assert(!recent.isWhole(10));
  recent.add(changesOf(1), 11);
  assert(!recent.isWhole(11));
  assert(!recent.isCurrent(11));
  stored = 10;
  assert(recent.isWhole(11));
});

test("more than may be kept is forgotten until the file has it", () => {
  let stored = 0;
  const recent = new RecentDocuments(() => stored);
  const large = Buffer.alloc(recentLimits.bytesMax / 2 + 1);
  recent.add(encodeChanges([{ id: 1, version: 1, document: large }]), 1);
  assert(recent.isWhole(1));
  recent.add(encodeChanges([{ id: 2, version: 1, document: large }]), 2);
  assert.equal(recent.find(1), undefined);
  assert(!recent.isWhole(2));
  stored = 2;
  assert(recent.isWhole(2));
});

test("what is kept outlives the memory it came in", () => {
  const recent = new RecentDocuments(() => 0);
  const changes = new Uint8Array(changesOf(1));
  recent.add(changes, 1);
  recent.keepCopies();
  structuredClone(changes, { transfer: [changes.buffer] });
  assert.equal(Buffer.from(recent.find(1)!.document!).toString(), "document 1");
});
