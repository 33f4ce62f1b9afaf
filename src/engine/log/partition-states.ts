import { partitionNumber, partitionOfNumber } from "../keys.ts";
import type { Tail } from "./partition-state.ts";
import { PlaceTable } from "./place-table.ts";

/** Woken when the partition's high watermark rises, and when its stream is gone. */
export type Waiter = () => void;

/** What most partitions have nothing of. */
interface Rare {
  implied: Implied | undefined;
  waiters: Set<Waiter> | undefined;
  gone: boolean;
}

/** Where what is rare is kept. */
interface Rares {
  rare(row: number): Rare | undefined;
  makeRare(row: number): Rare;
  /** The last one who waited there has left. */
  left(row: number, rare: Rare): void;
}

/** The start that retention implied when it was last worked out, and until when that holds. */
export interface Implied {
  readonly start: number;
  readonly next: number;
  readonly untilMs: number;
  readonly retention: object;
}

/** Where in a row a partition's numbers are: eight, one cache line. */
const at = {
  next: 0,
  bytes: 1,
  prefixTimestampMs: 2,
  prefixRetentionMs: 3,
  durableNext: 4,
  durableBytes: 5,
  stagedIn: 6,
  storedStart: 7,
} as const;
const rowNumbers = 8;
/** Rows of one allocation, as a power of two. */
const pageBits = 9;
const pageMask = (1 << pageBits) - 1;
/** The key of a row that is free. */
const noKey = -1;

/**
 * The cached state of a partition; all of it can be read from the store again. Its tail is the state after the group that is being committed.
 * This is a view, created when asked for: keep it no longer than somebody waits there or appends to it.
 */
export class PartitionState implements Tail {
  readonly stream: number;
  readonly partition: number;
  readonly row: number;
  readonly #states: Rares;
  readonly #numbers: Float64Array;
  readonly #from: number;

  constructor(states: Rares, page: Float64Array, row: number, stream: number, partition: number) {
    this.stream = stream;
    this.partition = partition;
    this.row = row;
    this.#states = states;
    this.#numbers = page;
    this.#from = (row & pageMask) * rowNumbers;
  }

  get next(): number {
    return this.#numbers[this.#from + at.next]!;
  }

  set next(value: number) {
    this.#numbers[this.#from + at.next] = value;
  }

  get bytes(): number {
    return this.#numbers[this.#from + at.bytes]!;
  }

  set bytes(value: number) {
    this.#numbers[this.#from + at.bytes] = value;
  }

  get prefixTimestampMs(): number {
    return this.#numbers[this.#from + at.prefixTimestampMs]!;
  }

  set prefixTimestampMs(value: number) {
    this.#numbers[this.#from + at.prefixTimestampMs] = value;
  }

  get prefixRetentionMs(): number {
    return this.#numbers[this.#from + at.prefixRetentionMs]!;
  }

  set prefixRetentionMs(value: number) {
    this.#numbers[this.#from + at.prefixRetentionMs] = value;
  }

  /** What is durable and visible to readers; between groups the same as the tail's. */
  get durableNext(): number {
    return this.#numbers[this.#from + at.durableNext]!;
  }

  get durableBytes(): number {
    return this.#numbers[this.#from + at.durableBytes]!;
  }

  /** The group that last appended to it, so that each counts it once and makes it visible once. */
  get stagedIn(): number {
    return this.#numbers[this.#from + at.stagedIn]!;
  }

  set stagedIn(value: number) {
    this.#numbers[this.#from + at.stagedIn] = value;
  }

  /** The first offset that is still stored; batches before it have been freed. */
  get storedStart(): number {
    return this.#numbers[this.#from + at.storedStart]!;
  }

  set storedStart(value: number) {
    this.#numbers[this.#from + at.storedStart] = value;
  }

  get implied(): Implied | undefined {
    return this.#states.rare(this.row)?.implied;
  }

  set implied(value: Implied) {
    this.#states.makeRare(this.row).implied = value;
  }

  /** The stream was dropped: nobody waits here any more. */
  get gone(): boolean {
    return this.#states.rare(this.row)?.gone ?? false;
  }

  /** Makes the tail what is durable. */
  publish(): void {
    const numbers = this.#numbers;
    numbers[this.#from + at.durableNext] = numbers[this.#from + at.next]!;
    numbers[this.#from + at.durableBytes] = numbers[this.#from + at.bytes]!;
    this.wake();
  }

  wake(): void {
    const waiters = this.#states.rare(this.row)?.waiters;
    if (waiters !== undefined) for (const waiter of [...waiters]) waiter();
  }

  addWaiter(waiter: Waiter): void {
    const rare = this.#states.makeRare(this.row);
    rare.waiters ??= new Set();
    rare.waiters.add(waiter);
  }

  deleteWaiter(waiter: Waiter): void {
    const rare = this.#states.makeRare(this.row);
    rare.waiters?.delete(waiter);
    if (rare.waiters === undefined || rare.waiters.size > 0) return;
    rare.waiters = undefined;
    this.#states.left(this.row, rare);
  }
}

/** The partitions that are in memory. */
export class PartitionStates implements Rares {
  /** The row of each. */
  readonly #rows = new PlaceTable(1);
  readonly #pages: Float64Array[] = [];
  readonly #keys: number[] = [];
  readonly #rare = new Map<number, Rare>();
  readonly #freeRows: number[] = [];
  /** Where the last look for rows to be freed ended. */
  #evicted = 0;

  get size(): number {
    return this.#rows.size;
  }

  get(stream: number, partition: number): PartitionState | undefined {
    const found = this.#rows.find(partitionNumber(stream, partition));
    return found < 0 ? undefined : this.#view(this.#rows.numbers[found]!, stream, partition);
  }

  add(stream: number, partition: number, start: PartitionStart): PartitionState {
    const row = this.#freeRows.pop() ?? this.#keys.length;
    const key = partitionNumber(stream, partition);
    this.#rows.add(key, row);
    this.#keys[row] = key;
    if (row >> pageBits === this.#pages.length) this.#pages.push(new Float64Array(rowNumbers << pageBits));
    this.#pages[row >> pageBits]!.set(rowOf(start), (row & pageMask) * rowNumbers);
    return this.#view(row, stream, partition);
  }

  /** Evicts a partition of a dropped stream, and wakes its waiters. */
  forget(stream: number, partition: number): void {
    const state = this.get(stream, partition);
    if (state === undefined) return;
    const { row } = state;
    this.#rows.delete(this.#keys[row]!);
    this.#keys[row] = noKey;
    const rare = this.rare(row);
    if (rare?.waiters === undefined) {
      this.#free(row);
      return;
    }
    rare.gone = true;
    state.wake();
  }

  /** Evicts partitions without waiters and without an append under way. */
  evict(wanted: number): void {
    let left = wanted;
    for (let looked = 0; looked < this.#keys.length && left > 0; looked++) {
      const row = this.#evicted++ % this.#keys.length;
      const key = this.#keys[row]!;
      if (key === noKey || this.#isBusy(row)) continue;
      this.#rows.delete(key);
      this.#free(row);
      left--;
    }
  }

  /** By stream and partition. */
  *values(): Iterable<PartitionState> {
    for (const key of this.#rows.keys()) {
      const { stream, partition } = partitionOfNumber(key);
      const state = this.get(stream, partition);
      if (state !== undefined) yield state;
    }
  }

  rare(row: number): Rare | undefined {
    return this.#rare.size === 0 ? undefined : this.#rare.get(row);
  }

  makeRare(row: number): Rare {
    const known = this.#rare.get(row);
    if (known !== undefined) return known;
    const rare: Rare = { implied: undefined, waiters: undefined, gone: false };
    this.#rare.set(row, rare);
    return rare;
  }

  left(row: number, { implied, gone: isGone }: Rare): void {
    if (isGone) this.#free(row);
    else if (implied === undefined) this.#rare.delete(row);
  }

  /** A row that nobody finds any more. */
  #free(row: number): void {
    this.#rare.delete(row);
    this.#keys[row] = noKey;
    this.#freeRows.push(row);
  }

  #isBusy(row: number): boolean {
    const page = this.#pages[row >> pageBits]!;
    const from = (row & pageMask) * rowNumbers;
    return page[from + at.next] !== page[from + at.durableNext] || this.rare(row)?.waiters !== undefined;
  }

  #view(row: number, stream: number, partition: number): PartitionState {
    return new PartitionState(this, this.#pages[row >> pageBits]!, row, stream, partition);
  }
}

/** What the store has of a partition. */
export interface PartitionStart {
  readonly tail: Readonly<Tail>;
  readonly storedStart: number;
}

function rowOf({ tail, storedStart }: PartitionStart): number[] {
  const { next, bytes, prefixTimestampMs, prefixRetentionMs } = tail;
  return [next, bytes, prefixTimestampMs, prefixRetentionMs, next, bytes, 0, storedStart];
}

const gone: Rare = { implied: undefined, waiters: undefined, gone: true };
const goneRares: Rares = { rare: () => gone, makeRare: () => ({ ...gone }), left: () => undefined };

/** A partition of a dropped stream, of which nothing is kept. */
export function goneState(stream: number, partition: number, start: PartitionStart): PartitionState {
  return new PartitionState(goneRares, Float64Array.from(rowOf(start)), 0, stream, partition);
}
