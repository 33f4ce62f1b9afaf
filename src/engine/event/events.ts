import type { Clock } from "../../port/clock.ts";
import { nextTurn } from "../../port/next-turn.ts";
import type { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import { EngineError } from "../errors.ts";
import type { Log } from "../log/log.ts";
import { withoutRecords } from "../log/record-batch.ts";
import type { Metastore, StreamMeta } from "../metastore/metastore.ts";
import type { Quotas } from "../quota/quotas.ts";
import type { Idempotency, IdempotencyRecords } from "../stream/idempotency.ts";
import {
  checkPartition,
  type FetchCommand,
  type FetchResult,
  type StreamRef,
  type Streams,
} from "../stream/streams.ts";
import type { CloudEvent } from "./cloud-event.ts";
import type { Arrival, DedupIndex } from "./dedup/dedup-index.ts";
import { digestWordCount, type EventPlace } from "./dedup/entry.ts";
import { olderDigests } from "./dedup/older-events.ts";
import { stretchBytes } from "./dedup/run.ts";
import { type EncodedEvents, encodeEvents } from "./encoded-events.ts";
import { eventCodec } from "./event-codec.ts";
import { type EventResult, EventsReply, type RecordedEvents, runResults } from "./events-reply.ts";
import { eventOfRecord } from "./record-codec.ts";

export interface AppendEventsCommand extends StreamRef {
  readonly events: readonly CloudEvent[];
  /** All events go there; without it each goes to the partition of its own keys. */
  readonly partition?: number;
  readonly idempotency?: Idempotency | undefined;
}

export interface AppendJsonCommand extends StreamRef {
  /** In the JSON event format, or in the JSON batch format where `isBatch` is set. Not looked at after the call. */
  readonly text: Buffer;
  readonly isBatch: boolean;
  readonly partition?: number | undefined;
  /** Gives memory for the records, in which they lie until they are committed. Called once at most. */
  readonly allocate?: ((bytes: number) => Buffer) | undefined;
  readonly idempotency?: Idempotency | undefined;
}

/** What a reader does with the next event, given how many it has: takes it, takes it as the last one, or leaves it. */
export type TakeEvent = (event: CloudEvent, count: number) => "taken" | "last" | "refused";

export interface ReadEventsResult {
  readonly nextOffset: number;
  readonly highWatermark: number;
}

export interface EventsDeps {
  readonly metastore: Metastore;
  readonly log: Log;
  readonly committer: Committer;
  readonly streams: Streams;
  readonly dedup: DedupIndex;
  readonly idempotency: IdempotencyRecords;
  readonly quotas: Quotas;
  readonly clock: Clock;
}

function batchesBytes({ batches }: EncodedEvents): number {
  let bytes = 0;
  for (const batch of batches) bytes += batch.encoded.bytes.length;
  return bytes;
}

/** Of a text that the codec takes. */
function eventsIn(text: Buffer, isBatch: boolean): readonly { source: string; id: string }[] {
  const parsed = JSON.parse(text.toString());
  return isBatch ? parsed : [parsed];
}

const inFlightResult: EventResult = { status: "in_flight", partition: null, offset: null };

function duplicateOf({ partition, offset }: EventPlace): EventResult {
  return { status: "duplicate", partition, offset };
}

/** Records looked at by one read that finds few events among them. */
const scanRecordsMax = 50_000;
/** Other requests get their turn when a read has held the thread this long. */
const sliceMsMax = 5;
const recordsPerLook = 64;

/** CloudEvents in streams: each source and id once inside the window. */
export class Events {
  readonly #deps: EventsDeps;

  constructor(deps: EventsDeps) {
    this.#deps = deps;
  }

  async append(command: AppendEventsCommand): Promise<EventsReply> {
    const meta = this.#deps.metastore.stream(command.namespace, command.stream);
    if (command.partition !== undefined) checkPartition(meta, command.partition);
    const { dedup, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const encoded = encodeEvents(command.events, meta, command.partition, nowMs, dedup.key);
    const older = dedup.needsOlderDigests ? olderDigests(meta.id, command.events) : undefined;
    return this.#write(meta, encoded, older, nowMs, command.idempotency);
  }

  /**
   * Appends the events of a JSON text of the plainest form. Undefined for any other, and where stream and partition are
   * not there: whoever reads the text then finds out what is wrong, in the order in which it is told.
   */
  appendJson(command: AppendJsonCommand): Promise<EventsReply> | undefined {
    const { partition, text, isBatch, allocate } = command;
    const meta = this.#findStream(command);
    if (meta === undefined || (partition !== undefined && partition >= meta.partitions)) return undefined;
    const { dedup, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const target = { stream: meta.id, digestKey: dedup.key, partitions: meta.partitions, partition, nowMs };
    const encoded = eventCodec().decode(text, isBatch, target, allocate);
    if (encoded === undefined) return undefined;
    const older = dedup.needsOlderDigests ? olderDigests(meta.id, eventsIn(text, isBatch)) : undefined;
    return this.#write(meta, encoded, older, nowMs, command.idempotency);
  }

  #findStream({ namespace, stream }: StreamRef): StreamMeta | undefined {
    try {
      return this.#deps.metastore.stream(namespace, stream);
    } catch (error) {
      if (error instanceof EngineError) return undefined;
      throw error;
    }
  }

  /** Encoded before this, so that a request holds its bytes and no more while it waits. */
  #write(
    meta: StreamMeta,
    encoded: EncodedEvents,
    older: Uint32Array | undefined,
    nowMs: number,
    idempotency: Idempotency | undefined,
  ): Promise<EventsReply> {
    const { count, digests } = encoded;
    const { dedup, committer } = this.#deps;
    const arrived = dedup.arrive(digests, count, nowMs, older);
    const stage = (draft: Draft) =>
      idempotency === undefined
        ? this.#stage(draft, meta, encoded, arrived, nowMs)
        : this.#stageOnce(draft, meta, encoded, arrived, nowMs, idempotency);
    return committer.submit(stage, stretchBytes(count) + batchesBytes(encoded));
  }

  /**
   * A key holds for longer than the window, and tells a writer that repeats itself what its first request did. An answer
   * that asks to be repeated is none to keep.
   */
  #stageOnce(
    draft: Draft,
    meta: StreamMeta,
    encoded: EncodedEvents,
    arrived: Arrival,
    nowMs: number,
    request: Idempotency,
  ): EventsReply {
    const { metastore, idempotency } = this.#deps;
    const { id } = metastore.stagedStream(draft, meta);
    const recorded = idempotency.replay<RecordedEvents>(draft, id, request);
    if (recorded !== undefined) return EventsReply.ofRecorded(id, recorded);
    const reply = this.#stage(draft, meta, encoded, arrived, nowMs);
    if (!reply.inFlight) idempotency.record(draft, id, request, reply.recorded());
    return reply;
  }

  #stage(draft: Draft, meta: StreamMeta, encoded: EncodedEvents, arrived: Arrival, nowMs: number): EventsReply {
    const { metastore, log, dedup, quotas } = this.#deps;
    const { count, digests, batches } = encoded;
    const stream = metastore.stagedStream(draft, meta);
    quotas.admitBytes(stream.namespace, batchesBytes(encoded));
    for (const batch of batches) batch.base = log.stagedNext(stream, batch.partition);
    const own = dedup.begin(draft);
    const older = dedup.findOlder(digests, count, nowMs, arrived);
    // Nearly always all of the events are new and one run.
    const run = older === undefined && batches.length === 1 ? batches[0] : undefined;
    const newCount = run === undefined ? 0 : dedup.addRun(digests, count, nowMs, run.partition, run.base);
    const results =
      newCount === count && count > 0 ? undefined : this.#decide(encoded, newCount, older, own, arrived, nowMs);
    dedup.end(own);
    for (const batch of batches) {
      const remaining = batch.dropped === undefined ? batch.encoded : withoutRecords(batch.encoded, batch.dropped);
      if (remaining.count > 0) log.stageAppend(draft, stream, batch.partition, remaining);
    }
    if (results !== undefined) return EventsReply.ofResults(stream.id, results);
    return EventsReply.ofRun(stream.id, { partition: run!.partition, baseOffset: run!.base, count });
  }

  /** What becomes of each event, where the first `taken` are new. */
  #decide(
    { count, digests, batches, batchOf }: EncodedEvents,
    taken: number,
    older: ReadonlyMap<number, EventPlace> | undefined,
    own: number,
    arrived: Arrival,
    nowMs: number,
  ): EventResult[] {
    const { dedup } = this.#deps;
    const results: EventResult[] = [];
    if (taken > 0) {
      const { partition, base } = batches[0]!;
      batches[0]!.decided = taken;
      results.push(...runResults({ partition, baseOffset: base, count: taken }));
    }
    for (let i = taken; i < count; i++) {
      const at = i * digestWordCount;
      const batch = batches[batchOf === undefined ? 0 : batchOf[i]!]!;
      const { partition } = batch;
      const record = batch.decided++;
      // The newest first: one that an earlier process took for forgotten, with a shorter window, was written twice.
      const newer = dedup.find(digests, at, nowMs, own, arrived);
      const known = newer ?? older?.get(i);
      if (known !== undefined) {
        results.push(newer?.isInFlight === true ? inFlightResult : duplicateOf(known));
        batch.drop(record);
        continue;
      }
      const offset = batch.base + record - (batch.dropped?.size ?? 0);
      dedup.add(digests, at, nowMs, partition, offset);
      results.push({ status: "appended", partition, offset });
    }
    return results;
  }

  /**
   * Events from an offset on, to `take` until it refuses one. Records that are none are passed over, and `nextOffset`
   * moves past them; without any event the read waits for one, not just for records.
   */
  async read(command: FetchCommand, take: TakeEvent, signal?: AbortSignal): Promise<ReadEventsResult> {
    const { streams, clock } = this.#deps;
    const deadlineMs = clock.steadyMs() + command.waitMs;
    let next = command;
    for (;;) {
      const waitMs = Math.max(0, deadlineMs - clock.steadyMs());
      const page = await streams.fetch({ ...next, waitMs }, signal);
      const found = await this.#scan(page, take);
      const { highWatermark } = page;
      const isOver = found.nextOffset < highWatermark || streams.isDraining || signal?.aborted;
      if (found.events > 0 || isOver || clock.steadyMs() >= deadlineMs) {
        return { nextOffset: found.nextOffset, highWatermark };
      }
      next = { ...command, from: { offset: found.nextOffset }, streamId: page.stream };
    }
  }

  async #scan(page: FetchResult, take: TakeEvent): Promise<Scan> {
    const scan: Scan = { nextOffset: page.offset, events: 0, isDone: false };
    const lastRecord = Math.min(page.highWatermark, page.offset + scanRecordsMax);
    for (;;) {
      const before = scan.nextOffset;
      this.#scanSlice(page, take, scan, lastRecord);
      if (scan.isDone || scan.nextOffset >= lastRecord || scan.nextOffset === before) return scan;
      await nextTurn();
    }
  }

  #scanSlice(page: FetchResult, take: TakeEvent, scan: Scan, lastRecord: number): void {
    const endMs = this.#deps.clock.steadyMs() + sliceMsMax;
    let untilLook = recordsPerLook;
    for (const batch of page.read(scan.nextOffset)) {
      if (!batch.seek(scan.nextOffset)) return;
      do {
        const event = batch.headerCount === 0 ? undefined : eventOfRecord(batch);
        if (event !== undefined) {
          const verdict = take(event, scan.events);
          if (verdict === "refused") scan.isDone = true;
          if (scan.isDone) return;
          scan.events++;
          if (verdict === "last") scan.isDone = true;
        }
        scan.nextOffset = batch.offset + 1;
        if (scan.isDone || scan.nextOffset >= lastRecord) return;
        if (--untilLook > 0) continue;
        untilLook = recordsPerLook;
        if (this.#deps.clock.steadyMs() >= endMs) return;
      } while (batch.next());
    }
  }
}

interface Scan {
  nextOffset: number;
  events: number;
  /** The reader wants no more. */
  isDone: boolean;
}
