import type { Reason } from "../../src/engine/errors.ts";
import { limits } from "../../src/engine/limits.ts";
import type { Retention } from "../../src/engine/log/log.ts";
import { encodeBatch } from "../../src/engine/log/record-batch.ts";
import { partitionOfKey } from "../../src/engine/murmur2.ts";

/** A record as the steps of the test name it. */
export interface ModelRecord {
  readonly key?: string;
  readonly value: string;
  readonly timestampMs?: number;
}

export interface StoredRecord {
  readonly offset: number;
  readonly key: string | undefined;
  readonly value: string;
  readonly timestampMs: number;
}

export type Outcome = { readonly reply: unknown } | { readonly reason: Reason; readonly details?: unknown };

interface ModelBatch {
  readonly base: number;
  readonly records: readonly StoredRecord[];
  readonly bytes: number;
  /** The largest time of this batch and all before it that counts for its age. */
  readonly ageMs: number;
}

interface ModelPartition {
  readonly batches: ModelBatch[];
  next: number;
  /** What an earlier retention has given up. */
  start: number;
}

interface Remembered {
  readonly body: string;
  readonly reply: unknown;
  readonly expiryMs: number;
}

export interface ModelStream {
  readonly id: number;
  readonly partitions: readonly ModelPartition[];
  readonly remembered: Map<string, Remembered>;
  retention: Retention | undefined;
}

export interface Appending {
  readonly target: number | "routed";
  readonly records: readonly ModelRecord[];
  readonly matchOffset?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface Reply {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly token: readonly { stream: number; partition: number; offset: number }[];
}

const missing: Outcome = { reason: "not_found" };

/** What streams are, said as plainly as it can be: arrays that are walked from end to end. */
export class LogModel {
  readonly streams = new Map<string, ModelStream>();
  nowMs: number;
  #ids = 0;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  copyStreams(): Map<string, ModelStream> {
    return structuredClone(this.streams);
  }

  restoreStreams(before: Map<string, ModelStream>): void {
    this.streams.clear();
    for (const [name, stream] of before) this.streams.set(name, stream);
  }

  create(name: string, count: number, retention: Retention | undefined): Outcome {
    const existing = this.streams.get(name);
    if (existing !== undefined) return { reason: "already_exists", details: { id: existing.id } };
    const partitions = Array.from({ length: count }, () => ({ batches: [], next: 0, start: 0 }));
    const stream = { id: ++this.#ids, partitions, remembered: new Map(), retention };
    this.streams.set(name, stream);
    return { reply: { id: stream.id } };
  }

  drop(name: string): Outcome {
    return this.streams.delete(name) ? { reply: undefined } : missing;
  }

  setRetention(name: string, retention: Retention | undefined): Outcome {
    const stream = this.streams.get(name);
    if (stream === undefined) return missing;
    for (const partition of stream.partitions) partition.start = this.#start(stream, partition);
    stream.retention = retention;
    return this.detail(name);
  }

  detail(name: string): Outcome {
    const stream = this.streams.get(name);
    if (stream === undefined) return missing;
    const partitions = stream.partitions.map((partition, i) => ({
      partition: i,
      logStartOffset: this.#start(stream, partition),
      highWatermark: partition.next,
    }));
    const retention = stream.retention ?? { maxAgeMs: null, maxBytes: null };
    return { reply: { id: stream.id, retention, partitions } };
  }

  append(name: string, index: number, given: Appending): Outcome {
    const stream = this.streams.get(name);
    const partition = stream?.partitions[index];
    if (stream === undefined || partition === undefined) return missing;
    return this.#once(stream, given, () => {
      if (given.matchOffset !== undefined && given.matchOffset !== partition.next) {
        return { reason: "aborted", details: { high_watermark: partition.next } };
      }
      return { reply: this.#write(stream, index, given.records) };
    });
  }

  /** Every record has a key here: which partition keyless ones take is not promised. */
  appendRouted(name: string, given: Appending): Outcome {
    const stream = this.streams.get(name);
    if (stream === undefined) return missing;
    return this.#once(stream, given, () => {
      const appends = stream.partitions.flatMap((_, partition) => {
        const here = given.records.filter(
          ({ key }) => partitionOfKey(Buffer.from(key!), stream.partitions.length) === partition,
        );
        return here.length === 0 ? [] : [{ partition, ...this.#write(stream, partition, here) }];
      });
      return { reply: { appends, token: appends.flatMap(({ token }) => token) } };
    });
  }

  fetch(name: string, index: number, from: { offset: number } | { timestampMs: number }): Outcome {
    const stream = this.streams.get(name);
    const partition = stream?.partitions[index];
    if (stream === undefined || partition === undefined) return missing;
    const logStartOffset = this.#start(stream, partition);
    const highWatermark = partition.next;
    const kept = this.records(stream, partition);
    const offset =
      "offset" in from
        ? from.offset
        : (kept.find(({ timestampMs }) => timestampMs >= from.timestampMs)?.offset ?? highWatermark);
    if (offset < logStartOffset || offset > highWatermark) {
      const details = { offset, log_start_offset: logStartOffset, high_watermark: highWatermark };
      return { reason: "offset_out_of_range", details };
    }
    const records = kept.filter((record) => record.offset >= offset);
    return { reply: { offset, logStartOffset, highWatermark, records } };
  }

  records(stream: ModelStream, partition: ModelPartition): StoredRecord[] {
    const start = this.#start(stream, partition);
    return partition.batches.flatMap(({ records }) => records).filter(({ offset }) => offset >= start);
  }

  /** How many batches remain stored once the background has freed the others. */
  keptBatches(): number {
    let count = 0;
    for (const stream of this.streams.values()) {
      for (const partition of stream.partitions) {
        const start = this.#start(stream, partition);
        count += partition.batches.filter(({ base }) => base >= start).length;
      }
    }
    return count;
  }

  #once(stream: ModelStream, given: Appending, decide: () => Outcome): Outcome {
    const key = given.idempotencyKey;
    if (key === undefined) return wrapped(decide(), false);
    const body = bodyOf(given);
    const known = stream.remembered.get(key);
    if (known !== undefined && known.expiryMs > this.nowMs) {
      return known.body === body ? wrapped({ reply: known.reply }, true) : { reason: "aborted", details: {} };
    }
    const outcome = decide();
    if ("reply" in outcome) {
      const expiryMs = this.nowMs + limits.idempotencyWindowMs;
      stream.remembered.set(key, { body, reply: outcome.reply, expiryMs });
    }
    return wrapped(outcome, false);
  }

  #write(stream: ModelStream, index: number, given: readonly ModelRecord[]): Reply {
    const partition = stream.partitions[index]!;
    const base = partition.next;
    const records = given.map(({ key, value, timestampMs = this.nowMs }, i) => ({
      offset: base + i,
      key,
      value,
      timestampMs,
    }));
    const newestMs = Math.max(...records.map(({ timestampMs }) => timestampMs));
    partition.batches.push({
      base,
      records,
      bytes: encodeBatch(toInputs(given), this.nowMs).bytes.length,
      ageMs: Math.max(partition.batches.at(-1)?.ageMs ?? 0, Math.min(newestMs, this.nowMs)),
    });
    partition.next += records.length;
    const lastOffset = partition.next - 1;
    return { baseOffset: base, lastOffset, token: [{ stream: stream.id, partition: index, offset: lastOffset }] };
  }

  /** The first offset that is kept: whole batches go, the oldest first, and for their size never the newest. */
  #start(stream: ModelStream, partition: ModelPartition): number {
    const { maxBytes = null, maxAgeMs = null } = stream.retention ?? {};
    let { start } = partition;
    for (const [i, { base, records, ageMs }] of partition.batches.entries()) {
      const bytesFromHere = partition.batches.slice(i).reduce((sum, each) => sum + each.bytes, 0);
      const tooLarge = maxBytes !== null && bytesFromHere > maxBytes && i < partition.batches.length - 1;
      const tooOld = maxAgeMs !== null && ageMs < this.nowMs - maxAgeMs;
      if (tooLarge || tooOld) start = Math.max(start, base + records.length);
    }
    return start;
  }
}

function wrapped(outcome: Outcome, replayed: boolean): Outcome {
  return "reply" in outcome ? { reply: { reply: outcome.reply, replayed } } : outcome;
}

/** What two requests must share to be the same one. */
export function bodyOf({ target, records, matchOffset }: Appending): string {
  return JSON.stringify([target, records, matchOffset]);
}

export function toInputs(records: readonly ModelRecord[]) {
  return records.map(({ key, value, timestampMs }) => ({
    ...(key === undefined ? {} : { key: Buffer.from(key) }),
    value: Buffer.from(value),
    ...(timestampMs === undefined ? {} : { timestampMs }),
  }));
}
