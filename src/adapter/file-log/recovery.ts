import { StoreError } from "../../port/store.ts";
import type { LogDisk } from "./disk.ts";
import { decodeAt, decodeSegmentHead, pageBytes } from "./format.ts";

/** What an earlier process left of a segment. */
export interface FoundSegment {
  readonly number: number;
  /** The position of its first entry; the log's end where it has none. */
  readonly first: number;
  /** The page after its last entry. */
  readonly nextPage: number;
}

export interface FoundLog {
  readonly id: Buffer;
  readonly segments: readonly FoundSegment[];
  readonly end: number;
}

export const spareName = "spare";
const segmentPattern = /^segment-(\d{12})$/;

export function segmentName(number: number): string {
  return `segment-${String(number).padStart(12, "0")}`;
}

/**
 * Reads the segments and finds the end of the log: the first place without a whole entry, and none after it. A write that a power cut has
 * torn looks like that, for the next one begins only when it is durable. A whole entry after a place without one tells of damage.
 */
export function recoverLog(disk: LogDisk): FoundLog | undefined {
  const numbers = segmentNumbers(disk);
  if (numbers.length === 0) return undefined;
  let id: Buffer | undefined;
  let expected: number | undefined;
  /** Where the entries stopped; nothing may follow. */
  let ended: string | undefined;
  const segments: FoundSegment[] = [];
  for (const number of numbers) {
    const file = disk.read(segmentName(number));
    const head = decodeSegmentHead(file);
    if (head === undefined || head.number !== number) throw damaged(`the head of segment ${number} is damaged`);
    if (id !== undefined && !id.equals(head.id)) throw damaged(`segment ${number} belongs to another log`);
    id = Buffer.from(head.id);
    const begin: number | undefined = expected ?? decodeAt(file, 1, id)?.position ?? (number === 1 ? 1 : undefined);
    const first = begin ?? 1;
    expected = first;
    let page = 1;
    for (let entry = decodeAt(file, page, id); entry?.position === expected; entry = decodeAt(file, page, id)) {
      if (ended !== undefined) throw damaged(`an entry before position ${expected} ${ended} is missing`);
      page += entry.pages;
      expected++;
    }
    const pages = Math.floor(file.length / pageBytes);
    const stray = findAfter(file, page, pages, id, expected);
    if (stray !== undefined) {
      const which = begin === undefined ? "the entry" : `entry ${expected}`;
      const before = segments.at(-1);
      // A segment that begins with a later entry is whole: the missing one was the last of the segment before.
      const place =
        before === undefined || page > 1 || decodeAt(file, page, id)?.position !== stray
          ? `page ${page} of segment ${number}`
          : `page ${before.nextPage} of segment ${before.number}`;
      throw damaged(`${which} in ${place} is damaged, and entry ${stray} follows`);
    }
    if (page === 1) ended ??= `in segment ${number}`;
    segments.push({ number, first, nextPage: page });
  }
  return { id: id!, segments, end: expected! };
}

function segmentNumbers(disk: LogDisk): number[] {
  const numbers = disk
    .list()
    .flatMap((name) => segmentPattern.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
  numbers.forEach((number, i) => {
    if (number !== numbers[0]! + i) throw damaged(`segment ${numbers[0]! + i} is missing`);
  });
  return numbers;
}

/** The position of a whole entry at or after one that should have come; older ones are left from when the segment was used before. */
function findAfter(file: Buffer, from: number, pages: number, id: Buffer, expected: number): number | undefined {
  for (let page = from; page < pages; page++) {
    const entry = decodeAt(file, page, id);
    if (entry !== undefined && entry.position >= expected) return entry.position;
  }
  return undefined;
}

export function damaged(what: string): StoreError {
  return new StoreError("damaged", `the commit log: ${what}; restore the data from a backup`);
}
