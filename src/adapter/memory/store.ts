import { compareBytes, copyBytes } from "../../port/bytes.ts";
import type { Bytes, Entry, Range, Snapshot, Store, StoreStats, WriteOp } from "../../port/store.ts";

/** Sorted keys beside their values. A version is never changed once a snapshot shares it. */
interface Version {
  keys: Bytes[];
  values: Bytes[];
}

function lowerBound(keys: readonly Bytes[], key: Bytes): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBytes(keys[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

class VersionReader {
  readonly version: () => Version;

  constructor(version: () => Version) {
    this.version = version;
  }

  get(key: Bytes): Bytes | undefined {
    const value = this.#find(key);
    return value === undefined ? undefined : copyBytes(value);
  }

  peek(key: Bytes): Bytes | undefined {
    return this.get(key);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    const value = this.#find(key);
    return value === undefined ? undefined : copyBytes(value.subarray(0, bytesMax));
  }

  *range(range: Range): Iterable<Entry> {
    // A reader walks the version it started on, as a cursor of a real store does.
    const version = this.version();
    for (const i of this.#indexes(version, range)) {
      yield { key: copyBytes(version.keys[i]!), value: copyBytes(version.values[i]!) };
    }
  }

  borrow(range: Range): Iterable<Entry> {
    return this.range(range);
  }

  *keys(range: Range): Iterable<Bytes> {
    const version = this.version();
    for (const i of this.#indexes(version, range)) yield copyBytes(version.keys[i]!);
  }

  #find(key: Bytes): Bytes | undefined {
    const version = this.version();
    const i = lowerBound(version.keys, key);
    const found = version.keys[i];
    return found !== undefined && compareBytes(found, key) === 0 ? version.values[i] : undefined;
  }

  *#indexes({ keys }: Version, { from, to, reverse, limit = Infinity }: Range): Iterable<number> {
    const start = from === undefined ? 0 : lowerBound(keys, from);
    const end = to === undefined ? keys.length : lowerBound(keys, to);
    const count = Math.min(Math.max(end - start, 0), limit);
    for (let n = 0; n < count; n++) yield reverse ? end - 1 - n : start + n;
  }
}

/** All state in memory, for tests and simulation. The bytes it is given and gives out are copies. */
export class MemoryStore extends VersionReader implements Store {
  #current: Version;
  #shared = false;

  constructor() {
    super(() => this.#read());
    this.#current = { keys: [], values: [] };
  }

  async commit(ops: readonly WriteOp[]): Promise<void> {
    if (this.#shared) {
      this.#current = { keys: this.#current.keys.slice(), values: this.#current.values.slice() };
      this.#shared = false;
    }
    const { keys, values } = this.#current;
    for (const op of ops) {
      const i = lowerBound(keys, op.key);
      const found = keys[i];
      const exists = found !== undefined && compareBytes(found, op.key) === 0;
      if (op.kind === "delete") {
        if (exists) {
          keys.splice(i, 1);
          values.splice(i, 1);
        }
      } else if (exists) values[i] = copyBytes(op.value);
      else {
        keys.splice(i, 0, copyBytes(op.key));
        values.splice(i, 0, copyBytes(op.value));
      }
    }
  }

  async checkpoint(): Promise<void> {}

  snapshot(): Snapshot {
    const version = this.#read();
    const reader = new VersionReader(() => version);
    return Object.assign(reader, { [Symbol.dispose]() {} });
  }

  stats(): StoreStats {
    const { keys, values } = this.#current;
    let diskBytes = 0;
    for (const bytes of [...keys, ...values]) diskBytes += bytes.length;
    return { diskBytes, entries: keys.length };
  }

  async close(): Promise<void> {}

  #read(): Version {
    this.#shared = true;
    return this.#current;
  }
}
