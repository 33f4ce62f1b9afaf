import { hashOf, type WordBuffer } from "../../schema/analysis/tokens.ts";
import { U8List } from "./growable.ts";
import { compareTerms, inTermRange, type TermDictionary, type TermRange } from "./reader.ts";

/** A slice of a long text keeps that text alive; a term that stays gets a string of its own. */
function detached(term: string): string {
  return term.length < 13 ? term : Buffer.from(term, "utf16le").toString("utf16le");
}

const slotsMin = 64;
/** Places that a term may be away from its own; one for which all of them are taken goes elsewhere. */
const probesMax = 32;
/** Of a record, before the units of its term: four bytes of its ordinal, and how many units there are. */
const recordHead = 5;
const recordUnitsMax = 255;

/**
 * The terms of one field in the tail, numbered as they come. They are found by a hash of their own, so that a word in
 * the middle of a text needs no string to be looked up, and where the processor has two places to look at, not five.
 * Who chooses words whose hashes collide gains nothing: they go to a map of the runtime.
 */
export class TailTerms implements TermDictionary {
  readonly #terms: string[] = [];
  /** For each slot a hash and where the record is, counted from 1; 0 is a free slot. A power of two, half of it free. */
  #slots = new Int32Array(2 * slotsMin);
  readonly #crowded = new Map<string, number>();
  /** For each term its ordinal and its units; no units where one is beyond ASCII, or where there are many. */
  readonly #records = new U8List();
  /** UTF-16 units held, for the tail's size. */
  units = 0;

  get termCount(): number {
    return this.#terms.length;
  }

  ordinal(term: string): number {
    return this.#find(term, hashOf(term));
  }

  add(term: string): number {
    const hash = hashOf(term);
    const known = this.#find(term, hash);
    return known === -1 ? this.#insert(detached(term), hash) : known;
  }

  #find(term: string, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let probe = 0, at = slotOf(hash) & mask; probe < probesMax; probe++, at = (at + 2) & mask) {
      const record = slots[at + 1]!;
      if (record === 0) return -1;
      if (slots[at] !== hash) continue;
      const ordinal = ordinalAt(this.#records.data, record - 1);
      if (this.#terms[ordinal] === term) return ordinal;
    }
    return this.#crowded.get(term) ?? -1;
  }

  /** Adds a word of a text that was just taken apart. */
  addWord(words: WordBuffer, i: number): number {
    const hash = words.hashes[i]!;
    const from = words.starts[i]!;
    const length = words.lengths[i]!;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let probe = 0, at = slotOf(hash) & mask; probe < probesMax; probe++, at = (at + 2) & mask) {
      const record = slots[at + 1]!;
      if (record === 0) return this.#insert(wordOf(words, from, length), hash);
      if (slots[at] !== hash) continue;
      const records = this.#records.data;
      if (hasUnits(records, record - 1, words.units, from, length)) return ordinalAt(records, record - 1);
    }
    const word = wordOf(words, from, length);
    return this.#crowded.get(word) ?? this.#insert(word, hash);
  }

  #insert(term: string, hash: number): number {
    const ordinal = this.#terms.length;
    this.#terms.push(term);
    this.units += term.length;
    const record = this.#pushRecord(ordinal, term);
    if (4 * (ordinal + 1) > this.#slots.length) this.#grow();
    else this.#place(ordinal, record, hash);
    return ordinal;
  }

  #pushRecord(ordinal: number, term: string): number {
    const records = this.#records;
    const at = records.length;
    const length = term.length <= recordUnitsMax && /^[\x00-\x7f]+$/.test(term) ? term.length : 0;
    records.reserve(recordHead + length);
    for (let shift = 0; shift < 32; shift += 8) records.push(ordinal >>> shift);
    records.push(length);
    for (let i = 0; i < length; i++) records.push(term.charCodeAt(i));
    return at;
  }

  #place(ordinal: number, record: number, hash: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let probe = 0, at = slotOf(hash) & mask; probe < probesMax; probe++, at = (at + 2) & mask) {
      if (slots[at + 1] !== 0) continue;
      slots[at] = hash;
      slots[at + 1] = record + 1;
      return;
    }
    this.#crowded.set(this.#terms[ordinal]!, ordinal);
  }

  /** All are placed anew: one that was crowded out would not be looked for once there is room near its place. */
  #grow(): void {
    this.#slots = new Int32Array(2 * this.#slots.length);
    this.#crowded.clear();
    let record = 0;
    for (let ordinal = 0; ordinal < this.#terms.length; ordinal++) {
      this.#place(ordinal, record, hashOf(this.#terms[ordinal]!));
      record += recordHead + this.#records.data[record + recordHead - 1]!;
    }
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
    return Uint32Array.from(sorted, (term) => this.ordinal(term));
  }
}

/** The place of a hash's slot, before it is cut to the size of the table. */
function slotOf(hash: number): number {
  return (hash ^ (hash >>> 15)) << 1;
}

function ordinalAt(records: Uint8Array, at: number): number {
  return records[at]! | (records[at + 1]! << 8) | (records[at + 2]! << 16) | (records[at + 3]! << 24);
}

function hasUnits(records: Uint8Array, at: number, word: Uint8Array, from: number, length: number): boolean {
  if (records[at + recordHead - 1] !== length) return false;
  const start = at + recordHead;
  for (let i = 0; i < length; i++) if (records[start + i] !== word[from + i]) return false;
  return true;
}

function wordOf({ units }: WordBuffer, from: number, length: number): string {
  return units.latin1Slice(from, from + length);
}
