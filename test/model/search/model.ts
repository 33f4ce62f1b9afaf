import { analyzerByName } from "../../../src/engine/schema/analysis/analyzer.ts";
import { TokenBuffer } from "../../../src/engine/schema/analysis/tokens.ts";
import type { Schema } from "../../../src/engine/schema/schema.ts";
import { parseSchema } from "../../../src/engine/schema/schema-parse.ts";
import { Extractor } from "../../../src/engine/search/document.ts";
import { impact } from "../../../src/engine/search/index/postings.ts";
import type { IndexReader } from "../../../src/engine/search/index/reader.ts";
import { openSegment, SegmentReader } from "../../../src/engine/search/index/segment.ts";
import { mergeSegments } from "../../../src/engine/search/index/segment-writer.ts";
import { TailIndex } from "../../../src/engine/search/index/tail.ts";

/** A schema with every kind of field and access. */
export const schema: Schema = parseSchema({
  fields: [
    { name: "body", kind: { text: { analyzer: "standard" } } },
    { name: "note", kind: { text: { analyzer: "english", positions: false } } },
    { name: "tag", kind: "keyword", fast: true },
    { name: "cat", source_path: "meta.cat", kind: "keyword", indexed: false, fast: true },
    { name: "plain", kind: "keyword" },
    { name: "n", kind: "i64" },
    { name: "x", kind: "f64", indexed: false },
    { name: "flag", kind: "bool" },
    { name: "at", kind: "date" },
  ],
  vectors: [
    { name: "c", dim: 3, distance: "cosine" },
    { name: "d", dim: 2, distance: "dot" },
    { name: "l", dim: 6, distance: "l2" },
  ],
  sparse_vectors: [{ name: "s" }],
});

export interface Doc {
  readonly source: Readonly<Record<string, unknown>>;
  readonly vectors: Readonly<Record<string, readonly number[]>>;
  readonly sparse: Readonly<Record<string, { indices: readonly number[]; values: readonly number[] }>>;
}

const extractor = new Extractor(schema);

/** An index in some layout: segments with deletes, and a tail. */
export class Layout {
  tail = new TailIndex(schema);
  segments: SegmentReader[] = [];

  get readers(): IndexReader[] {
    return [...this.segments, this.tail];
  }

  upsert(id: number, doc: Doc): void {
    for (const segment of this.segments) segment.delete(id);
    this.tail.add(id, 1, extractor.extract(doc.source, doc.vectors, doc.sparse));
  }

  delete(id: number): void {
    for (const segment of this.segments) segment.delete(id);
    this.tail.delete(id);
  }

  seal(): void {
    if (this.tail.docCount === 0) return;
    this.segments.push(new SegmentReader(openSegment(mergeSegments(schema, [this.tail]))));
    this.tail = new TailIndex(schema);
  }

  merge(from: number, count: number): void {
    const merged = this.segments.slice(from, from + count);
    if (merged.length === 0) return;
    const segment = openSegment(mergeSegments(schema, merged));
    segment.verify();
    this.segments.splice(from, merged.length, new SegmentReader(segment));
  }
}

export interface ModelHit {
  readonly id: number;
  readonly score: number;
}

export function best(hits: readonly ModelHit[], k: number): ModelHit[] {
  return [...hits].sort((x, y) => y.score - x.score || x.id - y.id).slice(0, k);
}

function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((entry) => valuesAt(entry, path));
  if (path.length === 0) return [value];
  return typeof value === "object" ? valuesAt((value as Record<string, unknown>)[path[0]!], path.slice(1)) : [];
}

export function fieldValues(doc: Doc, name: string): unknown[] {
  const field = schema.fields.find((spec) => spec.name === name)!;
  return valuesAt(doc.source, field.sourcePath.split("."));
}

/** Position → term, of all values of a text field. */
export function positionsOf(doc: Doc, name: string): Map<number, string> {
  const field = schema.fields.find((spec) => spec.name === name)!;
  const analyzer = analyzerByName((field.kind as { analyzer: string }).analyzer);
  const found = new Map<number, string>();
  let base = 0;
  for (const value of fieldValues(doc, name) as string[]) {
    const tokens = new TokenBuffer();
    const after = analyzer.analyze(value, base, tokens);
    for (let i = 0; i < tokens.count; i++) found.set(tokens.positions[i]!, tokens.terms[i]!);
    base = after + 100;
  }
  return found;
}

export function phraseCount(
  positions: ReadonlyMap<number, string>,
  terms: readonly string[],
  offsets: readonly number[],
): number {
  let count = 0;
  for (const start of positions.keys()) {
    if (terms.every((term, i) => positions.get(start + offsets[i]!) === term)) count++;
  }
  return count;
}

export type ModelClause = { terms: readonly string[]; offsets: readonly number[] };

/** BM25 by the book, over whatever the model holds. */
export class TextModel {
  readonly #docs: { id: number; positions: Map<number, string>; terms: Set<string> }[] = [];
  readonly #average: number;

  constructor(docs: ReadonlyMap<number, Doc>, field: string) {
    for (const [id, doc] of docs) {
      if (fieldValues(doc, field).length === 0) continue;
      const positions = positionsOf(doc, field);
      this.#docs.push({ id, positions, terms: new Set(positions.values()) });
    }
    const words = this.#docs.reduce((sum, doc) => sum + doc.positions.size, 0);
    this.#average = words / this.#docs.length;
  }

  #idf(term: string): number {
    const frequency = this.#docs.filter((doc) => doc.terms.has(term)).length;
    return Math.log(1 + (this.#docs.length - frequency + 0.5) / (frequency + 0.5));
  }

  search(clauses: readonly ModelClause[], operator: "or" | "and", allowed: (id: number) => boolean): ModelHit[] {
    const slope = this.#average > 0 ? (1.2 * 0.75) / this.#average : 0;
    const weights = clauses.map((clause) => clause.terms.reduce((sum, term) => sum + this.#idf(term), 0) * 2.2);
    const hits: ModelHit[] = [];
    for (const doc of this.#docs) {
      if (!allowed(doc.id)) continue;
      const counts = clauses.map((clause) => phraseCount(doc.positions, clause.terms, clause.offsets));
      const matched = counts.filter((count) => count > 0).length;
      if (matched === 0 || (operator === "and" && matched < clauses.length)) continue;
      let score = 0;
      counts.forEach((count, i) => {
        if (count > 0) score += impact(weights[i]!, count, doc.positions.size, 1.2 * (1 - 0.75), slope);
      });
      hits.push({ id: doc.id, score });
    }
    return hits;
  }
}
