import type { QueryResult } from "../../../engine/retrieval/result.ts";

/** One answer, or those of several queries in one request. */
export type QueryAnswer = QueryResult | { readonly results: readonly QueryResult[] };

/** An answer with more rows is written in parts, each a turn's work at most. */
const rowsAtOnceMax = 100;

function resultsOf(answer: QueryAnswer): readonly QueryResult[] {
  return "results" in answer ? answer.results : [answer];
}

/** Whether the text of an answer takes so long to make that others should get a turn meanwhile. */
export function isLong(answer: QueryAnswer): boolean {
  let rows = 0;
  for (const result of resultsOf(answer)) {
    rows += result.rows?.length ?? 0;
    for (const group of result.groups ?? []) rows += group.rows.length;
  }
  return rows > rowsAtOnceMax;
}

/** The same text as of the whole, a part for each row. */
export function* answerParts(answer: QueryAnswer): Generator<string, undefined, undefined> {
  if (!("results" in answer)) {
    yield* resultParts(answer);
    return;
  }
  yield '{"results":[';
  for (const [i, result] of answer.results.entries()) {
    if (i > 0) yield ",";
    yield* resultParts(result);
  }
  yield "]}";
}

function* resultParts({ rows, groups, ...rest }: QueryResult): Generator<string, undefined, undefined> {
  yield "{";
  if (rows !== undefined) {
    yield '"rows":';
    yield* rowParts(rows);
    yield ",";
  }
  if (groups !== undefined) {
    yield '"groups":[';
    for (const [i, group] of groups.entries()) {
      yield `${i > 0 ? "," : ""}{"key":${JSON.stringify(group.key)},"rows":`;
      yield* rowParts(group.rows);
      yield "}";
    }
    yield "],";
  }
  // A result has a token at least, so that this is no empty object.
  yield JSON.stringify(rest).slice(1);
}

function* rowParts(rows: readonly object[]): Generator<string, undefined, undefined> {
  yield "[";
  for (const [i, row] of rows.entries()) yield i > 0 ? `,${JSON.stringify(row)}` : JSON.stringify(row);
  yield "]";
}
