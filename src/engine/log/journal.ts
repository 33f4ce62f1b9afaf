import { crc32 } from "node:zlib";
import type { Reader, WriteOp } from "../../port/store.ts";
import { damaged } from "../errors.ts";
import {
  logKey,
  logKeyOffset,
  makeKey,
  partitionNumber,
  partitionNumberOf,
  prefixRange,
  readU32,
  readU64,
  tables,
} from "../keys.ts";
import { decodePartition } from "./partition-state.ts";

/**
 * Small batches of a group that goes to many partitions, as one value. Under its own key each of them would cost a page
 * of the store of its own, and the commit would take the longer the more partitions there are. So they are written
 * together first, kept in memory, and moved to their keys in the background, many of a partition at a time. So are the
 * appends of a group that is small as a whole, which a store can make durable with one write (adapter/journaled).
 *
 * What the journal holds of a partition is always its newest batches: one that goes to its own key takes those before
 * it along.
 *
 * value: u32 crc32 of the rest, then for each batch u64 stream · u32 partition · u32 length · the batch. Big endian.
 */

export interface JournalSettings {
  /** A group that appends to at least so many partitions goes through the journal. */
  readonly partitionsMin: number;
  /**
   * A group of nothing but a few appends that take no more than this goes through it too, for a lone small value of the journal is
   * durable sooner than a batch under its key.
   */
  readonly briefBytesMax: number;
  /** A larger batch goes to its own key: it fills pages anyway. */
  readonly batchBytesMax: number;
  /** From here on the journal is moved to the log in the background. */
  readonly flushBytes: number;
  /** The same for its values of small groups, of which there is room for some. */
  readonly flushValues: number;
  /** Beyond it nothing more is taken until some of it has been moved. */
  readonly bytesMax: number;
  /** A journal that has not grown for this long is moved too. */
  readonly idleMs: number;
}

export const journalSettings: JournalSettings = {
  partitionsMin: 8,
  briefBytesMax: 3_584,
  batchBytesMax: 4 * 1024,
  flushBytes: 24 * 1024 * 1024,
  flushValues: 256,
  bytesMax: 48 * 1024 * 1024,
  idleMs: 1_000,
};

/** One value of the journal. */
interface Chunk {
  readonly seq: number;
  readonly bytes: Buffer;
  readonly isBrief: boolean;
  /** Batches in it that are in no other place yet. */
  live: number;
}

/** A batch in the journal. There are many of them for seconds: a view of its bytes is made when one is read. */
export interface Journaled {
  readonly base: number;
  readonly chunk: Chunk;
  readonly start: number;
  readonly end: number;
}

export function bytesOf({ chunk, start, end }: Journaled): Buffer {
  return chunk.bytes.subarray(start, end);
}

/** What the journal holds of a partition, never empty. The list is replaced when its head is moved, never shortened. */
export interface JournaledPartition {
  readonly stream: number;
  readonly partition: number;
  entries: Journaled[];
}

type Put = Extract<WriteOp, { kind: "put" }>;

/** What a group's commit makes of the journal. */
interface GroupPlan {
  readonly taken: readonly Put[];
  /** The partition of each, as a number. */
  readonly places: readonly number[];
  readonly value: Buffer | undefined;
  readonly seq: number;
  readonly isBrief: boolean;
  /** Partitions that give up their first batches, and those of them that go to the log. */
  readonly moved: readonly {
    readonly from: JournaledPartition;
    readonly count: number;
    readonly stored: readonly Journaled[];
  }[];
  readonly dropped: readonly Chunk[];
}

/** More appends that come together share a commit well enough, and would only be written twice. */
const briefBatchesMax = 3;
const sumBytes = 4;
const entryHeadBytes = 16;
/** Values of the journal that one group deletes at most. */
const chunksPerGroup = 256;

export class Journal {
  readonly settings: JournalSettings;
  readonly #partitions = new Map<number, JournaledPartition>();
  /** In the order in which they were written, which is the order in which they go. */
  readonly #chunks: Chunk[] = [];
  #nextSeq = 0;
  #bytes = 0;
  #briefs = 0;
  /** Called when the journal has grown. */
  onGrown: () => void = () => undefined;

  constructor(settings: JournalSettings = journalSettings) {
    this.settings = settings;
  }

  /** What it takes in the store, and about that much in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether it is time to move it. */
  get isLarge(): boolean {
    return this.#bytes >= this.settings.flushBytes || this.#briefs >= this.settings.flushValues;
  }

  /** Whether nothing is left of it, in memory or in the store. */
  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  /** Whether a stored value is only there to be deleted. */
  get hasDead(): boolean {
    return this.#chunks[0]?.live === 0;
  }

  of(stream: number, partition: number): JournaledPartition | undefined {
    return this.#partitions.size === 0 ? undefined : this.#partitions.get(partitionNumber(stream, partition));
  }

  /** In the order of the log's keys. */
  partitions(): JournaledPartition[] {
    return [...this.#partitions.values()].sort((a, b) => a.stream - b.stream || a.partition - b.partition);
  }

  /**
   * Reads what was journaled before the start. `storedEnd` tells what the log itself holds of a partition, undefined for
   * one that is gone: batches below it were moved.
   */
  load(reader: Reader, storedEnd: (stream: number, partition: number) => number | undefined): void {
    const ends = new Map<number, number | undefined>();
    for (const { key, value } of reader.range(prefixRange(tables.journal))) {
      // A copy: what the store hands out may be one block with other values.
      const isBrief = value.length <= sumBytes + this.settings.briefBytesMax;
      const chunk: Chunk = { seq: readU64(key, 1), bytes: Buffer.from(value), isBrief, live: 0 };
      this.#chunks.push(chunk);
      this.#bytes += chunk.bytes.length;
      if (isBrief) this.#briefs++;
      this.#nextSeq = chunk.seq + 1;
      for (const { stream, partition, base, start, end } of entriesOf(chunk.bytes)) {
        const place = partitionNumber(stream, partition);
        if (!ends.has(place)) ends.set(place, storedEnd(stream, partition));
        const stored = ends.get(place);
        if (stored === undefined || base < stored) continue;
        this.#add(place, stream, partition, { base, chunk, start, end });
      }
    }
  }

  /**
   * Decides what of a group's writes goes through the journal and changes the list of writes accordingly. Returns what to
   * do once the group is durable.
   */
  take(
    ops: WriteOp[],
    partitions: number,
    direct: ReadonlySet<number>,
    flushed: ReadonlySet<JournaledPartition>,
  ): (() => void) | undefined {
    const isWide = partitions >= this.settings.partitionsMin && this.#bytes < this.settings.bytesMax;
    const isBrief = !isWide && flushed.size === 0 && this.#isBrief(ops, direct);
    if (this.#chunks.length === 0 && !isWide && !isBrief) return undefined;
    const plan = this.#plan(ops, isWide || isBrief, isBrief, direct, flushed);
    if (plan === undefined) return undefined;
    for (const { from, stored } of plan.moved) {
      for (const entry of stored) {
        ops.push({ kind: "put", key: logKey(from.stream, from.partition, entry.base), value: bytesOf(entry) });
      }
    }
    for (const { seq } of plan.dropped) ops.push({ kind: "delete", key: makeKey(tables.journal, seq) });
    if (plan.value !== undefined) ops.push({ kind: "put", key: makeKey(tables.journal, plan.seq), value: plan.value });
    return () => this.#apply(plan);
  }

  /** Whether a group can become one small value. What would be deleted besides waits for the next move. */
  #isBrief(ops: readonly WriteOp[], direct: ReadonlySet<number>): boolean {
    const { briefBytesMax, batchBytesMax, bytesMax } = this.settings;
    if (ops.length === 0 || ops.length > briefBatchesMax || direct.size > 0 || this.#bytes >= bytesMax) return false;
    let bytes = 0;
    for (const op of ops) {
      if (op.kind !== "put" || op.key[0] !== tables.log || op.value.length > batchBytesMax) return false;
      bytes += entryHeadBytes + op.value.length;
      if (bytes > briefBytesMax) return false;
    }
    return true;
  }

  #plan(
    ops: WriteOp[],
    isTaken: boolean,
    isBrief: boolean,
    direct: ReadonlySet<number>,
    flushed: ReadonlySet<JournaledPartition>,
  ): GroupPlan | undefined {
    const large = this.#partitionsOfLarge(ops);
    const moved = new Set<JournaledPartition>();
    for (const each of flushed)
      if (this.#partitions.get(partitionNumber(each.stream, each.partition)) === each) moved.add(each);
    const taken: Put[] = [];
    const places: number[] = [];
    const starts = new Map<JournaledPartition, number>();
    let kept = 0;
    for (const op of ops) {
      if (op.kind === "put" && op.key[0] === tables.partition) {
        const known = this.#partitions.get(partitionNumberOf(op.key));
        if (known !== undefined) starts.set(known, decodePartition(op.value).storedStart);
      }
      if (op.kind === "put" && op.key[0] === tables.log) {
        const place = partitionNumberOf(op.key);
        const known = this.#partitions.get(place);
        if (isTaken && !large?.has(place) && !(direct.size > 0 && direct.has(readU64(op.key, 1)))) {
          taken.push(op);
          places.push(place);
          continue;
        }
        if (known !== undefined) moved.add(known);
      }
      ops[kept++] = op;
    }
    ops.length = kept;
    const dropped = isBrief ? [] : this.#dead();
    const given = [
      ...[...moved].map((from) => ({ from, count: from.entries.length, stored: since(from, starts.get(from)) })),
      ...[...starts].filter(([from]) => !moved.has(from)).map(([from, start]) => trimmed(from, start)),
    ].filter(({ count }) => count > 0);
    if (taken.length === 0 && given.length === 0 && dropped.length === 0) return undefined;
    return {
      taken,
      places,
      value: taken.length === 0 ? undefined : encode(taken),
      seq: this.#nextSeq,
      isBrief,
      moved: given,
      dropped,
    };
  }

  /** A partition's later batch must not be in the log before its earlier ones are. */
  #partitionsOfLarge(ops: readonly WriteOp[]): ReadonlySet<number> | undefined {
    let found: Set<number> | undefined;
    for (const op of ops) {
      if (op.kind !== "put" || op.value.length <= this.settings.batchBytesMax || op.key[0] !== tables.log) continue;
      found ??= new Set();
      found.add(partitionNumberOf(op.key));
    }
    return found;
  }

  /** The first values, as far as everything in them has been moved. */
  #dead(): Chunk[] {
    let count = 0;
    while (count < chunksPerGroup && count < this.#chunks.length && this.#chunks[count]!.live === 0) count++;
    return this.#chunks.slice(0, count);
  }

  #apply({ taken, places, value, seq, isBrief, moved, dropped }: GroupPlan): void {
    this.#chunks.splice(0, dropped.length);
    for (const { bytes, isBrief: wasBrief } of dropped) {
      this.#bytes -= bytes.length;
      if (wasBrief) this.#briefs--;
    }
    for (const { from, count } of moved) this.#remove(from, count);
    if (value === undefined) return;
    const chunk: Chunk = { seq, bytes: value, isBrief, live: 0 };
    this.#nextSeq = seq + 1;
    this.#chunks.push(chunk);
    this.#bytes += value.length;
    if (isBrief) this.#briefs++;
    let at = sumBytes;
    for (let i = 0; i < taken.length; i++) {
      const { key, value: batch } = taken[i]!;
      const start = at + entryHeadBytes;
      at = start + batch.length;
      const entry = { base: logKeyOffset(key), chunk, start, end: at };
      this.#add(places[i]!, readU64(key, 1), readU32(key, 9), entry);
    }
    this.onGrown();
  }

  #add(place: number, stream: number, partition: number, entry: Journaled): void {
    const known = this.#partitions.get(place);
    if (known === undefined) this.#partitions.set(place, { stream, partition, entries: [entry] });
    else known.entries.push(entry);
    entry.chunk.live++;
  }

  #remove(from: JournaledPartition, count: number): void {
    for (let i = 0; i < count; i++) from.entries[i]!.chunk.live--;
    from.entries = from.entries.slice(count);
    if (from.entries.length === 0) this.#partitions.delete(partitionNumber(from.stream, from.partition));
  }

  /** Forgets a partition of a dropped stream. */
  forget(stream: number, partition: number): void {
    const known = this.of(stream, partition);
    if (known !== undefined) this.#remove(known, known.entries.length);
  }
}

/** What retention has not given up in the same group. */
function since({ entries }: JournaledPartition, start = 0): readonly Journaled[] {
  return entries.filter(({ base }) => base >= start);
}

function trimmed(from: JournaledPartition, start: number) {
  return { from, count: from.entries.length - since(from, start).length, stored: [] };
}

/** The batch with this offset, or the last one before it. */
export function journaledAt(entries: readonly Journaled[], offset: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle]!.base <= offset) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function encode(taken: readonly Put[]): Buffer {
  let length = sumBytes;
  for (const { value } of taken) length += entryHeadBytes + value.length;
  // Of its own: it is kept until the last batch in it has been moved.
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = sumBytes;
  for (const { key, value } of taken) {
    // Stream and partition, as the key has them.
    for (let i = 1; i <= 12; i++) bytes[at++] = key[i]!;
    at = bytes.writeUInt32BE(value.length, at);
    bytes.set(value, at);
    at += value.length;
  }
  bytes.writeUInt32BE(crc32(bytes.subarray(sumBytes)));
  return bytes;
}

/** The batches of a stored value, which is verified. */
export function* entriesOf(
  bytes: Buffer,
): Iterable<{ stream: number; partition: number; base: number; start: number; end: number }> {
  if (bytes.length < sumBytes || bytes.readUInt32BE() !== crc32(bytes.subarray(sumBytes))) {
    throw damaged("a value of the log's journal is damaged (checksum)");
  }
  let at = sumBytes;
  while (at < bytes.length) {
    const stream = readU64(bytes, at);
    const partition = bytes.readUInt32BE(at + 8);
    const start = at + entryHeadBytes;
    at = start + bytes.readUInt32BE(at + 12);
    yield { stream, partition, base: baseOffsetOf(bytes.subarray(start, at)), start, end: at };
  }
}

/** Where a batch's header has it; the batch itself is verified when it is read. */
function baseOffsetOf(batch: Buffer): number {
  return batch.readDoubleLE(16);
}
