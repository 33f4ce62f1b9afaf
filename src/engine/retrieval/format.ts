import type { Steps } from "../turns.ts";
import type { SchemaOf } from "./parse.ts";
import type { QueryKind, QueryPlan } from "./plan.ts";
import type { QueryResult } from "./result.ts";

/** How an edge reads queries and writes their answers: the same in its own thread and in one that searches. */
export interface QueryFormat {
  /** `body` has a character for each byte. */
  parse(body: string, schemaOf: SchemaOf): QueryRequest;
}

/** The formats that threads know. */
export type FormatName = "rest" | "rpc";

/** The queries of one body. */
export interface QueryRequest {
  readonly plans: readonly QueryPlan[];
  /** Whether they were sent as a list, which may have one. */
  readonly isList: boolean;
  /** A step for each part of a long answer. Text is ASCII; bytes lie in memory of their own. */
  encode(results: readonly QueryResult[]): Steps<AnswerBody>;
}

export type AnswerBody = string | Uint8Array<ArrayBuffer>;

/** A query as an edge received it, for a thread that searches. */
export interface AskedQuery {
  readonly format: FormatName;
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
  readonly runs: readonly QueryRun[];
  /** Where the log ended that the answer reflects. Those of a list have a token each, in the answer alone. */
  readonly next: number | undefined;
}

/** A query of a body that was answered. */
export interface QueryRun {
  readonly kind: QueryKind;
  readonly ms: number;
  readonly eventual: boolean;
}

/** Thrown where a thread can't answer a query that another can. */
export class Declined extends Error {}
