import { invalid } from "../errors.ts";
import { limits } from "../limits.ts";
import { isAbsoluteUri, isAttributeName, isTimestamp, isUriReference, stringFault } from "./attribute-rules.ts";
import { parseMediaType } from "./media-type.ts";

/**
 * What an attribute can hold here. Timestamps, URIs and binary values of CloudEvents' type system travel as their
 * canonical strings, which no format tells apart from a String.
 */
export type AttributeValue = string | boolean | number;

export interface Extension {
  readonly name: string;
  readonly value: AttributeValue;
}

/**
 * A valid CloudEvent 1.0. Values are kept as they were written: `time` is not normalised, and `data` is the bytes of
 * the payload. For JSON that came in the JSON format these are the very bytes between the member's colon and its
 * end, so numbers of any size, key order, escapes, duplicate keys and inner whitespace survive.
 *
 * `data` may share memory with the request body or the record it was read from. `undefined` is an event without
 * data; zero bytes are data.
 */
export interface CloudEvent {
  readonly specversion: "1.0";
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string | undefined;
  readonly time: string | undefined;
  readonly dataschema: string | undefined;
  readonly datacontenttype: string | undefined;
  readonly extensions: readonly Extension[];
  readonly data: Uint8Array | undefined;
}

export const integerAttributeMin = -2_147_483_648;
export const integerAttributeMax = 2_147_483_647;

/** A name in an error message comes from the sender: keep it short. */
const shownNameLengthMax = 64;
export function shownName(name: string): string {
  return name.length <= shownNameLengthMax ? name : `${name.slice(0, shownNameLengthMax)}…`;
}

const noExtensions: readonly Extension[] = [];

/**
 * Collects the attributes of one event and refuses what breaks a rule, naming the attribute. The caller sees to it
 * that no attribute is set twice, since each format has its own cheap way to know.
 */
export class EventDraft {
  private specversion: "1.0" | undefined = undefined;
  private id = "";
  private source = "";
  private type = "";
  private subject: string | undefined = undefined;
  private time: string | undefined = undefined;
  private dataschema: string | undefined = undefined;
  private extensions: Extension[] | undefined = undefined;
  datacontenttype: string | undefined = undefined;
  data: Uint8Array | undefined = undefined;

  set(name: string, value: unknown): void {
    switch (name) {
      case "specversion":
        if (value !== "1.0") throw invalid(name, 'must be "1.0"');
        this.specversion = value;
        return;
      case "id":
        this.id = nonEmpty(name, value);
        return;
      case "type":
        this.type = nonEmpty(name, value);
        return;
      case "subject":
        this.subject = nonEmpty(name, value);
        return;
      case "source":
        this.source = nonEmpty(name, value);
        if (!isUriReference(this.source)) throw invalid(name, "must be a URI-reference (RFC 3986)");
        return;
      case "dataschema":
        this.dataschema = nonEmpty(name, value);
        if (!isAbsoluteUri(this.dataschema)) {
          throw invalid(name, "must be an absolute URI without a fragment (RFC 3986 section 4.3)");
        }
        return;
      case "time":
        if (typeof value !== "string" || !isTimestamp(value)) throw invalid(name, "must be an RFC 3339 timestamp");
        this.time = value;
        return;
      case "datacontenttype":
        this.setContentType(value);
        return;
      default:
        this.setExtension(name, value);
    }
  }

  private setContentType(value: unknown): void {
    if (value === "application/json") {
      this.datacontenttype = value;
      return;
    }
    const text = nonEmpty("datacontenttype", value);
    // A header that carries it would lose the space.
    if (text.endsWith(" ") || parseMediaType(text) === undefined)
      throw invalid("datacontenttype", "must be a media type (RFC 2046)");
    this.datacontenttype = text;
  }

  private setExtension(name: string, value: unknown): void {
    if (!isAttributeName(name)) {
      throw invalid(shownName(name), "an attribute name has only lower-case letters a-z and digits");
    }
    if (name === "data") throw invalid(name, "is not an attribute name");
    // The partitioning extension defines it so, and it becomes the record's key.
    if (name === "partitionkey") nonEmpty(name, value);
    this.extensions ??= [];
    if (this.extensions.length === limits.eventExtensionsMax) {
      throw invalid(shownName(name), `an event has at most ${limits.eventExtensionsMax} extension attributes`);
    }
    this.extensions.push({ name, value: extensionValue(name, value) });
  }

  finish(): CloudEvent {
    if (this.specversion === undefined) throw missing("specversion");
    if (this.id === "") throw missing("id");
    if (this.source === "") throw missing("source");
    if (this.type === "") throw missing("type");
    return {
      specversion: this.specversion,
      id: this.id,
      source: this.source,
      type: this.type,
      subject: this.subject,
      time: this.time,
      dataschema: this.dataschema,
      datacontenttype: this.datacontenttype,
      extensions: this.extensions ?? noExtensions,
      data: this.data,
    };
  }
}

function missing(name: string) {
  return invalid(name, "is required");
}

function nonEmpty(name: string, value: unknown): string {
  if (typeof value !== "string") throw invalid(name, "must be a string");
  if (value === "") throw invalid(name, "must not be empty");
  const fault = stringFault(value);
  if (fault !== undefined) throw invalid(name, fault);
  return value;
}

function extensionValue(name: string, value: unknown): AttributeValue {
  switch (typeof value) {
    case "string": {
      const fault = stringFault(value);
      if (fault !== undefined) throw invalid(shownName(name), fault);
      return value;
    }
    case "boolean":
      return value;
    case "number":
      if (!Number.isInteger(value) || value < integerAttributeMin || value > integerAttributeMax) {
        throw invalid(shownName(name), `must be an integer from ${integerAttributeMin} to ${integerAttributeMax}`);
      }
      // Minus zero has no canonical string of its own.
      return value + 0;
    default:
      throw invalid(shownName(name), "must be a string, a boolean or an integer");
  }
}

/** The value of an extension, or undefined. */
export function extensionOf(event: CloudEvent, name: string): AttributeValue | undefined {
  for (const extension of event.extensions) if (extension.name === name) return extension.value;
  return undefined;
}
