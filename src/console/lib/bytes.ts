import type { StoredRecord } from "./types.ts";

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

export function textToBase64(text: string): string {
  return toBase64(new TextEncoder().encode(text));
}

/** The text that bytes are in UTF-8, or undefined for what is none. */
export function asText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return /[\0-\x08\x0e-\x1f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

export function asJson(bytes: Uint8Array): unknown {
  const text = asText(bytes);
  if (text === undefined || !/^\s*[[{"\dtfn-]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const bytesPerLine = 16;

/** Offset, bytes and characters, as hex editors show them. */
export function hexDump(bytes: Uint8Array, linesMax = 512): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length && lines.length < linesMax; at += bytesPerLine) {
    const part = bytes.subarray(at, at + bytesPerLine);
    const hex = Array.from(part, (byte) => byte.toString(16).padStart(2, "0"));
    const left = hex.slice(0, 8).join(" ").padEnd(23);
    const right = hex.slice(8).join(" ").padEnd(23);
    const characters = Array.from(part, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join(
      "",
    );
    lines.push(`${at.toString(16).padStart(8, "0")}  ${left}  ${right}  ${characters}`);
  }
  const shown = lines.length * bytesPerLine;
  if (shown < bytes.length) lines.push(`… ${bytes.length - shown} more bytes`);
  return lines.join("\n");
}

/** One line that tells what a value is. */
export function preview(value: string | undefined, lengthMax = 160): string {
  if (value === undefined) return "null";
  const part = value.slice(0, Math.ceil(lengthMax / 3) * 16);
  const bytes = fromBase64(part);
  // Where the part ends within a character, the text is what stands before it.
  const isCut = part.length < value.length;
  const text =
    asText(bytes) ??
    (isCut ? [1, 2, 3].map((cut) => asText(bytes.subarray(0, -cut))).find((found) => found !== undefined) : undefined);
  if (text === undefined)
    return Array.from(bytes.subarray(0, 24), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const line = text.replace(/\s+/g, " ");
  return line.length > lengthMax ? `${line.slice(0, lengthMax)}…` : line;
}

/** A record that the CloudEvents binding wrote, as the event it holds; undefined for any other. */
export function asCloudEvent(record: StoredRecord): Record<string, unknown> | undefined {
  const headers = new Map(
    (record.headers ?? []).map(({ key, value }) => [
      key.toLowerCase(),
      value === undefined ? "" : (asText(fromBase64(value)) ?? ""),
    ]),
  );
  if (!headers.has("ce_specversion")) return undefined;
  const event: Record<string, unknown> = {};
  for (const [name, value] of headers) if (name.startsWith("ce_")) event[name.slice(3)] = value;
  const type = headers.get("content-type");
  if (type !== undefined) event["datacontenttype"] = type;
  if (record.value !== undefined) {
    const bytes = fromBase64(record.value);
    const isJson = type === undefined || /[/+]json\b/i.test(type);
    const json = isJson ? asJson(bytes) : undefined;
    const text = asText(bytes);
    if (json !== undefined) event["data"] = json;
    else if (text !== undefined) event["data"] = text;
    else event["data_base64"] = record.value;
  }
  return event;
}
