import { runSteps, type Steps } from "../../turns.ts";
import type { Bitset } from "../index/bitset.ts";
import { impact, type PostingsCursor } from "../index/postings.ts";
import type { IndexReader, TextIndex } from "../index/reader.ts";
import { type Hit, TopK } from "../index/top-k.ts";
import { clauseWeight, lengthNorm, type TextStatistics, textStatistics } from "./bm25.ts";
import { type ScoredPart, ScoreWindow, searchAllowed, searchAny } from "./max-score.ts";
import { findPhrase, forEachShared, isPhraseIn, ListCursor } from "./phrase.ts";
import type { TextClause, TextQuery } from "./query.ts";
import { searchInPlace } from "./score-kernel.ts";

/** Below this share of allowed documents to postings, walking the allowed ones is cheaper than scoring windows. */
const allowedShare = 1 / 16;

/** One for the thread: a search leaves nothing in it from step to step. */
const scratch = new ScoreWindow();

/** What one part has of a query: the clauses that occur in it, rarest first. */
interface PartClauses {
  readonly cursors: readonly PostingsCursor[];
  readonly weights: readonly number[];
  readonly postings: readonly number[];
}

function* openClause(
  text: TextIndex,
  clause: TextClause,
  docCount: number,
  allowed: Bitset | undefined,
): Steps<{ cursor: PostingsCursor; postings: number } | undefined> {
  if (clause.kind === "term") {
    const ordinal = text.ordinal(clause.term);
    return ordinal === -1 ? undefined : { cursor: text.cursor(ordinal), postings: text.liveFrequency(ordinal) };
  }
  const found = yield* findPhrase(text, clause.terms, clause.offsets, docCount, allowed);
  if (found.docs.length === 0) return undefined;
  return { cursor: new ListCursor(found, text.lengths), postings: found.docs.length };
}

/** Undefined when no document of the part can match. */
function* openClauses(
  text: TextIndex,
  query: TextQuery,
  weightOf: ReadonlyMap<TextClause, number>,
  docCount: number,
  allowed: Bitset | undefined,
): Steps<PartClauses | undefined> {
  const opened: { cursor: PostingsCursor; weight: number; postings: number }[] = [];
  for (const clause of query.clauses) {
    const part = yield* openClause(text, clause, docCount, allowed);
    if (part !== undefined) opened.push({ ...part, weight: weightOf.get(clause)! });
    else if (query.operator === "and") return undefined;
  }
  if (opened.length === 0) return undefined;
  opened.sort((x, y) => x.postings - y.postings);
  return {
    cursors: opened.map((part) => part.cursor),
    weights: opened.map((part) => part.weight),
    postings: opened.map((part) => part.postings),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function* searchAll(part: ScoredPart, clauses: PartClauses, top: TopK): Steps<void> {
  const { cursors, weights } = clauses;
  yield* forEachShared(cursors, part.docCount, (doc) => {
    if (part.allowed !== undefined && !part.allowed.has(doc)) return 0;
    let score = 0;
    for (let i = 0; i < cursors.length; i++) {
      score += impact(weights[i]!, cursors[i]!.freq, part.lengths[doc]!, part.base, part.slope);
    }
    if (score >= top.threshold) top.offer(score, part.ids[doc]!, part.reader, doc);
    return cursors.length;
  });
}

/**
 * The k best documents by BM25 over all parts together. `filters[i]` restricts part i (see evaluateFilter); without it
 * all live documents may be found. `statistics` may be given when these are not all parts of the collection.
 */
export function searchText(
  readers: readonly IndexReader[],
  query: TextQuery,
  k: number,
  filters?: readonly (Bitset | undefined)[],
  statistics: TextStatistics = textStatistics(readers, query),
): Hit[] {
  return runSteps(searchTextSteps(readers, query, k, filters, statistics));
}

export function* searchTextSteps(
  readers: readonly IndexReader[],
  query: TextQuery,
  k: number,
  filters: readonly (Bitset | undefined)[] | undefined,
  statistics: TextStatistics,
): Steps<Hit[]> {
  const top = new TopK(k);
  const { base, slope } = lengthNorm(statistics);
  const weightOf = new Map(query.clauses.map((clause) => [clause, clauseWeight(clause, statistics)]));
  for (const [r, reader] of readers.entries()) {
    const text = reader.text(query.field);
    const allowed = filters?.[r] ?? reader.live;
    if (text === undefined) continue;
    const { docCount } = reader;
    const clauses = yield* openClauses(text, query, weightOf, docCount, allowed);
    if (clauses === undefined) continue;
    const part: ScoredPart = {
      reader: r,
      docCount,
      ids: reader.ids,
      idsAscending: reader.idsAscending,
      lengths: text.lengths,
      allowed,
      base,
      slope,
    };
    if (query.operator === "and") yield* searchAll(part, clauses, top);
    else if (allowed !== undefined && allowed.count() < sum(clauses.postings) * allowedShare) {
      yield* searchAllowed(part, allowed, clauses.cursors, clauses.weights, top);
    } else {
      const { cursors, weights, postings } = clauses;
      const inPlace = searchInPlace(part, cursors, weights, postings, top);
      yield* inPlace ?? searchAny(part, cursors, weights, postings, scratch, top);
    }
    for (const cursor of clauses.cursors) cursor.release();
    yield;
  }
  return top.hits();
}

/** The clauses of a query that a document matches, for `explain`: a term as it stands in the index, a phrase in quotes. */
export function matchedClauses(reader: IndexReader, doc: number, query: TextQuery): string[] {
  const text = reader.text(query.field);
  if (text === undefined) return [];
  const matched: string[] = [];
  for (const clause of query.clauses) {
    if (clause.kind === "term") {
      const ordinal = text.ordinal(clause.term);
      if (ordinal !== -1 && text.cursor(ordinal).advance(doc) === doc) matched.push(clause.term);
    } else if (isPhraseIn(text, clause.terms, clause.offsets, doc)) {
      matched.push(`"${clause.terms.join(" ")}"`);
    }
  }
  return matched;
}
