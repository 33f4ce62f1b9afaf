import { compareBytes, copyInto } from "../../port/bytes.ts";
import { mergeWrites } from "../../port/merge.ts";
import type { Bytes, Entry, Range, Reader, Snapshot, WriteOp } from "../../port/store.ts";
import { findVersion, type HeldLayers, type Layers, opsIn, valueBytes } from "./overlay.ts";

/** A view with commits on top of it, and without the mark that the store keeps in it. */
export class LayeredReader implements Reader {
  readonly #view: Reader;
  readonly #layers: Layers;
  readonly #mark: Bytes;

  constructor(view: Reader, layers: Layers, mark: Bytes) {
    this.#view = view;
    this.#layers = layers;
    this.#mark = mark;
  }

  get(key: Bytes): Bytes | undefined {
    const found = findVersion(this.#layers, key);
    if (found === undefined) return this.#isMark(key) ? undefined : this.#view.get(key);
    const value = valueBytes(found);
    return value && copied(value);
  }

  peek(key: Bytes): Bytes | undefined {
    const found = findVersion(this.#layers, key);
    if (found === undefined) return this.#isMark(key) ? undefined : this.#view.peek(key);
    return valueBytes(found);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    const found = findVersion(this.#layers, key);
    if (found === undefined) return this.#isMark(key) ? undefined : this.#view.head(key, bytesMax);
    const value = valueBytes(found);
    return value && copied(value.subarray(0, bytesMax));
  }

  range(range: Range): Iterable<Entry> {
    const ops = this.#ops(range);
    if (ops === undefined) return this.#view.range(range);
    return mergeWrites(this.#view.range(unlimited(range)), owned(ops), range);
  }

  borrow(range: Range): Iterable<Entry> {
    const ops = this.#ops(range);
    if (ops === undefined) return this.#view.borrow(range);
    return this.#peeked(mergeWrites(withoutValues(this.#view.keys(unlimited(range))), ops, range));
  }

  keys(range: Range): Iterable<Bytes> {
    const ops = this.#ops(range);
    if (ops === undefined) return this.#view.keys(range);
    return keysOf(mergeWrites(withoutValues(this.#view.keys(unlimited(range))), ops, range));
  }

  /** A value of the view is read when it is reached: what is good until something else is read must not wait for an op before it. */
  *#peeked(entries: Iterable<Entry>): Iterable<Entry> {
    for (const entry of entries) {
      const value = entry.value === noBytes ? this.#view.peek(entry.key) : entry.value;
      if (value !== undefined) yield { key: entry.key, value };
    }
  }

  #isMark(key: Bytes): boolean {
    return key[0] === this.#mark[0] && compareBytes(key, this.#mark) === 0;
  }

  /** What changes the view's answer in a range; undefined where nothing does. */
  #ops(range: Range): Iterable<WriteOp> | undefined {
    const ops = opsIn(this.#layers, range);
    const { from, to } = range;
    const mark = this.#mark;
    if ((from !== undefined && compareBytes(mark, from) < 0) || (to !== undefined && compareBytes(mark, to) >= 0)) {
      return ops;
    }
    return withMark(ops ?? [], { kind: "delete", key: mark }, range.reverse ? -1 : 1);
  }
}

export class LayeredSnapshot extends LayeredReader implements Snapshot {
  readonly #snapshot: Snapshot;
  readonly #held: HeldLayers;

  constructor(view: Snapshot, layers: HeldLayers, mark: Bytes) {
    super(view, layers, mark);
    this.#snapshot = view;
    this.#held = layers;
  }

  [Symbol.dispose](): void {
    this.#held[Symbol.dispose]();
    this.#snapshot[Symbol.dispose]();
  }
}

/** The mark's op in its place among others. */
function* withMark(ops: Iterable<WriteOp>, mark: WriteOp, direction: number): Iterable<WriteOp> {
  let isPast = false;
  for (const op of ops) {
    if (!isPast && compareBytes(op.key, mark.key) * direction > 0) {
      isPast = true;
      yield mark;
    }
    yield op;
  }
  if (!isPast) yield mark;
}

/** Values in memory of their own: that of an entry is given up as a whole. */
function* owned(ops: Iterable<WriteOp>): Iterable<WriteOp> {
  for (const op of ops) yield op.kind === "put" ? { ...op, value: copied(op.value) } : op;
}

function copied(value: Bytes): Buffer {
  const copy = Buffer.allocUnsafe(value.length);
  copyInto(copy, 0, value);
  return copy;
}

const noBytes = Buffer.alloc(0);

function* withoutValues(keys: Iterable<Bytes>): Iterable<Entry> {
  for (const key of keys) yield { key, value: noBytes };
}

function* keysOf(entries: Iterable<Entry>): Iterable<Bytes> {
  for (const { key } of entries) yield key;
}

/** What another hides does not count against the limit. */
function unlimited({ limit: _, ...range }: Range): Range {
  return range;
}
