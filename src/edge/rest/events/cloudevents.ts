import { isUtf8 } from "node:buffer";
import { EngineError, invalid } from "../../../engine/errors.ts";
import { type CloudEvent, EventDraft, shownName } from "../../../engine/event/cloud-event.ts";
import {
  batchJsonType,
  eventJsonType,
  formatEventJson,
  parseBatchJson,
  parseEventJson,
} from "../../../engine/event/json-format.ts";
import { isEventFormat, parseMediaType, unquote } from "../../../engine/event/media-type.ts";
import { withoutMark } from "../http/body.ts";

/** The HTTP protocol binding of CloudEvents 1.0.2. */

export { batchJsonType } from "../../../engine/event/json-format.ts";

export type EventMode = "binary" | "structured" | "batch";

export interface EventRequest {
  /**
   * Names and values in turn, as Node's `rawHeaders` has them: its parsed `headers` joins repeated headers with
   * commas, which hides that an attribute was sent twice.
   */
  readonly headers: readonly string[];
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

export interface ParsedEvents {
  readonly mode: EventMode;
  readonly events: CloudEvent[];
}

/** Parses the events of a request, or throws `invalid_argument` naming the attribute, or `unsupported_media_type`. */
export function parseEvents(request: EventRequest): ParsedEvents {
  const mode = modeOf(request);
  switch (mode) {
    case "structured":
      return { mode, events: [parseEventJson(withoutMark(request.body))] };
    case "batch":
      return { mode, events: parseBatchJson(withoutMark(request.body)) };
    case "binary":
      return { mode, events: [parseBinary(request)] };
  }
}

function modeOf({ headers, contentType }: EventRequest): EventMode {
  if (contentType === eventJsonType) return "structured";
  if (contentType === batchJsonType) return "batch";
  const media = contentType === undefined ? undefined : parseMediaType(contentType.trim());
  const essence = media?.essence;
  if (essence === eventJsonType || essence === batchJsonType) {
    if (!/^utf-?8$/.test(media?.charset ?? "utf-8")) throw unsupported("JSON events are UTF-8");
    return essence === eventJsonType ? "structured" : "batch";
  }
  // Any other `application/cloudevents…` is an event format that this service does not read.
  if (contentType !== undefined && isEventFormat(contentType)) {
    throw unsupported("only the JSON event format is supported");
  }
  for (let i = 0; i < headers.length; i += 2) if (isAttributeHeader(headers[i]!)) return "binary";
  throw unsupported(`send ce-* headers, ${eventJsonType} or ${batchJsonType}`);
}

function unsupported(message: string): EngineError {
  return new EngineError("unsupported_media_type", `content-type: not a CloudEvents request: ${message}`, {
    details: { field: "content-type" },
  });
}

export function isAttributeHeader(name: string): boolean {
  return (name.charCodeAt(0) | 0x20) === 0x63 && (name.charCodeAt(1) | 0x20) === 0x65 && name.charCodeAt(2) === 0x2d;
}

function parseBinary({ headers, contentType, body }: EventRequest): CloudEvent {
  const draft = new EventDraft();
  const seen = new Set<string>();
  for (let i = 0; i < headers.length; i += 2) {
    const header = headers[i]!;
    if (!isAttributeHeader(header)) continue;
    const name = header.slice(3).toLowerCase();
    if (name === "datacontenttype")
      throw invalid(name, "in binary mode it is the Content-Type header, not a ce- header");
    if (seen.has(name)) throw invalid(shownName(name), "is given twice");
    seen.add(name);
    draft.set(name, decodeHeader(name, headers[i + 1]!));
  }
  // No percent-decoding here: Content-Type is an ordinary header.
  if (contentType !== undefined) draft.set("datacontenttype", contentType.trim());
  if (body.length > 0) draft.data = body;
  return draft.finish();
}

/** Unquotes a quoted string, then decodes percent-encoding once. */
function decodeHeader(name: string, raw: string): string {
  const text = raw.charCodeAt(0) === 0x22 && isQuoted(raw) ? unquote(raw) : raw;
  for (let at = 0; at < text.length; at++) {
    // Node reads header bytes as Latin-1, so what stands there is a guess.
    if (text.charCodeAt(at) > 0x7e) throw invalid(shownName(name), "characters outside ASCII must be percent-encoded");
  }
  return text.includes("%") ? decodePercent(name, text) : text;
}

/** A value that only starts with a quote, or goes on after the closing one, is no quoted string and stays as it is. */
function isQuoted(text: string): boolean {
  let at = 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at === text.length - 1;
}

/** A `%` without two hexadecimal digits after it stands for itself. */
function decodePercent(name: string, text: string): string {
  const bytes = Buffer.allocUnsafe(text.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const value = code === 0x25 ? hexValue(text, at + 1) * 16 + hexValue(text, at + 2) : Number.NaN;
    if (Number.isNaN(value)) bytes[length++] = code;
    else {
      bytes[length++] = value;
      at += 2;
    }
  }
  const decoded = bytes.subarray(0, length);
  if (!isUtf8(decoded)) throw invalid(shownName(name), "its percent-encoding is not valid UTF-8");
  return decoded.toString();
}

function hexValue(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

export interface BinaryMessage {
  /** Without `content-type` when the event has no `datacontenttype`; the sender must then send none either. */
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** Clients refuse answers whose headers are larger than some bound, often 16 KiB; the answer has others besides. */
const attributeBytesMax = 12 * 1024;

function attributeBytes(headers: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const name in headers) bytes += name.length + headers[name]!.length + ": \r\n".length;
  return bytes;
}

/**
 * The event in binary mode. Data of zero bytes and no data look the same there. An event whose data is itself in an
 * event format comes in structured mode, since in binary mode a receiver would take the data for the event; so does one
 * with more attributes than clients take as headers, or its reader could not get past it.
 */
export function formatBinary(event: CloudEvent): BinaryMessage {
  const headers =
    event.datacontenttype !== undefined && isEventFormat(event.datacontenttype) ? undefined : headersOf(event);
  if (headers === undefined || attributeBytes(headers) > attributeBytesMax) {
    return { headers: { "content-type": eventJsonType }, body: Buffer.from(formatEventJson(event)) };
  }
  const { data } = event;
  const body = data === undefined ? Buffer.alloc(0) : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return { headers, body };
}

function headersOf(event: CloudEvent): Record<string, string> {
  const headers: Record<string, string> = {
    "ce-specversion": event.specversion,
    "ce-id": encodeHeader(event.id),
    "ce-source": encodeHeader(event.source),
    "ce-type": encodeHeader(event.type),
  };
  if (event.subject !== undefined) headers["ce-subject"] = encodeHeader(event.subject);
  if (event.time !== undefined) headers["ce-time"] = event.time;
  if (event.dataschema !== undefined) headers["ce-dataschema"] = encodeHeader(event.dataschema);
  for (const { name, value } of event.extensions) headers[`ce-${name}`] = encodeHeader(String(value));
  if (event.datacontenttype !== undefined) headers["content-type"] = event.datacontenttype;
  return headers;
}

/** Encodes space, `"`, `%` and everything outside printable ASCII; attribute values are well-formed Unicode. */
function encodeHeader(text: string): string {
  return text.replace(/[^\x21\x23\x24\x26-\x7e]+/g, (part) =>
    Buffer.from(part).reduce((encoded, byte) => `${encoded}%${byte.toString(16).toUpperCase().padStart(2, "0")}`, ""),
  );
}
