import { AsyncLocalStorage } from "node:async_hooks";
import { type DescField, type DescMessage, type DescOneof, fromJson, type JsonValue } from "@bufbuild/protobuf";

/**
 * The library tells which field of which message it can't decode, and not where in the request that stands. Only once it
 * has failed is the request's text searched for the place.
 */

/** Longest text that is searched, at the cost of decoding it again. In longer ones the field is reported by its name alone. */
const textLengthMax = 128 * 1024;

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

/** Where in a message the field is that can't be decoded, as in `retrieve[0].vector.query`. Every value is looked at once. */
export function faultPath(message: DescMessage, text: string): string | undefined {
  try {
    return inMessage(message, JSON.parse(text), "");
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

function inMessage(message: DescMessage, json: JsonValue, path: string): string | undefined {
  // Well-known types have JSON of their own.
  if (!isObject(json) || message.typeName.startsWith("google.protobuf.")) {
    return decodes(message, json) ? undefined : path || undefined;
  }
  const chosen = new Set<DescOneof>();
  for (const [key, value] of Object.entries(json)) {
    const name = key === "" ? '""' : key;
    const at = path === "" ? name : `${path}.${name}`;
    const field = message.fields.find(({ jsonName, name }) => jsonName === key || name === key);
    if (field === undefined) return at;
    // Of two members that exclude each other, the place is that of what holds them.
    if (field.oneof !== undefined && value !== null) {
      if (chosen.has(field.oneof)) return path || undefined;
      chosen.add(field.oneof);
    }
    const found = inField(message, field, key, value, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

function inField(message: DescMessage, field: DescField, key: string, json: JsonValue, path: string) {
  if (field.fieldKind === "message" && json !== null) return inMessage(field.message, json, path);
  if (field.fieldKind === "list" && Array.isArray(json)) {
    if (field.message !== undefined) return inItems(field.message, json, (i) => `${path}[${i}]`);
    const i = firstBad(json, (items) => decodes(message, { [key]: items }));
    return i === undefined ? undefined : `${path}[${i}]`;
  }
  if (field.fieldKind === "map" && field.message !== undefined && isObject(json)) {
    const names = Object.keys(json);
    return inItems(field.message, Object.values(json), (i) => `${path}.${names[i]}`);
  }
  return decodes(message, { [key]: json }) ? undefined : path;
}

function inItems(message: DescMessage, items: readonly JsonValue[], pathOf: (i: number) => string): string | undefined {
  for (const [i, item] of items.entries()) {
    const found = inMessage(message, item, pathOf(i));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The first item that spoils a list; halves are tried, for one by one would take far longer. */
function firstBad(items: JsonValue[], isGood: (items: JsonValue[]) => boolean): number | undefined {
  if (isGood(items)) return undefined;
  let from = 0;
  let to = items.length;
  while (to - from > 1) {
    const middle = (from + to) >>> 1;
    if (isGood(items.slice(from, middle))) from = middle;
    else to = middle;
  }
  return from;
}
