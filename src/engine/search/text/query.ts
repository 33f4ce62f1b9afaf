import { invalid } from "../../errors.ts";
import { analyzerByName, analyzerChoice } from "../../schema/analysis/analyzer.ts";
import { TokenBuffer } from "../../schema/analysis/tokens.ts";
import { type FieldSpec, findField, type Schema } from "../../schema/schema.ts";
import { searchLimits } from "../limits.ts";

/** One thing to look for: a term, or terms that stand at fixed distances (`offsets`, from 0). */
export type TextClause =
  | { readonly kind: "term"; readonly term: string }
  | { readonly kind: "phrase"; readonly terms: readonly string[]; readonly offsets: readonly number[] };

export const textOperators = ["or", "and"] as const;
export type TextOperator = (typeof textOperators)[number];

export interface TextQuery {
  readonly field: string;
  readonly operator: TextOperator;
  /** Without repetitions: a term counts once. */
  readonly clauses: readonly TextClause[];
}

function textField(schema: Schema, name: string, path: string): FieldSpec & { kind: { kind: "text" } } {
  const field = findField(schema, name);
  if (field === undefined) throw invalid(path, `the schema has no field "${name.slice(0, 255)}"`);
  if (field.kind.kind !== "text") throw invalid(path, `"${name}" is not a text field`);
  if (!field.indexed) throw invalid(path, `"${name}" is not indexed`);
  return field as FieldSpec & { kind: { kind: "text" } };
}

/** The terms of a text with their distances from the first one. */
export function analyzePhrase(analyzer: string, text: string): { terms: string[]; offsets: number[] } {
  const out = new TokenBuffer();
  const found = analyzerByName(analyzer);
  const analyze = found.analyzeQuery ?? found.analyze;
  analyze(text.slice(0, searchLimits.queryTextLengthMax), 0, out);
  const terms = out.terms.slice(0, Math.min(out.count, searchLimits.queryClausesMax));
  const first = out.positions[0] ?? 0;
  return { terms, offsets: terms.map((_, i) => out.positions[i]! - first) };
}

interface QueryPart {
  readonly text: string;
  readonly quoted: boolean;
}

/** What a text asks for, phrase by phrase where the field keeps positions. To `keyword` a quote is a character of the value. */
function partsOf(text: string, analyzer: string, positions: boolean): readonly QueryPart[] {
  if (analyzerChoice(analyzer).analyzer === "keyword") return [{ text, quoted: false }];
  return positions ? splitQuotes(text) : [{ text: text.replaceAll('"', " "), quoted: false }];
}

/** Splits at pairs of quotes: what stands between them is a phrase. A quote without its pair is no quote. */
function splitQuotes(text: string): QueryPart[] {
  const parts = text.split('"');
  if (parts.length % 2 === 0) {
    const last = parts.pop()!;
    parts[parts.length - 1] += ` ${last}`;
  }
  return parts.map((part, i) => ({ text: part, quoted: i % 2 === 1 }));
}

function clauseKey(clause: TextClause): string {
  return clause.kind === "term"
    ? `t${clause.term}`
    : `p${clause.terms.map((term, i) => `${clause.offsets[i]}:${term}`).join("\u0000")}`;
}

/**
 * Analyses the text of a text retriever: words, and "quoted phrases" where the field keeps positions. A text longer
 * than the limit is analysed up to it.
 */
export function parseTextQuery(
  schema: Schema,
  field: string,
  text: string,
  operator: TextOperator = "or",
  path = "text",
): TextQuery {
  const spec = textField(schema, field, `${path}.field`);
  const { analyzer, positions } = spec.kind as { analyzer: string; positions: boolean };
  const cut = text.slice(0, searchLimits.queryTextLengthMax);
  const clauses = new Map<string, TextClause>();
  const add = (clause: TextClause) => {
    if (clauses.size < searchLimits.queryClausesMax) clauses.set(clauseKey(clause), clause);
  };
  for (const part of partsOf(cut, analyzer, positions)) {
    const { terms, offsets } = analyzePhrase(analyzer, part.text);
    if (part.quoted && terms.length > 1) add({ kind: "phrase", terms, offsets });
    else for (const term of terms) add({ kind: "term", term });
  }
  return { field, operator, clauses: [...clauses.values()] };
}

/** Every distinct term of a query, those of its phrases too. */
export function queryTerms(query: TextQuery): string[] {
  const terms = new Set<string>();
  for (const clause of query.clauses) {
    if (clause.kind === "term") terms.add(clause.term);
    else for (const term of clause.terms) terms.add(term);
  }
  return [...terms];
}
