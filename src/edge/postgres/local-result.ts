import type { SqlColumn } from "../../engine/sql/batch.ts";
import type { SqlResult, SqlStatementKind } from "../../engine/sql/sql.ts";
import type { SqlColumnInfo, SqlType } from "../../engine/sql/type.ts";

/** The answer of the session itself, such as that of SHOW: rows of text. */
export function localResult(names: readonly string[], rows: readonly (readonly string[])[]): SqlResult {
  return textResult(
    "show",
    names.map((name) => ({ name, type: { kind: "text" } })),
    rows,
  );
}

/** Rows of text, or of JSON as text. */
export function textResult(
  kind: SqlStatementKind,
  columns: readonly SqlColumnInfo[],
  rows: readonly (readonly string[])[],
): SqlResult {
  let isTaken = false;
  return {
    kind,
    columns,
    token: [],
    async next() {
      if (isTaken || rows.length === 0) return undefined;
      isTaken = true;
      const texts = (i: number) => rows.map((row) => row[i] ?? "");
      return { rows: rows.length, columns: columns.map(({ type }, i) => textColumn(texts(i), type)) };
    },
    async [Symbol.asyncDispose]() {},
  };
}

function textColumn(texts: readonly string[], type: SqlType): SqlColumn {
  const data = Buffer.from(texts.join(""));
  const offsets = new Int32Array(texts.length + 1);
  for (const [i, text] of texts.entries()) offsets[i + 1] = offsets[i]! + Buffer.byteLength(text);
  return { layout: "bytes", type, validity: undefined, offsets, data };
}
