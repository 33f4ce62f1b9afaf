/** Documents from a seed: text of 60 words as uneven as language, vectors in clusters, a tag and a number. */
export const dim = 128;
const textWords = 60;
const vocabulary = 20_000;
const clusters = 64;
export const tags = 20;

export interface BenchDocument {
  readonly id: number;
  readonly text: string;
  readonly tag: string;
  readonly n: number;
  readonly vector: Float32Array;
}

/** Where the documents of a benchmark come from. */
export interface Documents {
  readonly dim: number;
  document(id: number): BenchDocument;
  /** Near the first `documents`, but none of them. */
  further(documents: number, i: number): BenchDocument;
}

/** Numbers from 0 to 1 that are the same for the same seed. */
export function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    let mixed = state ^ (state >>> 15);
    mixed = Math.imul(mixed, 0x2c1b3c6d);
    mixed ^= mixed >>> 12;
    return (mixed >>> 0) / 2 ** 32;
  };
}

/** Every document depends on the seed and its id alone, so that two programs make the same ones. */
export class DocumentSource implements Documents {
  readonly dim = dim;
  readonly #seed: number;
  readonly #words: string[];
  readonly #centres: Float32Array[];

  constructor(seed: number) {
    this.#seed = seed;
    const next = uniform(seed);
    this.#words = Array.from({ length: vocabulary }, (_, i) => {
      const letters = Array.from({ length: 3 + Math.floor(next() * 7) }, () => 97 + Math.floor(next() * 26));
      return `${String.fromCharCode(...letters)}${i.toString(36)}`;
    });
    this.#centres = Array.from({ length: clusters }, () => Float32Array.from({ length: dim }, () => next() * 2 - 1));
  }

  document(id: number): BenchDocument {
    const next = uniform(this.#seed ^ Math.imul(id + 1, 0x9e3779b1));
    const words: string[] = [];
    // The r-th most common word comes with a chance of about 1/r.
    for (let i = 0; i < textWords; i++) words.push(this.#words[Math.floor(vocabulary ** next()) - 1]!);
    const centre = this.#centres[Math.floor(next() * clusters)]!;
    const vector = Float32Array.from(centre, (value) => value + (next() - 0.5) * 0.6);
    return {
      id,
      text: words.join(" "),
      tag: `tag-${Math.floor(next() * tags)}`,
      n: Math.floor(next() * 1_000_000),
      vector,
    };
  }

  further(documents: number, i: number): BenchDocument {
    return this.document(documents + 1_000_000 + i);
  }

  /** Bytes of text and vectors, as they are. */
  rawBytes(count: number): number {
    const sample = Math.min(count, 200);
    let text = 0;
    for (let id = 0; id < sample; id++) text += Buffer.byteLength(this.document(id).text);
    return Math.round((text / sample + dim * 4) * count);
  }
}
