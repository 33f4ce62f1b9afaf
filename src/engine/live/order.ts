import { bytesOf, int64Of, isObject, type LiveObject, type LiveValue } from "./value.ts";

/**
 * Values as bytes whose order is the order of the values: missing, null, int64, number, boolean, string, bytes, array, object. As text of
 * one character a byte, which compares as the bytes do and is a key of a Map as it is.
 */
const tags = { end: "\0", missing: "\x01", null: "\x02", int64: "\x03", number: "\x04", false: "\x05", true: "\x06" };
const stringTag = "\x07";
const bytesTag = "\x08";
const arrayTag = "\x09";
const objectTag = "\x0a";

const scratch = Buffer.alloc(8);

export function encodeOrdered(value: LiveValue | undefined): string {
  if (value === undefined) return tags.missing;
  if (value === null) return tags.null;
  if (typeof value === "boolean") return value ? tags.true : tags.false;
  if (typeof value === "number") return tags.number + orderedDouble(value);
  if (typeof value === "string") return stringTag + escaped(Buffer.from(value).toString("latin1"));
  if (!isObject(value)) return `${arrayTag}${value.map(encodeOrdered).join("")}${tags.end}`;
  const integer = int64Of(value);
  if (integer !== undefined) {
    scratch.writeBigUInt64BE(BigInt.asUintN(64, integer) ^ (1n << 63n));
    return tags.int64 + scratch.toString("latin1");
  }
  const bytes = bytesOf(value);
  if (bytes !== undefined) return bytesTag + escaped(bytes.toString("latin1"));
  const names = Object.keys(value).sort();
  return `${objectTag}${names.map((name) => encodeOrdered(name) + encodeOrdered(value[name]!)).join("")}${tags.end}`;
}

function orderedDouble(value: number): string {
  // Both zeros are one number.
  scratch.writeDoubleBE(value === 0 ? 0 : value);
  if (scratch[0]! & 0x80) for (let i = 0; i < 8; i++) scratch[i] = ~scratch[i]!;
  else scratch[0]! |= 0x80;
  return scratch.toString("latin1");
}

/** Ends with a byte pair that is smaller than anything that may follow, so that a prefix comes first. */
function escaped(text: string): string {
  return `${text.includes("\0") ? text.replaceAll("\0", "\0\xff") : text}\0\x01`;
}

/** The text after every one that starts with this; undefined where there is none. */
export function afterText(prefix: string): string | undefined {
  let end = prefix.length;
  while (end > 0 && prefix.charCodeAt(end - 1) === 0xff) end--;
  if (end === 0) return undefined;
  return prefix.slice(0, end - 1) + String.fromCharCode(prefix.charCodeAt(end - 1) + 1);
}

/** A field by its dotted path. */
export function fieldAt(document: LiveObject, path: string): LiveValue | undefined {
  if (!path.includes(".")) return Object.hasOwn(document, path) ? document[path] : undefined;
  let value: LiveValue | undefined = document;
  for (const name of path.split(".")) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}
