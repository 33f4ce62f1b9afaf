/** The tokens of one text, as parallel arrays that are filled again for each text: no object per token. */
export class TokenBuffer {
  count = 0;
  readonly terms: string[] = [];
  /** Position in the text, counted in words; removed words leave a gap. */
  readonly positions: number[] = [];
  /** UTF-16 offsets into the text, end exclusive. */
  readonly starts: number[] = [];
  readonly ends: number[] = [];

  clear(): void {
    this.count = 0;
  }

  push(term: string, position: number, start: number, end: number): void {
    const i = this.count++;
    this.terms[i] = term;
    this.positions[i] = position;
    this.starts[i] = start;
    this.ends[i] = end;
  }
}

export const hashSeed = 0x811c9dc5 | 0;

/** The hash of a word with one more unit. */
export function hashStep(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01000193);
}

export function hashOf(word: string): number {
  let hash = hashSeed;
  for (let i = 0; i < word.length; i++) hash = hashStep(hash, word.charCodeAt(i));
  return hash;
}

/** Units that a buffer keeps room for when the next text is much shorter. */
const wordsKeptMax = 64 * 1024;

/** The words of one ASCII text, as places in it: no string for any of them. */
export class WordBuffer {
  count = 0;
  /** The text, its words in lower case. */
  units = Buffer.alloc(0);
  starts = new Uint32Array(0);
  ends = new Uint32Array(0);
  /** Units that count: a long word is cut. */
  lengths = new Uint32Array(0);
  /** Of those units, as `hashOf` makes it. */
  hashes = new Int32Array(0);

  /** Makes room for a text of so many units, and two more. What a long text took is given back. */
  begin(length: number): void {
    this.count = 0;
    const has = this.units.length;
    if (length + 2 <= has && (has <= wordsKeptMax || length > wordsKeptMax / 4)) return;
    const room = 2 * length + 64;
    this.units = Buffer.alloc(room);
    this.starts = new Uint32Array(room / 2);
    this.ends = new Uint32Array(room / 2);
    this.lengths = new Uint32Array(room / 2);
    this.hashes = new Int32Array(room / 2);
  }

  push(start: number, end: number, length: number, hash: number): void {
    const i = this.count++;
    this.starts[i] = start;
    this.ends[i] = end;
    this.lengths[i] = length;
    this.hashes[i] = hash;
  }
}
