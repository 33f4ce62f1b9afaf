import type { Clock } from "../../port/clock.ts";
import type { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import type { Log } from "../log/log.ts";
import { BatchWriter, type EncodedBatch, withoutRecords } from "../log/record-batch.ts";
import type { Metastore, StreamMeta } from "../metastore/metastore.ts";
import {
  checkPartition,
  type FetchCommand,
  type FetchResult,
  type StreamRef,
  type Streams,
} from "../stream/streams.ts";
import type { ConsistencyToken } from "../token.ts";
import type { CloudEvent } from "./cloud-event.ts";
import type { DedupIndex } from "./dedup/dedup-index.ts";
import { entryBytes, eventDigest } from "./dedup/entry.ts";
import { partitionOfEvent } from "./partition.ts";
import { eventOfRecord, writeEvent } from "./record-codec.ts";

export type EventStatus = "appended" | "duplicate" | "in_flight";

export interface EventResult {
  readonly status: EventStatus;
  /** Null while the event is in flight: its place is not known yet. */
  readonly partition: number | null;
  readonly offset: number | null;
}

export interface EventsReply {
  readonly events: readonly EventResult[];
  /** Names every event of the request, duplicates too. */
  readonly token: ConsistencyToken;
  readonly inFlight: boolean;
}

export interface AppendEventsCommand extends StreamRef {
  readonly events: readonly CloudEvent[];
  /** All events go there; without it each goes to the partition of its own keys. */
  readonly partition?: number;
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
  readonly clock: Clock;
}

interface Candidate {
  readonly digest: string;
  readonly partition: number;
  /** Another request writes the same event right now. */
  readonly inFlight: boolean;
}

/** A request's events for one partition, encoded before it is known which of them are new. */
interface PartitionEvents {
  readonly encoded: EncodedBatch;
  /** Events decided so far, and those of them that are not written. */
  decided: number;
  dropped: Set<number> | undefined;
  /** The offset of its first record, once the change knows it. */
  base: number;
}

/** Records looked at by one read that finds few events among them. */
const scanRecordsMax = 50_000;
/** Other requests get their turn when a read has held the thread this long. */
const sliceMsMax = 5;
const recordsPerLook = 64;

/** CloudEvents in streams: each source and id once inside the window. */
export class Events {
  readonly #deps: EventsDeps;
  readonly #inFlight = new Set<string>();

  constructor(deps: EventsDeps) {
    this.#deps = deps;
  }

  async append(command: AppendEventsCommand): Promise<EventsReply> {
    const { metastore, committer, clock } = this.#deps;
    const meta = metastore.stream(command.namespace, command.stream);
    if (command.partition !== undefined) checkPartition(meta, command.partition);
    const nowMs = clock.nowMs();
    const candidates = this.#take(meta, command);
    try {
      // Encoded at once, so that a request holds its bytes and no more while it waits.
      const batches = encodeEvents(command.events, candidates, nowMs);
      let bytes = 0;
      for (const { encoded } of batches.values()) bytes += encoded.bytes.length;
      bytes += candidates.length * entryBytes;
      return await committer.submit((draft) => this.#stage(draft, meta, candidates, batches, nowMs), bytes);
    } finally {
      for (const { digest, inFlight } of candidates) if (!inFlight) this.#inFlight.delete(digest);
    }
  }

  /** Marks the request's events as being written, but for those that another request is writing. */
  #take(meta: StreamMeta, command: AppendEventsCommand): Candidate[] {
    const candidates = command.events.map((event): Candidate => {
      const digest = eventDigest(meta.id, event.source, event.id);
      const partition = command.partition ?? partitionOfEvent(event, meta.partitions);
      return { digest, partition, inFlight: this.#inFlight.has(digest) };
    });
    // Only now: the same event twice in one request is decided by its first place, not by a race with itself.
    for (const { digest, inFlight } of candidates) if (!inFlight) this.#inFlight.add(digest);
    return candidates;
  }

  #stage(
    draft: Draft,
    meta: StreamMeta,
    candidates: readonly Candidate[],
    batches: ReadonlyMap<number, PartitionEvents>,
    nowMs: number,
  ): EventsReply {
    const { metastore, log, dedup } = this.#deps;
    const stream = metastore.stagedStream(draft, meta);
    for (const [partition, batch] of batches) batch.base = log.stagedNext(stream, partition);
    const own = dedup.begin(draft);
    const results = candidates.map(({ digest, partition, inFlight }): EventResult => {
      const batch = batches.get(partition)!;
      const record = batch.decided++;
      const first = inFlight ? undefined : dedup.find(digest, nowMs, own);
      if (inFlight || first !== undefined) {
        batch.dropped ??= new Set();
        batch.dropped.add(record);
        if (first === undefined) return { status: "in_flight", partition: null, offset: null };
        return { status: "duplicate", partition: first.partition, offset: first.offset };
      }
      const offset = batch.base + record - (batch.dropped?.size ?? 0);
      const place = { status: "appended", partition, offset } as const;
      dedup.addFound(draft, nowMs, place);
      return place;
    });
    dedup.end(own);
    for (const [partition, { encoded, dropped }] of batches) {
      const kept = dropped === undefined ? encoded : withoutRecords(encoded, dropped);
      if (kept.count > 0) log.stageAppend(draft, stream, partition, kept);
    }
    return { events: results, token: tokenOf(stream.id, results), inFlight: results.some(isInFlight) };
  }

  /**
   * Events from an offset on, to `take` until it refuses one. Records that are none are passed over, and `nextOffset`
   * moves past them; without any event the read waits for one, not just for records.
   */
  async read(command: FetchCommand, take: TakeEvent, signal?: AbortSignal): Promise<ReadEventsResult> {
    const { streams, clock } = this.#deps;
    const deadlineMs = clock.steadyMs() + command.waitMs;
    let from = command.from;
    for (;;) {
      const waitMs = Math.max(0, deadlineMs - clock.steadyMs());
      const page = await streams.fetch({ ...command, from, waitMs }, signal);
      const found = await this.#scan(page, take);
      const { highWatermark } = page;
      const isOver = found.nextOffset < highWatermark || streams.isDraining || signal?.aborted;
      if (found.events > 0 || isOver || clock.steadyMs() >= deadlineMs) {
        return { nextOffset: found.nextOffset, highWatermark };
      }
      from = { offset: found.nextOffset };
    }
  }

  async #scan(page: FetchResult, take: TakeEvent): Promise<Scan> {
    const scan: Scan = { nextOffset: page.offset, events: 0, isDone: false };
    const lastRecord = Math.min(page.highWatermark, page.offset + scanRecordsMax);
    for (;;) {
      const before = scan.nextOffset;
      this.#scanSlice(page, take, scan, lastRecord);
      if (scan.isDone || scan.nextOffset >= lastRecord || scan.nextOffset === before) return scan;
      await new Promise((resolve) => setImmediate(resolve));
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
          const taken = take(event, scan.events);
          if (taken === "refused") scan.isDone = true;
          if (scan.isDone) return;
          scan.events++;
          if (taken === "last") scan.isDone = true;
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

/** What an event takes besides its data, about. */
const eventBytesGuess = 256;

function encodeEvents(
  events: readonly CloudEvent[],
  candidates: readonly Candidate[],
  nowMs: number,
): Map<number, PartitionEvents> {
  const byPartition = new Map<number, CloudEvent[]>();
  for (let i = 0; i < events.length; i++) {
    const { partition } = candidates[i]!;
    const list = byPartition.get(partition);
    if (list === undefined) byPartition.set(partition, [events[i]!]);
    else list.push(events[i]!);
  }
  const batches = new Map<number, PartitionEvents>();
  for (const [partition, list] of byPartition) {
    let bytes = 0;
    for (const { data } of list) bytes += eventBytesGuess + (data?.length ?? 0);
    const writer = new BatchWriter(bytes);
    for (const event of list) writeEvent(writer, event, nowMs);
    batches.set(partition, { encoded: writer.finish(), decided: 0, dropped: undefined, base: 0 });
  }
  return batches;
}

function isInFlight({ status }: EventResult): boolean {
  return status === "in_flight";
}

function tokenOf(stream: number, results: readonly EventResult[]): ConsistencyToken {
  const offsets = new Map<number, number>();
  for (const { partition, offset } of results) {
    if (partition === null || offset === null) continue;
    offsets.set(partition, Math.max(offset, offsets.get(partition) ?? 0));
  }
  return [...offsets].sort(([a], [b]) => a - b).map(([partition, offset]) => ({ stream, partition, offset }));
}
