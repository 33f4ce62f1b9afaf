import assert from "node:assert/strict";
import { asBuffer, copyInto } from "../../port/bytes.ts";
import { crc32 } from "../../port/checksum.ts";
import type { Clock } from "../../port/clock.ts";
import { encodeEntry, entryBytes, foldEntries } from "../../port/commit-entry.ts";
import type { CommitLog } from "../../port/commit-log.ts";
import { nextTurn } from "../../port/next-turn.ts";
import {
  type Bytes,
  type Entry,
  type Range,
  type Reader,
  type Snapshot,
  type Store,
  StoreError,
  type StoreStats,
  type WriteOp,
} from "../../port/store.ts";
import { EntryMemory, type EntryPlace } from "./entry-memory.ts";
import { Overlay } from "./overlay.ts";
import { LayeredReader, LayeredSnapshot } from "./reader.ts";

export interface LoggedSettings {
  /** The view is brought up to date when this much is ahead of it, or the oldest of it has waited this long. */
  readonly applyBytes: number;
  readonly applyDelayMs: number;
  /** What is applied in one step, by its bytes and its keys. Commits are slower while LMDB syncs, so few large steps beat many small ones. */
  readonly stepBytesMax: number;
  readonly stepKeysMax: number;
  /** Commits wait while more than this is ahead of the view. */
  readonly overlayBytesMax: number;
  /** Memory for entries is taken in pieces of this size. */
  readonly pieceBytes: number;
  /** After a step that failed. */
  readonly retryMs: number;
}

export const loggedSettings: LoggedSettings = {
  applyBytes: 32 * 1024 * 1024,
  applyDelayMs: 1_000,
  stepBytesMax: 32 * 1024 * 1024,
  stepKeysMax: 100_000,
  overlayBytesMax: 128 * 1024 * 1024,
  pieceBytes: 4 * 1024 * 1024,
  retryMs: 1_000,
};

/** Brings the view up to date. */
export interface Applier {
  /** The changes of entries one after another, and the mark, as one atomic and durable step. */
  apply(entries: readonly Bytes[], mark: WriteOp): Promise<void>;
  close(): Promise<void>;
}

export interface LoggedOptions {
  /** Everything in it can be made again from the log, or has been. It is closed with this store. */
  readonly view: Store;
  /** Without one, this thread commits to the view. */
  readonly applier?: Applier;
  readonly log: CommitLog;
  readonly clock: Clock;
  /** Where the view remembers which log it belongs to and what it has applied. Nobody else uses this key, and no reader sees it. */
  readonly mark: Bytes;
  readonly settings?: Partial<LoggedSettings>;
  /** Bytes that the device still takes. */
  readonly freeBytes?: () => number;
  /** Told of each commit of another process in the turn in which readers begin to see it. Its memory is lent. */
  readonly onIngested?: (entry: Bytes) => void;
  /** Called when a step could not be applied; it is tried again. */
  readonly onError?: (error: unknown) => void;
}

/** A device with less than this free besides what is ahead of the view is taken for full. */
const roomBytesMin = 1024 * 1024;
/** To ask costs as much as a tenth of a small commit: while more than this is free besides, it is asked for once in a while. */
const roomBytesSpare = 1024 * 1024 * 1024;
const roomKnownMs = 100;
/** A clock's longest sleep; it is woken before. */
const longMs = 3_600_000;

/**
 * A store made of a commit log and a materialised view of it. A commit is one entry of the log and nothing else: when it is durable the
 * commit is acknowledged, and readers see it in an overlay in memory. The view follows in the background; a start replays what it lacks.
 */
export class LoggedStore implements Store {
  readonly #view: Store;
  readonly #applier: Applier;
  readonly #log: CommitLog;
  readonly #clock: Clock;
  readonly #mark: Bytes;
  readonly #settings: LoggedSettings;
  readonly #options: LoggedOptions;
  readonly #overlay: Overlay;
  readonly #reader: LayeredReader;
  readonly #memory: EntryMemory;
  /** Up to which position the view has applied the log. */
  #applied: number;
  /** Positions up to which somebody waits for the view. */
  #awaited = 0;
  #appliedEvent = Promise.withResolvers<void>();
  #wake = new AbortController();
  #oldestMs = 0;
  /** What the device had free, and how long that is taken for true. */
  #roomBytes = 0;
  #roomUntilMs = 0;
  readonly #closing = new AbortController();
  #running: Promise<void>;

  private constructor(options: LoggedOptions, applied: number) {
    this.#options = options;
    this.#view = options.view;
    this.#applier = options.applier ?? applierOf(options.view);
    this.#log = options.log;
    this.#clock = options.clock;
    this.#mark = options.mark;
    this.#settings = { ...loggedSettings, ...options.settings };
    this.#memory = new EntryMemory(this.#settings.pieceBytes);
    this.#applied = applied;
    this.#overlay = new Overlay(applied);
    this.#reader = new LayeredReader(options.view, this.#overlay, options.mark);
    this.#running = Promise.resolve();
  }

  /** Replays what the view lacks. Throws a StoreError when log and view do not belong together. */
  static async open(options: LoggedOptions): Promise<LoggedStore> {
    const { view, log, mark } = options;
    const stored = view.get(mark);
    let applied = 0;
    if (stored === undefined) {
      if (log.end > 1) throw damaged("the commit log belongs to another store");
      await view.commit([{ kind: "put", key: mark, value: encodeMark({ log: log.id, applied: 0 }) }]);
    } else {
      const known = decodeMark(stored);
      if (known.log !== log.id) throw damaged("the commit log is another one than the store's");
      if (known.applied >= log.end)
        throw damaged(`entries before position ${known.applied + 1} of the commit log are gone`);
      if (known.applied + 1 < log.start) throw damaged(`entry ${known.applied + 1} of the commit log is gone`);
      applied = known.applied;
    }
    const store = new LoggedStore(options, applied);
    await store.#replay();
    store.#running = store.#applyLoop();
    return store;
  }

  async #replay(): Promise<void> {
    this.#oldestMs = this.#clock.steadyMs();
    for await (const { position, bytes } of this.#log.read(this.#applied + 1)) {
      const place = this.#memory.cut(bytes.length);
      copyInto(place.bytes, 0, bytes);
      this.#add(position, place);
    }
  }

  get(key: Bytes): Bytes | undefined {
    return this.#reader.get(key);
  }

  peek(key: Bytes): Bytes | undefined {
    return this.#reader.peek(key);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    return this.#reader.head(key, bytesMax);
  }

  range(range: Range): Iterable<Entry> {
    return this.#now((reader) => reader.range(range));
  }

  borrow(range: Range): Iterable<Entry> {
    return this.#now((reader) => reader.borrow(range));
  }

  keys(range: Range): Iterable<Bytes> {
    return this.#now((reader) => reader.keys(range));
  }

  /** Of the moment at which the first entry is asked for, as a cursor of the view is. */
  *#now<T>(read: (reader: LayeredReader) => Iterable<T>): Iterable<T> {
    using layers = this.#overlay.hold();
    yield* read(new LayeredReader(this.#view, layers, this.#mark));
  }

  snapshot(): Snapshot {
    return new LayeredSnapshot(this.#view.snapshot(), this.#overlay.hold(), this.#mark);
  }

  async commit(ops: readonly WriteOp[]): Promise<void> {
    if (ops.length === 0) return;
    const length = entryBytes(ops);
    while (this.#isCrowded(length)) await this.#nextApplied();
    if (this.#isClosing) throw new StoreError("failed", "the store is closed");
    this.#checkRoom(length);
    const place = this.#memory.cut(length);
    encodeEntry(place.bytes, ops);
    try {
      this.#add(await this.#log.append(place.bytes), place);
    } catch (error) {
      this.#memory.free(place, false);
      throw error;
    }
  }

  /** The view needs room for what it has not applied yet, in the log and in pages that it writes anew. */
  #checkRoom(length: number): void {
    const { freeBytes } = this.#options;
    if (freeBytes === undefined) return;
    const wanted = 2 * (this.#overlay.bytes + length) + roomBytesMin;
    const nowMs = this.#clock.steadyMs();
    if (wanted + roomBytesSpare > this.#roomBytes || nowMs >= this.#roomUntilMs) {
      this.#roomBytes = freeBytes();
      this.#roomUntilMs = nowMs + roomKnownMs;
    }
    if (wanted > this.#roomBytes) throw new StoreError("full", "the disk has no room for the write");
  }

  /**
   * Takes a commit that another process has written to the log. They must come in their order and after those of this process; it waits
   * for room as a commit does.
   */
  async ingest(position: number, parts: readonly Bytes[]): Promise<void> {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    while (this.#isCrowded(length)) await this.#nextApplied();
    // Commits of this process that the log has are added a moment later.
    while (this.#overlay.position < position - 1 && !this.#isClosing) await nextTurn();
    if (this.#isClosing) throw new StoreError("failed", "the store is closed");
    const place = this.#memory.cut(length);
    let at = 0;
    for (const part of parts) at = copyInto(place.bytes, at, part);
    this.#add(position, place);
    this.#options.onIngested?.(place.bytes);
  }

  /** Whether another entry has to wait until the view has applied some. */
  #isCrowded(length: number): boolean {
    if (this.#isClosing || this.#overlay.isEmpty) return false;
    return this.#overlay.bytes + length > this.#settings.overlayBytesMax;
  }

  #add(position: number, place: EntryPlace): void {
    const wasEmpty = this.#overlay.isEmpty;
    this.#overlay.add(position, place);
    const { bytes, keys } = this.#overlay.generations.at(-1)!;
    if (bytes >= this.#settings.stepBytesMax || keys >= this.#settings.stepKeysMax) this.#overlay.seal();
    if (wasEmpty) this.#oldestMs = this.#clock.steadyMs();
    if (wasEmpty || this.#isDue) this.#rouse();
  }

  /** Resolves when the view holds everything that was durable at the call. */
  async checkpoint(): Promise<void> {
    const { position } = this.#overlay;
    this.#awaited = Math.max(this.#awaited, position);
    while (this.#applied < position) {
      if (this.#isClosing) throw new StoreError("failed", "the store is closed");
      await this.#nextApplied();
    }
  }

  #nextApplied(): Promise<void> {
    this.#awaited = Math.max(this.#awaited, this.#applied + 1);
    this.#rouse();
    return this.#appliedEvent.promise;
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  get #isDue(): boolean {
    return this.#overlay.bytes >= this.#settings.applyBytes || this.#awaited > this.#applied || this.#isClosing;
  }

  async #applyLoop(): Promise<void> {
    const { applyDelayMs, retryMs } = this.#settings;
    for (;;) {
      if (this.#overlay.isEmpty) {
        if (this.#isClosing) return;
        await this.#sleep(longMs);
        continue;
      }
      const leftMs = applyDelayMs - (this.#clock.steadyMs() - this.#oldestMs);
      if (!this.#isDue && leftMs > 0) {
        await this.#sleep(leftMs);
        continue;
      }
      try {
        await this.#applyOldest();
      } catch (error) {
        this.#options.onError?.(error);
        // What the view can't take now is in the log, and the next start replays it.
        if (this.#isClosing) return;
        await this.#clock.sleep(retryMs, this.#closing.signal);
      }
    }
  }

  /** To abort once more would make an error each time. */
  #rouse(): void {
    if (!this.#wake.signal.aborted) this.#wake.abort();
  }

  async #sleep(ms: number): Promise<void> {
    const wake = new AbortController();
    this.#wake = wake;
    await this.#clock.sleep(ms, wake.signal);
  }

  async #applyOldest(): Promise<void> {
    if (this.#overlay.generations.length === 1) this.#overlay.seal();
    const oldest = this.#overlay.generations[0]!;
    const { position } = oldest.entries.at(-1)!;
    assert(position > this.#applied, "the view only moves on");
    const cursor = this.#log.cursorAfter?.(position);
    const mark = encodeMark({ log: this.#log.id, applied: position, ...(cursor !== undefined && { cursor }) });
    await this.#applier.apply(
      oldest.entries.map(({ place }) => place.bytes),
      { kind: "put", key: this.#mark, value: mark },
    );
    this.#overlay.drop(oldest);
    for (const { place } of oldest.entries) this.#memory.free(place, oldest.readers > 0);
    this.#applied = position;
    this.#oldestMs = this.#clock.steadyMs();
    this.#log.trim(position + 1);
    const event = this.#appliedEvent;
    this.#appliedEvent = Promise.withResolvers();
    event.resolve();
  }

  stats(): StoreStats {
    const { diskBytes, entries } = this.#view.stats();
    return {
      diskBytes: diskBytes + this.#log.diskBytes,
      // The mark is nobody's entry.
      entries: entries - 1,
      overlayBytes: this.#overlay.bytes,
      heldBytes: this.#overlay.heldBytes,
      logBytes: this.#log.diskBytes,
    };
  }

  /** Brings the view up to date where it can, so that the next start has nothing to replay. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#rouse();
    await this.#running;
    this.#appliedEvent.resolve();
    await this.#log.close();
    await this.#applier.close();
    await this.#view.close();
  }
}

function applierOf(view: Store): Applier {
  return {
    apply: (entries, mark) => view.commit([...foldEntries(entries), mark]),
    close: async () => {},
  };
}

export interface Mark {
  readonly log: string;
  /** The position of the last entry that the view holds. */
  readonly applied: number;
  /** Of a log that needs one. */
  readonly cursor?: unknown;
}

/** What the log of a view must be told to go on after what the view has applied; undefined for a new one. */
export function storedCursor(view: Reader, mark: Bytes): unknown {
  return storedMark(view, mark)?.cursor;
}

/** Undefined for a new view. */
export function storedMark(view: Reader, mark: Bytes): Mark | undefined {
  const stored = view.get(mark);
  return stored === undefined ? undefined : decodeMark(stored);
}

function encodeMark(mark: Mark): Buffer {
  const text = Buffer.from(JSON.stringify(mark));
  const bytes = Buffer.alloc(4 + text.length);
  bytes.writeUInt32BE(crc32(text), 0);
  text.copy(bytes, 4);
  return bytes;
}

function decodeMark(stored: Bytes): Mark {
  const bytes = asBuffer(stored);
  const text = bytes.subarray(4);
  if (bytes.length < 4 || bytes.readUInt32BE(0) !== crc32(text))
    throw damaged("the store's mark of its commit log is damaged");
  return JSON.parse(text.toString()) as Mark;
}

function damaged(what: string): StoreError {
  return new StoreError("damaged", `${what}; restore the data from a backup`);
}
