interface Entry<K, V> {
  readonly key: K;
  readonly value: V;
  readonly weight: number;
  older: Entry<K, V>;
  newer: Entry<K, V>;
}

/**
 * A map that forgets what was unused for longest once it holds too much: too many entries, or as many as weigh too much
 * together. A list beside the map keeps the order: in a Map alone each use would be a delete and an insert, and finding
 * the oldest a walk over holes.
 */
export class LruMap<K, V> {
  readonly #entries = new Map<K, Entry<K, V>>();
  readonly #weightMax: number;
  readonly #weigh: (value: V) => number;
  /** Stands between the newest and the oldest. */
  readonly #ends: Entry<K, V>;
  #weight = 0;

  /** Without `weigh` the bound is a count. */
  constructor(weightMax: number, weigh: (value: V) => number = () => 1) {
    this.#weightMax = weightMax;
    this.#weigh = weigh;
    const ends = {} as Entry<K, V>;
    ends.older = ends;
    ends.newer = ends;
    this.#ends = ends;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Of all entries. */
  get weight(): number {
    return this.#weight;
  }

  /** This is no use of it. */
  has(key: K): boolean {
    return this.#entries.has(key);
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry !== this.#ends.older) {
      unlink(entry);
      this.#link(entry);
    }
    return entry.value;
  }

  /** What is too heavy by itself is not kept. */
  set(key: K, value: V): void {
    this.delete(key);
    const weight = this.#weigh(value);
    if (weight > this.#weightMax) return;
    while (this.#weight + weight > this.#weightMax) this.shift();
    const entry = { key, value, weight, older: this.#ends, newer: this.#ends };
    this.#link(entry);
    this.#entries.set(key, entry);
    this.#weight += weight;
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#remove(entry);
  }

  clear(): void {
    this.#entries.clear();
    this.#ends.older = this.#ends;
    this.#ends.newer = this.#ends;
    this.#weight = 0;
  }

  /** Takes out what was unused for longest. */
  shift(): V | undefined {
    const oldest = this.#ends.newer;
    if (oldest === this.#ends) return undefined;
    this.#remove(oldest);
    return oldest.value;
  }

  #link(entry: Entry<K, V>): void {
    const newest = this.#ends.older;
    entry.older = newest;
    entry.newer = this.#ends;
    newest.newer = entry;
    this.#ends.older = entry;
  }

  #remove(entry: Entry<K, V>): void {
    this.#entries.delete(entry.key);
    unlink(entry);
    this.#weight -= entry.weight;
  }
}

function unlink<K, V>({ older, newer }: Entry<K, V>): void {
  older.newer = newer;
  newer.older = older;
}
