import assert from "node:assert/strict";
import type { Clock } from "../../../port/clock.ts";
import type { Random } from "../../../port/random.ts";
import type { Store } from "../../../port/store.ts";
import type { Committer } from "../../commit/committer.ts";
import type { Draft } from "../../commit/draft.ts";
import { unavailable } from "../../errors.ts";
import { makeKey, prefixRange, readU64, tables } from "../../keys.ts";
import { limits } from "../../limits.ts";
import { openValue, sealValue } from "../../stored-value.ts";
import { runInTurns } from "../../turns.ts";
import { digestWordCount, type EventPlace } from "./entry.ts";
import { EntryTable } from "./entry-table.ts";
import { OlderEvents, olderTables } from "./older-events.ts";
import { entriesOfRun, runBytesMax, sealRun } from "./run.ts";
import { SealedSegments, type SegmentPlace } from "./sealed-segments.ts";
import { DedupSegment } from "./segment.ts";
import { filterBytes, newWork, pagesOf, type SegmentWork } from "./segment-work.ts";
import { digestKeyBytes } from "./sip-hash.ts";

export interface DedupDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly random: Random;
  /** 0 remembers nothing beyond a request. */
  readonly windowMs: number;
  /** Beside this thread. */
  readonly doWork: (work: SegmentWork) => Promise<Uint32Array>;
}

/** A table that takes new events, or that waits to become a segment; its runs are in the store. */
interface OpenSegment {
  readonly seq: number;
  readonly table: EntryTable;
  nextRun: number;
  /** What looks for events added to when the table was begun. */
  readonly sifted: object | undefined;
  /** Entries whose commit is over. */
  durable: number;
}

/** What was known when a request came. */
export interface Arrival {
  /** The newest table, and how much of it was durable. */
  readonly open: object;
  readonly durable: number;
  /** Where events were first written that a build before format 8 has remembered, by their number. */
  readonly older: ReadonlyMap<number, EventPlace> | undefined;
  /** The same with those that a segment has, and which state of the segments told so. */
  readonly sealed: ReadonlyMap<number, EventPlace> | undefined;
  readonly segmentsState: number;
}

/** Entries of a table that the group under way has added, written as one run when the group is complete. */
interface PendingRun {
  readonly draft: Draft;
  readonly open: OpenSegment;
  readonly first: number;
}

/** Where an event was first written, and whether that was under way, by another request, when this one came. */
export interface KnownEvent extends EventPlace {
  readonly isInFlight: boolean;
}

/** A segment covers at most this part of the window, so that expired events do not stay much longer than it. */
const segmentsPerWindow = 8;
const segmentMsMin = 1_000;
/** Memory for a run, kept for the next one. */
const runBytesKept = 256 * 1024;

/**
 * Which events were written inside the window, without a random write for each of them. New events go to a table in
 * memory, and with the commit that writes them as one run to the store, in the order of time. A table that is full or
 * old becomes a segment of pages in the background. A segment whose events are all older than the window is dropped.
 *
 *   dedupKey      nothing                  16 bytes, what digests are made with
 *   dedupRun      u64 segment, u64 run      entries in the order they came (`run.ts`), until the segment's pages are written
 *   dedupPage     u64 segment, u32 page     the entries of one part of the digests
 *   dedupSegment  u64 segment               last once the pages are complete: page count, newest time, filter
 */
export class DedupIndex {
  readonly #deps: DedupDeps;
  readonly #segments = new SealedSegments();
  #sealing: OpenSegment | undefined;
  /** The same once the change to the table after it is durable. */
  #sealable: OpenSegment | undefined;
  /** Prepared for its segment. */
  #place: SegmentPlace | undefined;
  #rotating = false;
  #full = new AbortController();
  #active: OpenSegment = newOpen(1);
  /** The table of the segment that was sealed last: its memory, up to 23 MB, is used again for the next one. */
  #spare: EntryTable | undefined;
  #pending: PendingRun | undefined;
  #runMemory: Buffer | undefined;
  #key: Buffer | undefined;
  /** What builds before format 8 have remembered, as long as there is something of it. */
  #older: OlderEvents | undefined;
  /** What the last segment's pages were written to, up to 20 MB, used again for the next one. */
  #pages: Uint32Array | undefined;

  constructor(deps: DedupDeps) {
    this.#deps = deps;
  }

  /** Reads what an earlier process has left, and makes the key where none has. Called once, before the first event. */
  async open(): Promise<void> {
    const { store } = this.#deps;
    this.#key = await this.#openKey();
    this.#older = OlderEvents.read(store);
    let last = 0;
    for (const { key, value } of store.range(prefixRange(tables.dedupSegment))) {
      last = readU64(key, 1);
      const { segment, filter } = DedupSegment.decode(last, openValue(value));
      this.#segments.add(segment, filter);
    }
    const open: OpenSegment[] = [];
    // The runs of a listed segment are left over from its sealing.
    for (const { key, value } of store.range({
      from: makeKey(tables.dedupRun, last + 1),
      to: prefixRange(tables.dedupRun).to,
    })) {
      const seq = readU64(key, 1);
      if (open.at(-1)?.seq !== seq) open.push(newOpen(seq));
      const segment = open.at(-1)!;
      segment.table.addStored(entriesOfRun(value));
      segment.nextRun = readU64(key, 9) + 1;
      segment.durable = segment.table.count;
    }
    assert(open.length <= 2, "a table is sealed before the next one is full");
    const [first, second] = open;
    this.#sealing = second === undefined ? undefined : first;
    this.#sealable = this.#sealing;
    this.#active = second ?? first ?? newOpen(last + 1);
  }

  /** Kept in the store, so that it is the same after a restart and wherever the store is copied to. */
  async #openKey(): Promise<Buffer> {
    const { store, committer, random } = this.#deps;
    const name = makeKey(tables.dedupKey);
    const stored = store.get(name);
    if (stored !== undefined) return Buffer.from(openValue(stored));
    const key = Buffer.from(random.bytes(digestKeyBytes));
    await committer.submit((draft) => draft.put(name, sealValue(key)));
    return key;
  }

  /** What events' digests are made with. */
  get key(): Buffer {
    assert(this.#key !== undefined, "it is open");
    return this.#key;
  }

  /** Whether events have to be looked for by their older digests as well. */
  get needsOlderDigests(): boolean {
    return this.#older !== undefined;
  }

  /** Begins a change: what it adds is taken back when it fails. Returns the number of its first own entry. */
  begin(draft: Draft): number {
    const open = this.#active;
    const { count } = open.table;
    if (count >= limits.dedupSegmentKeysMax && this.#sealing === undefined && !this.#rotating) {
      // Now, not by the next round of maintenance, which tries again where this fails: the table would have to grow.
      this.#rotate().then(
        () => this.#full.abort(),
        () => undefined,
      );
    }
    if (count >= limits.dedupTableKeysMax) {
      throw unavailable("too many events wait to be remembered; retry");
    }
    draft.onUndo(() => open.table.truncate(count));
    if (this.#pending?.draft !== draft) {
      this.#pending = { draft, open, first: count };
      draft.beforeCommit(() => {
        this.#flush();
        return () => {
          open.durable = open.table.count;
        };
      });
    }
    return count;
  }

  /**
   * What is known of events now. Segments do not change, so they are asked before the events wait for their turn: while the
   * change is decided, the store waits.
   */
  arrive(digests: Uint32Array, count: number, nowMs: number, olderDigests?: Uint32Array): Arrival {
    const { store, windowMs } = this.#deps;
    const open = this.#active;
    const afterMs = nowMs - windowMs;
    const older = olderDigests && this.#older?.findAll(store, olderDigests, count, afterMs);
    const sealed = this.#segments.findAll(store, digests, count, afterMs, older);
    return { open, durable: open.durable, older, sealed, segmentsState: this.#segments.state };
  }

  /**
   * Where events were first written, by their number, if not as late as the newest table tells. They and `nowMs` are those
   * of the arrival.
   */
  findOlder(
    digests: Uint32Array,
    count: number,
    nowMs: number,
    arrived: Arrival,
  ): ReadonlyMap<number, EventPlace> | undefined {
    const afterMs = nowMs - this.#deps.windowMs;
    const isSame = arrived.segmentsState === this.#segments.state;
    const sealed = isSame
      ? arrived.sealed
      : this.#segments.findAll(this.#deps.store, digests, count, afterMs, arrived.older);
    const table = this.#sealing?.table;
    if (table === undefined) return sealed;
    table.touch(digests, count);
    let found: Map<number, EventPlace> | undefined;
    for (let i = 0; i < count; i++) {
      const entry = table.find(digests, i * digestWordCount, afterMs, Number.MAX_SAFE_INTEGER);
      if (entry < 0) continue;
      found ??= new Map(sealed);
      found.set(i, table.place(entry));
    }
    return found ?? sealed;
  }

  /** What the newest table knows of an event, before anything older counts; `own` is the number that the change began with. */
  find(digests: Uint32Array, at: number, nowMs: number, own: number, arrived: Arrival): KnownEvent | undefined {
    const { table } = this.#active;
    const entry = table.find(digests, at, nowMs - this.#deps.windowMs, own);
    if (entry < 0) return undefined;
    return {
      ...table.place(entry),
      isInFlight: entry < own && entry >= arrived.durable && arrived.open === this.#active,
    };
  }

  /** Remembers an event that is not known. */
  add(digests: Uint32Array, at: number, nowMs: number, partition: number, offset: number): void {
    this.#active.table.add(digests, at, nowMs, partition, offset);
  }

  /**
   * Remembers events that `findOlder` has not found, with offsets one after another, up to the first that is known all the
   * same or comes twice. Returns how many it has taken.
   */
  addRun(digests: Uint32Array, count: number, nowMs: number, partition: number, offset: number): number {
    return this.#active.table.addRun(digests, count, nowMs - this.#deps.windowMs, nowMs, partition, offset);
  }

  /** Ends a change. Without a window its events were only compared with each other. */
  end(own: number): void {
    if (this.#deps.windowMs === 0) this.#active.table.truncate(own);
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending === undefined) return;
    const { draft, open, first } = pending;
    const { table } = open;
    // Changes that failed have taken their entries back.
    if (table.count <= first) return;
    const memory = this.#takeRunMemory(runBytesMax(table.count - first));
    draft.put(makeKey(tables.dedupRun, open.seq, open.nextRun++), sealRun(table.words, first, table.count, memory));
  }

  /** Used again by the next group, which is decided after this one is written. */
  #takeRunMemory(bytes: number): Buffer {
    if (bytes > runBytesKept) return Buffer.allocUnsafe(bytes);
    this.#runMemory ??= Buffer.allocUnsafeSlow(runBytesKept);
    return this.#runMemory.subarray(0, bytes);
  }

  /** Aborted when a table is full: if it is not sealed before the next one is, that one has to grow. */
  get full(): AbortSignal {
    return this.#full.signal;
  }

  /** Seals and drops what is due, in bounded steps. */
  async maintain(signal: AbortSignal): Promise<void> {
    if (this.#full.signal.aborted) this.#full = new AbortController();
    if (this.#sealing === undefined && this.#isDue()) await this.#rotate();
    if (this.#sealable !== undefined) await this.#seal(this.#sealable, signal);
    await this.#dropExpired(signal);
    await this.#dropOlder(signal);
  }

  #isDue(): boolean {
    const { table } = this.#active;
    if (table.count === 0) return false;
    if (table.count >= limits.dedupSegmentKeysMax) return true;
    const ageMs = this.#deps.clock.nowMs() - table.firstMs;
    return ageMs >= Math.max(segmentMsMin, this.#deps.windowMs / segmentsPerWindow);
  }

  /** New events go to a new table from here on. A change like any other, so that no event is staged meanwhile. */
  async #rotate(): Promise<void> {
    this.#rotating = true;
    try {
      await this.#deps.committer.submit((draft) => this.#stageRotation(draft));
    } finally {
      this.#rotating = false;
    }
  }

  #stageRotation(draft: Draft): void {
    if (this.#sealing !== undefined) return;
    if (this.#pending?.draft === draft) {
      this.#flush();
      // The group will write another run.
      this.#runMemory = undefined;
    }
    const full = this.#active;
    const table = this.#spare ?? new EntryTable(full.table.count);
    this.#active = { seq: full.seq + 1, table, nextRun: 0, sifted: this.#segments.sifting, durable: 0 };
    this.#sealing = full;
    draft.onUndo(() => {
      this.#active = full;
      this.#sealing = undefined;
    });
    draft.onCommit(() => {
      this.#spare = undefined;
      this.#sealable = full;
    });
  }

  async #seal(full: OpenSegment, signal: AbortSignal): Promise<void> {
    const { committer, clock, doWork } = this.#deps;
    const { seq, table, sifted } = full;
    const segments = this.#segments;
    // Kept where something fails, for the next time; and a commit may still succeed after it was given up waiting for.
    this.#place ??= await runInTurns(segments.reserveSteps(filterBytes(table.count), table, sifted), clock);
    const place = this.#place;
    const work = newWork(table, place, this.#pages);
    this.#pages = work.memory;
    const ends = await doWork(work);
    // The commit that was given up waiting for has been answered since.
    if (this.#sealable !== full) return;
    for (let from = 0; from < work.pages; from += limits.dedupStepPagesMax) {
      if (signal.aborted) return;
      await committer.submit((draft) => {
        for (const { key, value } of pagesOf(seq, work, ends, from, from + limits.dedupStepPagesMax)) {
          draft.put(key, value);
        }
      });
    }
    const segment = new DedupSegment(seq, work.pages, table.lastMs);
    await committer.submit((draft) => {
      draft.put(DedupSegment.key(seq), sealValue(segment.encode(work.filter)));
      draft.onCommit(() => {
        segments.fill(place, segment);
        this.#place = undefined;
        this.#sealing = undefined;
        this.#sealable = undefined;
        this.#keep(table);
      });
    });
    await this.#deleteAll(prefixRange(tables.dedupRun, seq), signal);
  }

  #keep(table: EntryTable): void {
    // One that had to grow far beyond what a segment takes is not worth its memory.
    if (table.count > 2 * limits.dedupSegmentKeysMax) {
      this.#pages = undefined;
      return;
    }
    table.clear();
    this.#spare = table;
  }

  async #dropExpired(signal: AbortSignal): Promise<void> {
    const { committer, clock, windowMs, store } = this.#deps;
    // Left over from a sealing that ended before they were deleted.
    const first = this.#sealing?.seq ?? this.#active.seq;
    await this.#deleteAll({ from: prefixRange(tables.dedupRun).from, to: makeKey(tables.dedupRun, first) }, signal);
    for (const key of [...store.keys(prefixRange(tables.dedupSegment))]) {
      const seq = readU64(key, 1);
      const segment = this.#segments.find(seq);
      if (segment !== undefined) {
        if (segment.lastMs > clock.nowMs() - windowMs) continue;
        this.#segments.remove(segment);
      }
      // The pages first: a segment stays listed until nothing of it is left.
      await this.#deleteAll(prefixRange(tables.dedupPage, seq), signal);
      if (signal.aborted) return;
      await committer.submit((draft) => draft.delete(key));
    }
  }

  /** All at once, when the window has passed over the last of them. */
  async #dropOlder(signal: AbortSignal): Promise<void> {
    const { clock, windowMs } = this.#deps;
    if (this.#older === undefined || this.#older.lastMs > clock.nowMs() - windowMs) return;
    this.#older = undefined;
    for (const table of olderTables) await this.#deleteAll(prefixRange(table), signal);
  }

  async #deleteAll(range: { from: Buffer; to: Buffer }, signal: AbortSignal): Promise<void> {
    const { store, committer } = this.#deps;
    while (!signal.aborted) {
      const keys = [...store.keys({ ...range, limit: limits.expireStepKeysMax })];
      if (keys.length === 0) return;
      await committer.submit((draft) => {
        for (const key of keys) draft.delete(key);
      });
    }
  }
}

function newOpen(seq: number): OpenSegment {
  return { seq, table: new EntryTable(), nextRun: 0, sifted: undefined, durable: 0 };
}
