import type { Schema } from "../schema/schema.ts";
import { Bitset } from "../search/index/bitset.ts";
import type { FilterCache } from "../search/index/filter-cache.ts";
import type {
  IndexReader,
  NumberIndex,
  SparseIndex,
  StringIndex,
  TextIndex,
  VectorRows,
} from "../search/index/reader.ts";
import { lowerBound } from "../search/index/segment-writer.ts";

/**
 * A part of the index as it was at one moment, while writes go on between the steps of a query: documents that are
 * added later have higher numbers and are left out, and those deleted later are still live here. Costs a copy of the
 * live bits. The statistics of its text are not pinned: a query takes them before its first pause.
 */
class PinnedReader implements IndexReader {
  readonly docCount: number;
  readonly liveCount: number;
  readonly live: Bitset | undefined;
  readonly ids: Float64Array;
  readonly versions: Float64Array;
  readonly idsAscending: boolean;
  readonly #reader: IndexReader;
  #docsById: Map<number, number> | undefined;

  constructor(reader: IndexReader) {
    this.#reader = reader;
    this.docCount = reader.docCount;
    this.liveCount = reader.liveCount;
    this.ids = reader.ids;
    this.versions = reader.versions;
    this.idsAscending = reader.idsAscending;
    const { live } = reader;
    // A part that grows needs the bits even when all are live, to leave out what comes after them.
    this.live = live?.clone() ?? (reader.idsAscending ? undefined : Bitset.full(reader.docCount));
  }

  get schema(): Schema {
    return this.#reader.schema;
  }

  #isLive(doc: number): boolean {
    return doc < this.docCount && (this.live === undefined || this.live.has(doc));
  }

  get filterCache(): FilterCache | undefined {
    return this.#reader.filterCache;
  }

  find(id: number): number {
    if (this.idsAscending) {
      const doc = lowerBound(this.ids, id);
      return this.ids[doc] === id && this.#isLive(doc) ? doc : -1;
    }
    const doc = this.#reader.find(id);
    if (doc !== -1 && this.#isLive(doc)) return doc;
    const unchanged = this.#reader.docCount === this.docCount && this.#reader.liveCount === this.liveCount;
    if (unchanged) return -1;
    this.#docsById ??= this.#mapIds();
    return this.#docsById.get(id) ?? -1;
  }

  #mapIds(): Map<number, number> {
    const docs = new Map<number, number>();
    for (let doc = 0; doc < this.docCount; doc++) if (this.#isLive(doc)) docs.set(this.ids[doc]!, doc);
    return docs;
  }

  text(field: string): TextIndex | undefined {
    return this.#reader.text(field);
  }

  strings(field: string): StringIndex | undefined {
    return this.#reader.strings(field);
  }

  numbers(field: string): NumberIndex | undefined {
    return this.#reader.numbers(field);
  }

  present(field: string): Bitset | undefined {
    return this.#reader.present(field);
  }

  vectors(name: string): VectorRows | undefined {
    return this.#reader.vectors(name);
  }

  sparse(name: string): SparseIndex | undefined {
    return this.#reader.sparse(name);
  }
}

export function pinReaders(readers: readonly IndexReader[]): IndexReader[] {
  return readers.map((reader) => new PinnedReader(reader));
}
