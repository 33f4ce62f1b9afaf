import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseBatchJson, parseEventJson } from "./json-format.ts";

/** Text with what ends strings early or late: quotes, backslashes and brackets, in strings of any length. */
const tricky = fc
  .array(fc.oneof(fc.constantFrom('"', "\\", "[", "]", "{", "}", ",", ":", " ", "é"), fc.constant("x".repeat(20))), {
    maxLength: 20,
  })
  .map((parts) => parts.join(""));
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    tricky,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    tie("array"),
    tie("object"),
  ),
  array: fc.array(tie("value"), { maxLength: 4 }),
  object: fc.dictionary(tricky, tie("value"), { maxKeys: 4 }),
})).value;
const space = fc.constantFrom("", " ", "\n\t ");

function eventText(data: string, gap: string): string {
  const members = [
    '"specversion":"1.0"',
    `"id":${gap}"1"`,
    '"source":"/s"',
    `"data"${gap}:${gap}${data}${gap}`,
    '"type":"t"',
  ];
  return `{${gap}${members.join(`${gap},${gap}`)}${gap}}`;
}

test("data is the very bytes that were written, whatever they hold", () => {
  fc.assert(
    fc.property(json, space, fc.boolean(), (value, gap, indented) => {
      const data = JSON.stringify(value, undefined, indented ? 2 : undefined);
      const event = parseEventJson(Buffer.from(eventText(data, gap)));
      assert.equal(Buffer.from(event.data!).toString(), data);
    }),
    { numRuns: 1_000 },
  );
});

test("each event of a batch has its own data", () => {
  fc.assert(
    fc.property(fc.array(json, { maxLength: 5 }), space, (values, gap) => {
      const texts = values.map((value) => JSON.stringify(value));
      const events = parseBatchJson(
        Buffer.from(`${gap}[${texts.map((text) => eventText(text, gap)).join(`${gap},`)}]`),
      );
      assert.deepEqual(
        events.map(({ data }) => Buffer.from(data!).toString()),
        texts,
      );
    }),
  );
});
