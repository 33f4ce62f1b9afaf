import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import type { Reader, WriteOp } from "../../port/store.ts";
import { damaged } from "../errors.ts";
import { logKey, makeKey, partitionNumber, partitionNumberOf, prefixRange, readU32, readU64, tables } from "../keys.ts";
import { decodePartition } from "./partition-state.ts";
import { PartitionTable } from "./partition-table.ts";

/**
 * Small batches of a group that goes to many partitions, as one value. Under its own key each of them would cost a page
 * of the store of its own, and the commit would take the longer the more partitions there are. So they are written
 * together first, kept in memory, and moved to their keys in the background, many of a partition at a time. So is any
 * group of nothing but small appends, for a store can make one value durable with one write (adapter/journaled).
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
   * A group of nothing but appends that take no more than this goes through it too, for a lone small value of the journal is
   * durable sooner than batches under their keys.
   */
  readonly briefBytesMax: number;
  /** A larger batch goes to its own key: it fills pages anyway. */
  readonly batchBytesMax: number;
  /** From here on the journal is moved to the log in the background. */
  readonly flushBytes: number;
  /** The same for its values of such groups, for which there is less room: where none is left they go the longer way. */
  readonly flushBriefBytes: number;
  /** Beyond it nothing more is taken until some of it has been moved. */
  readonly bytesMax: number;
  /** Batches that are moved at once. */
  readonly stepBatches: number;
  /** Batches that one of their partition takes along to the log at most, as long as the journal has room for it. */
  readonly takenAlongMax: number;
  /** A journal that has not grown for this long is moved too. */
  readonly idleMs: number;
}

export const journalSettings: JournalSettings = {
  partitionsMin: 8,
  briefBytesMax: 28 * 1024,
  batchBytesMax: 4 * 1024,
  flushBytes: 24 * 1024 * 1024,
  flushBriefBytes: 16 * 1024 * 1024,
  bytesMax: 48 * 1024 * 1024,
  stepBatches: 256,
  takenAlongMax: 1_024,
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

/**
 * Batches of a partition in the journal, by their offsets. There are many for seconds, so they are no objects of their own: each is known by its
 * value and where it begins there, and what else there is to know of it is read from there.
 */
export class JournaledBatches {
  /** By turns a value and a place in it. The first ones may have been given up, and lists before this one may have the same. */
  readonly #places: (Chunk | number)[];
  readonly #head: number;

  constructor(places: (Chunk | number)[] = [], head = 0) {
    this.#places = places;
    this.#head = head;
  }

  get length(): number {
    return (this.#places.length - this.#head) / 2;
  }

  add(chunk: Chunk, start: number): void {
    this.#places.push(chunk, start);
  }

  chunk(index: number): Chunk {
    return this.#places[this.#head + 2 * index] as Chunk;
  }

  #start(index: number): number {
    return this.#places[this.#head + 2 * index + 1] as number;
  }

  size(index: number): number {
    return this.chunk(index).bytes.readUInt32BE(this.#start(index) - lengthBytes);
  }

  bytes(index: number): Buffer {
    const start = this.#start(index);
    return this.chunk(index).bytes.subarray(start, start + this.size(index));
  }

  base(index: number): number {
    return baseOffsetIn(this.chunk(index).bytes, this.#start(index));
  }

  /** The batch with this offset, or the last one before it. */
  find(offset: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.base(middle) <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The ones from here on, as a list to go on with. */
  from(index: number): JournaledBatches {
    const head = this.#head + 2 * index;
    // A long list that is given up in steps is not copied for each.
    if (head < this.#places.length / 2) return new JournaledBatches(this.#places, head);
    return new JournaledBatches(this.#places.slice(head));
  }
}

/** What the journal holds of a partition, never empty. The list is replaced when its head is moved, never shortened. */
export interface JournaledPartition {
  readonly stream: number;
  readonly partition: number;
  batches: JournaledBatches;
}

type Put = Extract<WriteOp, { kind: "put" }>;

/** The first batches of a partition, which leave the journal; those of them from `alive` on go to the log. */
interface Given {
  readonly from: JournaledPartition;
  readonly count: number;
  readonly alive: number;
}

/** What a group's commit makes of the journal. */
interface GroupPlan {
  readonly taken: readonly Put[];
  readonly value: Buffer | undefined;
  readonly seq: number;
  /** Partitions that give up their first batches. */
  readonly moved: readonly Given[];
  readonly dropped: readonly Chunk[];
}

const noPartitions: ReadonlyMap<JournaledPartition, number> = new Map();
const noStreams: ReadonlySet<number> = new Set();
/** Values whose batches are sorted in together. */
const unsortedMax = 64;
const pageBytes = 4096;
const memoryBytes = 128 * 1024;
const sumBytes = 4;
const lengthBytes = 4;
const entryHeadBytes = 16;
/** Values of the journal that one group deletes at most. */
const chunksPerGroup = 256;

export class Journal {
  readonly settings: JournalSettings;
  /** Of the values before `#sorted`: see `#known`. */
  readonly #partitions = new PartitionTable<JournaledPartition>();
  #sorted = 0;
  /** In the order in which they were written, which is the order in which they go. */
  readonly #chunks: Chunk[] = [];
  #nextSeq = 0;
  #bytes = 0;
  #briefBytes = 0;
  #isMoving = false;
  /** What the next values are cut from. */
  #memory = Buffer.alloc(0);
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
    return this.#bytes >= this.settings.flushBytes || this.#briefBytes >= this.settings.flushBriefBytes;
  }

  /** Whether nothing is left of it, in memory or in the store. */
  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  /** Whether a stored value is only there to be deleted. */
  get hasDead(): boolean {
    return this.#chunks[0]?.live === 0;
  }

  get #hasRoom(): boolean {
    return this.#bytes < this.settings.bytesMax;
  }

  of(stream: number, partition: number): JournaledPartition | undefined {
    return this.#chunks.length === 0 ? undefined : this.#known.get(stream, partition);
  }

  /** In the order of the log's keys. */
  partitions(): JournaledPartition[] {
    return [...this.#known.values()];
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
      this.#sorted++;
      this.#bytes += chunk.bytes.length;
      if (isBrief) this.#briefBytes += briefCost(chunk);
      this.#nextSeq = chunk.seq + 1;
      for (const { stream, partition, base, start } of entriesOf(chunk.bytes)) {
        const place = partitionNumber(stream, partition);
        if (!ends.has(place)) ends.set(place, storedEnd(stream, partition));
        const stored = ends.get(place);
        if (stored === undefined || base < stored) continue;
        this.#add(stream, partition, chunk, start);
        chunk.live++;
      }
    }
  }

  /**
   * Decides what of a group's writes goes through the journal and changes the list of writes accordingly. Returns what to
   * do once the group is durable.
   */
  take(ops: WriteOp[], partitions: number, direct: ReadonlySet<number>): (() => void) | undefined {
    if (this.#isBrief(ops, direct)) return this.#takeBrief(ops);
    assert(!this.#isMoving, "only appends go on while the journal is moved");
    const isTaken = this.#hasRoom && partitions >= this.settings.partitionsMin;
    if (this.#chunks.length === 0 && !isTaken) return undefined;
    return this.#carryOut(ops, this.#plan(ops, isTaken, direct, noPartitions));
  }

  /**
   * The same for a commit of its own that moves the first batches of partitions to the log. Appends go on meanwhile, in the journal, until
   * `endMove` is called.
   */
  move(ops: WriteOp[], counts: ReadonlyMap<JournaledPartition, number>): (() => void) | undefined {
    assert(!this.#isMoving && ops.length === 0, "a move is alone in its commit");
    this.#isMoving = true;
    return this.#carryOut(ops, this.#plan(ops, false, noStreams, counts));
  }

  /** The commit of a move is durable, or has failed. */
  endMove(): void {
    this.#isMoving = false;
  }

  #carryOut(ops: WriteOp[], plan: GroupPlan | undefined): (() => void) | undefined {
    if (plan === undefined) return undefined;
    for (const { from, count, alive } of plan.moved) {
      const { stream, partition, batches } = from;
      for (let i = alive; i < count; i++) {
        ops.push({ kind: "put", key: logKey(stream, partition, batches.base(i)), value: batches.bytes(i) });
      }
    }
    for (const { seq } of plan.dropped) ops.push({ kind: "delete", key: makeKey(tables.journal, seq) });
    if (plan.value !== undefined) ops.push({ kind: "put", key: makeKey(tables.journal, plan.seq), value: plan.value });
    return () => this.#apply(plan);
  }

  /** Whether a group can become one value, which is small unless the journal is being moved. What would be deleted besides waits for the next move. */
  #isBrief(ops: readonly WriteOp[], direct: ReadonlySet<number>): boolean {
    const { batchBytesMax } = this.settings;
    if (ops.length === 0 || direct.size > 0 || !(this.#hasRoom || this.#isMoving)) return false;
    const briefBytesMax = this.#isMoving ? Infinity : this.settings.briefBytesMax;
    let bytes = 0;
    for (const op of ops) {
      if (op.kind !== "put" || op.key[0] !== tables.log || op.value.length > batchBytesMax) return false;
      bytes += entryHeadBytes + op.value.length;
      if (bytes > briefBytesMax) return false;
    }
    return true;
  }

  /** Makes one value of a group of appends, which is then all that the group writes. */
  #takeBrief(ops: WriteOp[]): () => void {
    const taken = ops.splice(0) as Put[];
    const value = this.#encode(taken);
    const seq = this.#nextSeq;
    ops.push({ kind: "put", key: makeKey(tables.journal, seq), value });
    const live = taken.length;
    return () => this.#grow({ seq, bytes: value, isBrief: true, live });
  }

  #plan(
    ops: WriteOp[],
    isTaken: boolean,
    direct: ReadonlySet<number>,
    counts: ReadonlyMap<JournaledPartition, number>,
  ): GroupPlan | undefined {
    const large = this.#partitionsOfLarge(ops);
    /** How many batches each gives up. */
    const moved = new Map<JournaledPartition, number>();
    for (const [each, count] of counts) if (this.of(each.stream, each.partition) === each) moved.set(each, count);
    const taken: Put[] = [];
    const starts = new Map<JournaledPartition, number>();
    let kept = 0;
    for (const op of ops) {
      if (op.kind === "put" && op.key[0] === tables.partition) {
        const known = this.#at(op.key);
        if (known !== undefined) starts.set(known, decodePartition(op.value).storedStart);
      }
      if (op.kind === "put" && op.key[0] === tables.log) {
        const known = this.#at(op.key);
        const stays = isTaken ? !large?.has(partitionNumberOf(op.key)) : known !== undefined && this.#isMuch(known);
        if (stays && !(direct.size > 0 && direct.has(readU64(op.key, 1)))) {
          taken.push(op);
          continue;
        }
        if (known !== undefined) moved.set(known, known.batches.length);
      }
      ops[kept++] = op;
    }
    ops.length = kept;
    const dropped = this.#dead();
    const gone = [
      ...[...moved].map(([from, count]) => given(from, count, starts.get(from))),
      ...[...starts].filter(([from]) => !moved.has(from)).map(([from, start]) => given(from, 0, start)),
    ].filter(({ count }) => count > 0);
    if (taken.length === 0 && gone.length === 0 && dropped.length === 0) return undefined;
    return {
      taken,
      value: taken.length === 0 ? undefined : this.#encode(taken),
      seq: this.#nextSeq,
      moved: gone,
      dropped,
    };
  }

  /** Whether a partition has too much in the journal to be moved at once. */
  #isMuch({ batches }: JournaledPartition): boolean {
    return this.#hasRoom && batches.length > this.settings.takenAlongMax;
  }

  /**
   * Partitions that a large batch goes to, which takes what the journal has of them along: a later batch must not be in the log
   * before the earlier ones are. Where that is much it goes through the journal instead.
   */
  #partitionsOfLarge(ops: readonly WriteOp[]): ReadonlySet<number> | undefined {
    let found: Set<number> | undefined;
    for (const op of ops) {
      if (op.kind !== "put" || op.value.length <= this.settings.batchBytesMax || op.key[0] !== tables.log) continue;
      const known = this.#at(op.key);
      if (known !== undefined && this.#isMuch(known)) continue;
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

  #apply({ taken, value, seq, moved, dropped }: GroupPlan): void {
    this.#chunks.splice(0, dropped.length);
    this.#sorted -= dropped.length;
    for (const chunk of dropped) {
      this.#bytes -= chunk.bytes.length;
      if (chunk.isBrief) this.#briefBytes -= briefCost(chunk);
    }
    for (const { from, count } of moved) this.#remove(from, count);
    if (value !== undefined) this.#grow({ seq, bytes: value, isBrief: false, live: taken.length });
  }

  #grow(chunk: Chunk): void {
    this.#nextSeq = chunk.seq + 1;
    this.#chunks.push(chunk);
    this.#bytes += chunk.bytes.length;
    if (chunk.isBrief) this.#briefBytes += briefCost(chunk);
    if (this.#chunks.length - this.#sorted >= unsortedMax) void this.#known;
    this.onGrown();
  }

  /**
   * What it holds by partition. With thousands of them that is much memory to look at for each append; so the batches of many values
   * are sorted in together, or when somebody asks for a partition.
   */
  get #known(): PartitionTable<JournaledPartition> {
    for (; this.#sorted < this.#chunks.length; this.#sorted++) {
      const chunk = this.#chunks[this.#sorted]!;
      const { bytes } = chunk;
      let at = sumBytes;
      while (at < bytes.length) {
        const start = at + entryHeadBytes;
        this.#add(readU64(bytes, at), readU32(bytes, at + 8), chunk, start);
        at = start + readU32(bytes, at + 12);
      }
    }
    return this.#partitions;
  }

  #encode(taken: readonly Put[]): Buffer {
    let length = sumBytes;
    for (const { value } of taken) length += entryHeadBytes + value.length;
    const bytes = this.#cut(length);
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

  /** Values come and go in their order, so they are cut from larger pieces of memory, which go as a whole. */
  #cut(length: number): Buffer {
    if (length > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(Math.max(length, memoryBytes));
    const bytes = this.#memory.subarray(0, length);
    this.#memory = this.#memory.subarray(length);
    return bytes;
  }

  /** What it holds of the partition that a key is of. */
  #at(key: Uint8Array): JournaledPartition | undefined {
    return this.of(readU64(key, 1), readU32(key, 9));
  }

  #add(stream: number, partition: number, chunk: Chunk, start: number): void {
    let known = this.#partitions.get(stream, partition);
    if (known === undefined) {
      known = { stream, partition, batches: new JournaledBatches() };
      this.#partitions.set(stream, partition, known);
    }
    known.batches.add(chunk, start);
  }

  #remove(from: JournaledPartition, count: number): void {
    const { batches } = from;
    for (let i = 0; i < count; i++) batches.chunk(i).live--;
    from.batches = batches.from(count);
    if (count === batches.length) this.#partitions.delete(from.stream, from.partition);
  }

  /** Forgets a partition of a dropped stream. */
  forget(stream: number, partition: number): void {
    const known = this.of(stream, partition);
    if (known !== undefined) this.#remove(known, known.batches.length);
  }
}

/** A small group's value is kept in whole pages. */
function briefCost({ bytes }: Chunk): number {
  return Math.ceil(bytes.length / pageBytes) * pageBytes;
}

/** Its first batches, and those that retention gives up in the same group, which do not go to the log. */
function given(from: JournaledPartition, count: number, start = 0): Given {
  const { batches } = from;
  let alive = 0;
  while (alive < batches.length && batches.base(alive) < start) alive++;
  return { from, count: Math.max(Math.min(count, batches.length), alive), alive };
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
    yield { stream, partition, base: baseOffsetIn(bytes, start), start, end: at };
  }
}

/** Where a batch's header has it; the batch itself is verified when it is read. */
function baseOffsetIn(bytes: Buffer, start: number): number {
  return bytes.readDoubleLE(start + 16);
}
