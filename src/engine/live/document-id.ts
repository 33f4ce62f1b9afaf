/**
 * The `_id` of a document: its table's number and its key, 20 bytes as 32 letters and digits. The key is the creation time in microseconds and
 * eight random bytes, so that keys are in the order of creation.
 */
export interface DocumentId {
  readonly table: number;
  /** Sixteen characters of one byte each. */
  readonly key: string;
}

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const digits = new Map([...alphabet].map((letter, i) => [letter, i]));
const idPattern = /^[0-9a-hjkmnp-tv-z]{32}$/;
export const documentKeyBytes = 16;

export function formatId({ table, key }: DocumentId): string {
  const bytes = Buffer.allocUnsafe(20);
  bytes.writeUInt32BE(table);
  bytes.write(key, 4, "latin1");
  let text = "";
  for (let at = 0; at < 20; at += 5) {
    let high = bytes.readUInt32BE(at);
    const low = bytes[at + 4]!;
    for (let shift = 27; shift >= 2; shift -= 5) text += alphabet[(high >>> shift) & 31]!;
    high = ((high & 3) << 8) | low;
    text += alphabet[high >> 5]! + alphabet[high & 31]!;
  }
  return text;
}

/** Undefined for what is no id. */
export function parseId(text: unknown): DocumentId | undefined {
  if (typeof text !== "string" || !idPattern.test(text)) return undefined;
  const bytes = Buffer.allocUnsafe(20);
  for (let at = 0; at < 4; at++) {
    let value = 0;
    for (let i = 0; i < 8; i++) value = value * 32 + digits.get(text[at * 8 + i]!)!;
    bytes.writeUIntBE(value, at * 5, 5);
  }
  return { table: bytes.readUInt32BE(), key: bytes.toString("latin1", 4) };
}

export function documentKey(creationMicros: number, random: Uint8Array): string {
  return creationPrefix(creationMicros) + Buffer.from(random).toString("latin1", 0, 8);
}

/** What the keys of documents of this time start with. */
export function creationPrefix(micros: number): string {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(micros));
  return bytes.toString("latin1");
}

/** Milliseconds with fractions. */
export function creationTimeOf(key: string): number {
  return creationMicrosOf(key) / 1_000;
}

/** No two documents of a namespace have the same. */
export function creationMicrosOf(key: string): number {
  return Number(Buffer.from(key, "latin1").readBigUInt64BE());
}
