import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { asBuffer } from "../../port/bytes.ts";
import type { CommitLog, LogEntry } from "../../port/commit-log.ts";
import { type Bytes, StoreError } from "../../port/store.ts";
import type { LogDisk, LogFile } from "./disk.ts";
import { decodeAt, encodeSegmentHead, entryPages, idBytes, pageBytes, pagesOf } from "./format.ts";
import { damaged, recoverLog, segmentName, spareName } from "./recovery.ts";

export interface FileLogSettings {
  /** A segment takes entries up to this size; one that is larger has a segment of its own. */
  readonly segmentBytes: number;
  /** What a new segment has at first, and what it grows by ahead of the entries. */
  readonly firstBytes: number;
  readonly growBytes: number;
  /** Whether a log may be made where there is none. */
  readonly mayCreate: boolean;
  /** Between attempts to clear what a failed write may have left. */
  readonly pause: (ms: number) => Promise<unknown>;
}

const defaultSettings: FileLogSettings = {
  segmentBytes: 32 * 1024 * 1024,
  firstBytes: 1024 * 1024,
  growBytes: 4 * 1024 * 1024,
  mayCreate: true,
  pause: (ms) => pause(ms),
};

interface Segment {
  readonly number: number;
  readonly first: number;
  readonly file: LogFile;
  nextPage: number;
  growing: Promise<void> | undefined;
}

const clearPauseMs = { first: 1, most: 1_000 };
const noRoomCodes: readonly unknown[] = ["ENOSPC", "EDQUOT", "EFBIG"];

/**
 * A commit log in a folder of preallocated segments: an entry is one sequential write with its sync. One entry is written at a time, so
 * that only the last one can be torn.
 */
export class FileCommitLog implements CommitLog {
  readonly id: string;
  readonly #idBytes: Buffer;
  readonly #disk: LogDisk;
  readonly #settings: FileLogSettings;
  /** The last one takes the entries. */
  #segments: Segment[];
  /** Those before it that nobody needs, until their files are put away. */
  readonly #retired: Segment[] = [];
  #end: number;
  /** The segment after the last one, made ahead. */
  #next: Promise<LogFile> | undefined;
  /** The size of the file that waits for its next use; 0 where there is none. */
  #spareBytes: number;
  /** The append that is under way; never rejects. */
  #writing: Promise<void> | undefined;
  /** Files are put away one after another; never rejects. */
  #housekeeping: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(
    disk: LogDisk,
    settings: FileLogSettings,
    id: Buffer,
    segments: Segment[],
    end: number,
    spareBytes: number,
  ) {
    this.#disk = disk;
    this.#settings = settings;
    this.#idBytes = id;
    this.id = id.toString("hex");
    this.#segments = segments;
    this.#end = end;
    this.#spareBytes = spareBytes;
  }

  /** Throws a StoreError for a log that is damaged or can't be read. */
  static async open(disk: LogDisk, settings: Partial<FileLogSettings> = {}): Promise<FileCommitLog> {
    try {
      return await FileCommitLog.#open(disk, { ...defaultSettings, ...settings });
    } catch (cause) {
      if (cause instanceof StoreError) throw cause;
      throw new StoreError("failed", `the commit log could not be opened: ${(cause as Error).message}`, cause);
    }
  }

  static async #open(disk: LogDisk, all: FileLogSettings): Promise<FileCommitLog> {
    const found = recoverLog(disk);
    const spareBytes = await sizeOfSpare(disk);
    if (found === undefined) {
      if (!all.mayCreate) throw damaged("it is gone");
      const id = randomBytes(idBytes);
      const file = await makeFile(disk, 1, id, all);
      return new FileCommitLog(disk, all, id, [newSegment(1, 1, file)], 1, spareBytes);
    }
    for (const name of disk.list()) if (name.endsWith(".new")) await disk.remove(name);
    const { id, end } = found;
    // The last ones may have been made ahead: the first of those takes the next entry.
    const used = found.segments.findLastIndex(({ nextPage }) => nextPage > 1);
    const inUse = found.segments.slice(0, Math.max(used, 0) + 1);
    for (const { number } of found.segments.slice(inUse.length).reverse()) await disk.remove(segmentName(number));
    const segments = inUse.map(({ number, first, nextPage }) => ({
      ...newSegment(number, first, disk.open(segmentName(number))),
      nextPage,
    }));
    return new FileCommitLog(disk, all, id, segments, end, spareBytes);
  }

  get start(): number {
    return this.#segments[0]!.first;
  }

  get end(): number {
    return this.#end;
  }

  get diskBytes(): number {
    return this.#segments.reduce((sum, { file }) => sum + file.size, this.#spareBytes);
  }

  async append(bytes: Bytes): Promise<number> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#isClosed) throw new StoreError("failed", "the commit log is closed");
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#writing = promise;
    try {
      return await this.#append(bytes);
    } finally {
      this.#writing = undefined;
      resolve();
    }
  }

  async #append(bytes: Bytes): Promise<number> {
    const pages = pagesOf(bytes.length);
    const segment = this.#hasRoom(pages) ? this.#segments.at(-1)! : await this.#nextSegment();
    const at = segment.nextPage * pageBytes;
    if (at + pages * pageBytes > segment.file.size) await segment.growing;
    const position = this.#end;
    try {
      await segment.file.write(at, entryPages(this.#idBytes, position, asBuffer(bytes)));
    } catch (cause) {
      await this.#clear(segment.file, at);
      throw writeError(cause);
    }
    assert(position === this.#end, "one entry is written at a time");
    segment.nextPage += pages;
    this.#end = position + 1;
    this.#workAhead(segment);
    return position;
  }

  /** What is refused must not come to light after a crash. Until that is certain nobody is told. */
  async #clear(file: LogFile, at: number): Promise<void> {
    for (let ms = clearPauseMs.first; ; ms = Math.min(2 * ms, clearPauseMs.most)) {
      try {
        await file.clear(at);
        return;
      } catch {
        // The process is about to end without an answer.
        if (this.#isClosed) return;
        await this.#settings.pause(ms);
      }
    }
  }

  /** Whether the last segment takes an entry; an empty one takes any. */
  #hasRoom(pages: number): boolean {
    const { nextPage } = this.#segments.at(-1)!;
    return nextPage === 1 || (nextPage + pages) * pageBytes <= this.#settings.segmentBytes;
  }

  async #nextSegment(): Promise<Segment> {
    const number = this.#segments.at(-1)!.number + 1;
    const created = this.#next ?? this.#makeNext(number);
    this.#next = undefined;
    let file: LogFile;
    try {
      file = await created;
    } catch (cause) {
      throw writeError(cause);
    }
    const next = newSegment(number, this.#end, file);
    this.#segments.push(next);
    return next;
  }

  /** Once half of a segment is used, the next one is made. */
  #workAhead(segment: Segment): void {
    const { segmentBytes, growBytes } = this.#settings;
    const used = segment.nextPage * pageBytes;
    const { file } = segment;
    const aheadBytes = Math.min(growBytes, file.size) / 2;
    if (segment.growing === undefined && file.size < segmentBytes && used + aheadBytes > file.size) {
      segment.growing = file
        .grow(Math.min(Math.max(file.size, used) + growBytes, segmentBytes))
        // Without room for it entries make the file grow, while there is any.
        .catch(() => undefined)
        .then(() => {
          segment.growing = undefined;
        });
    }
    if (used > segmentBytes / 2 && this.#next === undefined) {
      const next = this.#makeNext(segment.number + 1);
      this.#next = next;
      next.catch(() => {
        if (this.#next === next) this.#next = undefined;
      });
    }
  }

  #makeNext(number: number): Promise<LogFile> {
    const creation = this.#housekeeping.then(() => {
      const isReused = this.#spareBytes > 0;
      this.#spareBytes = 0;
      const head = encodeSegmentHead(this.#idBytes, number);
      return isReused
        ? this.#disk.reuse(spareName, segmentName(number), head)
        : makeFile(this.#disk, number, this.#idBytes, this.#settings);
    });
    this.#housekeeping = creation.then(
      () => undefined,
      () => undefined,
    );
    return creation;
  }

  async *read(from: number): AsyncIterable<LogEntry> {
    const end = this.#end;
    for (const { number, first, nextPage } of [...this.#segments]) {
      if (first >= end) return;
      const file = this.#disk.read(segmentName(number));
      let position = first;
      for (let page = 1; page < nextPage && position < end; position++) {
        const entry = decodeAt(file, page, this.#idBytes);
        if (entry?.position !== position) throw damaged(`entry ${position} in segment ${number} is damaged`);
        page += entry.pages;
        if (position >= from) yield entry;
      }
    }
  }

  trim(before: number): void {
    // The last entry stays, so that a start finds where the log ends.
    while (this.#segments.length > 1 && this.#segments[1]!.nextPage > 1 && this.#segments[1]!.first <= before) {
      this.#retired.push(this.#segments.shift()!);
    }
    if (this.#retired.length > 0) this.#housekeeping = this.#housekeeping.then(() => this.#putAway());
  }

  /** The oldest first: a start that finds a gap between segments takes it for damage. */
  async #putAway(): Promise<void> {
    for (let oldest = this.#retired[0]; oldest !== undefined; oldest = this.#retired[0]) {
      const { growing, file, number } = oldest;
      try {
        await growing;
        const bytes = file.size;
        if (this.#spareBytes > 0) await this.#disk.remove(segmentName(number));
        else {
          await this.#disk.rename(segmentName(number), spareName);
          this.#spareBytes = bytes;
        }
      } catch {
        return;
      }
      this.#retired.shift();
      await file.close().catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writing;
    const next = await this.#next?.catch(() => undefined);
    await next?.close();
    await this.#housekeeping;
    for (const { file, growing } of [...this.#retired, ...this.#segments]) {
      await growing;
      await file.close();
    }
  }
}

async function sizeOfSpare(disk: LogDisk): Promise<number> {
  if (!disk.list().includes(spareName)) return 0;
  const file = disk.open(spareName);
  await file.close();
  return file.size;
}

function newSegment(number: number, first: number, file: LogFile): Segment {
  return { number, first, file, nextPage: 1, growing: undefined };
}

function makeFile(disk: LogDisk, number: number, id: Buffer, settings: FileLogSettings): Promise<LogFile> {
  return disk.create(segmentName(number), encodeSegmentHead(id, number), settings.firstBytes);
}

function writeError(cause: unknown): StoreError {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (noRoomCodes.includes(code)) return new StoreError("full", "the disk has no room for the write", cause);
  return new StoreError("failed", `the commit log could not be written: ${message}`, cause);
}
