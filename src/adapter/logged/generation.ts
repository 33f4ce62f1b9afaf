import type { Bytes, Range } from "../../port/store.ts";
import type { EntryPlace } from "./entry-memory.ts";

/** What one commit made of a key. */
export interface Version {
  readonly position: number;
  /** The entry's memory, and where in it the value lies; `end` is -1 for a delete. */
  readonly memory: Buffer;
  readonly start: number;
  readonly end: number;
  /** What an earlier commit had made of it, for readers that began before. */
  readonly older: Version | undefined;
}

/** Keys in order, each with its newest version. */
interface Leaf {
  readonly keys: string[];
  readonly versions: Version[];
}

const leafKeysMax = 128;

/** An entry of the log that lies in memory. */
export interface HeldEntry {
  readonly position: number;
  readonly place: EntryPlace;
}

/**
 * An ordered index over the ops of consecutive commits. Keys are kept as text, a character a byte: V8 compares flat text several times as fast as
 * two buffers. Nothing is ever taken out, so a reader may stay on a generation for as long as it likes.
 */
export class Generation {
  readonly entries: HeldEntry[] = [];
  /** Who reads it beyond the moment. */
  readers = 0;
  /** Whether only they hold it. */
  isDropped = false;
  readonly #leaves: Leaf[] = [{ keys: [], versions: [] }];
  /** The first key of each leaf. */
  readonly #firsts: string[] = [""];
  #bytes = 0;
  #keys = 0;
  /** Changes whenever a key moves within the index. */
  #moves = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get keys(): number {
    return this.#keys;
  }

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  addEntry(position: number, place: EntryPlace): void {
    this.entries.push({ position, place });
    this.#bytes += place.bytes.length;
  }

  set(key: string, position: number, memory: Buffer, start: number, end: number): void {
    const leafAt = this.#leafOf(key);
    const leaf = this.#leaves[leafAt]!;
    const at = lowerBound(leaf.keys, key);
    if (leaf.keys[at] === key) {
      leaf.versions[at] = { position, memory, start, end, older: leaf.versions[at] };
      return;
    }
    leaf.keys.splice(at, 0, key);
    leaf.versions.splice(at, 0, { position, memory, start, end, older: undefined });
    this.#keys++;
    this.#moves++;
    if (leaf.keys.length > leafKeysMax) this.#split(leafAt);
  }

  /** The newest version that is not after a position. */
  find(key: string, position: number): Version | undefined {
    const leaf = this.#leaves[this.#leafOf(key)]!;
    const at = lowerBound(leaf.keys, key);
    return leaf.keys[at] === key ? versionAt(leaf.versions[at], position) : undefined;
  }

  cursor(range: KeyRange, position: number): Cursor {
    return new Cursor(this, range, position);
  }

  /** The first place in a range after a key (undefined: from its start). */
  seek({ from, to, isReverse }: KeyRange, after: string | undefined): Place | undefined {
    const place = isReverse ? this.#last(after ?? to) : this.#first(after, from);
    if (place === undefined) return undefined;
    const key = this.keyAt(place);
    const isInside = isReverse ? from === undefined || key >= from : to === undefined || key < to;
    return isInside ? place : undefined;
  }

  get moves(): number {
    return this.#moves;
  }

  keyAt({ leaf, at }: Place): string {
    return this.#leaves[leaf]!.keys[at]!;
  }

  versionAt({ leaf, at }: Place, position: number): Version | undefined {
    return versionAt(this.#leaves[leaf]!.versions[at], position);
  }

  /** The place after one, towards the start or the end. */
  beside({ leaf, at }: Place, isReverse: boolean): Place | undefined {
    if (isReverse) {
      if (at > 0) return { leaf, at: at - 1 };
      return leaf === 0 ? undefined : { leaf: leaf - 1, at: this.#leaves[leaf - 1]!.keys.length - 1 };
    }
    if (at + 1 < this.#leaves[leaf]!.keys.length) return { leaf, at: at + 1 };
    return leaf + 1 < this.#leaves.length ? { leaf: leaf + 1, at: 0 } : undefined;
  }

  #first(after: string | undefined, from: string | undefined): Place | undefined {
    const key = after ?? from ?? "";
    const leaf = this.#leafOf(key);
    const { keys } = this.#leaves[leaf]!;
    let at = lowerBound(keys, key);
    if (after !== undefined && keys[at] === after) at++;
    if (at < keys.length) return { leaf, at };
    return leaf + 1 < this.#leaves.length ? { leaf: leaf + 1, at: 0 } : undefined;
  }

  /** The last place before a key, or of all. */
  #last(before: string | undefined): Place | undefined {
    const leaf = before === undefined ? this.#leaves.length - 1 : this.#leafOf(before);
    const { keys } = this.#leaves[leaf]!;
    const at = before === undefined ? keys.length : lowerBound(keys, before);
    if (at > 0) return { leaf, at: at - 1 };
    return leaf === 0 ? undefined : { leaf: leaf - 1, at: this.#leaves[leaf - 1]!.keys.length - 1 };
  }

  /** The last leaf whose first key is not after a key. */
  #leafOf(key: string): number {
    const firsts = this.#firsts;
    let low = 1;
    let high = firsts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (firsts[middle]! <= key) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #split(leafAt: number): void {
    const leaf = this.#leaves[leafAt]!;
    // Keys mostly come in ascending order; then the left half stays as it is, and is better full.
    const isAscending = leafAt === this.#leaves.length - 1;
    const from = isAscending ? leafKeysMax : leafKeysMax >>> 1;
    const right = { keys: leaf.keys.splice(from), versions: leaf.versions.splice(from) };
    this.#leaves.splice(leafAt + 1, 0, right);
    this.#firsts.splice(leafAt + 1, 0, right.keys[0]!);
  }
}

/** A range of keys as text. */
export interface KeyRange {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly isReverse: boolean;
}

export interface Place {
  readonly leaf: number;
  readonly at: number;
}

/** Walks a generation as it was at a position, while keys are added to it. */
export class Cursor {
  readonly #generation: Generation;
  readonly #range: KeyRange;
  readonly #position: number;
  #place: Place | undefined;
  #moves: number;
  key: string | undefined;
  version: Version | undefined;

  constructor(generation: Generation, range: KeyRange, position: number) {
    this.#generation = generation;
    this.#range = range;
    this.#position = position;
    this.#moves = generation.moves;
    this.#settle(generation.seek(range, undefined));
  }

  next(): void {
    const generation = this.#generation;
    if (this.#moves !== generation.moves) {
      this.#moves = generation.moves;
      this.#settle(generation.seek(this.#range, this.key));
    } else this.#settle(this.#place === undefined ? undefined : generation.beside(this.#place, this.#range.isReverse));
  }

  /** Goes on to the next key that had a version. */
  #settle(from: Place | undefined): void {
    const { from: low, to: high, isReverse } = this.#range;
    for (let place = from; place !== undefined; place = this.#generation.beside(place, isReverse)) {
      const key = this.#generation.keyAt(place);
      if (isReverse ? low !== undefined && key < low : high !== undefined && key >= high) break;
      const version = this.#generation.versionAt(place, this.#position);
      if (version === undefined) continue;
      this.#place = place;
      this.key = key;
      this.version = version;
      return;
    }
    this.#place = undefined;
    this.key = undefined;
    this.version = undefined;
  }
}

export function keyRange({ from, to, reverse = false }: Range): KeyRange {
  return { from: from && keyText(from), to: to && keyText(to), isReverse: reverse };
}

export function keyText(key: Bytes): string {
  return Buffer.isBuffer(key) ? key.latin1Slice() : Buffer.from(key.buffer, key.byteOffset, key.length).latin1Slice();
}

function versionAt(newest: Version | undefined, position: number): Version | undefined {
  let version = newest;
  while (version !== undefined && version.position > position) version = version.older;
  return version;
}

function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
