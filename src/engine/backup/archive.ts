import { createHash } from "node:crypto";
import type { Bytes, Entry, Reader } from "../../port/store.ts";
import { tarEnd, tarHeader, tarPadding } from "./tar.ts";

/** The form of what is in the archive. Raised when it changes; an older one stays readable, a newer one is refused. */
export const archiveVersion = 1;
export const headMember = "backup.json";
export const checksumsMember = "checksums.json";
/** The last member: the checksum of the checksums, as `sha256sum` writes it. */
export const lastMember = "checksums.sha256";

/** The folders of a data directory that hold key-value stores. */
export const storeNames = ["store", "auth"] as const;
export type StoreName = (typeof storeNames)[number];

export interface ArchiveHead {
  readonly version: number;
  readonly created_at: string;
  readonly server_version: string;
}

export interface Checksums {
  readonly members: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[];
  readonly entries: Readonly<Record<StoreName, number>>;
}

/** Entries of one member; one that is larger is a member of its own. */
const memberBytes = 1024 * 1024;

/** Writes members one after another and remembers their checksums for the last one. */
export class ArchiveWriter {
  readonly #nowMs: number;
  readonly #members: { name: string; bytes: number; sha256: string }[] = [];

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  *whole(name: string, data: Bytes): Generator<Bytes> {
    const sha256 = createHash("sha256").update(data).digest("hex");
    this.#members.push({ name, bytes: data.length, sha256 });
    yield Buffer.concat([tarHeader(name, data.length, this.#nowMs), data, tarPadding(data.length)]);
  }

  /** A member whose size is known before its data are there. */
  async *piecewise(name: string, bytes: number, pieces: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
    yield tarHeader(name, bytes, this.#nowMs);
    const hash = createHash("sha256");
    let left = bytes;
    for await (const piece of pieces) {
      // What was added since its size was taken is not part of it.
      const part = piece.length > left ? piece.subarray(0, left) : piece;
      hash.update(part);
      left -= part.length;
      if (part.length > 0) yield part;
      if (left === 0) break;
    }
    if (left > 0) throw new Error(`the object ${name} became smaller while it was read`);
    this.#members.push({ name, bytes, sha256: hash.digest("hex") });
    yield tarPadding(bytes);
  }

  *end(entries: Checksums["entries"]): Generator<Bytes> {
    const checksums: Checksums = { members: this.#members.slice(), entries };
    const text = Buffer.from(JSON.stringify(checksums));
    yield* this.whole(checksumsMember, text);
    yield* this.whole(lastMember, Buffer.from(checksumLine(text)));
    yield tarEnd;
  }
}

export function checksumLine(checksums: Bytes): string {
  return `${createHash("sha256").update(checksums).digest("hex")}  ${checksumsMember}\n`;
}

/**
 * The entries of a store in members of about a mebibyte.
 *
 *   member = *( u32 key length · u32 value length · key · value )
 */
export function* entryMembers(reader: Reader): Generator<{ readonly data: Bytes; readonly entries: number }> {
  let from: Bytes | undefined;
  for (;;) {
    const parts: Bytes[] = [];
    let bytes = 0;
    let entries = 0;
    // A range of its own for each member: no cursor stays open while the reader of the archive takes its time.
    for (const { key, value } of reader.range(from === undefined ? {} : { from })) {
      const lengths = Buffer.allocUnsafe(8);
      lengths.writeUInt32BE(key.length, 0);
      lengths.writeUInt32BE(value.length, 4);
      parts.push(lengths, Buffer.from(key), value);
      bytes += 8 + key.length + value.length;
      entries++;
      from = Buffer.concat([key, Buffer.of(0)]);
      if (bytes >= memberBytes) break;
    }
    if (entries === 0) return;
    yield { data: Buffer.concat(parts), entries };
  }
}

export function* decodeEntries(data: Buffer): Generator<Entry> {
  for (let at = 0; at < data.length; ) {
    if (at + 8 > data.length) throw new Error("entries are cut short");
    const keyEnd = at + 8 + data.readUInt32BE(at);
    const end = keyEnd + data.readUInt32BE(at + 4);
    if (end > data.length) throw new Error("entries are cut short");
    yield { key: data.subarray(at + 8, keyEnd), value: data.subarray(keyEnd, end) };
    at = end;
  }
}

export function memberName(store: StoreName, index: number): string {
  return `${store}/${String(index).padStart(8, "0")}`;
}
