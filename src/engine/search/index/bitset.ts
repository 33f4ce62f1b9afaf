/** A set of document numbers below `size`, one bit each. */
export class Bitset {
  readonly size: number;
  readonly words: Uint32Array;

  constructor(size: number, words: Uint32Array = new Uint32Array((size + 31) >>> 5)) {
    this.size = size;
    this.words = words;
  }

  static full(size: number): Bitset {
    const set = new Bitset(size);
    set.fill();
    return set;
  }

  fill(): void {
    this.words.fill(0xffffffff);
    this.#trim();
  }

  /** Bits past the end stay 0, so that counting and walking need no check. */
  #trim(): void {
    const rest = this.size & 31;
    if (rest !== 0) this.words[this.words.length - 1]! &= 2 ** rest - 1;
  }

  has(doc: number): boolean {
    return (this.words[doc >>> 5]! & (1 << (doc & 31))) !== 0;
  }

  add(doc: number): void {
    this.words[doc >>> 5]! |= 1 << (doc & 31);
  }

  delete(doc: number): void {
    this.words[doc >>> 5]! &= ~(1 << (doc & 31));
  }

  and(other: Bitset): this {
    for (let i = 0; i < this.words.length; i++) this.words[i]! &= other.words[i]!;
    return this;
  }

  or(other: Bitset): this {
    for (let i = 0; i < this.words.length; i++) this.words[i]! |= other.words[i]!;
    return this;
  }

  andNot(other: Bitset): this {
    for (let i = 0; i < this.words.length; i++) this.words[i]! &= ~other.words[i]!;
    return this;
  }

  invert(): this {
    for (let i = 0; i < this.words.length; i++) this.words[i] = ~this.words[i]!;
    this.#trim();
    return this;
  }

  count(): number {
    let total = 0;
    for (let i = 0; i < this.words.length; i++) {
      let v = this.words[i]!;
      v -= (v >>> 1) & 0x55555555;
      v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
      total += Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
    }
    return total;
  }

  /** The first member at or after `from`, or -1. */
  next(from: number): number {
    if (from >= this.size) return -1;
    let i = from >>> 5;
    let word = this.words[i]! & (0xffffffff << (from & 31));
    while (word === 0) {
      if (++i >= this.words.length) return -1;
      word = this.words[i]!;
    }
    return (i << 5) + (31 - Math.clz32(word & -word));
  }

  /** The members in ascending order. */
  toArray(): Uint32Array {
    const out = new Uint32Array(this.count());
    let n = 0;
    for (let doc = this.next(0); doc !== -1; doc = this.next(doc + 1)) out[n++] = doc;
    return out;
  }

  clone(): Bitset {
    return new Bitset(this.size, this.words.slice());
  }
}
