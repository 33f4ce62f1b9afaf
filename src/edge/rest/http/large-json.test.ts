import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EngineError } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import { parseLargeJson } from "./large-json.ts";

/** More than are parsed at a time. */
const pieceElements = 30_000;

function parse(text: string): Promise<unknown> {
  return parseLargeJson(Buffer.from(text));
}

test("what is an object is parsed as JSON.parse parses it", async () => {
  const member = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue(), { maxLength: 20 }));
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string({ unit: "binary" }), member), fc.nat(3), async (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      assert.deepEqual(await parse(text), JSON.parse(text));
    }),
    { numRuns: 300, seed: 3 },
  );
});

test("long arrays keep their order over many pieces", async () => {
  const value = {
    ops: Array.from({ length: 20_000 }, (_, i) => ({ i, text: `a"\\b${"é".repeat(i % 9)}[{` })),
    more: [[]],
  };
  assert.deepEqual(await parse(JSON.stringify(value)), value);
});

test("pieces end between objects, wherever texts and nested values look like such a place", async () => {
  const nested = fc.constantFrom<unknown>(
    "},{",
    '"},{"',
    "}, {",
    [{ a: 1 }, { b: [{}, {}] }],
    { c: [{}, {}] },
    1.5,
    "é},{",
  );
  const list = fc.array(fc.array(nested, { maxLength: 6 }), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(list, list, fc.constantFrom(0, 40, 3_000, 40_000), fc.nat(2), async (a, b, bytes, indent) => {
      const padded = (values: unknown[][]) => values.map((inner, i) => ({ i, pad: "x".repeat(bytes), inner }));
      const text = JSON.stringify({ a: padded(a), n: 1, b: padded(b) }, null, indent);
      const body = Buffer.from(text);
      assert.deepEqual(await parseLargeJson(body), JSON.parse(text));
      assert.equal(body.toString(), text, "the body is as it was");
    }),
    { numRuns: 60, seed: 5 },
  );
});

test("a body that is refused is as it was", async () => {
  const text = `{"ops":[${'{"a":[{},{}]},'.repeat(5_000)}{"a":tru}]}`;
  const body = Buffer.from(text);
  assert.equal(await parseLargeJson(body), undefined);
  assert.equal(body.toString(), text);
});

test("the last of two members with one name counts, and no name is special", async () => {
  const text = '{"a":[1],"a":{"b":2},"__proto__":[{"x":1}]}';
  assert.deepEqual(await parse(text), JSON.parse(text));
  assert.ok(Object.hasOwn((await parse(text)) as object, "__proto__"));
});

test("too many members or elements are refused when they are seen, and a list is no body", async () => {
  const elements = (count: number) => `{"a":1,"records":[${"{},".repeat(count - 1)}{}]}`;
  const most = (await parse(elements(limits.requestRecordsMax))) as { records: unknown[] };
  assert.equal(most.records.length, limits.requestRecordsMax);
  const refused = async (text: string, field: string) =>
    assert.rejects(parse(text), (error: EngineError) => error.details["field"] === field);
  await refused(elements(limits.requestRecordsMax + 1), "records");
  // What follows is not looked at.
  await refused(`{"records":[${"{},".repeat(limits.requestRecordsMax + pieceElements)}`, "records");
  const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"m${i}":1`).join()}}`;
  assert.equal(Object.keys((await parse(members(limits.bodyMembersMax))) as object).length, limits.bodyMembersMax);
  await refused(members(limits.bodyMembersMax + 1), "body");
  await refused("[{}]", "body");
});

for (const text of [
  "",
  "1",
  "{",
  "{}}",
  "{} x",
  '{"a":}',
  '{"a":1,}',
  '{"a":[1,]}',
  '{"a":[,1]}',
  '{"a":[1 2]}',
  '{"a":[1}',
  '{"a":[1]]}',
  '{"a":[{]}]}',
  '{"a":["x]}',
  '{"a":["x\\"]}',
  "{a:1}",
  "{1:1}",
  '{"a" 1}',
  '{"a":[1],"b":tru}',
  '{"a":[1],["b"]:1}',
]) {
  test(`${JSON.stringify(text)} is left to the whole parser`, async () => {
    assert.equal(await parse(text), undefined);
  });
}

test("no text that JSON.parse refuses is accepted", async () => {
  const pieces = fc.constantFrom("{", "}", "[", "]", ",", ":", '"a"', '"', "\\", "1", "-", "true", "null", " ", "é");
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 12 }), async (list) => {
      const text = `{"a":${list.join("")}`;
      const found = await parse(text);
      if (found !== undefined) assert.deepEqual(found, JSON.parse(text));
    }),
    { numRuns: 3_000, seed: 4 },
  );
});
