import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeEntry, entryBytes } from "../../port/commit-entry.ts";
import type { WriteOp } from "../../port/store.ts";
import { EntryMemory, type EntryPlace } from "./entry-memory.ts";
import { Overlay, opsIn } from "./overlay.ts";

const key = fc
  .array(fc.constantFrom(0, 1, 97, 98, 255), { minLength: 1, maxLength: 3 })
  .map((each) => Buffer.from(each));
const op: fc.Arbitrary<WriteOp> = fc.oneof(
  fc.record({ kind: fc.constant("put" as const), key, value: fc.nat(99).map((n) => Buffer.from(String(n))) }),
  fc.record({ kind: fc.constant("delete" as const), key }),
);

const memory = new EntryMemory(4096);

function entryOf(ops: readonly WriteOp[]): EntryPlace {
  const place = memory.cut(entryBytes(ops));
  encodeEntry(place.bytes, ops);
  return place;
}

/** Of each key its last op, in order. */
function folded(commits: readonly (readonly WriteOp[])[]): Map<string, string | undefined> {
  const last = new Map<string, string | undefined>();
  for (const op of commits.flat()) {
    last.set(Buffer.from(op.key).toString("hex"), op.kind === "put" ? Buffer.from(op.value).toString() : undefined);
  }
  return new Map([...last].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function shown(ops: Iterable<WriteOp> | undefined): [string, string | undefined][] {
  return [...(ops ?? [])].map((op) => [
    Buffer.from(op.key).toString("hex"),
    op.kind === "put" ? Buffer.from(op.value).toString() : undefined,
  ]);
}

function read(overlay: Overlay, reverse: boolean): Iterator<WriteOp> {
  return (opsIn(overlay.hold(), { reverse }) ?? [])[Symbol.iterator]();
}

/** Proves: a reader sees the commits up to its own, forwards and backwards, while others are added and sealed. */
test("an overlay shows what its commits leave, to each reader as of its time", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(op, { maxLength: 6 }), { maxLength: 40, size: "max" }),
      fc.nat(40),
      fc.nat(5),
      fc.boolean(),
      (commits, readAt, sealEach, reverse) => {
        const overlay = new Overlay(7);
        let reader: Iterator<WriteOp> | undefined;
        const seen: WriteOp[] = [];
        const at = Math.min(readAt, commits.length);
        commits.forEach((ops, i) => {
          if (i === at) reader = read(overlay, reverse);
          const step = reader?.next();
          if (step !== undefined && step.done !== true) seen.push(step.value);
          overlay.add(8 + i, entryOf(ops));
          if (sealEach > 0 && i % sealEach === 0) overlay.seal();
        });
        reader ??= read(overlay, reverse);
        for (let step = reader.next(); step.done !== true; step = reader.next()) {
          seen.push(step.value);
        }
        const expected = [...folded(commits.slice(0, at))];
        assert.deepEqual(shown(seen), reverse ? expected.reverse() : expected);
        assert.deepEqual(shown(opsIn(overlay.hold(), {})), [...folded(commits)]);
      },
    ),
    { numRuns: 500 },
  );
});

test("thousands of keys in any order are found in order", () => {
  const overlay = new Overlay(0);
  const numbers = Array.from({ length: 5_000 }, (_, i) => (i * 7_919) % 5_000);
  numbers.forEach((number, i) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(number);
    overlay.add(i + 1, entryOf([{ kind: "put", key: bytes, value: bytes }]));
  });
  const found = [...opsIn(overlay.hold(), {})!].map(({ key: each }) => Buffer.from(each).readUInt32BE());
  assert.deepEqual(
    found,
    Array.from({ length: 5_000 }, (_, i) => i),
  );
});
