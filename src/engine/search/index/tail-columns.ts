import type { SparseVector } from "../document.ts";
import type { Bitset } from "./bitset.ts";
import { F64List, U32List } from "./growable.ts";
import {
  inNumberRange,
  type NumberColumn,
  type NumberIndex,
  type NumberRange,
  type OrdinalColumn,
  type SparseIndex,
  type SparseList,
  type StringIndex,
} from "./reader.ts";
import { TailTerms } from "./tail-terms.ts";

/** Values of one document that are compared with each other; of more a set tells which are there twice. */
const comparedMax = 16;

/** Whole strings of one field in the tail. A tail is small enough for filters to scan its columns. */
export class TailStrings extends TailTerms implements StringIndex {
  readonly #starts = new U32List();
  readonly #values = new U32List();

  constructor() {
    super();
    this.#starts.push(0);
  }

  addValues(values: readonly string[]): void {
    if (values.length > comparedMax) this.#addMany(values);
    else {
      const from = this.#values.length;
      for (const value of values) {
        const ordinal = this.add(value);
        let known = false;
        for (let i = from; i < this.#values.length; i++) known ||= this.#values.data[i] === ordinal;
        if (!known) this.#values.push(ordinal);
      }
    }
    this.#starts.push(this.#values.length);
  }

  #addMany(values: readonly string[]): void {
    const ordinals = new Set<number>();
    for (const value of values) ordinals.add(this.add(value));
    for (const ordinal of ordinals) this.#values.push(ordinal);
  }

  get column(): OrdinalColumn {
    return { starts: this.#starts.data, values: this.#values.data };
  }

  get bytes(): number {
    return 4 * (this.#starts.length + this.#values.length) + 2 * this.units;
  }

  addDocs(ordinals: readonly number[], into: Bitset): void {
    const wanted = new Uint8Array(this.termCount);
    for (const ordinal of ordinals) wanted[ordinal] = 1;
    const starts = this.#starts.data;
    const values = this.#values.data;
    for (let doc = 0; doc < this.#starts.length - 1; doc++) {
      for (let i = starts[doc]!; i < starts[doc + 1]!; i++) if (wanted[values[i]!] === 1) into.add(doc);
    }
  }
}

export class TailNumbers implements NumberIndex {
  readonly #starts = new U32List();
  readonly #values = new F64List();

  constructor() {
    this.#starts.push(0);
  }

  addValues(values: readonly number[]): void {
    for (const value of values) this.#values.push(value);
    this.#starts.push(this.#values.length);
  }

  get column(): NumberColumn {
    return { starts: this.#starts.data, values: this.#values.data };
  }

  get bytes(): number {
    return 4 * this.#starts.length + 8 * this.#values.length;
  }

  addRange(range: NumberRange, into: Bitset): void {
    const starts = this.#starts.data;
    const values = this.#values.data;
    for (let doc = 0; doc < this.#starts.length - 1; doc++) {
      for (let i = starts[doc]!; i < starts[doc + 1]!; i++) if (inNumberRange(values[i]!, range)) into.add(doc);
    }
  }
}

interface GrowingList {
  readonly docs: number[];
  readonly weights: number[];
}

export class TailSparse implements SparseIndex {
  readonly #lists = new Map<number, GrowingList>();
  #entries = 0;

  add(doc: number, vector: SparseVector | undefined): void {
    if (vector === undefined) return;
    for (let i = 0; i < vector.indices.length; i++) {
      const index = vector.indices[i]!;
      let list = this.#lists.get(index);
      if (list === undefined) {
        list = { docs: [], weights: [] };
        this.#lists.set(index, list);
      }
      list.docs.push(doc);
      list.weights.push(vector.values[i]!);
    }
    this.#entries += vector.indices.length;
  }

  get indices(): Uint32Array {
    return Uint32Array.from(this.#lists.keys()).sort();
  }

  get bytes(): number {
    return 16 * this.#entries + 64 * this.#lists.size;
  }

  list(index: number): SparseList | undefined {
    const list = this.#lists.get(index);
    return list === undefined ? undefined : { ...list, from: 0, to: list.docs.length };
  }
}
