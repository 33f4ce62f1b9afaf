import type { Clock } from "../../port/clock.ts";
import type { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import type { Log } from "../log/log.ts";
import { encodeBatch, type RecordInput } from "../log/record-batch.ts";
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
import { eventDigest } from "./dedup/entry.ts";
import { partitionOfEvent } from "./partition.ts";
import { eventOfRecord, recordOfEvent } from "./record-codec.ts";

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
  readonly event: CloudEvent;
  readonly digest: string;
  readonly partition: number;
  /** Another request writes the same event right now. */
  readonly inFlight: boolean;
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
    const candidates = this.#take(meta, command);
    try {
      const nowMs = clock.nowMs();
      const bytes = candidates.reduce((sum, { event }) => sum + 512 + (event.data?.length ?? 0), 0);
      return await committer.submit((draft) => this.#stage(draft, meta, candidates, nowMs), bytes);
    } finally {
      for (const { digest, inFlight } of candidates) if (!inFlight) this.#inFlight.delete(digest);
    }
  }

  /** Marks the request's events as being written, but for those that another request is writing. */
  #take(meta: StreamMeta, command: AppendEventsCommand): Candidate[] {
    const candidates = command.events.map((event): Candidate => {
      const digest = eventDigest(meta.id, event.source, event.id);
      const partition = command.partition ?? partitionOfEvent(event, meta.partitions);
      return { event, digest, partition, inFlight: this.#inFlight.has(digest) };
    });
    // Only now: the same event twice in one request is decided by its first place, not by a race with itself.
    for (const { digest, inFlight } of candidates) if (!inFlight) this.#inFlight.add(digest);
    return candidates;
  }

  #stage(draft: Draft, meta: StreamMeta, candidates: readonly Candidate[], nowMs: number): EventsReply {
    const { metastore, log, dedup } = this.#deps;
    const stream = metastore.stagedStream(draft, meta);
    const batches = new Map<number, { readonly base: number; readonly records: RecordInput[] }>();
    const own = dedup.begin(draft);
    const results = candidates.map(({ event, digest, partition, inFlight }): EventResult => {
      if (inFlight) return { status: "in_flight", partition: null, offset: null };
      const first = dedup.find(digest, nowMs, own);
      if (first !== undefined) return { status: "duplicate", partition: first.partition, offset: first.offset };
      let batch = batches.get(partition);
      if (batch === undefined) {
        batch = { base: log.stagedNext(stream, partition), records: [] };
        batches.set(partition, batch);
      }
      const place = { status: "appended", partition, offset: batch.base + batch.records.length } as const;
      batch.records.push(recordOfEvent(event));
      dedup.addFound(draft, nowMs, place);
      return place;
    });
    dedup.end(own);
    for (const [partition, { records }] of batches) {
      log.stageAppend(draft, stream, partition, encodeBatch(records, nowMs));
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
