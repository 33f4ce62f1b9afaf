import { isAscii } from "node:buffer";
import { limits } from "../limits.ts";
import { isTimestamp, isUriReference } from "./attribute-rules.ts";
import type { CloudEvent, Extension } from "./cloud-event.ts";
import { JsonValidator, skipJsonSpace } from "./json-validate.ts";

const quote = 0x22;
const jsonType = "application/json";
const noExtensions: readonly Extension[] = [];

/** Text of the event before, which most events of a batch share: neither made nor checked again. */
interface Known {
  bytes: Uint8Array;
  start: number;
  end: number;
  text: string;
}

/**
 * The usual JSON events in one pass over the bytes: ASCII without escapes in the attributes, JSON as data. Anything
 * else, valid or not, gives undefined, and the parser that knows every rule is asked. It takes 0.4 of that one's time.
 */
export class FastEventParser {
  /** In a batch, data lie two levels deep. */
  readonly #validator = new JsonValidator(limits.eventJsonDepthMax - 2);
  readonly #source: Known = { bytes: new Uint8Array(0), start: 0, end: 0, text: "" };
  readonly #type: Known = { bytes: new Uint8Array(0), start: 0, end: 0, text: "" };
  /** Where the last part ended. */
  #at = 0;

  event(bytes: Buffer): CloudEvent | undefined {
    if (bytes.length > limits.eventJsonSmallBytes || !isAscii(bytes)) return undefined;
    this.#at = skipJsonSpace(bytes, 0);
    const event = this.#object(bytes);
    this.#forget();
    return event !== undefined && skipJsonSpace(bytes, this.#at) === bytes.length ? event : undefined;
  }

  batch(bytes: Buffer): CloudEvent[] | undefined {
    if (bytes.length > limits.eventJsonSmallBytes || !isAscii(bytes)) return undefined;
    const events = this.#array(bytes);
    this.#forget();
    return events;
  }

  #array(bytes: Buffer): CloudEvent[] | undefined {
    const events: CloudEvent[] = [];
    let at = skipJsonSpace(bytes, 0);
    if (bytes[at] !== 0x5b) return undefined;
    do {
      this.#at = skipJsonSpace(bytes, at + 1);
      const event = this.#object(bytes);
      if (event === undefined) return undefined;
      events.push(event);
      at = skipJsonSpace(bytes, this.#at);
    } while (bytes[at] === 0x2c);
    if (bytes[at] !== 0x5d || skipJsonSpace(bytes, at + 1) !== bytes.length) return undefined;
    return events;
  }

  /** The request's body must not be kept for the sake of the next one. */
  #forget(): void {
    for (const known of [this.#source, this.#type]) known.end = known.start = 0;
    this.#source.bytes = this.#type.bytes = new Uint8Array(0);
  }

  #object(bytes: Buffer): CloudEvent | undefined {
    if (bytes[this.#at] !== 0x7b) return undefined;
    let hasVersion = false;
    let id = "";
    let source = "";
    let type = "";
    let subject: string | undefined;
    let time: string | undefined;
    let datacontenttype: string | undefined;
    let data: Buffer | undefined;
    let extensions: Extension[] | undefined;
    let at = this.#at;
    do {
      at = skipJsonSpace(bytes, at + 1);
      const nameStart = at + 1;
      const nameEnd = nameEndOf(bytes, at);
      at = skipJsonSpace(bytes, nameEnd + 1);
      if (nameEnd < 0 || bytes[at] !== 0x3a) return undefined;
      const start = skipJsonSpace(bytes, at + 1);
      const name = nameOf(bytes, nameStart, nameEnd);
      if (name === "data") {
        at = this.#validator.valueEnd(bytes, start);
        if (at < 0 || data !== undefined) return undefined;
        data = bytes.subarray(start, at);
      } else {
        const end = textEndOf(bytes, start);
        // Empty text is against the rules of most attributes.
        if (end <= start + 1) return undefined;
        at = end + 1;
        switch (name) {
          case "specversion":
            if (hasVersion || !isText(bytes, start + 1, end, "1.0")) return undefined;
            hasVersion = true;
            break;
          case "id":
            if (id !== "") return undefined;
            id = bytes.latin1Slice(start + 1, end);
            break;
          case "source":
            if (source !== "") return undefined;
            if (!isKnown(this.#source, bytes, start + 1, end)) {
              if (!isUriReference(bytes.latin1Slice(start + 1, end))) return undefined;
              learn(this.#source, bytes, start + 1, end);
            }
            source = this.#source.text;
            break;
          case "type":
            if (type !== "") return undefined;
            if (!isKnown(this.#type, bytes, start + 1, end)) learn(this.#type, bytes, start + 1, end);
            type = this.#type.text;
            break;
          case "datacontenttype":
            if (datacontenttype !== undefined || !isText(bytes, start + 1, end, jsonType)) return undefined;
            datacontenttype = jsonType;
            break;
          case "subject":
            if (subject !== undefined) return undefined;
            subject = bytes.latin1Slice(start + 1, end);
            break;
          case "time":
            if (time !== undefined) return undefined;
            time = bytes.latin1Slice(start + 1, end);
            if (!isTimestamp(time)) return undefined;
            break;
          case "partitionkey":
            if (extensions !== undefined) return undefined;
            extensions = [{ name, value: bytes.latin1Slice(start + 1, end) }];
            break;
          default:
            return undefined;
        }
      }
      at = skipJsonSpace(bytes, at);
    } while (bytes[at] === 0x2c);
    if (bytes[at] !== 0x7d || !hasVersion || id === "" || source === "" || type === "") return undefined;
    this.#at = at + 1;
    if (data !== undefined) datacontenttype ??= jsonType;
    return {
      specversion: "1.0",
      id,
      source,
      type,
      subject,
      time,
      dataschema: undefined,
      datacontenttype,
      extensions: extensions ?? noExtensions,
      data,
    };
  }
}

type FastName =
  | "data"
  | "specversion"
  | "id"
  | "source"
  | "type"
  | "subject"
  | "time"
  | "datacontenttype"
  | "partitionkey";

/** The index of the quote after a name that opens at `from`, or -1. */
function nameEndOf(bytes: Uint8Array, from: number): number {
  if (bytes[from] !== quote) return -1;
  let at = from + 1;
  while (bytes[at]! >= 0x61 && bytes[at]! <= 0x7a) at++;
  return bytes[at] === quote ? at : -1;
}

/** The index of the quote after text that opens at `from`, or -1 when it has anything but printable ASCII. */
function textEndOf(bytes: Uint8Array, from: number): number {
  if (bytes[from] !== quote) return -1;
  let at = from + 1;
  for (let byte = bytes[at]!; byte !== quote; byte = bytes[++at]!) {
    if (!(byte >= 0x20 && byte <= 0x7e) || byte === 0x5c) return -1;
  }
  return at;
}

/** The names are told by length and first letter, then compared. */
function nameOf(bytes: Uint8Array, start: number, end: number): FastName | undefined {
  let name: FastName;
  switch (end - start) {
    case 2:
      name = "id";
      break;
    case 4:
      name = bytes[start] === 0x64 ? "data" : bytes[start + 1] === 0x79 ? "type" : "time";
      break;
    case 6:
      name = "source";
      break;
    case 7:
      name = "subject";
      break;
    case 11:
      name = "specversion";
      break;
    case 12:
      name = "partitionkey";
      break;
    case 15:
      name = "datacontenttype";
      break;
    default:
      return undefined;
  }
  return isText(bytes, start, end, name) ? name : undefined;
}

function isText(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false;
  return true;
}

function isKnown(known: Known, bytes: Uint8Array, start: number, end: number): boolean {
  const length = end - start;
  if (known.bytes !== bytes || known.end - known.start !== length) return false;
  for (let i = 0; i < length; i++) if (bytes[start + i] !== bytes[known.start + i]) return false;
  return true;
}

function learn(known: Known, bytes: Buffer, start: number, end: number): void {
  known.bytes = bytes;
  known.start = start;
  known.end = end;
  known.text = bytes.latin1Slice(start, end);
}
