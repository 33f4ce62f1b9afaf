import type { Documents } from "./documents.ts";

/** One question with all that the four kinds of query need. */
export interface Question {
  readonly vector: Float32Array;
  readonly words: string;
  readonly tag: string;
}

export const queryKinds = ["vector", "text", "hybrid", "filtered"] as const;
export type QueryKind = (typeof queryKinds)[number];

/** Rows of an answer, and what each retriever of a hybrid query contributes. */
export const limit = 10;
export const hybridK = 50;

const wordsAsked = 3;

/** Questions near the documents but not among them: a further document's vector and some of its words. */
export function questions(source: Documents, documents: number, count: number): Question[] {
  return Array.from({ length: count }, (_, i) => {
    const { vector, text, tag } = source.further(documents, i);
    const words = text.split(" ");
    const asked = Array.from({ length: wordsAsked }, (_, w) => words[(i * 7 + w * 19) % words.length]!);
    return { vector, words: [...new Set(asked)].join(" "), tag };
  });
}
