export interface Bytes {
  readonly offsets: Int32Array;
  readonly data: Uint8Array;
}

/** How such a number may begin. Most texts hold none of these, which is quickly seen. */
const beginnings = ["Inf", "inf", "INF", "NaN", "nan", "NAN"].map((text) => Buffer.from(text));
const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\b(?:inf(?:inity)?|nan)\b/gis;

/**
 * Infinite numbers and NaN stand in DuckDB's JSON as they do in no other. Clients could not read it, so they become text, as
 * they are in lists and structs.
 */
export function withKnownNumbers(bytes: Bytes): Bytes {
  const all = Buffer.from(bytes.data.buffer, bytes.data.byteOffset, bytes.data.byteLength);
  if (!beginnings.some((beginning) => all.includes(beginning))) return bytes;
  const offsets = new Int32Array(bytes.offsets.length);
  const texts: Buffer[] = [];
  for (let i = 0; i + 1 < offsets.length; i++) {
    const input = all.subarray(bytes.offsets[i], bytes.offsets[i + 1]);
    const hasSuch = beginnings.some((beginning) => input.includes(beginning));
    const text = hasSuch ? Buffer.from(input.toString().replace(stringOrNumber, asText)) : input;
    texts.push(text);
    offsets[i + 1] = offsets[i]! + text.length;
  }
  return { offsets, data: new Uint8Array(Buffer.concat(texts)) };
}

function asText(part: string): string {
  if (part.startsWith('"')) return part;
  if (/nan$/i.test(part)) return '"NaN"';
  return part.startsWith("-") ? '"-Infinity"' : '"Infinity"';
}
