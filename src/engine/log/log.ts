import assert from "node:assert/strict";
import type { Clock } from "../../port/clock.ts";
import { LruMap } from "../../port/lru-map.ts";
import type { Entry, Range, Store } from "../../port/store.ts";
import type { Draft } from "../commit/draft.ts";
import { damaged } from "../errors.ts";
import { logKey, logKeyOffset, logKeyPlace, partitionKey } from "../keys.ts";
import { limits } from "../limits.ts";
import { decodePartition, emptyTail, encodePartition, setTail, type Tail } from "./partition-state.ts";
import { goneState, type PartitionStart, type PartitionState, PartitionStates } from "./partition-states.ts";
import {
  BatchCursor,
  type BatchHeader,
  decodeHeader,
  type EncodedBatch,
  headerBytes,
  sealBatch,
} from "./record-batch.ts";

export interface Retention {
  readonly maxAgeMs: number | null;
  readonly maxBytes: number | null;
}

/** What the log must know of a stream. */
export interface LogStream {
  readonly id: number;
  readonly partitions: number;
  readonly retention: Retention | undefined;
}

export interface AppendedRange {
  readonly baseOffset: number;
  readonly lastOffset: number;
}

/** Whoever asks for a dropped stream does so soon after. */
const droppedKeptMax = 10_000;

export type AppendListener = (stream: number, partition: number, highWatermark: number) => void;

/** Partitioned append-only logs in the store: one value a batch, keyed by stream, partition and base offset. */
export class Log {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #states = new PartitionStates();
  readonly #listeners = new Set<AppendListener>();
  /** Recently dropped streams: late readers must not cache their partitions again. */
  readonly #dropped = new LruMap<number, true>(droppedKeptMax);
  #draft: Draft | undefined;
  /** Of the group that is being decided. */
  #serial = 0;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Called with every durable append. */
  onAppend(listener: AppendListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Writes a batch at the end of a partition, as part of a change. */
  stageAppend(draft: Draft, stream: LogStream, partition: number, batch: EncodedBatch): AppendedRange {
    const state = this.#state(stream, partition);
    const { next, bytes, prefixTimestampMs, prefixRetentionMs, stagedIn } = state;
    const nowMs = this.#clock.nowMs();
    state.next = next + batch.count;
    state.bytes = bytes + batch.bytes.length;
    state.prefixTimestampMs = Math.max(prefixTimestampMs, batch.maxTimestampMs);
    // A timestamp in the future must not keep a record longer than its age in the log allows.
    state.prefixRetentionMs = Math.max(prefixRetentionMs, Math.min(batch.maxTimestampMs, nowMs));
    draft.onUndo(() => {
      setTail(state, { next, bytes, prefixTimestampMs, prefixRetentionMs });
      state.stagedIn = stagedIn;
    });
    const key = logKey(stream.id, partition, next);
    sealBatch(batch, key, {
      baseOffset: next,
      appendTimeMs: nowMs,
      prefixTimestampMs: state.prefixTimestampMs,
      prefixRetentionMs: state.prefixRetentionMs,
      bytesBefore: bytes,
    });
    draft.put(key, batch.bytes);
    const serial = this.#serialOf(draft);
    if (stagedIn !== serial) {
      state.stagedIn = serial;
      draft.onCommit(() => this.#publish(state));
    }
    return { baseOffset: next, lastOffset: state.next - 1 };
  }

  #serialOf(draft: Draft): number {
    if (this.#draft !== draft) {
      this.#draft = draft;
      this.#serial++;
      draft.beforeCommit(() => {
        this.#draft = undefined;
        return undefined;
      });
    }
    return this.#serial;
  }

  /** The offset that the next record will get, as a change sees it. */
  stagedNext(stream: LogStream, partition: number): number {
    return this.#state(stream, partition).next;
  }

  highWatermark(stream: LogStream, partition: number): number {
    return this.#state(stream, partition).durableNext;
  }

  /** The first offset that retention keeps. Trimming in the background follows it. */
  startOffset(stream: LogStream, partition: number): number {
    const state = this.#state(stream, partition);
    const { retention } = stream;
    if (retention === undefined) return state.storedStart;
    const nowMs = this.#clock.nowMs();
    const known = state.implied;
    if (
      known !== undefined &&
      known.next === state.durableNext &&
      known.retention === retention &&
      nowMs < known.untilMs
    ) {
      return Math.max(known.start, state.storedStart);
    }
    return this.#impliedStart(state, retention, nowMs);
  }

  #impliedStart(state: PartitionState, retention: Retention, nowMs: number): number {
    const { durableNext, durableBytes } = state;
    let start = Math.max(state.storedStart, state.implied?.retention === retention ? state.implied.start : 0);
    let untilMs = Infinity;
    const { maxBytes, maxAgeMs } = retention;
    if (maxBytes !== null && durableNext > start) {
      // The newest batch always stays: what was acknowledged a moment ago is never trimmed for its size.
      const first = this.#findBatch(
        state,
        start,
        (batch) => durableBytes - batch.bytesBefore <= maxBytes || batch.baseOffset + batch.count === durableNext,
      );
      start = first?.baseOffset ?? durableNext;
    }
    if (maxAgeMs !== null && durableNext > start) {
      const oldestMs = nowMs - maxAgeMs;
      const first = this.#findBatch(state, start, (batch) => batch.prefixRetentionMs >= oldestMs);
      start = first?.baseOffset ?? durableNext;
      if (first !== undefined) untilMs = first.prefixRetentionMs + maxAgeMs + 1;
    }
    state.implied = { start, next: durableNext, untilMs, retention };
    return start;
  }

  /**
   * The batches from the one that holds `offset` up to the high watermark, verified as they are opened. Each follows
   * on the one before: a hole is damage, unless what was there has been trimmed.
   */
  read(stream: LogStream, partition: number, offset: number): Iterable<BatchCursor> {
    return this.#read(stream, partition, offset, (range) => this.#store.range(range));
  }

  /** The same for a reader that is done with a batch before it asks for the next one, or for anything else. */
  readBorrowed(stream: LogStream, partition: number, offset: number): Iterable<BatchCursor> {
    return this.#read(stream, partition, offset, (range) => this.#store.borrow(range));
  }

  *#read(
    stream: LogStream,
    partition: number,
    offset: number,
    entries: (range: Range) => Iterable<Entry>,
  ): Iterable<BatchCursor> {
    const end = this.highWatermark(stream, partition);
    if (offset >= end) return;
    const base = this.#baseOf(stream.id, partition, offset);
    let next = offset;
    if (base !== undefined) {
      const range = { from: logKey(stream.id, partition, base), to: logKey(stream.id, partition, end) };
      for (const { key, value } of entries(range)) {
        const batch = new BatchCursor(key, value);
        if (batch.header.baseOffset > next || batch.endOffset <= next) break;
        yield batch;
        next = batch.endOffset;
      }
    }
    if (next < end && next >= this.startOffset(stream, partition)) {
      throw damaged(`offset ${next} of partition ${partition} of stream ${stream.id} is missing in the log`);
    }
  }

  /** The offset of the first record at or after a time; the high watermark when there is none. */
  seekTime(stream: LogStream, partition: number, timestampMs: number): number {
    const state = this.#state(stream, partition);
    const start = this.startOffset(stream, partition);
    const end = state.durableNext;
    let found = this.#findBatch(state, start, (batch) => batch.prefixTimestampMs >= timestampMs);
    // Trimmed records may have raised the running maximum, so the first batches can still be too old: their heads tell.
    while (found !== undefined && found.maxTimestampMs < timestampMs) {
      const next = found.baseOffset + found.count;
      found = next < end ? this.#headerOf(stream.id, partition, next) : undefined;
    }
    if (found === undefined) return end;
    for (const batch of this.read(stream, partition, found.baseOffset)) {
      while (batch.next()) if (batch.timestampMs >= timestampMs) return batch.offset;
    }
    return end;
  }

  /** Resolves once the high watermark is above `offset`, the time is over or the signal is aborted. */
  async waitAbove(
    stream: LogStream,
    partition: number,
    offset: number,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const state = this.#state(stream, partition);
    if (state.durableNext > offset) return true;
    if (waitMs <= 0 || signal?.aborted || state.gone) return false;
    const woken = new AbortController();
    const waiter = () => {
      if (state.durableNext > offset || state.gone) woken.abort();
    };
    const stop = () => woken.abort();
    state.addWaiter(waiter);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await this.#clock.sleep(waitMs, woken.signal);
    } finally {
      signal?.removeEventListener("abort", stop);
      state.deleteWaiter(waiter);
    }
    return state.durableNext > offset;
  }

  /** A batch that another node has appended. */
  onApplied(key: Uint8Array, value: Uint8Array): void {
    const { stream, partition } = logKeyPlace(key);
    const state = this.#states.get(stream, partition);
    if (state === undefined) return;
    const tail = tailOf(decodeHeader(key, value.subarray(0, headerBytes)));
    if (tail.next <= state.durableNext) return;
    setTail(state, tail);
    this.#publish(state);
  }

  /** Another node has freed batches of a partition. */
  onTrimmed(key: Uint8Array, value: Uint8Array): void {
    const { stream, partition } = logKeyPlace(key);
    const state = this.#states.get(stream, partition);
    if (state !== undefined) state.storedStart = decodePartition(value).storedStart;
  }

  /** Forgets a dropped stream and wakes its waiting readers. */
  forget(stream: Pick<LogStream, "id" | "partitions">): void {
    this.#dropped.set(stream.id, true);
    for (let partition = 0; partition < stream.partitions; partition++) {
      this.#states.forget(stream.id, partition);
    }
  }

  needsTrim(stream: LogStream, partition: number): boolean {
    return this.startOffset(stream, partition) > this.#state(stream, partition).storedStart;
  }

  /**
   * Frees batches below the implied start, as part of a change: at most `batchesMax`, the oldest first.
   */
  stageTrim(draft: Draft, stream: LogStream, partition: number, batchesMax: number): void {
    this.stageTrimTo(draft, stream, partition, this.startOffset(stream, partition), batchesMax);
  }

  /** Stored bytes of the partition's batches, expired ones that are not freed yet included. */
  storedBytes(stream: LogStream, partition: number): number {
    // Not through the cache: measuring all partitions must not evict those in use.
    const known = this.#states.get(stream.id, partition);
    const { tail, storedStart } =
      known === undefined ? this.#load(stream.id, partition) : { tail: known, storedStart: known.storedStart };
    if (storedStart === 0 || tail.bytes === 0) return tail.bytes;
    const first = tail.next > storedStart ? this.#headerOf(stream.id, partition, storedStart) : undefined;
    return first === undefined ? 0 : tail.bytes - first.bytesBefore;
  }

  storedStart(stream: LogStream, partition: number): number {
    return this.#state(stream, partition).storedStart;
  }

  /** The same up to a given offset, which must be the start of a batch or the end of the partition. */
  stageTrimTo(draft: Draft, stream: LogStream, partition: number, target: number, batchesMax: number): void {
    const state = this.#state(stream, partition);
    if (target <= state.storedStart) return;
    assert(target <= state.next, "a trim ends within the log");
    const from = logKey(stream.id, partition, state.storedStart);
    const to = logKey(stream.id, partition, target);
    const keys = [...this.#store.keys({ from, to, limit: batchesMax + 1 })];
    const more = keys.length > batchesMax;
    for (const key of keys.slice(0, batchesMax)) draft.delete(key);
    const start = more ? logKeyOffset(keys[batchesMax]!) : target;
    draft.put(partitionKey(stream.id, partition), encodePartition(start, state));
    draft.onCommit(() => {
      // As it is cached then: it may have been evicted, or read again, meanwhile.
      const known = this.#states.get(stream.id, partition);
      if (known !== undefined) known.storedStart = start;
    });
  }

  /** Watermarks of the partitions in memory, for metrics. */
  *loadedPartitions(): Iterable<Pick<PartitionState, "stream" | "partition" | "durableNext">> {
    yield* this.#states.values();
  }

  /** Makes what a group has appended visible, all of it at once. */
  #publish(state: PartitionState): void {
    assert(state.next > state.durableNext, "a high watermark only rises");
    state.publish();
    const { stream, partition, durableNext } = state;
    for (const listener of this.#listeners) listener(stream, partition, durableNext);
  }

  #state(stream: LogStream, partition: number): PartitionState {
    const known = this.#states.get(stream.id, partition);
    if (known !== undefined) return known;
    const start = this.#load(stream.id, partition);
    if (this.#dropped.has(stream.id)) return goneState(stream.id, partition, start);
    if (this.#states.size >= limits.partitionStatesMax) this.#states.evict(limits.partitionStatesMax / 10);
    return this.#states.add(stream.id, partition, start);
  }

  #load(stream: number, partition: number): PartitionStart {
    const stored = this.#store.get(partitionKey(stream, partition));
    const trimmed = stored === undefined ? { storedStart: 0, tail: emptyTail } : decodePartition(stored);
    let tail = trimmed.tail;
    const range = { from: logKey(stream, partition, 0), to: logKey(stream, partition + 1, 0), reverse: true, limit: 1 };
    for (const key of this.#store.keys(range)) {
      const last = tailOf(this.#header(key));
      if (last.next > tail.next) tail = last;
    }
    return { tail, storedStart: trimmed.storedStart };
  }

  #header(key: Uint8Array): BatchHeader {
    const head = this.#store.head(key, headerBytes);
    if (head === undefined) throw damaged("a record batch that the log lists can't be found");
    return decodeHeader(key, head);
  }

  /** The header of the batch that holds an offset. */
  #headerOf(stream: number, partition: number, offset: number): BatchHeader | undefined {
    const base = this.#baseOf(stream, partition, offset);
    return base === undefined ? undefined : this.#header(logKey(stream, partition, base));
  }

  /** The base offset of the batch that holds an offset. */
  #baseOf(stream: number, partition: number, offset: number): number | undefined {
    const range = {
      from: logKey(stream, partition, 0),
      to: logKey(stream, partition, offset + 1),
      reverse: true,
      limit: 1,
    };
    for (const key of this.#store.keys(range)) {
      if (key.length !== range.from.length) throw damaged("a key of the log is damaged");
      return logKeyOffset(key);
    }
    return undefined;
  }

  /** Binary search: the first batch from `start` on that meets a condition which, once true, stays true. */
  #findBatch(state: PartitionState, start: number, holds: (batch: BatchHeader) => boolean): BatchHeader | undefined {
    let low = start;
    let high = state.durableNext;
    let found: BatchHeader | undefined;
    let probe = low;
    while (low < high) {
      const batch = this.#headerOf(state.stream, state.partition, probe);
      if (batch === undefined || batch.baseOffset < low) return found;
      if (holds(batch)) {
        found = batch;
        high = batch.baseOffset;
      } else low = batch.baseOffset + batch.count;
      // The first probe was the head, the likeliest answer.
      probe = low + Math.floor((high - low) / 2);
    }
    return found;
  }
}

/** The end of a partition whose newest batch this is. */
function tailOf(batch: BatchHeader): Tail {
  return {
    next: batch.baseOffset + batch.count,
    bytes: batch.bytesBefore + headerBytes + batch.bodyBytes,
    prefixTimestampMs: batch.prefixTimestampMs,
    prefixRetentionMs: batch.prefixRetentionMs,
  };
}
