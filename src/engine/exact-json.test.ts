import assert from "node:assert/strict";
import { test } from "node:test";
import { asDouble, isWrittenNumber, parseExact, sourcesMayExceedDoubles } from "./exact-json.ts";

for (const [given, want = given] of [
  ["12345678901234567890"],
  ["-12345678901234567890"],
  ["9007199254740993"],
  ["1e400"],
  ["-1E-400"],
  ["0.10000000000000000555"],
  ["[0.10000000000000000555,1]"],
  ['{"a":{"b":[{"c":12345678901234567.5}]}}'],
  ['{"a": 0.1234567890123456789 }', '{"a":0.1234567890123456789}'],
  ['{"a":"\\\\\\"12345678901234567890","b":12345678901234567891}'],
  ["0.1"],
  ["0.30000000000000004"],
  ["9007199254740992"],
  ["1.0", "1"],
  ["1e5", "100000"],
  ["100000000000000000000000", "1e+23"],
  ["-0.0", "0"],
  ['"12345678901234567890"'],
] as const) {
  test(`${given} is written as ${want}`, () => assert.equal(JSON.stringify(parseExact(given)), want));
}

test("only what a double can't carry is kept", () => {
  const { a, b } = parseExact('{"a":12345678901234567890,"b":1234567890123456}') as { a: unknown; b: unknown };
  assert.ok(isWrittenNumber(a));
  assert.equal(asDouble(a), 12345678901234567000);
  assert.equal(b, 1234567890123456);
});

for (const [text, may] of [
  ['{"ops":[{"upsert":{"source":{"a":12345678901234567890}}}]}', true],
  ['{"ops":[{"upsert":{"source":{"a":1}}},{"patch":{"source" : {"b":["x",{"c":1e999}]}}}]}', true],
  [
    '{"ops":[{"upsert":{"source":{"a":{"b":[1]},"c":"12345678901234567890"},"vectors":{"v":[12345678901234567890]}}}]}',
    false,
  ],
  ['{"filter":{"term":{"n":12345678901234567890}}}', false],
  ['{"source":', false],
] as const) {
  test(`a number to keep in a source of ${text}: ${may}`, () => assert.equal(sourcesMayExceedDoubles(text), may));
}
