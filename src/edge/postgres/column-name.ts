import type { SqlColumnInfo } from "../../engine/sql/type.ts";
import { writtenNames } from "./dialect/names.ts";
import type { Field, FieldSource } from "./message/backend.ts";
import { typeInfo } from "./message/oid.ts";
import type { PreparedStatement } from "./prepared-statements.ts";

/** The columns of a statement as a client sees them, with the table columns that they come from. */
export function fieldsOf(
  { statement, command }: PreparedStatement,
  columns: readonly SqlColumnInfo[],
  sources: readonly (FieldSource | undefined)[] = [],
): Field[] {
  const isPlan = command.kind === "query" && command.explain !== undefined;
  // Names of columns and those that were given are the engine's, too.
  const isNamed = columns.every(({ name }) => /^[A-Za-z_]\w*$/.test(name) && name !== "NULL");
  const written = statement === undefined || isPlan || isNamed ? undefined : writtenNames(statement);
  const names = written?.length === columns.length ? written : [];
  return columns.map(({ name, type }, i) => ({
    name: names[i] ?? columnName(name),
    type: typeInfo(type),
    source: sources.length === columns.length ? sources[i] : undefined,
  }));
}

/** Functions that the engine makes of what is no call in the statement. */
const notCalls: Readonly<Record<string, string>> = {
  count_star: "count",
  list_value: "array",
  regexp_full_match: "?column?",
  struct_pack: "?column?",
  struct_extract: "?column?",
  array_extract: "?column?",
};

/** Postgres's names of types that casts are named after. */
const castNames: Readonly<Record<string, string>> = {
  BOOLEAN: "bool",
  TINYINT: "int2",
  SMALLINT: "int2",
  INTEGER: "int4",
  BIGINT: "int8",
  HUGEINT: "numeric",
  DECIMAL: "numeric",
  FLOAT: "float4",
  DOUBLE: "float8",
  VARCHAR: "text",
  JSON: "json",
  BLOB: "bytea",
  UUID: "uuid",
  DATE: "date",
  TIME: "time",
  TIMESTAMP: "timestamp",
  "TIMESTAMP WITH TIME ZONE": "timestamptz",
  INTERVAL: "interval",
};

/**
 * A column's name as Postgres gives it to an expression without one: that of its function, or `?column?`. The engine
 * gives the expression's text, which clients that look for `count` would not find.
 */
export function columnName(name: string): string {
  const cast = /^CAST\((.*) AS "?([^"()]+?)"?(?:\([\d, ]*\))?(\[\d*\])?\)$/s.exec(name);
  if (cast !== null) return castName(cast[1]!, cast[2]!);
  if (/^CASE\s/.test(name)) return "case";
  const call = /^(?:"?[A-Za-z_]\w*"?\.)?"?([A-Za-z_]\w*)"?\(.*\)$/s.exec(name);
  if (call !== null) return notCalls[call[1]!] ?? ownName(call[1]!.toLowerCase());
  if (/^[('\d[{]/.test(name) || /^-\d/.test(name) || /^\$\d+$/.test(name) || name === "NULL") return "?column?";
  return name;
}

/** Functions that a rewrite has put in show the name that was written. */
function ownName(name: string): string {
  return name.replace(/^(reg[a-z]+)_(?:oid|name)s?$/, "$1").replace(/^(current_schemas|pg_table_is_visible)_in$/, "$1");
}

/** A cast of a column or a call has that one's name; another one that of its type. */
function castName(inner: string, type: string): string {
  // What DuckDB shows for true and false.
  if ((inner === "'t'" || inner === "'f'") && type === "BOOLEAN") return "?column?";
  const name = /^"?[A-Za-z_]\w*"?(?:\."?\w+"?)+$/.test(inner)
    ? inner.split(".").at(-1)!.replaceAll('"', "")
    : columnName(inner);
  return name === "?column?" ? (castNames[type] ?? type.toLowerCase()) : name;
}
