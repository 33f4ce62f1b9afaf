import assert from "node:assert/strict";
import type { Reader, WriteOp } from "../../port/store.ts";
import { logKey, makeKey, partitionNumber, partitionNumberOf, prefixRange, readU32, readU64, tables } from "../keys.ts";
import { type JournaledPartition, JournalIndex, type PartitionPlace } from "./journal-index.ts";
import { type Chunk, entryHeadBytes, type Put, ValueEncoder, verifyValue } from "./journal-value.ts";
import { decodePartition } from "./partition-state.ts";

/**
 * Small batches of a group that goes to many partitions, as one value. Under its own key each of them would cost a page
 * of the store of its own, and the commit would take the longer the more partitions there are. So they are written
 * together first, kept in memory, and moved to their keys in the background, many of a partition at a time. So is any
 * group of nothing but small appends, for a store can make one value durable with one write (adapter/journaled).
 *
 * What the journal holds of a partition is always its newest batches: one that goes to its own key takes those before
 * it along.
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
  /** Batches that are moved at once; where the journal is large, or somebody waits for it, many times that. */
  readonly stepBatches: number;
  /** Batches that one of their partition takes along to the log at most, unless the journal is twice as large as it may be. */
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
  stepBatches: 768,
  takenAlongMax: 1_024,
  idleMs: 1_000,
};

/** The first batches of a partition, which leave the journal; those of them from `alive` on go to the log. */
interface Given {
  readonly from: JournaledPartition;
  readonly count: number;
  readonly alive: number;
}

/** What a group's commit makes of the journal. */
interface GroupPlan {
  readonly value: Buffer | undefined;
  readonly seq: number;
  /** Partitions that give up their first batches. */
  readonly moved: readonly Given[];
  readonly dropped: readonly Chunk[];
}

const noPartitions: ReadonlyMap<JournaledPartition, number> = new Map();
const noStreams: ReadonlySet<number> = new Set();
/** Of `bytesMax`, up to which what a partition has too much of stays in the journal all the same. */
const hardShare = 2;
const pageBytes = 4096;
/** Values of the journal that one group deletes at most. */
const chunksPerGroup = 256;

export class Journal {
  readonly settings: JournalSettings;
  readonly #index = new JournalIndex();
  #nextSeq = 0;
  #bytes = 0;
  #briefBytes = 0;
  #isMoving = false;
  readonly #encoder = new ValueEncoder();
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
    return this.isBehind || this.#briefBytes >= this.settings.flushBriefBytes;
  }

  /** Whether more comes than is moved. */
  get isBehind(): boolean {
    return this.#bytes >= this.settings.flushBytes;
  }

  /** Whether nothing is left of it, in memory or in the store. */
  get isEmpty(): boolean {
    return this.#index.chunks.length === 0;
  }

  /** Whether a stored value is only there to be deleted. */
  get hasDead(): boolean {
    return this.#index.isDead(0);
  }

  get #hasRoom(): boolean {
    return this.#bytes < this.settings.bytesMax;
  }

  of(stream: number, partition: number): JournaledPartition | undefined {
    return this.#index.get(stream, partition);
  }

  /** In the order of the log's keys. */
  places(): PartitionPlace[] {
    return this.#index.places();
  }

  /**
   * Reads what was journaled before the start. `storedEnd` tells what the log itself holds of a partition, undefined for
   * one that is gone: batches below it were moved.
   */
  load(reader: Reader, storedEnd: (stream: number, partition: number) => number | undefined): void {
    const ends = new Map<number, number | undefined>();
    for (const { key, value } of reader.range(prefixRange(tables.journal))) {
      // A copy: what the store hands out may be one block with other values.
      const isBrief = value.length <= this.settings.briefBytesMax;
      const chunk = newChunk(readU64(key, 1), Buffer.from(value), isBrief);
      verifyValue(chunk.bytes);
      this.#count(chunk);
      this.#index.push(chunk, (stream, partition, base) => {
        const place = partitionNumber(stream, partition);
        if (!ends.has(place)) ends.set(place, storedEnd(stream, partition));
        const stored = ends.get(place);
        return stored !== undefined && base >= stored;
      });
    }
  }

  /**
   * Decides what of a group's writes goes through the journal and changes the list of writes accordingly. Returns what to
   * do once the group is durable.
   */
  take(ops: WriteOp[], partitions: number, direct: ReadonlySet<number>): (() => void) | undefined {
    if (this.#isBrief(ops, direct)) return this.#takeBrief(ops);
    // Every append of the group was taken back.
    if (ops.length === 0 && this.#isMoving) return undefined;
    assert(!this.#isMoving, "only appends go on while the journal is moved");
    const isTaken = this.#hasRoom && partitions >= this.settings.partitionsMin;
    if (this.#index.chunks.length === 0 && !isTaken) return undefined;
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
    const value = this.#encoder.encode(taken);
    const seq = this.#nextSeq;
    ops.push({ kind: "put", key: makeKey(tables.journal, seq), value });
    return () => this.#grow(newChunk(seq, value, true));
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
    const value = taken.length === 0 ? undefined : this.#encoder.encode(taken);
    return { value, seq: this.#nextSeq, moved: gone, dropped };
  }

  /** Whether a partition has too much in the journal to be moved at once. */
  #isMuch({ batches }: JournaledPartition): boolean {
    return this.#bytes < hardShare * this.settings.bytesMax && batches.length > this.settings.takenAlongMax;
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
    while (count < chunksPerGroup && this.#index.isDead(count)) count++;
    return this.#index.chunks.slice(0, count);
  }

  #apply({ value, seq, moved, dropped }: GroupPlan): void {
    this.#index.drop(dropped.length);
    for (const chunk of dropped) {
      this.#bytes -= chunk.bytes.length;
      if (chunk.isBrief) this.#briefBytes -= briefCost(chunk);
    }
    for (const { from, count } of moved) this.#index.remove(from, count);
    if (value !== undefined) this.#grow(newChunk(seq, value, false));
  }

  #grow(chunk: Chunk): void {
    this.#count(chunk);
    this.#index.push(chunk);
    this.onGrown();
  }

  #count(chunk: Chunk): void {
    this.#nextSeq = chunk.seq + 1;
    this.#bytes += chunk.bytes.length;
    if (chunk.isBrief) this.#briefBytes += briefCost(chunk);
  }

  /** What it holds of the partition that a key is of. */
  #at(key: Uint8Array): JournaledPartition | undefined {
    return this.of(readU64(key, 1), readU32(key, 9));
  }

  /** Forgets a partition of a dropped stream. */
  forget(stream: number, partition: number): void {
    const known = this.of(stream, partition);
    if (known !== undefined) this.#index.remove(known, known.batches.length);
  }
}

function newChunk(seq: number, bytes: Buffer, isBrief: boolean): Chunk {
  return { seq, bytes, isBrief, batches: 0 };
}

/** A small group's value is kept in whole pages. */
function briefCost({ bytes }: Chunk): number {
  return Math.ceil(bytes.length / pageBytes) * pageBytes;
}

/** Its first batches, and those that retention gives up in the same group, which do not go to the log. */
function given(from: JournaledPartition, count: number, start: number | undefined): Given {
  const { batches } = from;
  let alive = 0;
  if (start !== undefined) while (alive < batches.length && batches.base(alive) < start) alive++;
  return { from, count: Math.max(Math.min(count, batches.length), alive), alive };
}
