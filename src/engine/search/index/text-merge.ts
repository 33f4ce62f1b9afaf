import type { FieldSpec } from "../../schema/schema.ts";
import { type DocMaps, unmapped } from "./doc-map.ts";
import { U32List } from "./growable.ts";
import { mergeTerms } from "./merge-terms.ts";
import type { IndexReader, TextIndex } from "./reader.ts";
import type { SectionWriter } from "./segment-format.ts";
import { DictionaryWriter, PostingsWriter } from "./text-writer.ts";

/** Gathers the postings of one term from several parts under their new numbers, in order. */
class TermMerger {
  readonly #sink = { docs: new U32List(), freqs: new U32List(), positions: new U32List() };
  readonly #docs = new U32List();
  readonly #freqs = new U32List();
  readonly #positionStarts = new U32List();
  readonly #positions = new U32List();
  /** By new number: where the posting was gathered. Left dirty, since it is read only for documents just gathered. */
  readonly #places: Uint32Array;
  readonly #keepPositions: boolean;
  #sorted = true;

  constructor(docCount: number, keepPositions: boolean) {
    this.#places = new Uint32Array(docCount);
    this.#keepPositions = keepPositions;
  }

  clear(): void {
    this.#docs.length = 0;
    this.#freqs.length = 0;
    this.#positionStarts.length = 0;
    this.#positions.length = 0;
    this.#sorted = true;
  }

  gather(text: TextIndex, ordinal: number, newDocs: Uint32Array): void {
    const sink = this.#sink;
    sink.docs.length = 0;
    sink.freqs.length = 0;
    sink.positions.length = 0;
    text.drain(ordinal, sink);
    const keep = this.#keepPositions && text.hasPositions;
    let position = 0;
    for (let i = 0; i < sink.docs.length; i++) {
      const doc = newDocs[sink.docs.data[i]!]!;
      const freq = sink.freqs.data[i]!;
      const from = position;
      position += freq;
      if (doc === unmapped) continue;
      const count = this.#docs.length;
      if (count > 0 && this.#docs.data[count - 1]! > doc) this.#sorted = false;
      this.#places[doc] = count;
      this.#docs.push(doc);
      this.#freqs.push(freq);
      if (!keep) continue;
      this.#positionStarts.push(this.#positions.length);
      for (let p = from; p < position; p++) this.#positions.push(sink.positions.data[p]!);
    }
  }

  /** How many live documents hold the term; 0 writes nothing. */
  write(out: PostingsWriter): number {
    const count = this.#docs.length;
    if (count === 0) return 0;
    const positions = this.#positions.data;
    if (this.#sorted) {
      out.pushTerm(this.#docs.data, this.#freqs.data, positions, this.#positionStarts.data, count);
      return count;
    }
    const docs = this.#docs.data.slice(0, count).sort();
    const freqs = new Uint32Array(count);
    const starts = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      const place = this.#places[docs[i]!]!;
      freqs[i] = this.#freqs.data[place]!;
      starts[i] = this.#positionStarts.data[place]!;
    }
    out.pushTerm(docs, freqs, positions, starts, count);
    return count;
  }
}

export function* mergeText(
  prefix: string,
  field: FieldSpec,
  readers: readonly IndexReader[],
  maps: DocMaps,
  out: SectionWriter,
): Generator<undefined, void, undefined> {
  const sources = readers.map((reader) => reader.text(field.name));
  const lengths = new Uint32Array(maps.count);
  for (let doc = 0; doc < maps.count; doc++) {
    lengths[doc] = sources[maps.readerOf[doc]!]?.lengths[maps.docOf[doc]!] ?? 0;
  }
  const keepPositions = field.kind.kind === "text" && field.kind.positions;
  const dictionary = new DictionaryWriter();
  const postings = new PostingsWriter(lengths, keepPositions);
  const merger = new TermMerger(maps.count, keepPositions);
  yield* mergeTerms(sources, undefined, (term, ordinals) => {
    merger.clear();
    for (let r = 0; r < ordinals.length; r++) {
      if (ordinals[r] !== -1) merger.gather(sources[r]!, ordinals[r]!, maps.newDocs[r]!);
    }
    const count = merger.write(postings);
    if (count > 0) dictionary.push(term);
    return count;
  });
  dictionary.finish(prefix, out);
  postings.finish(prefix, out);
}
