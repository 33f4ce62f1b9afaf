import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatBinary, parseEvents } from "../../src/edge/rest/events/cloudevents.ts";
import { EngineError } from "../../src/engine/errors.ts";
import { type CloudEvent, EventDraft } from "../../src/engine/event/cloud-event.ts";
import { formatEventJson, parseBatchJson, parseEventJson } from "../../src/engine/event/json-format.ts";
import { type EventRecord, eventOfRecord, recordOfEvent } from "../../src/engine/event/record-codec.ts";
import { limits } from "../../src/engine/limits.ts";
import { formatBatch } from "../support/event-batch.ts";

// Unicode strings without what the type system forbids; fast-check's own strings have those, so they are filtered.
const forbidden = /[\0-\x1f\x7f-\x9f\ufdd0-\ufdef]|[\ufffe\uffff]/;
const text = fc
  .string({ unit: "binary", maxLength: 20 })
  .filter((value) => !forbidden.test(value) && [...value].every((c) => (c.codePointAt(0)! & 0xfffe) !== 0xfffe));
const nonEmptyText = text.filter((value) => value !== "");
const name = fc
  .string({ unit: fc.constantFrom(..."abcxyz0129"), minLength: 1, maxLength: 12 })
  .map((value) => `x${value}`);
const value = fc.oneof(
  text,
  fc.boolean(),
  fc.integer(),
  fc.constantFrom("5", "true", "-0", "1.0", " a ", '"q"', "%41"),
);
const source = fc.constantFrom("/s", "https://h.example:8080/a%20b?c=d#e", "urn:x:y", "a/b", "//[::1]/", "%25");
const time = fc.constantFrom("2024-02-29T23:59:60.123456789+05:30", "0001-01-01t00:00:00z");

const jsonText = fc
  .tuple(fc.json({ maxDepth: 4 }), fc.constantFrom("", "9007199254740993", "1.0e5", '"\\u0061\\ud800"', "[ 1 ,\n2 ]"))
  .map(([json, extra]) => (extra === "" ? json : `{"b":${json},"10":${extra} , "a":[${extra}]}`));
const content = fc.oneof(
  fc.tuple(fc.constantFrom("application/json", "application/a+json; v=1", "Text/JSON"), jsonText.map(bytesOf)),
  fc.tuple(
    fc.constantFrom("text/plain", "application/xml", "a/b;charset=utf-8"),
    fc.string({ unit: "binary" }).map(bytesOf),
  ),
  fc.tuple(
    fc.constantFrom(
      undefined,
      "application/json",
      "text/plain",
      "text/x; charset=latin1",
      "image/png",
      "application/cloudevents+json",
    ),
    fc.option(fc.uint8Array({ maxLength: 30 }), { nil: undefined }),
  ),
);

const event: fc.Arbitrary<CloudEvent> = fc
  .record({
    id: nonEmptyText,
    source,
    type: nonEmptyText,
    subject: fc.option(nonEmptyText, { nil: undefined }),
    time: fc.option(time, { nil: undefined }),
    dataschema: fc.constantFrom(undefined, "https://schema.example/a%20b?v=1"),
    partitionkey: fc.option(nonEmptyText, { nil: undefined }),
    extensions: fc.dictionary(name, value, { maxKeys: 5 }),
    content,
  })
  .map(({ content: [datacontenttype, data], extensions, ...core }) => {
    const draft = new EventDraft();
    const attributes = { specversion: "1.0", ...core, datacontenttype, ...extensions };
    for (const [attribute, given] of Object.entries(attributes)) if (given !== undefined) draft.set(attribute, given);
    draft.data = data;
    return draft.finish();
  });

function bytesOf(given: string): Uint8Array {
  return new Uint8Array(Buffer.from(given.toWellFormed()));
}

/** Plain values, so that a Buffer equals the bytes it holds, and in an order that no format promises to keep. */
function plain(given: CloudEvent | undefined) {
  assert(given !== undefined, "not recognised as an event");
  const extensions = given.extensions.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { ...given, extensions, data: given.data === undefined ? undefined : [...given.data] };
}

test("event → record → event", () => {
  fc.assert(fc.property(event, (given) => assert.deepEqual(plain(eventOfRecord(recordOfEvent(given))), plain(given))));
});

/** Outside its own value, JSON has no bytes of data: whitespace around it is not kept. */
const trimmed = event.filter(
  ({ data }) => data === undefined || !/^[ \t\r\n]|[ \t\r\n]$/.test(Buffer.from(data).toString("latin1")),
);

test("event → JSON → event", () => {
  fc.assert(
    fc.property(trimmed, (given) =>
      assert.deepEqual(plain(parseEventJson(Buffer.from(formatEventJson(given)))), plain(given)),
    ),
  );
});

test("events → batch → events", () => {
  fc.assert(
    fc.property(fc.array(trimmed, { maxLength: 4 }), (given) => {
      const request = { headers: [], contentType: "application/cloudevents-batch+json", body: formatBatch(given) };
      assert.deepEqual(parseEvents(request).events.map(plain), given.map(plain));
    }),
  );
});

test("event → binary HTTP → event, but for the types of extensions", () => {
  fc.assert(
    fc.property(trimmed, (given) => {
      const { headers, body } = formatBinary(given);
      for (const header of Object.values(headers)) assert.match(header, /^[\x20-\x7e]*$/);
      const request = { headers: Object.entries(headers).flat(), contentType: headers["content-type"], body };
      const { mode, events } = parseEvents(request);
      const want = plain(given);
      if (mode === "structured") return assert.deepEqual(plain(events[0]), want);
      const extensions = want.extensions.map((extension) => ({ ...extension, value: String(extension.value) }));
      return assert.deepEqual(plain(events[0]), {
        ...want,
        extensions,
        data: body.length === 0 ? undefined : want.data,
      });
    }),
  );
});

test("the raw bytes of data are found in any JSON text", () => {
  const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\t", "\r"), maxLength: 3 });
  const members = [
    '"specversion":"1.0"',
    '"id":"}\\"\\\\"',
    '"source":"/s"',
    '"type":"]["',
    '"n":-12',
    '"b":true',
    '"z":null',
  ];
  const shuffled = fc.shuffledSubarray([...members, "data"], { minLength: members.length + 1 });
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), shuffled, space, (json, order, gap) => {
      const body = order
        .map((member) => (member === "data" ? `"data"${gap}:${gap}${json}` : member))
        .join(`${gap},${gap}`);
      const body1 = `${gap}{${gap}${body}${gap}}${gap}`;
      assert.equal(String(parseEventJson(Buffer.from(body1)).data), json);
      const batch = parseBatchJson(Buffer.from(`${gap}[${gap}${body1},${body1}]${gap}`));
      assert.deepEqual(
        batch.map(({ data }) => String(data)),
        [json, json],
      );
    }),
  );
});

test("no request makes the parser fail in another way than by naming a fault", () => {
  const types = fc.constantFrom(
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
    "text/plain",
    undefined,
  );
  const header = fc.tuple(
    fc.constantFrom("ce-id", "ce-specversion", "CE-x", "ce-", "ce-data", "host"),
    fc.string({ unit: "binary" }),
  );
  const body = fc.oneof(
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.json().map((json) => Buffer.from(json.toWellFormed())),
    fc.array(fc.json()).map((all) => Buffer.from(`[${all.map((json) => `{"id":"1","data":${json}}`)}]`.toWellFormed())),
  );
  fc.assert(
    fc.property(fc.array(header), types, body, (headers, contentType, bytes) => {
      try {
        parseEvents({ headers: headers.flat(), contentType, body: bytes });
      } catch (error) {
        assert(error instanceof EngineError, String(error));
        assert(error.reason === "invalid_argument" || error.reason === "unsupported_media_type", error.message);
      }
    }),
  );
});

test("no foreign record makes the reader fail, and what it reads is a valid event", () => {
  const key = fc.constantFrom(
    "ce_specversion",
    "ce_id",
    "ce_source",
    "ce_type",
    "ce_time",
    "ce_x",
    "ce_",
    "content-type",
    "service-ce-types",
    "a",
  );
  const bytes = fc.oneof(
    fc.constantFrom("1.0", "1", "/s", "application/cloudevents+json", "text/plain", "x=integer").map(bytesOf),
    fc.uint8Array({ maxLength: 8 }),
  );
  const headers = fc.array(fc.record({ key, value: fc.option(bytes, { nil: undefined }) }), { maxLength: 12 });
  const record: fc.Arbitrary<EventRecord> = fc.record({ headers, value: fc.option(bytes, { nil: undefined }) });
  fc.assert(
    fc.property(record, (given) => {
      const read = eventOfRecord(given);
      if (read !== undefined) assert.deepEqual(plain(eventOfRecord(recordOfEvent(read))), plain(read));
    }),
    { numRuns: 500 },
  );
});

const start = '{"specversion":"1.0","id":"1","source":"/s","type":"t"';
for (const [what, body, field] of [
  [
    "nesting",
    `${start},"data":${"[".repeat(limits.eventJsonDepthMax)}${"]".repeat(limits.eventJsonDepthMax)}}`,
    "body",
  ],
  ["nesting that never closes", "[".repeat(100_000), "body"],
  [
    "extensions",
    `${start}${Array.from({ length: limits.eventExtensionsMax + 1 }, (_, i) => `,"x${i}":1`).join("")}}`,
    `x${limits.eventExtensionsMax}`,
  ],
] as const) {
  test(`too much ${what} is refused`, () => {
    assert.throws(
      () => parseEventJson(Buffer.from(body)),
      (error) => error instanceof EngineError && error.details["field"] === field,
    );
  });
}

test("the most nesting and the most extensions are accepted", () => {
  const depth = limits.eventJsonDepthMax - 1;
  const nested = `"[[[","data":${"[".repeat(depth)}"]]{"${"]".repeat(depth)}`;
  const extensions = Array.from({ length: limits.eventExtensionsMax - 1 }, (_, i) => `,"x${i}":1`).join("");
  const read = parseEventJson(Buffer.from(`${start}${extensions},"y":${nested}}`));
  assert.equal(read.extensions.length, limits.eventExtensionsMax);
  assert.equal(read.data?.length, 2 * depth + 5);
});

test("attributes of megabytes are checked without exhausting a stack", () => {
  const long = "a%20".repeat(1_000_000);
  assert.equal(
    parseEventJson(Buffer.from(`{"specversion":"1.0","id":"1","type":"t","source":"/${long}"}`)).source.length,
    long.length + 1,
  );
  const base64 = "AAAA".repeat(1_000_000);
  assert.equal(parseEventJson(Buffer.from(`${start},"data_base64":"${base64}"}`)).data?.length, 3_000_000);
});
