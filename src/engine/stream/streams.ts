import type { Clock } from "../../port/clock.ts";
import type { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import { conflict, damaged, EngineError, notFound } from "../errors.ts";
import type { Log, Retention } from "../log/log.ts";
import {
  type BatchCursor,
  type EncodedBatch,
  encodeBatch,
  encodeBatchInSteps,
  type RecordInput,
} from "../log/record-batch.ts";
import type { Metastore, StreamMeta } from "../metastore/metastore.ts";
import type { Quotas } from "../quota/quotas.ts";
import type { ConsistencyToken, TokenEntry } from "../token.ts";
import { runInTurns, runSteps } from "../turns.ts";
import type { Idempotency, IdempotencyRecords } from "./idempotency.ts";
import { type RoutedBatch, routedBatches } from "./routed-batches.ts";
import { TokenWaiter } from "./token-waiter.ts";
import type { Trimmer } from "./trimmer.ts";

export interface StreamRef {
  readonly namespace: string;
  readonly stream: string;
}

export interface PartitionRef extends StreamRef {
  readonly partition: number;
}

export interface AppendCommand extends PartitionRef {
  /** Records, or a batch that is encoded already. */
  readonly records: readonly RecordInput[] | EncodedBatch;
  readonly matchOffset?: number;
  readonly idempotency?: Idempotency;
}

export interface RoutedAppendCommand extends StreamRef {
  readonly records: readonly RecordInput[];
  readonly idempotency?: Idempotency;
}

export interface AppendReply {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly token: ConsistencyToken;
}

export interface RoutedAppendReply {
  readonly appends: readonly (AppendReply & { readonly partition: number })[];
  readonly token: ConsistencyToken;
}

export interface Replayable<T> {
  readonly reply: T;
  /** The reply was recorded by an earlier request with the same idempotency key. */
  readonly replayed: boolean;
}

export interface FetchCommand extends PartitionRef {
  readonly from: { readonly offset: number } | { readonly timestampMs: number };
  readonly waitMs: number;
  readonly token: ConsistencyToken;
  /** The stream that the reader began with: a new one of its name has other records at its offsets. */
  readonly streamId?: number;
}

export interface FetchResult {
  readonly stream: number;
  readonly partition: number;
  readonly offset: number;
  readonly highWatermark: number;
  readonly logStartOffset: number;
  /**
   * Batches from the one that holds an offset; the caller seeks within the first and stops where its page is full.
   * A page that is sent in pieces is read again for each, so that a slow client pins nothing in the store.
   */
  readonly read: (offset: number) => Iterable<BatchCursor>;
  /** The same for a caller that finishes with a batch before it asks for the next, without awaiting: the memory is lent. */
  readonly readBorrowed: (offset: number) => Iterable<BatchCursor>;
}

export interface PartitionInfo {
  readonly partition: number;
  readonly logStartOffset: number;
  readonly highWatermark: number;
}

export interface StreamDetail {
  readonly id: number;
  readonly retention: Retention;
  readonly partitions: readonly PartitionInfo[];
}

export interface StreamsDeps {
  readonly metastore: Metastore;
  readonly log: Log;
  readonly committer: Committer;
  readonly trimmer: Trimmer;
  readonly idempotency: IdempotencyRecords;
  readonly quotas: Quotas;
  readonly clock: Clock;
  /** Aborted when the server drains: waiting readers are answered with what there is. */
  readonly draining: AbortSignal;
}

/** With more records than this, batches are made in slices: 250,000 take a fifth of a second. */
const recordsAtOnce = 1_000;

/** Bytes a small change takes in the queue besides its records. */
const changeBytes = 256;

/** What a user does with streams. */
export class Streams {
  readonly #deps: StreamsDeps;
  readonly #tokens: TokenWaiter;

  constructor(deps: StreamsDeps) {
    this.#deps = deps;
    this.#tokens = new TokenWaiter(deps.log, deps.clock, deps.draining);
  }

  /** Readers that follow a stream end their answer then. */
  get isDraining(): boolean {
    return this.#deps.draining.aborted;
  }

  create(ref: StreamRef, partitions: number, retention: Retention | undefined): Promise<{ id: number }> {
    const { metastore, committer } = this.#deps;
    return committer.submit((draft) => {
      const meta = metastore.stageCreateStream(draft, ref.namespace, ref.stream, {
        partitions,
        retention,
        backing: false,
      });
      return { id: meta.id };
    });
  }

  list(namespace: string): Iterable<StreamMeta> {
    const { metastore } = this.#deps;
    return metastore.streams(metastore.namespace(namespace));
  }

  /** As many as `pageSize` after a name; `nextAfter` is empty at the end. */
  page(namespace: string, pageSize: number, after: string): { streams: StreamMeta[]; nextAfter: string } {
    const { metastore } = this.#deps;
    const streams: StreamMeta[] = [];
    for (const meta of metastore.streams(metastore.namespace(namespace), after)) {
      if (streams.length === pageSize) return { streams, nextAfter: streams.at(-1)!.name };
      streams.push(meta);
    }
    return { streams, nextAfter: "" };
  }

  async detail(ref: StreamRef, token: ConsistencyToken, signal?: AbortSignal): Promise<StreamDetail> {
    const meta = this.#stream(ref);
    if (token.length > 0) await this.#waitToken(meta, token, undefined, signal);
    const partitions = Array.from({ length: meta.partitions }, (_, partition) => ({
      partition,
      logStartOffset: this.#deps.log.startOffset(meta, partition),
      highWatermark: this.#deps.log.highWatermark(meta, partition),
    }));
    return { id: meta.id, retention: meta.retention ?? { maxAgeMs: null, maxBytes: null }, partitions };
  }

  async setRetention(ref: StreamRef, retention: Retention | undefined): Promise<StreamDetail> {
    const meta = this.#stream(ref);
    const { metastore, committer, trimmer } = this.#deps;
    // Records that have expired must not come back under a longer retention.
    await trimmer.trim(meta);
    await committer.submit((draft) => metastore.stageRetention(draft, meta, retention));
    return this.detail(ref, []);
  }

  drop(ref: StreamRef): Promise<void> {
    const meta = this.#stream(ref);
    const { metastore, committer, log } = this.#deps;
    return committer.submit((draft) => {
      metastore.stageDropStream(draft, meta);
      draft.onCommit(() => log.forget(meta));
    });
  }

  append(command: AppendCommand): Promise<Replayable<AppendReply>> {
    const { clock } = this.#deps;
    const { records } = command;
    const meta = this.#stream(command);
    checkPartition(meta, command.partition);
    if ("bytes" in records) return this.#appendBatch(command, meta, records);
    const nowMs = clock.nowMs();
    if (records.length <= recordsAtOnce) return this.#appendBatch(command, meta, encodeBatch(records, nowMs));
    return runInTurns(encodeBatchInSteps(records, nowMs), clock).then((batch) =>
      this.#appendBatch(command, meta, batch),
    );
  }

  #appendBatch(command: AppendCommand, meta: StreamMeta, batch: EncodedBatch): Promise<Replayable<AppendReply>> {
    const { log, metastore, committer, quotas } = this.#deps;
    const { partition } = command;
    const decide = (draft: Draft): Replayable<AppendReply> => {
      const stream = metastore.stagedStream(draft, meta);
      const recorded = this.#recorded<AppendReply>(draft, stream, command.idempotency);
      if (recorded !== undefined) return { reply: recorded, replayed: true };
      if (command.matchOffset !== undefined && command.matchOffset !== log.stagedNext(stream, partition)) {
        const highWatermark = log.stagedNext(stream, partition);
        throw conflict(`match_offset: the next offset is ${highWatermark}, not ${command.matchOffset}`, {
          high_watermark: highWatermark,
        });
      }
      quotas.admitBytes(stream.namespace, batch.bytes.length);
      const { baseOffset, lastOffset } = log.stageAppend(draft, stream, partition, batch);
      const reply = { baseOffset, lastOffset, token: [{ stream: stream.id, partition, offset: lastOffset }] };
      this.#record(draft, stream, command.idempotency, reply);
      return { reply, replayed: false };
    };
    return committer.submit(decide, batch.bytes.length + changeBytes);
  }

  /** Appends records to the partitions of their keys, atomic over the request. */
  appendRouted(command: RoutedAppendCommand): Promise<Replayable<RoutedAppendReply>> {
    const { clock } = this.#deps;
    const meta = this.#stream(command);
    const { records } = command;
    const keyless = () => this.#nextKeyless++ % meta.partitions;
    const steps = routedBatches(records, meta.partitions, keyless, clock.nowMs());
    if (records.length <= recordsAtOnce) return this.#appendBatches(command, meta, runSteps(steps));
    return runInTurns(steps, clock).then((batches) => this.#appendBatches(command, meta, batches));
  }

  #appendBatches(
    command: RoutedAppendCommand,
    meta: StreamMeta,
    batches: readonly RoutedBatch[],
  ): Promise<Replayable<RoutedAppendReply>> {
    const { log, metastore, committer, quotas } = this.#deps;
    const bytes = batches.reduce((sum, { batch }) => sum + batch.bytes.length, changeBytes);
    const decide = (draft: Draft): Replayable<RoutedAppendReply> => {
      const stream = metastore.stagedStream(draft, meta);
      const recorded = this.#recorded<RoutedAppendReply>(draft, stream, command.idempotency);
      if (recorded !== undefined) return { reply: recorded, replayed: true };
      quotas.admitBytes(stream.namespace, bytes - changeBytes);
      const token: TokenEntry[] = [];
      const appends = batches.map(({ partition, batch }) => {
        const { baseOffset, lastOffset } = log.stageAppend(draft, stream, partition, batch);
        const entry = { stream: stream.id, partition, offset: lastOffset };
        token.push(entry);
        return { partition, baseOffset, lastOffset, token: [entry] };
      });
      const reply = { appends, token };
      this.#record(draft, stream, command.idempotency, reply);
      return { reply, replayed: false };
    };
    return committer.submit(decide, bytes);
  }

  async fetch(command: FetchCommand, signal?: AbortSignal): Promise<FetchResult> {
    const { log } = this.#deps;
    let meta = this.#stream(command);
    if (command.streamId !== undefined && command.streamId !== meta.id) throw streamDropped(meta.name);
    const { partition } = command;
    checkPartition(meta, partition);
    if (command.token.length > 0) await this.#waitToken(meta, command.token, partition, signal);
    let offset = this.startOf(command);
    this.#checkRange(meta, partition, offset);
    if (command.waitMs > 0 && offset === log.highWatermark(meta, partition)) {
      offset = await this.#waitFrom(meta, command, offset, this.#until(signal));
      // Both the stream and its start may have changed while this waited.
      meta = this.#current(meta);
      if ("timestampMs" in command.from) offset = this.startOf(command);
      this.#checkRange(meta, partition, offset);
    }
    return {
      stream: meta.id,
      partition,
      offset,
      highWatermark: log.highWatermark(meta, partition),
      logStartOffset: log.startOffset(meta, partition),
      // What is freed of a dropped stream, or under a new retention, must not look like damage to a slow reader.
      read: (from) => log.read(this.#current(meta), partition, from),
      readBorrowed: (from) => log.readBorrowed(this.#current(meta), partition, from),
    };
  }

  /** Waits at the end of a partition for a record that the command asks for, and returns where it starts then. */
  async #waitFrom(meta: StreamMeta, command: FetchCommand, end: number, until: AbortSignal): Promise<number> {
    const { log, clock } = this.#deps;
    const { from, partition } = command;
    const deadlineMs = clock.steadyMs() + command.waitMs;
    let offset = end;
    for (let leftMs = command.waitMs; leftMs > 0; leftMs = deadlineMs - clock.steadyMs()) {
      const hasMore = await log.waitAbove(meta, partition, offset, leftMs, until);
      if (!hasMore || "offset" in from) return offset;
      // What has come may be of an earlier time than the one asked for.
      offset = log.seekTime(this.#current(meta), partition, from.timestampMs);
      if (offset < log.highWatermark(meta, partition)) return offset;
    }
    return offset;
  }

  /** The offset at which a fetch starts: as given, or the first record at or after a time. */
  startOf(command: Pick<FetchCommand, "namespace" | "stream" | "partition" | "from">): number {
    const { from } = command;
    if ("offset" in from) return from.offset;
    const meta = this.#stream(command);
    checkPartition(meta, command.partition);
    return this.#deps.log.seekTime(meta, command.partition, from.timestampMs);
  }

  async #waitToken(meta: StreamMeta, token: ConsistencyToken, partition: number | undefined, signal?: AbortSignal) {
    try {
      await this.#tokens.wait(meta, token, partition, signal);
    } catch (error) {
      // The wait may have ended because the stream was dropped: then a retry is of no use.
      this.#current(meta);
      throw error;
    }
  }

  /** A wait ends when its reader leaves and when the server drains. */
  #until(signal: AbortSignal | undefined): AbortSignal {
    const { draining } = this.#deps;
    return signal === undefined ? draining : AbortSignal.any([signal, draining]);
  }

  #stream(ref: StreamRef): StreamMeta {
    return this.#deps.metastore.stream(ref.namespace, ref.stream);
  }

  #current(meta: StreamMeta): StreamMeta {
    const current = this.#deps.metastore.stream(meta.namespace, meta.name);
    if (current.id !== meta.id) throw streamDropped(meta.name);
    return current;
  }

  #checkRange(meta: StreamMeta, partition: number, offset: number): void {
    const { log } = this.#deps;
    const highWatermark = log.highWatermark(meta, partition);
    const logStartOffset = log.startOffset(meta, partition);
    if (logStartOffset > highWatermark) throw damaged("a partition of the log ends before it starts");
    if (offset >= logStartOffset && offset <= highWatermark) return;
    throw new EngineError(
      "offset_out_of_range",
      `offset: ${offset} is outside the partition's range from ${logStartOffset} to ${highWatermark}`,
      { details: { offset, log_start_offset: logStartOffset, high_watermark: highWatermark } },
    );
  }

  #recorded<T>(draft: Parameters<IdempotencyRecords["replay"]>[0], stream: StreamMeta, key: Idempotency | undefined) {
    return key === undefined ? undefined : this.#deps.idempotency.replay<T>(draft, stream.id, key);
  }

  #record(
    draft: Parameters<IdempotencyRecords["record"]>[0],
    stream: StreamMeta,
    key: Idempotency | undefined,
    reply: unknown,
  ): void {
    if (key !== undefined) this.#deps.idempotency.record(draft, stream.id, key, reply);
  }

  /** Keyless requests go round the partitions. */
  #nextKeyless = 0;
}

function streamDropped(name: string): EngineError {
  return notFound(`stream ${JSON.stringify(name)} was dropped; the one that has its name now is another`);
}

export function checkPartition(meta: StreamMeta, partition: number): void {
  if (partition < meta.partitions) return;
  throw notFound(
    `partition ${partition} does not exist: stream ${JSON.stringify(meta.name)} has partitions 0 to ${meta.partitions - 1}`,
  );
}
