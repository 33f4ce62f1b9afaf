import type { ConsistencyToken } from "../token.ts";
import type { SqlBatch } from "./batch.ts";
import type { TableSchema } from "./columns.ts";
import type { DialectName } from "./dialect.ts";
import type { SqlColumnInfo, SqlType } from "./type.ts";

/** One statement of one namespace. */
export interface SqlStatement {
  readonly namespace: string;
  readonly query: string;
  /** Fill `?` by their order, or `$1`, `$2`, …. */
  readonly params: readonly SqlParameter[];
  /** What the statement must see, besides everything acknowledged before it. */
  readonly token: ConsistencyToken;
  readonly consistency: "strong" | "eventual";
  /** What the wire's clients expect besides: see dialect.ts. */
  readonly dialect?: DialectName;
}

export type SqlValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly SqlValue[]
  | { readonly [name: string]: SqlValue };

/** A parameter as its client gave it; where it names a type, text is read as a value of it. */
export interface SqlParameter {
  readonly value: SqlValue;
  readonly type?: SqlType;
}

/** What a statement takes and gives, found out without running it. */
export interface SqlDescription {
  readonly kind: SqlStatementKind;
  readonly columns: readonly SqlColumnInfo[];
  /** Undefined where nothing tells the type. */
  readonly parameters: readonly (SqlType | undefined)[];
}

export type SqlStatementKind = "select" | "explain" | "describe" | "show";

/**
 * A running statement. Its batches are taken one by one, so a slow reader holds up only itself; disposing of it before
 * the end stops the statement and frees what it holds.
 */
export interface SqlResult extends AsyncDisposable {
  readonly kind: SqlStatementKind;
  readonly columns: readonly SqlColumnInfo[];
  /** What the rows reflect. */
  readonly token: ConsistencyToken;
  /** The next rows, or undefined at the end. */
  next(): Promise<SqlBatch | undefined>;
}

/** A table as a statement sees it. */
export interface SqlTable {
  readonly schema: TableSchema;
  readonly name: string;
  readonly columns: readonly SqlColumnInfo[];
}

/**
 * SQL over the collections, streams and links of a namespace. A statement that can't be run is an `EngineError` with
 * `details.field` `query` or `params[i]` and, where they are known, `details.sql`: a `SqlFault` that the wires turn into their own codes.
 */
export interface Sql {
  describe(statement: Omit<SqlStatement, "token" | "consistency">, signal?: AbortSignal): Promise<SqlDescription>;
  /** `signal` stops the statement, also while its rows are read. */
  run(statement: SqlStatement, signal?: AbortSignal): Promise<SqlResult>;
  tables(namespace: string): Promise<readonly SqlTable[]>;
  /** The columns of a collection, stream or link; undefined where there is none of the name. */
  columnsOf(namespace: string, schema: TableSchema, name: string): readonly SqlColumnInfo[] | undefined;
}
