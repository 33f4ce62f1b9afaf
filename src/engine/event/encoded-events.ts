import { BatchWriter, type EncodedBatch } from "../log/record-batch.ts";
import type { CloudEvent } from "./cloud-event.ts";
import { digestWordCount, eventDigest } from "./dedup/entry.ts";
import { partitionOfEvent } from "./partition.ts";
import { writeEvent } from "./record-codec.ts";

/** A request's events for one partition, encoded before it is known which of them are new. */
export class PartitionEvents {
  readonly partition: number;
  readonly encoded: EncodedBatch;
  /** Events decided so far, and those of them that are not written. */
  decided = 0;
  dropped: Set<number> | undefined = undefined;
  /** The offset of its first record, once the change knows it. */
  base = 0;

  constructor(partition: number, encoded: EncodedBatch) {
    this.partition = partition;
    this.encoded = encoded;
  }

  /** Leaves out the record of the event that is decided on now. */
  drop(record: number): void {
    this.dropped ??= new Set();
    this.dropped.add(record);
  }
}

/** A request's events as they are stored, with what stands for each among those that are remembered. */
export interface EncodedEvents {
  readonly count: number;
  /** Four words for each event. */
  readonly digests: Uint32Array;
  readonly batches: readonly PartitionEvents[];
  /** The batch that each event is in; undefined where there is only one. */
  readonly batchOf: Uint32Array | undefined;
}

/** What an event takes besides its data, about. */
const eventBytesGuess = 256;

interface StreamPlace {
  readonly id: number;
  readonly partitions: number;
}

/** Encodes events that were read one by one. */
export function encodeEvents(
  events: readonly CloudEvent[],
  stream: StreamPlace,
  partition: number | undefined,
  nowMs: number,
  digestKey: Buffer,
): EncodedEvents {
  const digests = new Uint32Array(events.length * digestWordCount);
  for (const [i, { source, id }] of events.entries()) {
    eventDigest(digestKey, stream.id, source, id, digests, i * digestWordCount);
  }
  return { count: events.length, digests, ...encodeRecords(events, stream, partition, nowMs) };
}

/** The records alone, of events that are not compared with others. */
export function encodeRecords(
  events: readonly CloudEvent[],
  stream: StreamPlace,
  partition: number | undefined,
  nowMs: number,
): Pick<EncodedEvents, "batches" | "batchOf"> {
  const batchOf = new Uint32Array(events.length);
  const byPartition = new Map<number, { index: number; events: CloudEvent[] }>();
  for (const [i, event] of events.entries()) {
    const place = partition ?? partitionOfEvent(event, stream.partitions);
    let list = byPartition.get(place);
    if (list === undefined) {
      list = { index: byPartition.size, events: [] };
      byPartition.set(place, list);
    }
    list.events.push(event);
    batchOf[i] = list.index;
  }
  const batches = Array.from(byPartition, ([place, list]) => encodePartition(place, list.events, nowMs));
  return { batches, batchOf: batches.length === 1 ? undefined : batchOf };
}

function encodePartition(partition: number, events: readonly CloudEvent[], nowMs: number): PartitionEvents {
  let bytes = 0;
  for (const { data } of events) bytes += eventBytesGuess + (data?.length ?? 0);
  const writer = new BatchWriter(bytes);
  for (const event of events) writeEvent(writer, event, nowMs);
  return new PartitionEvents(partition, writer.finish());
}
