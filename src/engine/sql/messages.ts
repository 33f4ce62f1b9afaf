import type { Fields } from "../live/validator.ts";
import type { SqlBatch } from "./batch.ts";
import type { Delta } from "./change-tracker.ts";
import type { TableSchema } from "./columns.ts";
import type { DialectName } from "./dialect.ts";
import type {
  Condition,
  FoundDocuments,
  FoundRows,
  PlainSelect,
  PlannedNearest,
  PlannedRetrieval,
  RowLimit,
} from "./retrieval.ts";
import type { SqlParameter, SqlStatementKind } from "./sql.ts";
import type { SqlColumnInfo, SqlType } from "./type.ts";

/** A table that a statement names. */
export interface NamedTable {
  readonly schema: TableSchema;
  readonly name: string;
  /** The statement has an expression of this name too (`WITH name AS …`): it is no fault when there is no such table. */
  readonly optional: boolean;
  /** Where in the query. */
  readonly position: number;
  /** Whether its rows are read; else its columns alone. */
  readonly read: boolean;
  /** Which of the statement's references it is. */
  readonly ref: number;
  /** What the statement asks of its columns. */
  readonly conditions: readonly Condition[];
  /** Rows that are taken of it at most, where nothing but the conditions comes before. */
  readonly limit: RowLimit | undefined;
}

/** What a statement needs, found by its parse. */
export interface StatementNeeds {
  readonly kind: SqlStatementKind;
  readonly tables: readonly NamedTable[];
  /** Reads what tables there are. */
  readonly catalog: boolean;
  /** Values to fill, at most. */
  readonly parameters: number;
}

/** With what the statement's retrievers are asked for. */
export interface PlanReply extends StatementNeeds {
  readonly retrievals: readonly PlannedRetrieval[];
  /** Tables of which an index may propose the rows. */
  readonly nearest: readonly PlannedNearest[];
  /** The statement shows what its retriever finds, and no more. */
  readonly plain: PlainSelect | undefined;
  /** The same text needs the same each time: no value and nothing that was worked out has a part in it. */
  readonly repeats: boolean;
  /** A statement that needs nothing of the engine has been run already. */
  readonly ran: RunReply | undefined;
}

interface DefinedTable {
  readonly name: string;
}

export interface CollectionTable extends DefinedTable {
  readonly schema: "collections";
  readonly id: number;
  /** The collection's own name, where the table is an alias of it. */
  readonly collection: string;
  readonly schemaVersion: number;
  /** In the form of REST; parsed once for each version. */
  readonly fields: unknown;
  readonly stream: number;
  /** What changed since the last message about it; absent where no rows are read. */
  readonly delta?: Delta;
}

export interface StreamTable extends DefinedTable {
  readonly schema: "streams";
  readonly id: number;
  readonly reads: readonly StreamRead[];
}

/** What one reference of a statement reads of a stream. */
export interface StreamRead {
  readonly ref: number;
  /** Three numbers a partition: its number, the first offset and the end. */
  readonly spans: Float64Array;
  readonly rowsMax: number | undefined;
}

/** A link's counters, or what all links with the same target count together. */
export interface LinkTable extends DefinedTable {
  readonly schema: "links" | "counters";
  readonly id: number;
  /** The links that count for it. */
  readonly counting: readonly number[];
}

/** A table of the Live engine. */
export interface LiveTable extends DefinedTable {
  readonly schema: "live";
  /** Its number in the namespace. */
  readonly id: number;
  readonly namespace: number;
  readonly fields: Fields | undefined;
  readonly reads: readonly LiveRead[];
}

/** What one reference of a statement reads of a live table. */
export interface LiveRead {
  readonly ref: number;
  /** Undefined: all. */
  readonly ids: readonly string[] | undefined;
  readonly rowsMax: number | undefined;
}

export type TableDefinition = CollectionTable | StreamTable | LinkTable | LiveTable;

/** What a SQL process gets to know of a namespace. */
export interface NamespaceRef {
  readonly id: number;
  readonly name: string;
}

export interface StatementText {
  readonly namespace: NamespaceRef;
  readonly query: string;
  readonly dialect: DialectName | undefined;
}

export type SqlMessage =
  /** → PlanReply; without `params` the statement is only described. */
  | ({
      readonly kind: "plan";
      readonly statement: number;
      readonly params: readonly SqlParameter[] | undefined;
    } & StatementText)
  /** → DescribeReply */
  | ({
      readonly kind: "describe";
      readonly statement: number;
      readonly tables: readonly TableDefinition[];
      readonly found: readonly FoundDocuments[];
      /** Values that are known already tell types that nothing else does. */
      readonly params: readonly SqlParameter[];
    } & CatalogPart &
      StatementText)
  /** → CheckReply: which documents meet some of a retrieval's terms. */
  | ({
      readonly kind: "check";
      readonly statement: number;
      /** Which of the plan's retrievals, */
      readonly retrieval: number;
      /** and which of its terms. */
      readonly terms: readonly number[];
      readonly tables: readonly TableDefinition[];
      readonly params: readonly SqlParameter[];
    } & StatementText)
  /** → RunReply */
  | ({
      readonly kind: "run";
      readonly statement: number;
      readonly tables: readonly TableDefinition[];
      readonly params: readonly SqlParameter[];
      /** One for each retrieval of the plan. */
      readonly found: readonly FoundDocuments[];
      readonly nearest: readonly FoundRows[];
    } & CatalogPart &
      StatementText)
  /** → NextReply */
  | { readonly kind: "next"; readonly statement: number }
  /** Stops a statement; what is under way fails. */
  | { readonly kind: "cancel"; readonly statement: number; readonly why: "cancelled" | "timeout" }
  | { readonly kind: "close"; readonly statement: number };

/** All tables of the namespace, for statements that ask what there is. */
export interface CatalogPart {
  readonly catalog: readonly TableDefinition[] | undefined;
}

export interface DescribeReply {
  readonly columns: readonly SqlColumnInfo[];
  readonly parameters: readonly (SqlType | undefined)[];
}

export interface CheckReply {
  /** In ascending order; undefined where the terms are none of the retriever's own after all. */
  readonly ids: Float64Array | undefined;
}

export interface NextReply {
  readonly batch: SqlBatch | undefined;
  /** Nothing comes after it. */
  readonly done: boolean;
}

export interface RunReply extends NextReply {
  readonly columns: readonly SqlColumnInfo[];
}
