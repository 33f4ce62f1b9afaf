import type { TermDictionary, TermRange } from "./reader.ts";
import type { SectionReader } from "./segment-format.ts";

/** The sorted terms of one field in a segment: a binary search over their bytes. */
export class SegmentTerms implements TermDictionary {
  readonly termCount: number;
  readonly #bytes: Buffer;
  readonly #ends: Uint32Array;

  constructor(sections: SectionReader, prefix: string) {
    const bytes = sections.u8(`${prefix}.termBytes`);
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#ends = sections.u32(`${prefix}.termEnds`);
    this.termCount = this.#ends.length - 1;
  }

  term(ordinal: number): string {
    return this.#bytes.toString("utf8", this.#ends[ordinal]!, this.#ends[ordinal + 1]!);
  }

  ordinal(term: string): number {
    const key = Buffer.from(term);
    const at = this.#lowerBound(key);
    return at < this.termCount && this.#compare(at, key) === 0 ? at : -1;
  }

  #compare(ordinal: number, key: Uint8Array): number {
    return this.#bytes.compare(key, 0, key.length, this.#ends[ordinal]!, this.#ends[ordinal + 1]!);
  }

  /** The first ordinal whose term is not below the key. */
  #lowerBound(key: Uint8Array): number {
    let low = 0;
    let high = this.termCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(middle, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  ordinalsWithPrefix(prefix: string): number[] {
    const key = Buffer.from(prefix);
    const found: number[] = [];
    for (let at = this.#lowerBound(key); at < this.termCount; at++) {
      const start = this.#ends[at]!;
      const end = Math.min(start + key.length, this.#ends[at + 1]!);
      if (this.#bytes.compare(key, 0, key.length, start, end) !== 0) break;
      found.push(at);
    }
    return found;
  }

  ordinalsInRange(range: TermRange): number[] {
    let from = 0;
    let to = this.termCount;
    if (range.gte !== undefined) from = Math.max(from, this.#lowerBound(Buffer.from(range.gte)));
    if (range.gt !== undefined) from = Math.max(from, this.#after(range.gt));
    if (range.lt !== undefined) to = Math.min(to, this.#lowerBound(Buffer.from(range.lt)));
    if (range.lte !== undefined) to = Math.min(to, this.#after(range.lte));
    const found: number[] = [];
    for (let at = from; at < to; at++) found.push(at);
    return found;
  }

  #after(term: string): number {
    const key = Buffer.from(term);
    const at = this.#lowerBound(key);
    return at < this.termCount && this.#compare(at, key) === 0 ? at + 1 : at;
  }

  sortedOrdinals(): Uint32Array {
    return Uint32Array.from({ length: this.termCount }, (_, ordinal) => ordinal);
  }
}
