import type { Distance } from "../schema/schema.ts";
import type { SqlParameter, SqlValue } from "./sql.ts";

/** A constant of a statement, or the parameter that stands for it. */
export type Constant =
  | { readonly kind: "value"; readonly value: string | number | boolean | null }
  | { readonly kind: "parameter"; readonly index: number };

export type Comparison = "=" | "<>" | "<" | "<=" | ">" | ">=";

/** A part of a `WHERE` that is about one retriever's own columns. */
export type Condition =
  | { readonly op: "and" | "or"; readonly items: readonly Condition[] }
  | { readonly op: "not"; readonly item: Condition }
  | { readonly op: "compare"; readonly column: string; readonly by: Comparison; readonly value: Constant }
  | { readonly op: "in"; readonly column: string; readonly values: readonly Constant[] }
  | { readonly op: "null"; readonly column: string }
  | { readonly op: "like"; readonly column: string; readonly pattern: Constant }
  | { readonly op: "true"; readonly column: string };

/** The rows that a statement takes, and how many it passes over before them. */
export interface RowLimit {
  readonly limit: Constant;
  readonly offset: Constant | undefined;
}

export function rowsOf(input: RowLimit | undefined, params: readonly SqlParameter[]): number | undefined {
  if (input === undefined) return undefined;
  const limit = countOf(input.limit, params);
  const offset = input.offset === undefined ? 0 : countOf(input.offset, params);
  return limit === undefined || offset === undefined ? undefined : limit + offset;
}

export function countOf(constant: Constant, params: readonly SqlParameter[]): number | undefined {
  const value = constant.kind === "value" ? constant.value : params[constant.index]?.value;
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** One retriever of a statement, with its arguments worked out. */
export interface RetrieverArguments {
  readonly kind: "vector" | "text" | "sparse";
  readonly collection: string;
  readonly field: string;
  readonly query: SqlValue;
  readonly k: SqlValue | undefined;
  /** `weight`, `filter`, `exact`, `ef`, `operator`. */
  readonly options: Readonly<Record<string, SqlValue>>;
}

/** What the query engine has to find for one place of a statement. */
export interface PlannedRetrieval {
  /** Where in the query. */
  readonly position: number;
  readonly collection: string;
  /** Empty when the statement is only described. */
  readonly retrievers: readonly RetrieverArguments[];
  /** `rrf`, with its `k`; else there is one retriever. */
  readonly fused: boolean;
  readonly rankConstant: SqlValue | undefined;
  /** The parts of the `WHERE` about its own columns; undefined for what only SQL can check. */
  readonly terms: readonly (Condition | undefined)[];
  /** Rows that the statement takes at most, where nothing between needs more. */
  readonly limit: number | undefined;
}

/** A table of a statement of which the rows nearest to a vector are taken. */
export interface PlannedNearest {
  /** Which of the statement's references it is. */
  readonly ref: number;
  /** Where in the query. */
  readonly position: number;
  readonly collection: string;
  readonly column: string;
  readonly distance: Distance;
  readonly query: SqlValue;
  readonly conditions: readonly Condition[];
  /** A name of the select list, if it is no column. */
  readonly label: string | undefined;
  readonly rows: number;
}

/** What stands for all rows of a table. */
export interface FoundRows {
  readonly ref: number;
  readonly found: FoundDocuments;
}

/**
 * A statement that shows what one retriever finds and does nothing with it: such rows are made where they are found,
 * without a database.
 */
export interface PlainSelect {
  readonly items: readonly PlainItem[];
  /** All must hold. */
  readonly tests: readonly PlainTest[];
  readonly limit: Constant | undefined;
  readonly offset: Constant | undefined;
}

export type PlainItem =
  | { readonly kind: "all" }
  | { readonly kind: "column"; readonly column: string; readonly name: string };

/** A column that is one of these. */
export interface PlainTest {
  readonly column: string;
  readonly values: readonly Constant[];
}

/** What was found, for the statement's thread: the documents as they are stored, best first. */
export interface FoundDocuments {
  readonly collection: string;
  readonly collectionId: number;
  readonly schemaVersion: number;
  /** In the form of REST. */
  readonly fields: unknown;
  readonly ids: Float64Array;
  readonly scores: Float64Array;
  /** Document `i` is `data` from `offsets[i]` up to `offsets[i + 1]`. */
  readonly offsets: Float64Array;
  readonly data: Uint8Array;
}
