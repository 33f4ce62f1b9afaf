import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatBinary, parseEvents } from "../../src/edge/rest/events/cloudevents.ts";
import { EngineError, reasons } from "../../src/engine/errors.ts";
import type { CloudEvent } from "../../src/engine/event/cloud-event.ts";
import { type EventRecord, eventOfRecord, isCloudEvent, recordOfEvent } from "../../src/engine/event/record-codec.ts";
import { formatBatch } from "../support/event-batch.ts";
import { loadVectors, type RecordVector, type RequestVector, requestBody } from "../support/event-vectors.ts";

function send(request: RequestVector["request"]) {
  const { headers } = request;
  return parseEvents({
    headers: headers.flat(),
    contentType: headers.find(([name]) => name.toLowerCase() === "content-type")?.[1],
    body: requestBody(request),
  });
}

function read(events: CloudEvent[]): unknown {
  return JSON.parse(formatBatch(events).toString());
}

function text(bytes: Uint8Array | string | undefined): string | null {
  return bytes === undefined ? null : Buffer.from(bytes).toString();
}

function checkRefused({ request, want }: RequestVector): void {
  assert.throws(
    () => send(request),
    (error) => {
      assert(error instanceof EngineError, String(error));
      assert.equal(reasons[error.reason].http, want.status, error.message);
      if (want.field === undefined) return true;
      assert.equal(error.details["field"], want.field, error.message);
      assert(error.message.startsWith(`${want.field}: `), error.message);
      return true;
    },
  );
}

function checkAccepted({ request, want }: RequestVector): void {
  const { mode, events } = send(request);
  assert.equal(mode, want.mode);
  assert.deepEqual(read(events), want.events);
  const records = events.map(recordOfEvent);
  const stored = records.map(eventOfRecord).filter((event) => event !== undefined);
  assert.deepEqual(read(stored), want.events, "as a record");
  if (want.data !== undefined)
    assert.deepEqual(
      stored.map((event) => text(event.data)),
      want.data,
    );
  if (want.binary !== undefined) {
    const messages = stored.map(formatBinary).map(({ headers, body }) => ({ headers, body: body.toString() }));
    assert.deepEqual(messages, want.binary);
  }
  if (want.records !== undefined) {
    const shown = records.map(({ key, headers, value }) => ({
      key: text(key),
      headers: Object.fromEntries(headers.map((header) => [header.key, text(header.value)])),
      value: text(value),
    }));
    assert.deepEqual(shown, want.records);
  }
}

for (const file of ["media-types", "binary-mode", "structured-mode", "attributes", "batch-mode"]) {
  describe(`CloudEvents ${file}`, () => {
    const vectors = loadVectors<RequestVector>(file);
    for (const vector of vectors) {
      const check = vector.want.status === undefined ? checkAccepted : checkRefused;
      test(`${vector.name} (${vector.rule})`, () => check(vector));
    }
  });
}

describe("CloudEvents records", () => {
  for (const { name, rule, record, want } of loadVectors<RecordVector>("records")) {
    test(`${name} (${rule})`, () => {
      const headers = record.headers.map(([key, value]) => ({
        key,
        value: value === null ? undefined : Buffer.from(value),
      }));
      for (const [key, value] of record.headers_base64 ?? [])
        headers.push({ key, value: Buffer.from(value, "base64") });
      const given: EventRecord = {
        headers,
        key: record.key === undefined ? undefined : Buffer.from(record.key),
        value: record.value_base64 === undefined ? bytes(record.value) : Buffer.from(record.value_base64, "base64"),
      };
      const event = eventOfRecord(given);
      assert.equal(isCloudEvent(given), want.event !== null);
      if (want.event === null) assert.equal(event, undefined);
      else assert.deepEqual(read([event!]), [want.event]);
    });
  }
});

function bytes(value: string | undefined): Uint8Array | undefined {
  return value === undefined ? undefined : Buffer.from(value);
}
