import { Bitset } from "./bitset.ts";
import { U32List } from "./growable.ts";

/**
 * The deleted documents of one segment, beside it, since the segment never changes. They are kept in the order in
 * which they were deleted too, so that a count of them per term can be brought up to date instead of made again.
 */
export class Deletes {
  readonly size: number;
  readonly #live: Bitset;
  readonly #order: U32List;
  #count: number;

  constructor(size: number) {
    this.size = size;
    this.#live = Bitset.full(size);
    this.#order = new U32List();
    this.#count = 0;
  }

  /** From the words of a stored bitmap in which a set bit is a deleted document. */
  static fromWords(size: number, words: Uint32Array): Deletes {
    const deletes = new Deletes(size);
    const set = new Bitset(size, words);
    for (let doc = set.next(0); doc !== -1; doc = set.next(doc + 1)) deletes.add(doc);
    return deletes;
  }

  get count(): number {
    return this.#count;
  }

  /** False when it was deleted before. */
  add(doc: number): boolean {
    if (doc >= this.size || !this.#live.has(doc)) return false;
    this.#live.delete(doc);
    this.#order.push(doc);
    this.#count++;
    return true;
  }

  has(doc: number): boolean {
    return !this.#live.has(doc);
  }

  get live(): Bitset {
    return this.#live;
  }

  /** The i-th document deleted. */
  at(i: number): number {
    return this.#order.data[i]!;
  }

  /** A copy that later deletes do not change. */
  snapshot(): Deletes {
    const copy = new Deletes(this.size);
    copy.#live.words.set(this.#live.words);
    for (let i = 0; i < this.#count; i++) copy.#order.push(this.#order.data[i]!);
    copy.#count = this.#count;
    return copy;
  }

  /** The bitmap to store: a set bit is a deleted document. */
  toWords(): Uint32Array {
    return this.#live.clone().invert().words;
  }
}
