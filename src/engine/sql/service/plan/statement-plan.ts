import type { TableSchema } from "../../columns.ts";
import type { UsedColumns } from "../../found-rows.ts";
import type { StatementNeeds } from "../../messages.ts";
import type { PlainSelect } from "../../retrieval.ts";
import { type Edit, quote } from "../edits.ts";
import type { Token } from "./lexer.ts";
import type { NearestRef } from "./nearest-refs.ts";
import type { RetrievalRef } from "./retrieval-refs.ts";

/** Where a statement names a table. */
export interface TableRef {
  readonly schema: TableSchema;
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly alias: string | undefined;
  readonly read: boolean;
  /** With the namespace's name before it. */
  readonly named: boolean;
  /** The statement takes the rows nearest to a vector. */
  readonly nearest: NearestRef | undefined;
}

/** A statement that may be run, and what it takes. */
export interface StatementPlan {
  readonly needs: StatementNeeds;
  /** As DuckDB takes it, but for the tables. */
  readonly query: string;
  readonly refs: readonly TableRef[];
  readonly edits: readonly Edit[];
  readonly retrievals: readonly RetrievalRef[];
  readonly tokens: readonly Token[];
  readonly columns: UsedColumns;
  readonly plain: PlainSelect | undefined;
  /** The result has few rows, as far as the text tells. */
  readonly isSmall: boolean;
}

/** A table under another name, which the rest of the statement does not notice. */
export function refEdit(ref: TableRef, name: string): Edit {
  const text = ref.alias === undefined ? `${name} AS ${quote(ref.name)}` : name;
  return { start: ref.start, end: ref.end, text };
}

/** The namespace's own name before a schema is left out. */
export function nameEdits(refs: readonly TableRef[]): Edit[] {
  return refs.filter(({ named }) => named).map((ref) => refEdit(ref, `${ref.schema}.${quote(ref.name)}`));
}
