import { invalid } from "../../engine/errors.ts";
import type { BatchCursor, RecordHeader, RecordInput } from "../../engine/log/record-batch.ts";

/** A record as it appears in a request, after validation against its schema. */
export interface RecordJson {
  readonly key?: string | null;
  readonly value?: string | null;
  readonly headers?: readonly { readonly key: string; readonly value?: string | null }[] | null;
  readonly timestamp_ms?: number | null;
}

const base64Alphabet = /^[A-Za-z0-9+/]*={0,2}$/;

function parseBase64(place: () => string, text: string): Buffer {
  if (text.length % 4 !== 0 || !base64Alphabet.test(text)) throw invalid(place(), "is not valid base64");
  return Buffer.from(text, "base64");
}

export function parseRecords(records: readonly RecordJson[]): RecordInput[] {
  return records.map(parseRecord);
}

function parseRecord(record: RecordJson, i: number): RecordInput {
  const parsed: { -readonly [K in keyof RecordInput]: RecordInput[K] } = {};
  if (record.key != null) parsed.key = parseBase64(() => `records[${i}].key`, record.key);
  if (record.value != null) parsed.value = parseBase64(() => `records[${i}].value`, record.value);
  if (record.headers != null && record.headers.length > 0) {
    parsed.headers = record.headers.map(({ key, value }, h): RecordHeader => {
      if (value == null) return { key };
      return { key, value: parseBase64(() => `records[${i}].headers[${h}].value`, value) };
    });
  }
  if (record.timestamp_ms != null) parsed.timestampMs = record.timestamp_ms;
  return parsed;
}

/** The record a cursor stands on, as JSON text. All of it is ASCII, but for header names. */
export function recordText(cursor: BatchCursor): string {
  const { bytes, keyStart, keyLength, valueStart, valueLength } = cursor;
  let text = `{"offset":${cursor.offset},"timestamp_ms":${cursor.timestampMs}`;
  if (keyLength >= 0) text += `,"key":"${bytes.base64Slice(keyStart, keyStart + keyLength)}"`;
  if (valueLength >= 0) text += `,"value":"${bytes.base64Slice(valueStart, valueStart + valueLength)}"`;
  if (cursor.headerCount > 0) text += `,"headers":${headersText(cursor)}`;
  return `${text}}`;
}

/** A record's headers as JSON text. */
export function headersText(cursor: BatchCursor): string {
  return JSON.stringify(
    cursor.headers.map(({ key, value }) =>
      value === undefined
        ? { key }
        : { key, value: Buffer.from(value.buffer, value.byteOffset, value.length).toString("base64") },
    ),
  );
}
