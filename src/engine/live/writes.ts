import { mergeWrites } from "../../port/merge.ts";
import type { Bytes, Entry, Reader, WriteOp } from "../../port/store.ts";

/** Writes in the order of their keys, the last one of each. Keys are text of one character a byte. */
export class SortedWrites {
  readonly #ops = new Map<string, WriteOp>();
  readonly #keys: string[] = [];

  constructor(ops: readonly WriteOp[] = []) {
    for (const op of ops) this.#ops.set(keyText(op.key), op);
    this.#keys = [...this.#ops.keys()].sort();
  }

  set(op: WriteOp): void {
    const key = keyText(op.key);
    if (!this.#ops.has(key)) this.#keys.splice(this.#lowerBound(key), 0, key);
    this.#ops.set(key, op);
  }

  get(key: string): WriteOp | undefined {
    return this.#ops.get(key);
  }

  *within(from: string, to: string): Iterable<readonly [string, WriteOp]> {
    for (let i = this.#lowerBound(from); i < this.#keys.length && this.#keys[i]! < to; i++) {
      yield [this.#keys[i]!, this.#ops.get(this.#keys[i]!)!];
    }
  }

  #lowerBound(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keys[middle]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** What is stored, with writes on top that are not yet: later layers hide earlier ones. */
export class LayeredReader {
  readonly #base: Pick<Reader, "get" | "range">;
  readonly #layers: readonly SortedWrites[];

  constructor(base: Pick<Reader, "get" | "range">, layers: readonly SortedWrites[]) {
    this.#base = base;
    this.#layers = layers;
  }

  get(key: Bytes): Bytes | undefined {
    if (this.#layers.length === 0) return this.#base.get(key);
    const text = keyText(key);
    for (let i = this.#layers.length - 1; i >= 0; i--) {
      const op = this.#layers[i]!.get(text);
      if (op !== undefined) return op.kind === "put" ? op.value : undefined;
    }
    return this.#base.get(key);
  }

  range(from: Bytes, to: Bytes, reverse: boolean): Iterable<Entry> {
    const stored = this.#base.range({ from, to, reverse });
    if (this.#layers.length === 0) return stored;
    const written = new Map<string, WriteOp>();
    const [first, end] = [keyText(from), keyText(to)];
    for (const layer of this.#layers) for (const [key, op] of layer.within(first, end)) written.set(key, op);
    if (written.size === 0) return stored;
    const keys = [...written.keys()].sort();
    if (reverse) keys.reverse();
    return mergeWrites(
      stored,
      keys.map((key) => written.get(key)!),
      { from, to, reverse },
    );
  }
}

export function keyText(key: Bytes): string {
  return Buffer.isBuffer(key) ? key.latin1Slice() : Buffer.from(key.buffer, key.byteOffset, key.length).latin1Slice();
}
