import { isUtf8 } from "node:buffer";
import type { FastifyRequest } from "fastify";
import { invalid } from "../../../engine/errors.ts";
import type { BatchCursor } from "../../../engine/log/record-batch.ts";
import { inTurns } from "../http/in-turns.ts";
import type { Schema } from "../schemas.ts";
import { recordText } from "./json.ts";

/**
 * How keys, values and header values are written: as base64, or for people. `text` is UTF-8; `json` has values as JSON and
 * the others as text. What can't be shown so is base64 under the name with `_base64` after it, both ways.
 */
export type RecordFormat = "base64" | "text" | "json";

export const formatQuery: Readonly<Record<string, Schema>> = {
  format: {
    type: "string",
    enum: ["base64", "text", "json"],
    default: "base64",
    description:
      "How keys, values and header values are written: base64; text (UTF-8); json (values as JSON, the others as text). " +
      "What is not text or JSON has its name with `_base64` after it",
  },
};

export function formatOf(request: FastifyRequest): RecordFormat {
  return (request.query as { readonly format?: RecordFormat }).format ?? "base64";
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Puts records that came as text or JSON into the form that all others have, before they are validated. */
export async function recordsToBase64(request: FastifyRequest): Promise<void> {
  const format = formatOf(request);
  if (format !== "text" && format !== "json") return;
  const { body } = request;
  if (!isFields(body) || !Array.isArray(body["records"])) return;
  const records = await inTurns(body["records"], (record: unknown, i) =>
    isFields(record) ? recordToBase64(record, `records[${i}]`, format) : record,
  );
  request.body = { ...body, records };
}

function recordToBase64(record: Fields, place: string, format: "text" | "json"): Fields {
  const { headers } = record;
  return {
    ...fieldToBase64(fieldToBase64(record, "key", place, "text"), "value", place, format),
    ...(Array.isArray(headers)
      ? {
          headers: headers.map((header: unknown, h) =>
            isFields(header) ? fieldToBase64(header, "value", `${place}.headers[${h}]`, "text") : header,
          ),
        }
      : {}),
  };
}

function fieldToBase64(fields: Fields, name: string, place: string, format: "text" | "json"): Fields {
  const { [name]: value, [`${name}_base64`]: encoded, ...rest } = fields;
  if (encoded != null) {
    if (value != null) throw invalid(`${place}.${name}`, `goes in place of ${name}_base64, not beside it`);
    return { ...rest, [name]: encoded };
  }
  // In JSON, null is a value: a record without one has no such field.
  if (value === undefined || (value === null && format === "text")) return rest;
  if (format === "text" && typeof value !== "string") throw invalid(`${place}.${name}`, "must be text");
  const text = format === "json" ? JSON.stringify(value) : (value as string);
  if (!text.isWellFormed()) throw invalid(`${place}.${name}`, "has an unpaired surrogate");
  return { ...rest, [name]: Buffer.from(text).toString("base64") };
}

/** The record a cursor stands on, as JSON text on one line. */
export function formattedRecord(cursor: BatchCursor, format: RecordFormat): string {
  if (format === "base64") return recordText(cursor);
  const { key, value, headers } = cursor;
  let text = `{"offset":${cursor.offset},"timestamp_ms":${cursor.timestampMs}`;
  if (key !== undefined) text += `,${shown("key", key, "text")}`;
  if (value !== undefined) text += `,${shown("value", value, format)}`;
  if (headers.length > 0) text += `,"headers":[${headers.map(headerText).join(",")}]`;
  return `${text}}`;
}

function headerText({ key, value }: { readonly key: string; readonly value?: Uint8Array }): string {
  const name = `{"key":${JSON.stringify(key)}`;
  return value === undefined ? `${name}}` : `${name},${shown("value", Buffer.from(value), "text")}}`;
}

function shown(name: string, bytes: Buffer, format: "text" | "json"): string {
  const text = isUtf8(bytes) ? bytes.toString() : undefined;
  if (text !== undefined && format === "text") return `"${name}":${JSON.stringify(text)}`;
  // As it was written: numbers that a double can't carry stay what they are. Line breaks are only between its parts.
  if (text !== undefined && isJson(text)) return `"${name}":${text.replaceAll(/[\r\n]/g, " ")}`;
  return `"${name}_base64":"${bytes.toString("base64")}"`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
