import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { limits } from "../limits.ts";
import { FastEventParser } from "./json-fast.ts";
import { parseBatchJson, parseEventJson } from "./json-format.ts";
import { JsonValidator } from "./json-validate.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON, and JSON with a few characters changed, dropped or added: near misses find more than noise does. */
const soup = [...'{}[]",:\\/ \t\n\r0123456789.-+eEtrufalsn\u0000\u001f\u00e9x'];
const edit = fc.record({ at: fc.nat(200), drop: fc.nat(2), add: fc.array(fc.constantFrom(...soup), { maxLength: 3 }) });
const nearJson = fc
  .tuple(
    fc.oneof(
      fc.json(),
      fc.json().map((text) => JSON.stringify(JSON.parse(text), undefined, 2)),
    ),
    fc.array(edit, { maxLength: 3 }),
  )
  .map(([text, edits]) =>
    edits.reduce((left, { at, drop, add }) => {
      const place = at % (left.length + 1);
      return left.slice(0, place) + add.join("") + left.slice(place + drop);
    }, text),
  );
const soupText = fc.array(fc.constantFrom(...soup), { maxLength: 12 }).map((parts) => parts.join(""));

describe("the validator", () => {
  const validator = new JsonValidator(50);
  const ends = (text: string) => {
    const bytes = Buffer.from(text);
    const end = validator.valueEnd(bytes, 0);
    return end >= 0 && bytes.subarray(end).toString().trim() === "";
  };

  test("accepts what JSON.parse accepts, and nothing else", () => {
    fc.assert(
      fc.property(fc.oneof(nearJson, soupText), (text) => {
        const trimmed = text.trimStart();
        fc.pre(trimmed === text && /^[ \t\n\r]*$/.test(text.slice(text.trimEnd().length)));
        assert.equal(ends(text), isJson(text), JSON.stringify(text));
      }),
      { numRuns: 20_000 },
    );
  });

  for (const text of [
    "01",
    "-",
    "1.",
    ".5",
    "1e",
    "1e+",
    "+1",
    "tru",
    "nul",
    '"\\x"',
    '"\\u12g4"',
    '"a',
    "[1,]",
    "{,}",
    '{"a"}',
    '{"a":1,}',
    "[",
    "{",
    "",
    "[1 2]",
    '{"a" 1}',
    "[]]",
    "\u00a0 1",
    '"\t"',
  ]) {
    test(`refuses ${JSON.stringify(text)}`, () => assert.equal(ends(text), false));
  }

  test("counts depth up to its bound", () => {
    assert(ends("[".repeat(50) + "]".repeat(50)));
    assert(!ends("[".repeat(51) + "]".repeat(51)));
    assert(ends(`${'{"a":'.repeat(50)}1${"}".repeat(50)}`));
    assert(!ends(`${'{"a":'.repeat(51)}1${"}".repeat(51)}`));
  });
});

/** The parser that knows every rule, made to take its own way by whitespace before a body that is too long. */
function slow<T>(parse: (bytes: Buffer) => T, text: string): T | undefined {
  try {
    return parse(Buffer.from(" ".repeat(limits.eventJsonSmallBytes) + text));
  } catch {
    return undefined;
  }
}

function shown(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, each) => (each?.type === "Buffer" ? Buffer.from(each).toString() : each)),
  );
}

describe("the fast parser", () => {
  const parser = new FastEventParser();
  const texts = fc.oneof(
    fc.constantFrom(
      "1",
      "/s",
      "a b",
      "",
      "é",
      "\\u0041",
      '\\"',
      "2024-05-06T07:08:09Z",
      "2024-13-01T00:00:00Z",
      "application/json",
      "text/plain",
      "1.0",
      "%zz",
      "x".repeat(80),
    ),
  );
  const names = fc.constantFrom(
    "id",
    "source",
    "type",
    "subject",
    "time",
    "dataschema",
    "datacontenttype",
    "partitionkey",
    "specversion",
    "data",
    "data_base64",
    "region",
    "Bad",
  );
  const value = fc.oneof(
    { weight: 4, arbitrary: texts.map((text) => `"${text}"`) },
    fc.constantFrom("1", "null", "true", "{}", "[1,2]", "1.50", '{"a":"b\\n"}', "nope"),
  );
  const member = fc.tuple(names, value).map(([name, text]) => `"${name}":${text}`);
  const required = fc.constantFrom(['"specversion":"1.0"', '"id":"1"', '"source":"/s"', '"type":"t"']);
  const gap = fc.constantFrom("", " ", "\n");
  const event = fc
    .tuple(required, fc.array(member, { maxLength: 3 }), gap)
    .map(([given, more, space]) => `{${space}${[...given, ...more].join(`${space},${space}`)}${space}}`);

  test("gives nothing, or what the other one gives", () => {
    let fast = 0;
    fc.assert(
      fc.property(event, (text) => {
        const found = parser.event(Buffer.from(text));
        if (found === undefined) return;
        fast++;
        assert.deepEqual(shown(found), shown(slow(parseEventJson, text)), text);
      }),
      { numRuns: 5_000 },
    );
    assert(fast > 500, "the usual events take the fast way");
  });

  test("also for batches, and for texts with a fault", () => {
    let fast = 0;
    fc.assert(
      fc.property(fc.array(event, { maxLength: 4 }), fc.option(edit, { freq: 2 }), (events, fault) => {
        const whole = `[${events.join(",")}]`;
        const place = fault === null ? 0 : fault.at % whole.length;
        const text =
          fault === null ? whole : whole.slice(0, place) + fault.add.join("") + whole.slice(place + fault.drop);
        const found = parser.batch(Buffer.from(text));
        if (found === undefined) return;
        fast++;
        assert.deepEqual(shown(found), shown(slow(parseBatchJson, text)), text);
      }),
      { numRuns: 5_000 },
    );
    assert(fast > 50, "the usual batches take the fast way");
  });

  test("events of different bodies do not share text", () => {
    const one = (source: string) => `{"specversion":"1.0","id":"1","source":"${source}","type":"t"}`;
    const [first, second] = parser.batch(Buffer.from(`[${one("/aa")},${one("/bb")}]`))!;
    assert.deepEqual([first!.source, second!.source], ["/aa", "/bb"]);
    assert.equal(parser.event(Buffer.from(one("/cc")))!.source, "/cc");
  });
});
