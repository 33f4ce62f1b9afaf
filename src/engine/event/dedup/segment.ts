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

function pageOf(firstWord: number, pages: number): number {
  return Math.floor((firstWord / two32) * pages);
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

/** Entries that one step puts into their parts. */
const entriesPerStep = 16_384;

/**
 * Turns a full table into a segment, in steps, so that no turn of the event loop is long. First the entries are put into
 * parts, in the order they came, each part with those of so many pages as one step writes; a part is small enough for the
 * processor's cache, where looking for each page's entries in all of the table would wait for memory at every one.
 */
export class SegmentWriter {
  readonly #table: EntryTable;
  readonly #seq: number;
  readonly #filter: Uint8Array;
  readonly #pages: number;
  readonly #pagesPerPart: number;
  /** The entries by parts, and where each part's next one goes, which is the part's end once all are there. */
  readonly rows: Uint32Array;
  readonly #partEnds: Uint32Array;
  #gathered = 0;
  #written = 0;
  #part = 0;
  /** What the pages under way are written to. */
  #memory: Buffer = Buffer.alloc(0);

  /** `rows` is memory that another one had, used again if it has room. */
  constructor(seq: number, table: EntryTable, pagesPerPart: number, rows?: Uint32Array) {
    this.#seq = seq;
    this.#table = table;
    this.#filter = newFilter(table.count);
    this.#pages = Math.max(1, Math.ceil(table.count / entriesPerPage));
    this.#pagesPerPart = pagesPerPart;
    const words = table.count * entryWords;
    // Some more, as much as the next one may have more.
    this.rows = rows !== undefined && rows.length >= words ? rows : new Uint32Array(words + (words >> 3));
    this.#partEnds = this.#partStarts();
  }

  #partStarts(): Uint32Array {
    const { words, count } = this.#table;
    const starts = new Uint32Array(Math.ceil(this.#pages / this.#pagesPerPart) + 1);
    for (let at = 0; at < count * entryWords; at += entryWords) starts[this.#partOf(words[at]!) + 1]!++;
    for (let part = 1; part < starts.length; part++) starts[part]! += starts[part - 1]!;
    return starts;
  }

  #partOf(firstWord: number): number {
    return Math.floor(pageOf(firstWord, this.#pages) / this.#pagesPerPart);
  }

  /** The next pages to write, none while entries are put into parts. Their memory is used again by the next call. */
  nextPages(): { key: Buffer; value: Buffer }[] {
    if (this.#gathered < this.#table.count) {
      this.#gather(Math.min(this.#gathered + entriesPerStep, this.#table.count));
      return [];
    }
    const start = this.#written;
    const end = this.#partEnds[this.#part]!;
    this.#written = end;
    return this.#writePages(this.#part++ * this.#pagesPerPart, start, end);
  }

  #gather(end: number): void {
    const { words } = this.#table;
    const rows = this.rows;
    const next = this.#partEnds;
    const filter = new Int32Array(this.#filter.buffer);
    for (let at = this.#gathered * entryWords; at < end * entryWords; at += entryWords) {
      copyEntry(words, at, rows, next[this.#partOf(words[at]!)]!++ * entryWords);
      filterAdd(filter, words[at + 1]!, words[at + 2]! | 1);
    }
    this.#gathered = end;
  }

  /** The pages from number `first` on whose entries lie from number `start` to `end` among the rows. */
  #writePages(first: number, start: number, end: number): { key: Buffer; value: Buffer }[] {
    const rows = this.rows;
    const pages = this.#pages;
    const counts = new Uint32Array(Math.min(this.#pagesPerPart, pages - first));
    for (let at = start * entryWords; at < end * entryWords; at += entryWords)
      counts[pageOf(rows[at]!, pages) - first]!++;
    const bytes = (end - start) * entryBytes + counts.length * sumBytes;
    if (bytes > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(bytes);
    const memory = new Uint32Array(this.#memory.buffer, 0, Math.floor(this.#memory.length / 4));
    const next = new Uint32Array(counts.length);
    for (let page = 0, to = 0; page < counts.length; page++) {
      next[page] = to + sumBytes / 4;
      to = next[page]! + counts[page]! * entryWords;
    }
    for (let at = start * entryWords; at < end * entryWords; at += entryWords) {
      const page = pageOf(rows[at]!, pages) - first;
      copyEntry(rows, at, memory, next[page]!);
      next[page]! += entryWords;
    }
    const written: { key: Buffer; value: Buffer }[] = [];
    for (let page = 0; page < counts.length; page++) {
      if (counts[page] === 0) continue;
      const to = next[page]! * 4;
      const value = sealInPlace(this.#memory.subarray(to - counts[page]! * entryBytes - sumBytes, to));
      written.push({ key: pageKey(tables.dedupPage, this.#seq, first + page), value });
    }
    return written;
  }

  get isDone(): boolean {
    return this.#gathered === this.#table.count && this.#written === this.#table.count;
  }

  finish(): { segment: DedupSegment; filter: Uint8Array } {
    assert(this.isDone, "every entry is in a page");
    return { segment: new DedupSegment(this.#seq, this.#pages, this.#table.lastMs), filter: this.#filter };
  }
}
