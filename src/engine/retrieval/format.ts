import type { Steps } from "../turns.ts";
import type { SchemaOf } from "./parse.ts";
import type { QueryKind, QueryPlan } from "./plan.ts";
import type { QueryResult } from "./result.ts";

/** How an edge reads queries and writes their answers: the same in its own thread and in one that searches. */
export interface QueryFormat {
  /** `body` has a character for each byte. */
  parse(body: string, schemaOf: SchemaOf): QueryPlan;
  /** A step for each part of a long answer. Text is ASCII; bytes lie in memory of their own. */
  encode(result: QueryResult): Steps<AnswerBody>;
}

export type AnswerBody = string | Uint8Array<ArrayBuffer>;

/** A query as an edge received it, for a thread that searches. */
export interface AskedQuery {
  /** A character for each byte. */
  readonly body: string;
  /** What it seems to call its collection. */
  readonly from: string;
  /** The collection's log: its stream, where it ends now, and where the last manifest does. */
  readonly stream: number;
  readonly next: number;
  readonly applied: number;
  /** Every change of the collection up to now, counted. */
  readonly changes: number;
  /** Whether the last manifest has what the query must reflect. */
  readonly mayBeEventual: boolean;
  /** Of the steady clock, which is one for all threads. */
  readonly startedMs: number;
}

export interface AnsweredQuery {
  readonly body: AnswerBody;
  readonly kind: QueryKind;
  readonly eventual: boolean;
}

/** Thrown where a thread can't answer a query that another can. */
export class Declined extends Error {}
