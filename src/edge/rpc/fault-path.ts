import { AsyncLocalStorage } from "node:async_hooks";
import { type DescField, type DescMessage, fromJson, type JsonValue } from "@bufbuild/protobuf";

/**
 * The library tells which field of which message it can't decode, and not where in the request that stands. Only once it
 * has failed is the request's text looked through for the place.
 */

/** Texts that are looked through; in longer ones the field is told by its name alone. */
const textLengthMax = 1024 * 1024;

/** What a call was sent as JSON, kept by its decoder. */
export interface SentJson {
  text?: string;
}

export const sentJson = new AsyncLocalStorage<SentJson>();

/** Called by the decoder of messages, within the call that they belong to. */
export function keepSent(text: string): void {
  const sent = sentJson.getStore();
  if (sent !== undefined && text.length <= textLengthMax) sent.text = text;
}

/** Where in a message the field is that can't be decoded, as in `retrieve[0].vector.query`. */
export function faultPath(message: DescMessage, text: string): string | undefined {
  try {
    return pathIn(message, JSON.parse(text), "");
  } catch {
    return undefined;
  }
}

function decodes(message: DescMessage, json: JsonValue): boolean {
  try {
    fromJson(message, json, { ignoreUnknownFields: false });
    return true;
  } catch {
    return false;
  }
}

function isObject(json: JsonValue): json is Record<string, JsonValue> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

function pathIn(message: DescMessage, json: JsonValue, path: string): string | undefined {
  // Well-known types have JSON of their own.
  if (!isObject(json) || message.typeName.startsWith("google.protobuf.")) return path === "" ? undefined : path;
  for (const [key, value] of Object.entries(json)) {
    if (decodes(message, { [key]: value })) continue;
    const field = message.fields.find(({ jsonName, name }) => jsonName === key || name === key);
    const at = path === "" ? key : `${path}.${key}`;
    return field === undefined ? at : pathInField(message, field, key, value, at);
  }
  return path === "" ? undefined : path;
}

function pathInField(message: DescMessage, field: DescField, key: string, json: JsonValue, path: string) {
  if (field.fieldKind === "message") return pathIn(field.message, json, path);
  if (field.fieldKind === "list" && Array.isArray(json)) {
    const i = json.findIndex((item) => !decodes(message, { [key]: [item] }));
    return i === -1 ? path : pathInItem(field.message, json[i]!, `${path}[${i}]`);
  }
  if (field.fieldKind === "map" && isObject(json)) {
    const found = Object.entries(json).find(([name, value]) => !decodes(message, { [key]: { [name]: value } }));
    return found === undefined ? path : pathInItem(field.message, found[1], `${path}.${found[0]}`);
  }
  return path;
}

function pathInItem(message: DescMessage | undefined, json: JsonValue, path: string): string | undefined {
  return message === undefined ? path : pathIn(message, json, path);
}
