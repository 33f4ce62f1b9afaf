import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EngineError } from "../../errors.ts";
import { sealInPlace } from "../../stored-value.ts";
import { digestWordCount, entryWords, writeEntry } from "./entry.ts";
import { entriesOfRun, runBytesMax, sealRun } from "./run.ts";

const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const stretch = fc.record({
  digests: fc.array(word, { minLength: 4, maxLength: 60 }),
  timeMs: fc.constantFrom(0, 1_700_000_000_000, 1_700_000_000_001, 2 ** 52),
  partition: fc.constantFrom(0, 1, 2 ** 32 - 1),
  offset: fc.constantFrom(0, 5, 2 ** 32 - 2, 2 ** 40),
});

function entriesOf(stretches: readonly { digests: number[]; timeMs: number; partition: number; offset: number }[]) {
  const words: number[] = [];
  for (const { digests, timeMs, partition, offset } of stretches) {
    const given = Uint32Array.from(digests);
    for (let i = 0; (i + 1) * digestWordCount <= given.length; i++) {
      const entry = new Uint32Array(entryWords);
      writeEntry(entry, 0, given, i * digestWordCount, timeMs, partition, offset + i);
      words.push(...entry);
    }
  }
  return Uint32Array.from(words);
}

function sealed(words: Uint32Array, first = 0): Buffer {
  const count = words.length / entryWords;
  return sealRun(words, first, count, Buffer.allocUnsafeSlow(runBytesMax(count - first)));
}

test("the entries of a run come back as they were", () => {
  fc.assert(
    fc.property(fc.array(stretch, { minLength: 1, maxLength: 6 }), fc.nat(3), (stretches, skipped) => {
      const words = entriesOf(stretches);
      const first = Math.min(skipped, words.length / entryWords - 1);
      assert.deepEqual(entriesOfRun(sealed(words, first)), words.subarray(first * entryWords));
    }),
  );
});

test("events that came together take little more than their digests", () => {
  const digests = Array.from({ length: 400 }, (_, i) => i);
  assert.equal(sealed(entriesOf([{ digests, timeMs: 1, partition: 2, offset: 3 }])).length, 4 + 6 * 4 + 100 * 16);
});

test("a run whose stretches do not fit it is damaged", () => {
  const whole = sealed(entriesOf([{ digests: [1, 2, 3, 4, 5, 6, 7, 8], timeMs: 1, partition: 2, offset: 3 }]));
  for (const count of [0, 1, 3, 2 ** 32 - 1]) {
    const damaged = Buffer.from(whole);
    damaged.writeUInt32LE(count, 4);
    sealInPlace(damaged);
    assert.throws(
      () => entriesOfRun(damaged),
      (error) => error instanceof EngineError && error.reason === "internal",
    );
  }
});
