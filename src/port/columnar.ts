/**
 * A columnar dataset per collection, written by one process and read by any program that knows the format. It is
 * derived data: a rebuild fills it again from the documents.
 */
export type ColumnType = "i64" | "f64" | "bool" | "date" | "string" | "json";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

export interface VectorColumn {
  readonly name: string;
  readonly dim: number;
}

export interface ColumnarSchema {
  readonly columns: readonly Column[];
  readonly vectors: readonly VectorColumn[];
}

/** Strings for string and json (JSON text), numbers for i64, f64, date (epoch ms) and bool (0 or 1); empty: no value. */
export type ColumnValues = readonly string[] | readonly number[];

export interface ColumnarRow {
  readonly id: number;
  readonly version: number;
  /** The whole document as JSON text. */
  readonly source: string;
  /** By column, in the order of the schema. A row made before columns were added may be shorter. */
  readonly values: readonly ColumnValues[];
  readonly vectors: readonly (Float32Array | undefined)[];
}

/** No id may be there twice, within or across the two lists. */
export interface ColumnarChange {
  readonly upserts: readonly ColumnarRow[];
  readonly deletes: readonly number[];
}

export interface ColumnarMaintenance {
  /** Versions that were the newest at this time (epoch ms) or later stay readable, however old they are. */
  readonly keepFromMs: number;
  /** These stay readable whatever their age, and every version after the oldest of them. */
  readonly pinned: readonly number[];
  /** Compacts and cleans even where it is not due yet. */
  readonly force?: boolean;
}

export interface ColumnarStats {
  readonly version: number;
  readonly rows: number;
  readonly fragments: number;
}

export interface ColumnarDataset {
  /** Where a reader outside finds it. */
  readonly uri: string;
  /**
   * Replaces or adds the upserts and removes the deletes. Resolves, when all of it would survive a power cut, with the
   * version that holds it. Applying the same change again, after a crash anywhere within, ends in the same contents.
   * A crash may leave versions that hold a part of a change: a reader uses only versions that were returned.
   */
  apply(change: ColumnarChange): Promise<number>;
  version(): Promise<number>;
  /** The rows' new order of columns: the old ones and more. Rows that are there have no value in the new ones. */
  addColumns(schema: ColumnarSchema): Promise<void>;
  /** Compacts and frees old versions when it is due; tells whether it did anything. */
  maintain(options: ColumnarMaintenance): Promise<{ readonly version: number; readonly done: boolean }>;
  stats(): Promise<ColumnarStats>;
  /** Calls under way finish; later ones are refused. */
  close(): Promise<void>;
}

export interface Columnar {
  /** Opens the dataset at this place, or makes an empty one; columns that it lacks are added. */
  open(path: string, schema: ColumnarSchema): Promise<ColumnarDataset>;
  /** Removes it with all its versions. Dropping what is missing is no error. */
  drop(path: string): Promise<void>;
}

export class ColumnarError extends Error {
  /** `schema`: a column is there with another type. `closed`: used after close. `failed`: anything else. */
  readonly kind: "schema" | "closed" | "failed";

  constructor(kind: ColumnarError["kind"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ColumnarError";
    this.kind = kind;
  }
}
