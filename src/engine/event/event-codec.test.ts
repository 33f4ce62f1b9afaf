import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { loadVectors, type RequestVector, requestBody } from "../../../test/support/event-vectors.ts";
import { EngineError } from "../errors.ts";
import { BatchCursor, headerBytes, sealBatch } from "../log/record-batch.ts";
import { type EncodedEvents, encodeEvents } from "./encoded-events.ts";
import { type EventTarget, eventCodec } from "./event-codec.ts";
import { batchJsonType, eventJsonType, parseBatchJson, parseEventJson } from "./json-format.ts";

const nowMs = 1_700_000_000_123;
const digestKey = Buffer.from("0123456789abcdef");
const one: EventTarget = { stream: 7, digestKey, partitions: 1, partition: undefined, nowMs };
const several: EventTarget = { stream: 123_456_789, digestKey, partitions: 5, partition: undefined, nowMs };
const given: EventTarget = { stream: 7, digestKey, partitions: 5, partition: 3, nowMs };

const key = Buffer.from("key");
const place = { baseOffset: 0, appendTimeMs: 0, prefixTimestampMs: 0, prefixRetentionMs: 0, bytesBefore: 0 };

/** All that is stored or compared: records as they are read. */
function shown(encoded: EncodedEvents) {
  const { count, digests, batches, batchOf } = encoded;
  const stored = batches.map(({ partition, encoded: batch }) => {
    sealBatch(batch, key, place);
    const cursor = new BatchCursor(key, batch.bytes);
    const { count: records, maxTimestampMs } = cursor.header;
    return { partition, records, maxTimestampMs, body: cursor.bytes.toString("latin1", headerBytes) };
  });
  // Where one of several partitions has all events, either way of saying so is right.
  const of = batchOf === undefined ? Array.from({ length: count }, () => 0) : [...batchOf];
  return { count, digests: [...digests], batches: stored, batchOf: of };
}

function plain(text: Buffer, isBatch: boolean, target: EventTarget) {
  const encoded = eventCodec().decode(text, isBatch, target);
  return encoded === undefined ? undefined : shown(encoded);
}

/** What the longer way makes of the same text, or undefined where it finds a fault. */
function reference(text: Buffer, isBatch: boolean, { stream, partitions, partition }: EventTarget) {
  try {
    const events = isBatch ? parseBatchJson(text) : [parseEventJson(text)];
    return shown(encodeEvents(events, { id: stream, partitions }, partition, nowMs, digestKey));
  } catch (error) {
    assert(error instanceof EngineError, String(error));
    return undefined;
  }
}

/** Whether the codec takes the text; if it does, it must be as the longer way takes it. */
function check(text: Buffer, isBatch: boolean, target: EventTarget): boolean {
  const taken = plain(text, isBatch, target);
  if (taken !== undefined) assert.deepEqual(taken, reference(text, isBatch, target), text.toString("latin1"));
  return taken !== undefined;
}

const printable = fc.string({ unit: fc.constantFrom(..."aZ09 !#$%&'()*+,-./:;<=>?@[]^_`{|}~"), maxLength: 40 });
const nonEmpty = printable.filter((text) => text !== "");
const source = fc.constantFrom(
  "/s",
  "https://h.example:8080/a%20b?c=d#e",
  "urn:x:y",
  "a/b",
  "//[::1]/",
  `/${"s".repeat(90)}`,
);
const time = fc.constantFrom(
  "2024-02-29T23:59:60.123456789+05:30",
  "0001-01-01t00:00:00z",
  "2000-02-29T00:00:00-23:59",
  "2026-11-30T12:00:00.5Z",
);
const name = fc.constantFrom(
  "a",
  "traceparent",
  "sequence",
  "partitionkeys",
  "dat",
  "datas",
  "x".repeat(15),
  "y".repeat(33),
);
const data = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.json({ maxDepth: 2, stringUnit: "binary" }).map((text) => text.toWellFormed()),
  fc.constantFrom(
    "null",
    "0",
    "-0.5e+10",
    "1E400",
    '"\\ud800"',
    '"\\u00e9\\"\\\\\\/\\b\\f\\n\\r\\t"',
    '[ 1 ,\n{ "a" : [ ] , "b" : { } } ]',
    '{"b":1,"a":2,"b":3}',
    `"${"x".repeat(2_000)}"`,
    `${"[".repeat(59)}${"]".repeat(59)}`,
  ),
);
const space = fc.constantFrom("", "", "", " ", "\n\t", " \r\n ");

type Members = readonly (readonly [name: string, value: string])[];

/** The members of an event in any order, with their values as text, and what stands around each of them. */
const members = fc
  .record(
    {
      specversion: fc.constant('"1.0"'),
      id: nonEmpty.map(quoted),
      source: source.map(quoted),
      type: nonEmpty.map(quoted),
      subject: nonEmpty.map(quoted),
      time: time.map(quoted),
      datacontenttype: fc.constant('"application/json"'),
      partitionkey: nonEmpty.map(quoted),
      data,
      more: fc.dictionary(name, printable.map(quoted), { maxKeys: 4 }),
    },
    { requiredKeys: ["specversion", "id", "source", "type"] },
  )
  .chain(({ more, ...core }) => {
    const all = Object.entries({ ...more, ...core });
    return fc.tuple(fc.shuffledSubarray(all, { minLength: all.length }), space);
  });

function eventText(given: Members, gap: string): string {
  const text = given.map(([key, value]) => `"${key}"${gap}:${gap}${value}`).join(`${gap},${gap}`);
  return `{${gap}${text}${gap}}`;
}

const event = members.map(([given, gap]) => eventText(given, gap));
/** Events that have the same members in the same order, some of them with other values. */
const other = fc.record(
  {
    id: nonEmpty.map(quoted),
    source: source.map(quoted),
    type: nonEmpty.map(quoted),
    subject: printable.map(quoted),
    time: fc.oneof(time, nonEmpty).map(quoted),
    partitionkey: printable.map(quoted),
    traceparent: printable.map(quoted),
    data,
  },
  { requiredKeys: ["id"] },
);
const similar = fc.tuple(members, fc.array(other, { minLength: 1, maxLength: 6 })).map(([[given, gap], others]) => [
  eventText(given, gap),
  ...others.map((values: Readonly<Record<string, string>>) => {
    return eventText(
      given.map(([key, value]) => [key, values[key] ?? value]),
      gap,
    );
  }),
]);
const batch = fc
  .tuple(fc.array(event, { minLength: 1, maxLength: 9 }), space)
  .map(([events, gap]) => batchText(events, gap));
const similarBatch = fc.tuple(similar, space).map(([events, gap]) => batchText(events, gap));

function batchText(events: readonly string[], gap: string): string {
  return `${gap}[${gap}${events.join(`${gap},${gap}`)}${gap}]${gap}`;
}

const target = fc.constantFrom(one, several, given);

function quoted(text: string): string {
  return `"${text}"`;
}

describe("events of the plainest form", () => {
  test("are taken, and become what the longer way makes of them", () => {
    fc.assert(
      fc.property(batch, target, (text, to) => assert(check(Buffer.from(text), true, to), text)),
      { numRuns: 200 },
    );
    fc.assert(fc.property(event, target, (text, to) => assert(check(Buffer.from(text), false, to), text)));
  });

  test("that are like the ones before them become what the longer way makes of them too", () => {
    let taken = 0;
    fc.assert(
      fc.property(similarBatch, target, (text, to) => {
        if (check(Buffer.from(text), true, to)) taken++;
      }),
      { numRuns: 500 },
    );
    // The others have an empty subject, say, or what is no time.
    assert(taken > 100, String(taken));
  });

  test("of every length have the digest of their source and id", () => {
    for (let length = 1; length < 300; length += length < 140 ? 1 : 20) {
      const events = [length, 1, 300 - length, 64].map((size) => minimal({ id: "i".repeat(size) }));
      for (let count = 1; count <= events.length; count++) {
        assert(check(Buffer.from(`[${events.slice(0, count).join(",")}]`), true, one), String(length));
      }
    }
  });

  test("are written as far as the memory goes, and not beyond", () => {
    const events = Array.from({ length: 15_000 }, (_, i) => minimal({ id: i.toString(36) }));
    assert(check(Buffer.from(`[${events.join(",")}]`), true, several));
    const large = minimal({ data: undefined }).replace("}", `,"data":"${"x".repeat(1_000_000)}"}`);
    assert(check(Buffer.from(large), false, one));
    const tooLarge = Buffer.from(large.replace("x", "x".repeat(100_000)));
    assert.equal(plain(tooLarge, false, one), undefined);
  });

  test("lie in the memory that is lent for them", () => {
    const text = Buffer.from(`[${minimal({})},${minimal({ id: "2" })}]`);
    for (const to of [one, several]) {
      let lent: Buffer | undefined;
      const encoded = eventCodec().decode(text, true, to, (bytes) => (lent = Buffer.alloc(bytes)));
      for (const { encoded: stored } of encoded!.batches) assert.equal(stored.bytes.buffer, lent!.buffer);
      assert.equal(encoded!.digests.buffer, lent!.buffer);
    }
  });
});

function minimal(more: Record<string, unknown>): string {
  return JSON.stringify({ specversion: "1.0", id: "1", source: "/s", type: "t", ...more });
}

describe("what needs a second look is left to the longer way", () => {
  const required = '"specversion":"1.0","id":"1","source":"/s","type":"t"';
  for (const text of [
    "",
    "{}",
    "[]",
    "null",
    `{${required}`,
    `{${required},}`,
    `{${required}}x`,
    `{${required}}\0`,
    `\ufeff{${required}}`,
    `{${required},"id":"2"}`,
    `{${required},"source":"/s"}`,
    `{${required},"type":"t"}`,
    `{${required},"specversion":"1.0"}`,
    `{${required},"subject":""}`,
    `{${required},"subject":"a","subject":"b"}`,
    `{${required},"subject":null}`,
    `{${required},"subject":5}`,
    `{${required},"subject":"\\u0061"}`,
    `{${required},"subject":"\u00e9"}`,
    `{${required},"subject":"\u007f"}`,
    `{${required},"subject":"a\tb"}`,
    `{${required},"x":"a","x":"a"}`,
    `{${required},"X":"a"}`,
    `{${required},"a_b":"a"}`,
    `{${required},"":"a"}`,
    `{${required},"b":"a","10":"c"}`,
    `{${required},"x":1}`,
    `{${required},"x":true}`,
    `{${required},"x":null}`,
    `{${required},"partitionkey":""}`,
    `{${required},"partitionkey":"a","partitionkey":"a"}`,
    `{${required},"dataschema":"https://a/b"}`,
    `{${required},"data_base64":"AAAA"}`,
    `{${required},"data":1,"data":1}`,
    `{${required},"dat\\u0061":1}`,
    `{${required},"datacontenttype":"text/plain","data":"x"}`,
    `{${required},"datacontenttype":"application/json","datacontenttype":"application/json"}`,
    `{${required},"data":${"[".repeat(61)}${"]".repeat(61)}}`,
    ...["", "01", "-", "1.", ".5", "1e", "+1", "tru", "nul", "NaN", "'a'", '"a', '"\\x"', '"\\u12g4"', '"\u0001"']
      .concat(["[1,]", "[1 2]", "[", "{", '{"a"}', '{"a":}', '{"a":1,}', "{a:1}", '{"a":1]', "[1}", "{1:1}"])
      .map((value) => `{${required},"data":${value}}`),
    ...["2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T24:00:00Z"]
      .concat([
        "2024-01-01T00:00:00",
        "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00Zx",
        "",
      ])
      .map((value) => `{${required},"time":"${value}"}`),
    ...["", "a b", "%zz", ":a", "http://[::g]/", "a\\\\b"].map(
      (value) => `{"specversion":"1.0","id":"1","source":"${value}","type":"t"}`,
    ),
    '{"specversion":"1.1","id":"1","source":"/s","type":"t"}',
    '{"specversion":"1.0","id":"","source":"/s","type":"t"}',
    '{"specversion":"1.0","source":"/s","type":"t"}',
    '{"id":"1","source":"/s","type":"t"}',
    `{${required}${Array.from({ length: 17 }, (_, i) => `,"x${i}":"1"`).join("")}}`,
    `{"specversion":"1.0","id":"${"i".repeat(1100)}","source":"/s","type":"t"}`,
  ]) {
    test(JSON.stringify(text.slice(0, 120)), () => {
      assert.equal(plain(Buffer.from(text), false, one), undefined);
      assert.equal(plain(Buffer.from(`[{${required}},${text}]`), true, one), undefined);
    });
  }

  test("bytes that are no UTF-8", () => {
    const [before, after] = [`{${required},"data":"`, '"}'].map((part) => Buffer.from(part));
    const text = (bytes: number[]) => Buffer.concat([before!, Buffer.from(bytes), after!]);
    assert(check(text([0xc3, 0xa9]), false, one));
    for (const bytes of [[0xc3], [0x80], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
      assert.equal(plain(text(bytes), false, one), undefined);
    }
  });

  test("what a longer text left behind is not read", () => {
    assert(check(Buffer.from(`{${required},"data":"${"x".repeat(200)}"}`), false, one));
    assert.equal(plain(Buffer.from(`{${required},"data":"xxxx`), false, one), undefined);
    assert.equal(plain(Buffer.from(`{${required}`), false, one), undefined);
  });
});

test("every vector is either left alone or stored as the longer way stores it", () => {
  let taken = 0;
  for (const file of ["structured-mode", "attributes", "batch-mode", "media-types"]) {
    for (const { request } of loadVectors<RequestVector>(file)) {
      const type = request.headers.find(([key]) => key.toLowerCase() === "content-type")?.[1];
      if (type !== eventJsonType && type !== batchJsonType) continue;
      for (const to of [one, several, given]) if (check(requestBody(request), type === batchJsonType, to)) taken++;
    }
  }
  assert(taken > 60, String(taken));
});

/** How many damaged texts are tried; more than the usual number by this variable. */
const damagedCount = Number(process.env["EVENT_CODEC_RUNS"] ?? 1_500);

test("no damage to a text makes the two ways differ", () => {
  const piece = fc.oneof(
    fc.uint8Array({ minLength: 0, maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom(
        '"',
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "\0",
        "0",
        "-",
        ".",
        "e",
        "null",
        "true",
        '""',
        "\u00e9",
        "\ud83d\ude00",
      )
      .map((text) => Buffer.from(text)),
  );
  const change = fc.record({ at: fc.nat(), length: fc.nat(3), piece });
  let taken = 0;
  let accepted = 0;
  fc.assert(
    fc.property(
      fc.oneof(batch, similarBatch),
      event,
      fc.boolean(),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      target,
      (...args) => {
        const [events, single, isBatch, changes, to] = args;
        let text = Buffer.from(isBatch ? events : single);
        for (const { at, length, piece: put } of changes) {
          const from = at % (text.length + 1);
          text = Buffer.concat([text.subarray(0, from), put, text.subarray(from + length)]);
        }
        if (check(text, isBatch, to)) taken++;
        if (reference(text, isBatch, to) !== undefined) accepted++;
      },
    ),
    { numRuns: damagedCount },
  );
  // Else the damage would be such that nothing is compared. About one in sixteen is taken: by chance it is never so few.
  assert(taken > damagedCount / 40, `${taken} of ${damagedCount} were taken, ${accepted} accepted`);
});
