import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FrameReader, FrameWriter } from "./frames.ts";

const bytesMax = 10_000_000;
const numbers = fc.oneof(fc.integer(), fc.double(), fc.constant(-0), fc.maxSafeInteger());
const arrays = fc.oneof(
  fc.uint8Array({ maxLength: 3000 }),
  fc.float64Array({ maxLength: 300 }),
  fc.bigInt64Array({ maxLength: 300 }),
  fc.uint16Array({ maxLength: 1500 }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, undefined, true, false),
    numbers,
    fc.bigInt(),
    fc.string({ unit: "binary" }),
    arrays,
    fc.array(tie("value")),
    fc.dictionary(fc.string(), tie("value"), { noNullPrototype: true }),
  ),
}));

test("messages come out as they went in, however they are cut", () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 4 }), fc.integer({ min: 1, max: 5000 }), (messages, cut) => {
      const writer = new FrameWriter(bytesMax);
      const bytes = Buffer.concat(messages.flatMap((message) => writer.write(message)));
      const reader = new FrameReader(bytesMax);
      const got: unknown[] = [];
      for (let at = 0; at < bytes.length; at += cut) got.push(...reader.read(bytes.subarray(at, at + cut)));
      assert.deepEqual(got, messages);
    }),
  );
});

test("bytes that are no message are refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (body) => {
      const prefix = Buffer.alloc(8);
      prefix.writeUInt32LE(body.length, 0);
      try {
        for (const _ of new FrameReader(1000).read(Buffer.concat([prefix, body])));
      } catch (error) {
        assert.ok(error instanceof RangeError || error instanceof SyntaxError, String(error));
      }
    }),
  );
});

for (const [what, sent] of [
  ["a function", () => {}],
  ["a map", new Map()],
  ["a date in a list", [new Date()]],
  ["too much", "x".repeat(bytesMax)],
] as const) {
  test(`${what} can't be sent, and the next message can`, () => {
    const writer = new FrameWriter(bytesMax);
    assert.throws(() => writer.write(sent), /can't be sent|longer than/);
    assert.deepEqual([...new FrameReader(bytesMax).read(Buffer.concat([...writer.write(1)]))], [1]);
  });
}
