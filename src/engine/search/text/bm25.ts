import type { IndexReader } from "../index/reader.ts";
import { queryTerms, type TextClause, type TextQuery } from "./query.ts";

export const k1 = 1.2;
export const b = 0.75;

/** What BM25 has to know of the whole collection, over tail and segments, without deleted documents. */
export interface TextStatistics {
  /** Documents with a value in the field, and their words altogether. */
  readonly docs: number;
  readonly length: number;
  /** Documents by term. */
  readonly frequencies: ReadonlyMap<string, number>;
}

export function textStatistics(readers: readonly IndexReader[], query: TextQuery): TextStatistics {
  const terms = queryTerms(query);
  const frequencies = new Map<string, number>(terms.map((term) => [term, 0]));
  let docs = 0;
  let length = 0;
  for (const reader of readers) {
    const text = reader.text(query.field);
    if (text === undefined) continue;
    docs += text.liveDocs;
    length += text.liveLength;
    for (const term of terms) {
      const ordinal = text.ordinal(term);
      if (ordinal !== -1) frequencies.set(term, frequencies.get(term)! + text.liveFrequency(ordinal));
    }
  }
  return { docs, length, frequencies };
}

export function idf(docs: number, frequency: number): number {
  return Math.log(1 + (docs - frequency + 0.5) / (frequency + 0.5));
}

/** The weight of a clause: a phrase weighs as much as its terms together. */
export function clauseWeight(clause: TextClause, statistics: TextStatistics): number {
  const terms = clause.kind === "term" ? [clause.term] : clause.terms;
  let sum = 0;
  for (const term of terms) sum += idf(statistics.docs, statistics.frequencies.get(term) ?? 0);
  return sum * (k1 + 1);
}

/** The two numbers of the denominator tf + base + slope · length. */
export function lengthNorm(statistics: TextStatistics): { base: number; slope: number } {
  const average = statistics.docs === 0 ? 1 : statistics.length / statistics.docs;
  return { base: k1 * (1 - b), slope: average === 0 ? 0 : (k1 * b) / average };
}
