import assert from "node:assert/strict";
import { forEachOp } from "../../port/commit-entry.ts";
import type { Bytes, Range, WriteOp } from "../../port/store.ts";
import type { EntryPlace } from "./entry-memory.ts";
import { type Cursor, Generation, keyRange, keyText, type Version } from "./generation.ts";

/** The commits that a reader sees on top of the view: generations from the oldest to the newest, up to a position. */
export interface Layers {
  readonly generations: readonly Generation[];
  readonly position: number;
}

export interface HeldLayers extends Layers, Disposable {}

/** The commits that the view does not have yet, in memory and in order. The last generation takes new ones. */
export class Overlay implements Layers {
  #generations: Generation[] = [new Generation()];
  #position: number;
  #bytes = 0;
  #heldBytes = 0;

  /** `position` is what the view has applied. */
  constructor(position: number) {
    this.#position = position;
  }

  get generations(): readonly Generation[] {
    return this.#generations;
  }

  /** Of the newest commit. */
  get position(): number {
    return this.#position;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Of commits that were given up and somebody still reads. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  add(position: number, place: EntryPlace): void {
    assert(position === this.#position + 1, "commits are consecutive");
    const generation = this.#generations.at(-1)!;
    const entry = place.bytes;
    forEachOp(entry, (keyStart, valueStart, valueEnd) => {
      generation.set(entry.latin1Slice(keyStart, valueStart), position, entry, valueStart, valueEnd);
    });
    generation.addEntry(position, place);
    this.#bytes += entry.length;
    this.#position = position;
  }

  /** The newest commits stay together from here on, and later ones come to another generation. */
  seal(): void {
    if (!this.#generations.at(-1)!.isEmpty) this.#generations = [...this.#generations, new Generation()];
  }

  /** Gives up the oldest generation, which the view has applied. Who holds it keeps it. */
  drop(generation: Generation): void {
    assert(generation === this.#generations[0] && this.#generations.length > 1, "the oldest goes first");
    this.#generations = this.#generations.slice(1);
    this.#bytes -= generation.bytes;
    generation.isDropped = true;
    if (generation.readers > 0) this.#heldBytes += generation.bytes;
  }

  /** A list that later commits do not change. Its memory is not used again before it is released. */
  hold(): HeldLayers {
    const generations = this.#generations.filter(({ isEmpty }) => !isEmpty);
    for (const each of generations) each.readers++;
    return {
      generations,
      position: this.#position,
      [Symbol.dispose]: () => {
        for (const each of generations.splice(0)) {
          each.readers--;
          if (each.isDropped && each.readers === 0) this.#heldBytes -= each.bytes;
        }
      },
    };
  }
}

/** What the newest commit that touched a key made of it; undefined where none did. */
export function findVersion({ generations, position }: Layers, key: Bytes): Version | undefined {
  const text = keyText(key);
  for (let i = generations.length - 1; i >= 0; i--) {
    const found = generations[i]!.find(text, position);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The value of a version, where it lies; undefined for a delete. */
export function valueBytes({ memory, start, end }: Version): Buffer | undefined {
  return end < 0 ? undefined : memory.subarray(start, end);
}

/** The ops of a range in its order, of each key the newest. Undefined where there are none, which is found out at once. */
export function opsIn({ generations, position }: Layers, range: Range): Iterable<WriteOp> | undefined {
  const keys = keyRange(range);
  const cursors: Cursor[] = [];
  for (let i = generations.length - 1; i >= 0; i--) {
    const cursor = generations[i]!.cursor(keys, position);
    if (cursor.key !== undefined) cursors.push(cursor);
  }
  return cursors.length === 0 ? undefined : merged(cursors, keys.isReverse);
}

/** Cursors from the newest generation to the oldest. */
function* merged(cursors: readonly Cursor[], isReverse: boolean): Iterable<WriteOp> {
  for (;;) {
    let first: Cursor | undefined;
    for (const cursor of cursors) {
      if (cursor.key === undefined) continue;
      if (first === undefined || (isReverse ? cursor.key > first.key! : cursor.key < first.key!)) first = cursor;
    }
    if (first === undefined) return;
    const text = first.key!;
    const value = valueBytes(first.version!);
    for (const cursor of cursors) if (cursor.key === text) cursor.next();
    const key = Buffer.from(text, "latin1");
    yield value === undefined ? { kind: "delete", key } : { kind: "put", key, value };
  }
}
