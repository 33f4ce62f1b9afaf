import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readLines } from "./lines.ts";

async function* pieces(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

test("however the bytes are cut, the lines are the same, and reading goes on from any of their ends", async () => {
  const line = fc.string({ unit: "grapheme", maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, " "));
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 12 }),
      fc.constantFrom("\n", "\r\n"),
      fc.boolean(),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
      async (texts, end, ended, sizes) => {
        const bytes = Buffer.from(texts.join(end) + (ended && texts.length > 0 ? end : ""));
        const found = await Array.fromAsync(readLines(pieces(bytes, sizes)));
        const wanted = bytes.length === 0 ? [] : texts;
        // A last line that is empty and has no end is none.
        const last = !ended && wanted.at(-1) === "" ? wanted.slice(0, -1) : wanted;
        assert.deepEqual(
          found.map(({ text }) => text),
          last,
        );
        for (const { end: at, number } of found) {
          const rest = await Array.fromAsync(
            readLines(pieces(bytes.subarray(at), sizes), { bytes: at, lines: number }),
          );
          assert.deepEqual(rest, found.slice(number));
        }
      },
    ),
    { numRuns: 200 },
  );
});
