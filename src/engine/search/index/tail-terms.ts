import { compareTerms, inTermRange, type TermDictionary, type TermRange } from "./reader.ts";

/** A slice of a long text keeps that text alive; a term that stays gets a string of its own. */
function detached(term: string): string {
  return term.length < 13 ? term : Buffer.from(term, "utf16le").toString("utf16le");
}

/** The terms of one field in the tail, numbered as they come. */
export class TailTerms implements TermDictionary {
  readonly #ordinals = new Map<string, number>();
  readonly #terms: string[] = [];
  /** UTF-16 units held, for the tail's size. */
  units = 0;

  get termCount(): number {
    return this.#terms.length;
  }

  ordinal(term: string): number {
    return this.#ordinals.get(term) ?? -1;
  }

  add(term: string): number {
    const known = this.#ordinals.get(term);
    if (known !== undefined) return known;
    const kept = detached(term);
    const ordinal = this.#terms.length;
    this.#ordinals.set(kept, ordinal);
    this.#terms.push(kept);
    this.units += kept.length;
    return ordinal;
  }

  term(ordinal: number): string {
    return this.#terms[ordinal]!;
  }

  ordinalsWithPrefix(prefix: string): number[] {
    return this.#matching((term) => term.startsWith(prefix));
  }

  ordinalsInRange(range: TermRange): number[] {
    return this.#matching((term) => inTermRange(term, range));
  }

  #matching(test: (term: string) => boolean): number[] {
    const found: number[] = [];
    for (let i = 0; i < this.#terms.length; i++) if (test(this.#terms[i]!)) found.push(i);
    return found;
  }

  sortedOrdinals(): Uint32Array {
    // The built-in order of strings needs no comparator and differs only where there are surrogates.
    const sorted = this.#terms.slice().sort();
    if (sorted.some((term) => /[\ud800-\udfff]/.test(term))) sorted.sort(compareTerms);
    return Uint32Array.from(sorted, (term) => this.#ordinals.get(term)!);
  }
}
