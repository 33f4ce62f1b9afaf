import type { SqlColumn } from "../../engine/sql/batch.ts";
import type { SqlResult } from "../../engine/sql/sql.ts";
import type { SqlColumnInfo } from "../../engine/sql/type.ts";
import { nameOf, type StatementText, stringOf, type Token } from "./dialect/lexer.ts";

const columnsMax = 8;

/**
 * The answer to `select 1` and the like: literals and nothing else. Pools send these to see whether a connection lives,
 * so they are answered here and take no place in the queue from statements that have work to do. Undefined for any other statement.
 */
export function constantResult({ tokens }: StatementText): SqlResult | undefined {
  if (tokens[0]?.text !== "select" || tokens[0].kind !== "word" || tokens.length > 4 * columnsMax) return undefined;
  const columns: SqlColumn[] = [];
  const infos: SqlColumnInfo[] = [];
  for (let at = 1; ; at++) {
    const literal = tokens[at];
    const column = literal === undefined ? undefined : literalColumn(literal);
    if (column === undefined) return undefined;
    at++;
    let name = "?column?";
    const alias = tokens[at + 1];
    if (isWord(tokens[at], "as") && (alias?.kind === "word" || alias?.kind === "quoted")) {
      name = nameOf(alias);
      at += 2;
    }
    columns.push(column);
    infos.push({ name, type: column.type });
    if (at === tokens.length) return oneRow(infos, columns);
    if (tokens[at]!.kind !== "symbol" || tokens[at]!.text !== ",") return undefined;
  }
}

function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === "word" && token.text === word;
}

function literalColumn(token: Token): SqlColumn | undefined {
  const validity = undefined;
  if (token.kind === "number" && /^\d{1,9}$/.test(token.text)) {
    return { layout: "fixed", type: { kind: "int32" }, validity, data: Int32Array.of(Number(token.text)) };
  }
  if (token.kind === "string" && token.text.startsWith("'")) {
    const data = Buffer.from(stringOf(token));
    return { layout: "bytes", type: { kind: "text" }, validity, offsets: Int32Array.of(0, data.length), data };
  }
  if (isWord(token, "null")) {
    const nothing = { offsets: Int32Array.of(0, 0), data: new Uint8Array() };
    return { layout: "bytes", type: { kind: "text" }, validity: Uint8Array.of(0), ...nothing };
  }
  if (!isWord(token, "true") && !isWord(token, "false")) return undefined;
  return { layout: "bits", type: { kind: "boolean" }, validity, data: Uint8Array.of(token.text === "true" ? 1 : 0) };
}

function oneRow(columns: readonly SqlColumnInfo[], data: readonly SqlColumn[]): SqlResult {
  let isTaken = false;
  return {
    kind: "select",
    columns,
    token: [],
    async next() {
      if (isTaken) return undefined;
      isTaken = true;
      return { rows: 1, columns: data };
    },
    async [Symbol.asyncDispose]() {},
  };
}
