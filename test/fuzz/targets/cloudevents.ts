import { isDeepStrictEqual } from "node:util";
import { formatBinary, parseEvents } from "../../../src/edge/rest/events/cloudevents.ts";
import type { CloudEvent } from "../../../src/engine/event/cloud-event.ts";
import {
  batchJsonType,
  eventJsonType,
  formatEventJson,
  parseEventJson,
} from "../../../src/engine/event/json-format.ts";
import { contentKind, parseMediaType } from "../../../src/engine/event/media-type.ts";
import { eventOfRecord, recordOfEvent, writeEvent } from "../../../src/engine/event/record-codec.ts";
import { BatchCursor, BatchWriter, sealBatch } from "../../../src/engine/log/record-batch.ts";
import { formatBatch } from "../../support/event-batch.ts";
import { loadVectors, type RequestVector, requestBody } from "../../support/event-vectors.ts";
import { must, nothingToClose, type Target } from "../target.ts";
import { refusing } from "./properties.ts";

/** An input is lines of headers, an empty line and the body. */
function split(input: Buffer): { headers: string[]; contentType: string | undefined; body: Buffer } {
  const end = input.indexOf("\n\n");
  const head = (end === -1 ? input : input.subarray(0, end)).latin1Slice();
  const headers: string[] = [];
  let contentType: string | undefined;
  for (const line of head.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    headers.push(name, value);
    if (name.toLowerCase() === "content-type") contentType ??= value;
  }
  return { headers, contentType, body: end === -1 ? Buffer.alloc(0) : input.subarray(end + 2) };
}

function join(headers: readonly (readonly [string, string])[], body: Uint8Array): Buffer {
  const head = headers.map(([name, value]) => `${name}: ${value}`).join("\n");
  return Buffer.concat([Buffer.from(`${head}\n\n`, "latin1"), body]);
}

/** As it is compared: bytes as Base64, extensions in the order of their names. */
function shown(event: CloudEvent | undefined, dataMayBeEmpty = false): unknown {
  if (event === undefined) return undefined;
  const { data, extensions, ...rest } = event;
  const text = data === undefined ? undefined : Buffer.from(data).toString("base64");
  const sorted = [...extensions].sort((x, y) => (x.name < y.name ? -1 : 1)).map(({ name, value }) => ({ name, value }));
  return { ...rest, extensions: sorted, data: dataMayBeEmpty && text === "" ? undefined : text };
}

function same(found: unknown, event: unknown, how: string): void {
  must(isDeepStrictEqual(found, event), how, () => [event, found]);
}

/** Binary mode has text alone for extensions, and no difference between no data and empty data. */
function binaryShown(event: CloudEvent): unknown {
  const extensions = event.extensions.map(({ name, value }) => ({ name, value: String(value) }));
  return shown({ ...event, extensions }, true);
}

const key = Buffer.from("key");

function stored(event: CloudEvent): CloudEvent | undefined {
  const writer = new BatchWriter(64);
  writeEvent(writer, event, 1_700_000_000_000);
  const batch = writer.finish();
  sealBatch(batch, key, { baseOffset: 0, appendTimeMs: 0, prefixTimestampMs: 0, prefixRetentionMs: 0, bytesBefore: 0 });
  const cursor = new BatchCursor(key, batch.bytes);
  cursor.next();
  return eventOfRecord({ key: cursor.key, value: cursor.value, headers: cursor.headers });
}

/** Space around JSON is not the event's. */
function jsonShown(event: CloudEvent): unknown {
  const { data } = event;
  if (data === undefined || contentKind(event.datacontenttype).kind !== "json") return shown(event);
  const trimmed = Buffer.from(data)
    .latin1Slice()
    .replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
  return shown({ ...event, data: Buffer.from(trimmed, "latin1") });
}

function checkEvent(event: CloudEvent): void {
  same(shown(eventOfRecord(recordOfEvent(event))), shown(event), "an event is read from its record otherwise");
  same(shown(stored(event)), shown(event), "an event is stored otherwise");
  const text = formatEventJson(event);
  const read = parseEventJson(Buffer.from(text));
  same(jsonShown(read), jsonShown(event), "an event is read from its JSON otherwise");
  const again = formatEventJson(read);
  same(formatEventJson(parseEventJson(Buffer.from(again))), again, "an event's JSON is not the same twice");
  const { headers, body } = formatBinary(event);
  const raw = Object.entries(headers).flat();
  const [back] = parseEvents({ headers: raw, contentType: headers["content-type"], body }).events;
  if (headers["ce-id"] === undefined) same(shown(back), shown(event), "a nested event is read otherwise");
  else same(binaryShown(back!), binaryShown(event), "an event is read from its binary mode otherwise");
}

/** Requests of every mode; an event that is taken comes back the same from each of its forms. */
export const cloudevents: Target = {
  name: "cloudevents",
  open: async () => ({
    ...nothingToClose,
    inputs: {
      kind: "guided",
      seeds: ["structured-mode", "binary-mode", "batch-mode", "attributes", "media-types"].flatMap((file) =>
        loadVectors<RequestVector>(file)
          .filter(({ request }) => request !== undefined)
          .map(({ request }) => join(request.headers, requestBody(request))),
      ),
      words: [
        ...["ce-id: ", "ce-source: ", "ce-type: ", "ce-specversion: 1.0\n", "ce-time: ", "ce-subject: ", "ce-x: "],
        ...['"data":', '"data_base64":', '"datacontenttype":', '"partitionkey":', '"time":"2024-01-01T00:00:60Z"'],
        ...[
          eventJsonType,
          batchJsonType,
          "; charset=",
          "text/plain",
          "application/json",
          "%E2%82%AC",
          "%",
          '"',
          "\\u0000",
        ],
      ],
      bytesMax: 2_000,
      sources: ["src/engine/event/", "src/edge/rest/events/cloudevents.ts"],
    },
    run: (input) => {
      const { headers, contentType, body } = split(input);
      const parsed = refusing(
        () => parseEvents({ headers, contentType, body }),
        "invalid_argument",
        "unsupported_media_type",
      );
      const text = input.subarray(0, 100).latin1Slice();
      must(parseMediaType(text) === undefined || contentKind(text) !== undefined, "a media type of no kind");
      if (parsed === undefined) return;
      for (const event of parsed.events) checkEvent(event);
      const again = parseEvents({ headers: [], contentType: batchJsonType, body: formatBatch(parsed.events) });
      same(again.events.map(jsonShown), parsed.events.map(jsonShown), "a batch differs");
    },
  }),
};
