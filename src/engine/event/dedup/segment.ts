import { asBuffer } from "../../../port/bytes.ts";
import type { Reader } from "../../../port/store.ts";
import { makeKey, readU64, tables, writeU64 } from "../../keys.ts";
import { openValue } from "../../stored-value.ts";
import { type EventPlace, entriesFromBytes, entryHas, entryPlace, entryTimeMs, entryWords } from "./entry.ts";

const two32 = 2 ** 32;

/**
 * Events written in one stretch of time, on the disk: pages by the digest's first word, each with the entries of its
 * part of the digests. Its Bloom filter, which tells nearly all events that are not here without reading a page, is looked
 * at together with those of other segments.
 */
export class DedupSegment {
  readonly seq: number;
  readonly pages: number;
  readonly lastMs: number;
  readonly #pageTable: PageTable;

  constructor(seq: number, pages: number, lastMs: number, pageTable: PageTable = tables.dedupPage) {
    this.seq = seq;
    this.pages = pages;
    this.lastMs = lastMs;
    this.#pageTable = pageTable;
  }

  find(store: Pick<Reader, "peek">, digests: Uint32Array, digestAt: number, afterMs: number): EventPlace | undefined {
    const stored = store.peek(pageKey(this.#pageTable, this.seq, pageOf(digests[digestAt]!, this.pages)));
    if (stored === undefined) return undefined;
    const words = entriesFromBytes(openValue(stored));
    for (let at = 0; at + entryWords <= words.length; at += entryWords) {
      if (entryHas(words, at, digests, digestAt) && entryTimeMs(words, at) > afterMs) return entryPlace(words, at);
    }
    return undefined;
  }

  /** Key and value under which the segment is listed: u32 pages, u64 last time, the filter. */
  static key(seq: number): Buffer {
    return makeKey(tables.dedupSegment, seq);
  }

  encode(filter: Uint8Array): Buffer {
    const bytes = Buffer.allocUnsafe(12 + filter.length);
    bytes.writeUInt32BE(this.pages, 0);
    writeU64(bytes, 4, this.lastMs);
    bytes.set(filter, 12);
    return bytes;
  }

  static decode(seq: number, stored: Uint8Array, pageTable?: PageTable): { segment: DedupSegment; filter: Uint8Array } {
    const bytes = asBuffer(stored);
    const segment = new DedupSegment(seq, bytes.readUInt32BE(0), readU64(bytes, 4), pageTable);
    return { segment, filter: bytes.subarray(12) };
  }
}

type PageTable = typeof tables.dedupPage | typeof tables.olderDedupPage;

export function pageKey(table: PageTable, seq: number, page: number): Buffer {
  const key = Buffer.allocUnsafe(13);
  key[0] = table;
  writeU64(key, 1, seq);
  key.writeUInt32BE(page, 9);
  return key;
}

/** The page of entries that begin with this word. */
export function pageOf(firstWord: number, pages: number): number {
  return Math.floor((firstWord / two32) * pages);
}
