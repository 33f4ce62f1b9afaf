import type { ThreadService } from "../../../port/threads.ts";
import { tables } from "../../keys.ts";
import { sealInPlace, sumBytes } from "../../stored-value.ts";
import { copyEntry, entryWords } from "./entry.ts";
import { type EntryTable, sharedWords } from "./entry-table.ts";
import { spreadFilter } from "./filter-group.ts";
import type { SegmentPlace } from "./sealed-segments.ts";
import { pageKey, pageOf } from "./segment.ts";

/** Entries of a page on average: with few exceptions it then fits one page of the disk. */
const entriesPerPage = 90;
const sumWords = sumBytes / 4;

/**
 * What a full table becomes a segment in. A thread does it, which takes some 40 ms: all of this is memory that it shares with
 * the listener's, which goes on looking for events in the entries and among the other segments' filters.
 */
export interface SegmentWork {
  readonly entries: Uint32Array;
  readonly count: number;
  /** One page after the other is written here. */
  readonly memory: Uint32Array;
  readonly pages: number;
  readonly filter: Uint8Array;
  /** Where the filter is laid across those of others, and at which place. */
  readonly across: { readonly bits: Uint8Array; readonly place: number } | undefined;
}

/** `memory` is what another segment had, used again if it has room. */
export function newWork(table: EntryTable, place?: SegmentPlace, memory?: Uint32Array): SegmentWork {
  const { words: entries, count } = table;
  const bits = place?.group.bits;
  const pages = Math.max(1, Math.ceil(count / entriesPerPage));
  const words = count * entryWords + pages * sumWords;
  return {
    entries,
    count,
    // Some more, as much as the next one may have more.
    memory: memory !== undefined && memory.length >= words ? memory : sharedWords(words + (words >> 3)),
    pages,
    filter: new Uint8Array(new SharedArrayBuffer(filterBytes(count))),
    across: bits && { bits, place: place!.number },
  };
}

/** Of a power of two of bits, from 12 to 24 for each entry: about one false answer in three hundred, or fewer. */
export function filterBytes(entries: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(64, entries * 1.5)));
}

/** Does the work and returns for each page where it ends in the memory. Done again, it leaves the same there. */
export function doWork({ entries, count, memory, pages, filter, across }: SegmentWork): Uint32Array {
  const next = new Uint32Array(pages);
  for (let at = 0; at < count * entryWords; at += entryWords) next[pageOf(entries[at]!, pages)]!++;
  for (let page = 0, to = 0; page < pages; page++) {
    const words = next[page]! * entryWords;
    next[page] = to + sumWords;
    to += sumWords + words;
  }
  const filterWords = new Int32Array(filter.buffer);
  for (let at = 0; at < count * entryWords; at += entryWords) {
    const page = pageOf(entries[at]!, pages);
    copyEntry(entries, at, memory, next[page]!);
    next[page]! += entryWords;
    filterAdd(filterWords, entries[at + 1]!, entries[at + 2]! | 1);
  }
  for (let page = 0, start = 0; page < pages; start = next[page++]!) sealInPlace(bytesOf(memory, start, next[page]!));
  if (across !== undefined) spreadFilter(across.bits, across.place, filter);
  return next;
}

export const segmentService: ThreadService = { handle: (work) => doWork(work as SegmentWork) };

/** The pages from one number to another, as they are stored. */
export function* pagesOf(
  seq: number,
  { memory }: SegmentWork,
  ends: Uint32Array,
  from: number,
  to: number,
): Generator<{ key: Buffer; value: Buffer }> {
  for (let page = from; page < Math.min(to, ends.length); page++) {
    const value = bytesOf(memory, ends[page - 1] ?? 0, ends[page]!);
    if (value.length > sumBytes) yield { key: pageKey(tables.dedupPage, seq, page), value };
  }
}

function bytesOf(memory: Uint32Array, start: number, end: number): Buffer {
  return Buffer.from(memory.buffer, memory.byteOffset + start * 4, (end - start) * 4);
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
