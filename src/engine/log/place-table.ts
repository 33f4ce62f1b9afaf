const placesMin = 1_024;
/** A larger table shrinks when it is empty. */
const placesKeptMax = 32_768;
const empty = -1;

/**
 * Rows of numbers, by a number for each of many partitions, in one array: a look-up is one cache miss. With thousands of partitions a table of
 * objects would take several.
 */
export class PlaceTable {
  /** For each slot a key, or `empty`, and its numbers; a power of two of slots, at most half of them in use. */
  #numbers: Float64Array;
  readonly #width: number;
  #places = placesMin;
  #shift = shiftOf(placesMin);
  #size = 0;

  /** `width` is how many numbers each key has. */
  constructor(width: number) {
    this.#width = width + 1;
    this.#numbers = this.#make(placesMin);
  }

  get size(): number {
    return this.#size;
  }

  /** Where the numbers of a key begin in `numbers`, until the next key is added or deleted; -1 for a key that is not there. */
  find(key: number): number {
    const at = this.#placeOf(key);
    return this.#numbers[at] === key ? at + 1 : -1;
  }

  /** The same for one that is not there yet, with its first number; the others are 0. `numbers` may be another piece of memory after it. */
  add(key: number, first: number): number {
    if (2 * (this.#size + 1) > this.#places) this.#resize(2 * this.#places);
    this.#size++;
    const at = this.#placeOf(key);
    this.#numbers[at] = key;
    this.#numbers[at + 1] = first;
    return at + 1;
  }

  get numbers(): Float64Array {
    return this.#numbers;
  }

  delete(key: number): void {
    const numbers = this.#numbers;
    let hole = this.#placeOf(key);
    if (numbers[hole] !== key) return;
    this.#size--;
    // Those behind it move up, unless they are where they belong.
    for (let at = this.#after(hole); numbers[at] !== empty; at = this.#after(at)) {
      const home = this.#homeOf(numbers[at]!);
      const isBetween = hole <= at ? hole < home && home <= at : hole < home || home <= at;
      if (isBetween) continue;
      numbers.copyWithin(hole, at, at + this.#width);
      hole = at;
    }
    numbers[hole] = empty;
    numbers.fill(0, hole + 1, hole + this.#width);
    if (this.#size === 0 && this.#places > placesKeptMax) this.#resize(placesMin);
  }

  /** In their order. */
  keys(): Float64Array {
    const found = new Float64Array(this.#size);
    let count = 0;
    for (let at = 0; at < this.#numbers.length; at += this.#width) {
      if (this.#numbers[at] !== empty) found[count++] = this.#numbers[at]!;
    }
    return found.sort();
  }

  /** The place of a key, or the one where it would be. */
  #placeOf(key: number): number {
    const numbers = this.#numbers;
    let at = this.#homeOf(key);
    while (numbers[at] !== key && numbers[at] !== empty) at = this.#after(at);
    return at;
  }

  #after(at: number): number {
    const next = at + this.#width;
    return next === this.#numbers.length ? 0 : next;
  }

  #homeOf(key: number): number {
    const hash = Math.imul(key | 0, 0x9e3779b1) ^ Math.imul((key / 0x1_0000_0000) | 0, 0x85ebca6b);
    // Its upper bits: each of them depends on all of the key.
    return (hash >>> this.#shift) * this.#width;
  }

  #make(places: number): Float64Array {
    const numbers = new Float64Array(places * this.#width);
    for (let at = 0; at < numbers.length; at += this.#width) numbers[at] = empty;
    return numbers;
  }

  #resize(places: number): void {
    const before = this.#numbers;
    this.#places = places;
    this.#shift = shiftOf(places);
    this.#numbers = this.#make(places);
    for (let at = 0; at < before.length; at += this.#width) {
      if (before[at] === empty) continue;
      this.#numbers.set(before.subarray(at, at + this.#width), this.#placeOf(before[at]!));
    }
  }
}

function shiftOf(places: number): number {
  return 32 - Math.log2(places);
}
