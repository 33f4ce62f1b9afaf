import { type FieldSpec, isNumeric, type Schema } from "../../schema/schema.ts";
import type { ExtractedDocument, FieldValues } from "../document.ts";
import { Bitset } from "./bitset.ts";
import { F64List } from "./growable.ts";
import type { IndexReader, NumberIndex, SparseIndex, StringIndex, TextIndex, VectorRows } from "./reader.ts";
import { TailNumbers, TailSparse, TailStrings } from "./tail-columns.ts";
import { TailText } from "./tail-text.ts";
import { TailVectors } from "./tail-vectors.ts";

/** One field of the tail: which parts it has follows from its kind and access. */
interface TailField {
  readonly text: TailText | undefined;
  readonly strings: TailStrings | undefined;
  readonly numbers: TailNumbers | undefined;
  readonly present: GrowingBits;
}

/** Bits by document number that grow with the tail. */
class GrowingBits {
  #words = new Uint32Array(4);

  set(doc: number, value: boolean): void {
    const word = doc >>> 5;
    if (word >= this.#words.length) {
      const grown = new Uint32Array(Math.max(this.#words.length * 2, word + 1));
      grown.set(this.#words);
      this.#words = grown;
    }
    if (value) this.#words[word]! |= 1 << (doc & 31);
    else this.#words[word]! &= ~(1 << (doc & 31));
  }

  has(doc: number): boolean {
    return (this.#words[doc >>> 5]! & (1 << (doc & 31))) !== 0;
  }

  view(size: number): Bitset {
    return new Bitset(size, this.#words.subarray(0, (size + 31) >>> 5));
  }
}

function addValues(field: TailField, doc: number, values: FieldValues): void {
  field.present.set(doc, values.length > 0);
  field.text?.add(values as readonly string[]);
  field.strings?.addValues(values as readonly string[]);
  field.numbers?.addValues(values as readonly number[]);
}

/**
 * The newest documents of a collection, in memory: searchable as soon as they are added. A document that is replaced
 * or deleted stays as a dead one until the tail is sealed; the statistics leave it out at once.
 */
export class TailIndex implements IndexReader {
  readonly idsAscending = false;
  #schema: Schema;
  readonly #ids = new F64List();
  readonly #versions = new F64List();
  readonly #docsById = new Map<number, number>();
  readonly #alive = new GrowingBits();
  readonly #fields = new Map<string, TailField>();
  readonly #fieldList: (TailField | undefined)[];
  readonly #vectors: readonly TailVectors[];
  readonly #sparse: readonly TailSparse[];

  /** `isSearched`: without it, documents are collected only to be written as a segment. */
  constructor(schema: Schema, isSearched = true) {
    this.#schema = schema;
    this.#fieldList = schema.fields.map((field) => this.#makeField(field));
    this.#vectors = schema.vectors.map((spec) => new TailVectors(spec, isSearched));
    this.#sparse = schema.sparseVectors.map(() => new TailSparse());
  }

  #makeField(field: FieldSpec): TailField | undefined {
    if (!field.indexed && !field.fast) return undefined;
    const { kind } = field;
    const added: TailField = {
      text: kind.kind === "text" && field.indexed ? new TailText(kind.analyzer, kind.positions) : undefined,
      strings: kind.kind === "keyword" || (kind.kind === "text" && field.fast) ? new TailStrings() : undefined,
      numbers: isNumeric(kind) ? new TailNumbers() : undefined,
      present: new GrowingBits(),
    };
    this.#fields.set(field.name, added);
    return added;
  }

  /** Takes over a schema with more fields at its end; the documents that are here have no values in them. */
  extend(schema: Schema): void {
    for (const field of schema.fields.slice(this.#schema.fields.length)) {
      const added = this.#makeField(field);
      for (let doc = 0; doc < this.docCount && added !== undefined; doc++) addValues(added, doc, []);
      this.#fieldList.push(added);
    }
    this.#schema = schema;
  }

  get schema(): Schema {
    return this.#schema;
  }

  get docCount(): number {
    return this.#ids.length;
  }

  get liveCount(): number {
    return this.#docsById.size;
  }

  get live(): Bitset | undefined {
    return this.liveCount === this.docCount ? undefined : this.#alive.view(this.docCount);
  }

  get ids(): Float64Array {
    return this.#ids.data;
  }

  get versions(): Float64Array {
    return this.#versions.data;
  }

  /** Bytes held, estimated from the arrays. */
  get bytes(): number {
    let total = 16 * this.docCount + 64 * this.#docsById.size;
    for (const field of this.#fieldList) {
      if (field === undefined) continue;
      total += (field.text?.bytes ?? 0) + (field.strings?.bytes ?? 0) + (field.numbers?.bytes ?? 0);
    }
    for (const part of [...this.#vectors, ...this.#sparse]) total += part.bytes;
    return total;
  }

  /** Adds a document, replacing the one of the same id; returns its number. */
  add(id: number, version: number, document: ExtractedDocument): number {
    this.delete(id);
    const doc = this.#ids.length;
    this.#ids.push(id);
    this.#versions.push(version);
    this.#fieldList.forEach((field, i) => {
      if (field !== undefined) addValues(field, doc, document.values[i] ?? []);
    });
    this.#vectors.forEach((vectors, i) => {
      vectors.add(document.vectors[i]);
    });
    this.#sparse.forEach((sparse, i) => {
      sparse.add(doc, document.sparse[i]);
    });
    this.#docsById.set(id, doc);
    this.#alive.set(doc, true);
    return doc;
  }

  /** False when the tail holds no live document of this id. */
  delete(id: number): boolean {
    const doc = this.#docsById.get(id);
    if (doc === undefined) return false;
    for (const field of this.#fieldList) field?.text?.remove(doc, field.present.has(doc));
    this.#docsById.delete(id);
    this.#alive.set(doc, false);
    return true;
  }

  find(id: number): number {
    return this.#docsById.get(id) ?? -1;
  }

  text(field: string): TextIndex | undefined {
    return this.#fields.get(field)?.text;
  }

  strings(field: string): StringIndex | undefined {
    return this.#fields.get(field)?.strings;
  }

  numbers(field: string): NumberIndex | undefined {
    return this.#fields.get(field)?.numbers;
  }

  present(field: string): Bitset | undefined {
    return this.#fields.get(field)?.present.view(this.docCount);
  }

  vectors(name: string): VectorRows | undefined {
    return this.#vectors[this.schema.vectors.findIndex((spec) => spec.name === name)];
  }

  sparse(name: string): SparseIndex | undefined {
    return this.#sparse[this.schema.sparseVectors.findIndex((spec) => spec.name === name)];
  }
}
