import { isAscii, isUtf8 } from "node:buffer";
import { EngineError, invalid } from "../errors.ts";
import { limits } from "../limits.ts";
import { type CloudEvent, EventDraft, shownName } from "./cloud-event.ts";
import { exceedsDepth, newObjectScan, type ObjectScan, scanObject, skipSpace } from "./json-scan.ts";
import { contentKind } from "./media-type.ts";

/** The JSON event format and JSON batch format of CloudEvents 1.0.2. */

export const eventJsonType = "application/cloudevents+json";
export const batchJsonType = "application/cloudevents-batch+json";

type JsonObject = Readonly<Record<string, unknown>>;

/** Parses one event. `bytes` is the whole JSON text; the event's data may share its memory. */
export function parseEventJson(bytes: Buffer): CloudEvent {
  const value = parseJson(bytes);
  if (!isObject(value)) throw invalid("body", `must be one JSON object; an array of events is a ${batchJsonType}`);
  const scan = newObjectScan();
  const start = skipSpace(bytes, 0);
  scanObject(bytes, start, scan);
  checkStorable(scan.depth, "body");
  return readEvent(bytes, start, value, scan);
}

/** Parses a batch, which may be empty. A fault names its event: `events[3].id`. */
export function parseBatchJson(bytes: Buffer): CloudEvent[] {
  const values = parseJson(bytes);
  if (!Array.isArray(values)) throw invalid("body", `must be a JSON array; one event is a ${eventJsonType}`);
  const events: CloudEvent[] = [];
  const scan = newObjectScan();
  let at = skipSpace(bytes, 0);
  for (let i = 0; i < values.length; i++) {
    const value: unknown = values[i];
    if (!isObject(value)) throw invalid(`events[${i}]`, "must be a JSON object");
    // Over the opening bracket or the comma before this event.
    at = skipSpace(bytes, skipSpace(bytes, at) + 1);
    scanObject(bytes, at, scan);
    checkStorable(scan.depth + 1, `events[${i}]`);
    try {
      events.push(readEvent(bytes, at, value, scan));
    } catch (error) {
      throw located(error, i);
    }
    at = scan.end;
  }
  return events;
}

function located(error: unknown, index: number): unknown {
  const field = error instanceof EngineError ? error.details["field"] : undefined;
  if (!(error instanceof EngineError) || typeof field !== "string") return error;
  return invalid(`events[${index}].${field}`, error.message.slice(field.length + 2));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseJson(bytes: Buffer): unknown {
  // Without the check, damaged bytes would silently become replacement characters.
  const ascii = isAscii(bytes);
  if (!ascii && !isUtf8(bytes)) throw invalid("body", "must be UTF-8");
  // A small body can be parsed whatever its depth; it is checked when it is scanned.
  if (bytes.length > limits.eventJsonSmallBytes && exceedsDepth(bytes, limits.eventJsonDepthMax)) throw tooDeep("body");
  try {
    return JSON.parse(ascii ? bytes.latin1Slice() : bytes.toString());
  } catch (error) {
    throw invalid("body", `must be JSON: ${(error as Error).message}`);
  }
}

function checkStorable(depth: number, field: string): void {
  if (depth > limits.eventJsonDepthMax) throw tooDeep(field);
}

function tooDeep(field: string): EngineError {
  return invalid(field, `nests deeper than ${limits.eventJsonDepthMax} levels`);
}

function readEvent(bytes: Buffer, start: number, value: JsonObject, scan: ObjectScan): CloudEvent {
  const draft = new EventDraft();
  let members = 0;
  for (const name in value) {
    members++;
    const member = value[name];
    // A null attribute is unset; `data` is no attribute, its null is a value and is read from the raw bytes below.
    if (member === null || name === "data" || name === "data_base64") continue;
    draft.set(name, member);
  }
  if (members !== scan.members) throw invalid(duplicateName(bytes, start), "is given twice");
  if (scan.unevenNumber !== undefined) {
    throw invalid(shownName(scan.unevenNumber), "an integer is written without fraction and exponent");
  }
  const base64 = value["data_base64"] ?? undefined;
  if (base64 !== undefined) {
    if (scan.dataStart !== -1) throw invalid("data_base64", "an event has data or data_base64, not both");
    draft.data = parseBase64(base64);
  } else if (scan.dataStart !== -1) {
    draft.datacontenttype ??= "application/json";
    draft.data = readData(bytes.subarray(scan.dataStart, scan.dataEnd), value["data"], draft.datacontenttype);
  }
  return draft.finish();
}

function duplicateName(bytes: Buffer, start: number): string {
  const names: string[] = [];
  scanObject(bytes, start, newObjectScan(), names);
  const seen = new Set<string>();
  const twice = names.find((name) => seen.size === seen.add(name).size);
  return shownName(twice ?? "body");
}

/** The payload's bytes: JSON as it was written, and for any other type the content of the string. */
function readData(raw: Buffer, value: unknown, datacontenttype: string): Uint8Array {
  const { kind, charset } = contentKind(datacontenttype);
  if (kind === "json") {
    if (charset === "utf-8" || (charset !== "other" && isAscii(raw))) return raw;
    throw invalid("data", "JSON is UTF-8; datacontenttype declares another character set");
  }
  if (typeof value !== "string") throw invalid("data", `must be a string, because ${datacontenttype} is not JSON`);
  if (!value.isWellFormed()) throw invalid("data", "has an unpaired surrogate");
  if (charset === "utf-8") return Buffer.from(value);
  const fits = charset === "us-ascii" ? /^[\0-\x7f]*$/ : /^[\0-\xff]*$/;
  if (charset === "other" || !fits.test(value)) {
    throw invalid("data", "does not fit the character set of datacontenttype; send data_base64");
  }
  return Buffer.from(value, "latin1");
}

const base64Alphabet = /^[A-Za-z0-9+/]*={0,2}$/;

function parseBase64(value: unknown): Uint8Array {
  if (typeof value !== "string") throw invalid("data_base64", "must be a string");
  if (value.length % 4 !== 0 || !base64Alphabet.test(value)) {
    throw invalid("data_base64", "must be base64 with padding (RFC 4648 section 4)");
  }
  return Buffer.from(value, "base64");
}

/** The event as one JSON object. */
export function formatEventJson(event: CloudEvent): string {
  let text = `{"specversion":"1.0","id":${JSON.stringify(event.id)},"source":${JSON.stringify(event.source)}`;
  text += `,"type":${JSON.stringify(event.type)}`;
  if (event.subject !== undefined) text += `,"subject":${JSON.stringify(event.subject)}`;
  if (event.time !== undefined) text += `,"time":"${event.time}"`;
  if (event.dataschema !== undefined) text += `,"dataschema":${JSON.stringify(event.dataschema)}`;
  if (event.datacontenttype !== undefined) text += `,"datacontenttype":${JSON.stringify(event.datacontenttype)}`;
  for (const { name, value } of event.extensions) text += `,"${name}":${JSON.stringify(value)}`;
  if (event.data !== undefined) text += formatData(event.data, event.datacontenttype);
  return `${text}}`;
}

/** Data that is not what its type declares is still delivered unchanged, as `data_base64`. */
function formatData(data: Uint8Array, datacontenttype: string | undefined): string {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const { kind, charset } = contentKind(datacontenttype);
  if (kind !== "binary" && (charset === "utf-8" || charset === "us-ascii") && isUtf8(bytes)) {
    const text = bytes.toString();
    if (kind === "text") return `,"data":${JSON.stringify(text)}`;
    if (!exceedsDepth(bytes, limits.eventJsonDepthMax) && isJson(text)) return `,"data":${text}`;
  }
  return `,"data_base64":"${bytes.toString("base64")}"`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
