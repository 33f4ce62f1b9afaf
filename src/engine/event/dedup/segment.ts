import assert from "node:assert/strict";
import { asBuffer } from "../../../port/bytes.ts";
import type { Reader } from "../../../port/store.ts";
import { makeKey, readU64, tables, writeU64 } from "../../keys.ts";
import { openValue, sealInPlace, sumBytes } from "../../stored-value.ts";
import {
  copyEntry,
  type EventPlace,
  entriesFromBytes,
  entryBytes,
  entryHas,
  entryPlace,
  entryTimeMs,
  entryWords,
} from "./entry.ts";
import type { EntryTable } from "./entry-table.ts";

/** Entries of a page on average: with few exceptions it then fits one page of the disk. */
const entriesPerPage = 90;
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

  constructor(seq: number, pages: number, lastMs: number) {
    this.seq = seq;
    this.pages = pages;
    this.lastMs = lastMs;
  }

  find(store: Pick<Reader, "get">, digests: Uint32Array, digestAt: number, afterMs: number): EventPlace | undefined {
    const stored = store.get(pageKey(this.seq, pageOf(digests[digestAt]!, this.pages)));
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

  static decode(seq: number, stored: Uint8Array): { segment: DedupSegment; filter: Uint8Array } {
    const bytes = asBuffer(stored);
    const segment = new DedupSegment(seq, bytes.readUInt32BE(0), readU64(bytes, 4));
    return { segment, filter: bytes.subarray(12) };
  }
}

export function pageKey(seq: number, page: number): Buffer {
  const key = Buffer.allocUnsafe(13);
  key[0] = tables.dedupPage;
  writeU64(key, 1, seq);
  key.writeUInt32BE(page, 9);
  return key;
}

function pageOf(firstWord: number, pages: number): number {
  return Math.floor((firstWord / two32) * pages);
}

/** The lowest first word of a page's digests. */
function pageStart(page: number, pages: number): number {
  let word = Math.floor((page / pages) * two32);
  // Either may have been rounded.
  while (word > 0 && pageOf(word - 1, pages) >= page) word--;
  while (pageOf(word, pages) < page) word++;
  return word;
}

/** A power of two of bits, from 12 to 24 for each entry: about one false answer in three hundred, or fewer. */
function newFilter(entries: number): Uint8Array {
  return new Uint8Array(2 ** Math.ceil(Math.log2(Math.max(64, entries * 1.5))));
}

/** Written out for six probes: this runs for every event, and a loop takes twice as long. */
function filterAdd(words: Int32Array, second: number, step: number): void {
  const mask = words.length * 32 - 1;
  let bit = second | 0;
  words[(bit & mask) >>> 5]! |= 1 << bit;
  bit = (bit + step) | 0;
  words[(bit & mask) >>> 5]! |= 1 << bit;
  bit = (bit + step) | 0;
  words[(bit & mask) >>> 5]! |= 1 << bit;
  bit = (bit + step) | 0;
  words[(bit & mask) >>> 5]! |= 1 << bit;
  bit = (bit + step) | 0;
  words[(bit & mask) >>> 5]! |= 1 << bit;
  bit = (bit + step) | 0;
  words[(bit & mask) >>> 5]! |= 1 << bit;
}

/** Turns a full table into a segment, a few pages at a time, so that no turn of the event loop is long. */
export class SegmentWriter {
  readonly #table: EntryTable;
  readonly #seq: number;
  readonly #filter: Uint8Array;
  readonly #pages: number;
  /** Entry numbers of the pages under way, in their order, and where each page ends among them. */
  readonly #order: Uint32Array;
  /** What the pages under way are written to. */
  #memory: Buffer = Buffer.alloc(0);
  #next = 0;
  /** Entries that are in pages, and that are in the filter. */
  #paged = 0;
  #filtered = 0;

  constructor(seq: number, table: EntryTable) {
    this.#seq = seq;
    this.#table = table;
    this.#filter = newFilter(table.count);
    this.#pages = Math.max(1, Math.ceil(table.count / entriesPerPage));
    this.#order = new Uint32Array(table.count);
  }

  /** The next pages to write; none when all are. Their memory is used again by the next call. */
  nextPages(pagesMax: number): { key: Buffer; value: Buffer }[] {
    const last = Math.min(this.#pages, this.#next + pagesMax);
    const ends: number[] = [];
    let found = 0;
    for (let page = this.#next, start = pageStart(page, this.#pages); page < last; page++) {
      const end = pageStart(page + 1, this.#pages);
      found = this.#table.between(start, end, this.#order, found);
      ends.push(found);
      start = end;
    }
    const bytes = found * entryBytes + ends.length * sumBytes;
    if (bytes > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(bytes);
    const written = this.#writePages(ends);
    this.#next = last;
    this.#paged += found;
    this.#fillFilter(this.#paged);
    return written;
  }

  #writePages(ends: readonly number[]): { key: Buffer; value: Buffer }[] {
    const { words } = this.#table;
    const order = this.#order;
    const memory = new Uint32Array(this.#memory.buffer, 0, Math.floor(this.#memory.length / 4));
    const written: { key: Buffer; value: Buffer }[] = [];
    let to = 0;
    for (let page = 0, i = 0; page < ends.length; page++) {
      if (i === ends[page]) continue;
      const start = to++;
      for (; i < ends[page]!; i++, to += entryWords) copyEntry(words, order[i]! * entryWords, memory, to);
      const value = sealInPlace(this.#memory.subarray(start * 4, to * 4));
      written.push({ key: pageKey(this.#seq, this.#next + page), value });
    }
    return written;
  }

  /** As many entries as went to pages, but in the order they came: these are in the cache, and any order will do. */
  #fillFilter(end: number): void {
    const { words } = this.#table;
    const filter = new Int32Array(this.#filter.buffer);
    for (let at = this.#filtered * entryWords; at < end * entryWords; at += entryWords) {
      filterAdd(filter, words[at + 1]!, words[at + 2]! | 1);
    }
    this.#filtered = end;
  }

  get isDone(): boolean {
    return this.#next === this.#pages;
  }

  finish(): { segment: DedupSegment; filter: Uint8Array } {
    assert(this.#paged === this.#table.count, "every entry is in a page");
    return { segment: new DedupSegment(this.#seq, this.#pages, this.#table.lastMs), filter: this.#filter };
  }
}
