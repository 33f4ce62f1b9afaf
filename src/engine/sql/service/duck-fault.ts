import { EngineError } from "../../errors.ts";
import type { SqlFaultKind } from "../fault.ts";
import { sqlFault } from "../fault.ts";
import { DuckError } from "./duckdb.ts";
import { characterAt, type EditedQuery } from "./edits.ts";

const byType: Readonly<Record<string, SqlFaultKind>> = {
  Parser: "syntax",
  Syntax: "syntax",
  Conversion: "invalid_value",
  "Invalid Input": "invalid_value",
  "Out of Range": "out_of_range",
  "Mismatch Type": "type",
  "Invalid type": "type",
  "Out of Memory": "memory",
  Interrupt: "cancelled",
  INTERRUPT: "cancelled",
  "Not implemented": "unsupported",
  Permission: "forbidden",
  "Parameter Not Resolved": "parameter",
  "Parameter Not Allowed": "parameter",
  Expression: "type",
  Executor: "invalid_value",
  Dependency: "unsupported",
  TransactionContext: "read_only",
};

const binderWords: readonly (readonly [RegExp, SqlFaultKind])[] = [
  [/^Ambiguous /i, "ambiguous"],
  [/GROUP BY|aggregate/i, "grouping"],
  [/^Referenced table .* not found/i, "unknown_table"],
  [/not found in FROM clause|does not have a column|column .* not found/i, "unknown_column"],
  [/Duplicate alias|Duplicate table|duplicate/i, "duplicate_name"],
  [/parameter/i, "parameter"],
  [/cast|type|compare/i, "type"],
];

/** Settings are not the caller's to change. */
const advice = / Use "SET \w+ TO x" to [^.]*\.?$/;

export function kindOf({ type, subtype, entry, message }: DuckError): SqlFaultKind {
  if (/division by zero|divide by zero/i.test(message)) return "division_by_zero";
  if (/maximum memory|out of memory|memory limit/i.test(message) || type === "Out of Memory") return "memory";
  if (/^(?:relation|schema) ".*" does not exist$/.test(message)) return "unknown_table";
  if (subtype === "COLUMN_NOT_FOUND") return "unknown_column";
  if (subtype === "NO_MATCHING_FUNCTION") return "type";
  if (type === "Catalog") {
    if (/function|macro/i.test(entry ?? "")) return "unknown_function";
    if (/type/i.test(entry ?? "")) return "type";
    return "unknown_table";
  }
  if (type === "Binder") return binderWords.find(([words]) => words.test(message))?.[1] ?? "unsupported";
  if (type === "Conversion" && /out of range|overflow/i.test(message)) return "out_of_range";
  return byType[type] ?? "internal";
}

/** What DuckDB said as the engine's own error, with the place in the query as it was given. */
export function duckFault(error: unknown, query?: EditedQuery): unknown {
  if (
    error instanceof RangeError &&
    /allocation failed|invalid (?:string|array|array buffer) length/i.test(error.message)
  ) {
    return sqlFault("memory", memoryMessage, { cause: error });
  }
  if (error instanceof EngineError || !(error instanceof DuckError)) return error;
  const kind = kindOf(error);
  const position =
    error.position === undefined || query === undefined
      ? undefined
      : query.originalOf(characterAt(query.text, error.position));
  const text = error.message.replace(advice, "");
  const message = kind === "memory" ? memoryMessage : kind === "internal" ? "the statement failed" : text;
  return sqlFault(kind, message, { position, cause: error });
}

const memoryMessage =
  "the statement needs more memory than SERVICE_SQL_MEMORY_BYTES allows; read fewer rows or columns at once";
