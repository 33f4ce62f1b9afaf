import type { SqlBatch, SqlColumn } from "../../engine/sql/batch.ts";
import type { SqlColumnInfo } from "../../engine/sql/type.ts";

/** Rows on their way to a client: the engine's, or those that the edge makes itself. */
export interface Rows extends AsyncDisposable {
  readonly columns: readonly SqlColumnInfo[];
  next(): Promise<SqlBatch | undefined>;
}

export type Cell = string | number | bigint | null;

/** A small table that is in memory: what `SHOW` and `@@variables` answer. */
export interface Table {
  readonly columns: readonly SqlColumnInfo[];
  readonly rows: readonly (readonly Cell[])[];
}

export function textColumns(...names: readonly string[]): SqlColumnInfo[] {
  return names.map((name) => ({ name, type: { kind: "text" } }));
}

/** A name that ends with `#` is an integer's. */
export function tableColumns(...names: readonly string[]): SqlColumnInfo[] {
  return names.map((name) =>
    name.endsWith("#") ? { name: name.slice(0, -1), type: { kind: "int64" } } : { name, type: { kind: "text" } },
  );
}

export function rowsOf(table: Table): Rows {
  let batch: SqlBatch | undefined = table.rows.length === 0 ? undefined : batchOf(table);
  return {
    columns: table.columns,
    next: async () => {
      const next = batch;
      batch = undefined;
      return next;
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

export function batchOf({ columns, rows }: Table): SqlBatch {
  return {
    rows: rows.length,
    columns: columns.map(({ type }, i): SqlColumn => {
      const cells = rows.map((row) => row[i] ?? null);
      const validity = new Uint8Array((cells.length + 7) >> 3);
      cells.forEach((cell, at) => {
        if (cell !== null) validity[at >> 3]! |= 1 << (at & 7);
      });
      if (type.kind === "null") return { layout: "null", type };
      if (type.kind === "int64") {
        return { layout: "fixed", type, validity, data: BigInt64Array.from(cells, (cell) => BigInt(cell ?? 0)) };
      }
      const texts = cells.map((cell) => Buffer.from(String(cell ?? ""), "utf8"));
      const offsets = new Int32Array(texts.length + 1);
      texts.forEach((text, at) => {
        offsets[at + 1] = offsets[at]! + text.length;
      });
      return { layout: "bytes", type: { kind: "text" }, validity, offsets, data: Buffer.concat(texts) };
    }),
  };
}

/** The first rows of others, for `sql_select_limit`. */
export function limitRows(rows: Rows, count: number): Rows {
  let left = count;
  return {
    columns: rows.columns,
    next: async () => {
      if (left <= 0) return undefined;
      const batch = await rows.next();
      if (batch === undefined) return undefined;
      const count = Math.min(left, batch.rows);
      left -= count;
      return count === batch.rows ? batch : { ...batch, rows: count };
    },
    [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose](),
  };
}
