import { isUtf8 } from "node:buffer";
import { EngineError } from "../errors.ts";
import type { BatchWriter, HeaderInput, RecordInput } from "../log/record-batch.ts";
import { type AttributeValue, type CloudEvent, EventDraft, extensionOf } from "./cloud-event.ts";
import { eventJsonType, formatEventJson, parseEventJson } from "./json-format.ts";
import { isEventFormat, parseMediaType } from "./media-type.ts";

/**
 * Events as records, by the CloudEvents Kafka binding: written in binary mode, read in binary and structured mode.
 * An event whose data is itself in an event format is written in structured mode: in binary mode its `content-type`
 * would make every reader take the data for the event.
 *
 * The binding writes every attribute as a string. So that an integer or boolean extension comes back as what it
 * was, a record with such extensions has one more header, `service-ce-types` (`name=integer,name=boolean`), which
 * other Kafka consumers ignore.
 */

/** A record as it is read, or as it is about to be written. */
export interface EventRecord extends Pick<RecordInput, "key" | "value" | "timestampMs"> {
  readonly headers: readonly HeaderInput[];
}

export const typesHeader = "service-ce-types";
const contentTypeHeader = "content-type";
const attributePrefix = "ce_";

/** The record of an event. The value is the event's data, which is not copied. */
export function recordOfEvent(event: CloudEvent): EventRecord {
  const headers: HeaderInput[] = [];
  const collect = { header: (key: string, value: string) => void headers.push({ key, value }) };
  const key = keyOf(event);
  if (isNested(event)) {
    collect.header(contentTypeHeader, eventJsonType);
    return { key, value: Buffer.from(formatEventJson(event)), headers };
  }
  binaryHeaders(event, collect);
  return { key, value: event.data, headers };
}

/** Writes the record of an event, without making it first. */
export function writeEvent(writer: BatchWriter, event: CloudEvent, nowMs: number): void {
  if (isNested(event)) {
    writer.begin(nowMs, keyOf(event), Buffer.from(formatEventJson(event)));
    writer.header(contentTypeHeader, eventJsonType);
  } else {
    writer.begin(nowMs, keyOf(event), event.data);
    binaryHeaders(event, writer);
  }
  writer.end();
}

function keyOf(event: CloudEvent): Uint8Array | undefined {
  const partitionkey = event.extensions.length === 0 ? undefined : extensionOf(event, "partitionkey");
  return partitionkey === undefined ? undefined : Buffer.from(String(partitionkey));
}

/** Whether the data are themselves in an event format. */
function isNested({ datacontenttype: type }: CloudEvent): boolean {
  return type !== undefined && type !== "application/json" && isEventFormat(type);
}

interface HeaderSink {
  header(name: string, value: string): void;
}

function binaryHeaders(event: CloudEvent, to: HeaderSink): void {
  to.header("ce_specversion", "1.0");
  to.header("ce_id", event.id);
  to.header("ce_source", event.source);
  to.header("ce_type", event.type);
  if (event.subject !== undefined) to.header("ce_subject", event.subject);
  if (event.time !== undefined) to.header("ce_time", event.time);
  if (event.dataschema !== undefined) to.header("ce_dataschema", event.dataschema);
  let types = "";
  for (const { name, value } of event.extensions) {
    to.header(attributePrefix + name, String(value));
    if (typeof value === "string") continue;
    types += `${types === "" ? "" : ","}${name}=${typeof value === "boolean" ? "boolean" : "integer"}`;
  }
  if (event.datacontenttype !== undefined) to.header(contentTypeHeader, event.datacontenttype);
  if (types !== "") to.header(typesHeader, types);
}

/** Whether a record holds a valid CloudEvent. Readers skip those that do not. */
export function isCloudEvent(record: EventRecord): boolean {
  return eventOfRecord(record) !== undefined;
}

/** The event in a record, or undefined when it holds none. Never throws, whatever the record has. */
export function eventOfRecord(record: EventRecord): CloudEvent | undefined {
  const found = findHeaders(record.headers);
  if (found === undefined) return undefined;
  try {
    return found.structured ? readStructured(record, found.contentType) : readBinary(record, found.contentType);
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}

interface FoundHeaders {
  readonly structured: boolean;
  readonly contentType: string | undefined;
}

/** A cheap look at the headers, so that plain records cost nothing more. */
function findHeaders(headers: readonly HeaderInput[]): FoundHeaders | undefined {
  let contentType: HeaderInput["value"];
  let binary = false;
  for (const { key, value } of headers) {
    if (key === contentTypeHeader) contentType = value;
    else if (key === "ce_specversion") binary = true;
  }
  const text = contentType === undefined ? undefined : decode(contentType);
  if (text !== undefined && isEventFormat(text)) return { structured: true, contentType: text };
  return binary ? { structured: false, contentType: text } : undefined;
}

function readStructured(record: EventRecord, contentType: string | undefined): CloudEvent | undefined {
  const media = contentType === undefined ? undefined : parseMediaType(contentType);
  if (media?.essence !== eventJsonType || (media.charset ?? "utf-8") !== "utf-8") return undefined;
  return record.value === undefined ? undefined : parseEventJson(asBuffer(record.value));
}

function readBinary(record: EventRecord, contentType: string | undefined): CloudEvent | undefined {
  const attributes = new Map<string, string>();
  let types: string | undefined;
  for (const { key, value } of record.headers) {
    // A header without value is an unset attribute; of a repeated header the last counts, as in Kafka's clients.
    if (value === undefined) continue;
    if (key === typesHeader) types = decode(value);
    else if (key.startsWith(attributePrefix)) {
      const text = decode(value);
      if (text === undefined) return undefined;
      attributes.set(key.slice(attributePrefix.length), text);
    }
  }
  // The binding has this attribute in `content-type` only, but some SDKs write it here as well.
  if (contentType !== undefined) attributes.set("datacontenttype", contentType);
  const draft = new EventDraft();
  const kinds = types === undefined ? undefined : parseTypes(types);
  for (const [name, text] of attributes) draft.set(name, typed(text, kinds?.get(name)));
  draft.data = record.value;
  return draft.finish();
}

function parseTypes(text: string): Map<string, string> {
  const types = new Map<string, string>();
  for (const entry of text.split(",")) {
    const [name, type] = entry.split("=");
    if (name !== undefined && type !== undefined) types.set(name, type);
  }
  return types;
}

/** Only a canonical string becomes a boolean or an integer, so that it is written back as it was read. */
function typed(text: string, type: string | undefined): AttributeValue {
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  if (type === "integer" && String(Number(text) | 0) === text) return Number(text);
  return text;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The UTF-8 text of a header value, or undefined when it is none. */
function decode(bytes: Uint8Array | string): string | undefined {
  if (typeof bytes === "string") return bytes;
  const text = asBuffer(bytes).toString();
  return text.includes("\ufffd") && !isUtf8(bytes) ? undefined : text;
}
