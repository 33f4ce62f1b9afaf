import type { SqlColumn } from "../../engine/sql/batch.ts";
import type { SqlResult } from "../../engine/sql/sql.ts";

/** The answer of the session itself, such as that of SHOW: rows of text. */
export function localResult(names: readonly string[], rows: readonly (readonly string[])[]): SqlResult {
  let isTaken = false;
  return {
    kind: "show",
    columns: names.map((name) => ({ name, type: { kind: "text" } })),
    token: [],
    async next() {
      if (isTaken || rows.length === 0) return undefined;
      isTaken = true;
      return { rows: rows.length, columns: names.map((_, i) => textColumn(rows.map((row) => row[i] ?? ""))) };
    },
    async [Symbol.asyncDispose]() {},
  };
}

function textColumn(texts: readonly string[]): SqlColumn {
  const data = Buffer.from(texts.join(""));
  const offsets = new Int32Array(texts.length + 1);
  for (const [i, text] of texts.entries()) offsets[i + 1] = offsets[i]! + Buffer.byteLength(text);
  return { layout: "bytes", type: { kind: "text" }, validity: undefined, offsets, data };
}
