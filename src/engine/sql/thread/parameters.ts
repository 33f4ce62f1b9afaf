import { sqlFault } from "../fault.ts";
import type { SqlParameter, SqlValue } from "../sql.ts";
import { typeName } from "../value.ts";
import { type LogicalType, lib, Type, type Value } from "./duckdb.ts";
import type { Edit } from "./edits.ts";
import { type Token, tokenize } from "./lexer.ts";

/** Types whose text is a value as it is. */
const textual = new Set(["text", "json", "null"]);

/** Parameters that are given as text of another type are cast to it where they stand: DuckDB reads the text. */
export function castEdits(query: string, params: readonly SqlParameter[]): Edit[] {
  if (!params.some(needsCast)) return [];
  const edits: Edit[] = [];
  let nextPlain = 0;
  for (const token of tokenize(query)) {
    if (token.kind !== "parameter") continue;
    const index = parameterIndex(query, token, nextPlain);
    if (index.plain) nextPlain++;
    const param = params[index.at];
    if (param === undefined || !needsCast(param)) continue;
    edits.push({ start: token.start, end: token.end, text: `CAST($${index.at + 1} AS ${typeName(param.type!)})` });
  }
  // One numbered parameter among plain ones is no SQL, so all of them get their numbers.
  if (nextPlain > 0) {
    let at = 0;
    for (const token of tokenize(query)) {
      if (token.kind !== "parameter") continue;
      const number = at++;
      if (!edits.some(({ start }) => start === token.start)) {
        edits.push({ start: token.start, end: token.end, text: `$${number + 1}` });
      }
    }
  }
  return edits;
}

export function parameterIndex(query: string, token: Token, nextPlain: number): { at: number; plain: boolean } {
  const text = query.slice(token.start, token.end);
  return text === "?" ? { at: nextPlain, plain: true } : { at: Number(text.slice(1)) - 1, plain: false };
}

function needsCast({ value, type }: SqlParameter): boolean {
  return typeof value === "string" && type !== undefined && !textual.has(type.kind);
}

/** A parameter's value as DuckDB takes it. */
export function parameterValue({ value, type }: SqlParameter, field: string): Value {
  if (type?.kind === "float64" && typeof value === "number") return lib.create_double(value);
  if (type?.kind === "float32" && typeof value === "number") return lib.create_float(value);
  return givenValue(value, field);
}

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const int128 = { min: -(2n ** 127n), max: 2n ** 127n - 1n };

function givenValue(value: SqlValue, field: string): Value {
  if (value === null) return lib.create_null_value();
  switch (typeof value) {
    case "boolean":
      return lib.create_bool(value);
    case "string":
      return lib.create_varchar(value);
    case "number":
      return Number.isSafeInteger(value) ? lib.create_int64(BigInt(value)) : lib.create_double(value);
    case "bigint":
      if (value >= int64.min && value <= int64.max) return lib.create_int64(value);
      if (value < int128.min || value > int128.max) throw sqlFault("out_of_range", "is too large a number", { field });
      return lib.create_hugeint(value);
    case "object":
      break;
  }
  if (value instanceof Uint8Array) return lib.create_blob(value);
  if (Array.isArray(value)) return listOf(value, field);
  return structOf(value as Readonly<Record<string, SqlValue>>, field);
}

function simple(type: number): LogicalType {
  return lib.create_logical_type(type);
}

function listOf(items: readonly SqlValue[], field: string): Value {
  const type = commonType(items, field);
  if (type === "double") {
    const values = items.map((item) => (item === null ? lib.create_null_value() : lib.create_double(Number(item))));
    return lib.create_list_value(simple(Type.DOUBLE), values);
  }
  const values = items.map((item, i) => givenValue(item, `${field}[${i}]`));
  return lib.create_list_value(type, values);
}

function commonType(items: readonly SqlValue[], field: string): LogicalType | "double" {
  const present = items.filter((item) => item !== null);
  const [first] = present;
  if (first === undefined) return simple(Type.VARCHAR);
  if (present.every((item) => typeof item === "number" || typeof item === "bigint")) {
    const whole = present.every((item) => typeof item === "bigint" || Number.isSafeInteger(item));
    return whole ? simple(Type.BIGINT) : "double";
  }
  if (present.every((item) => typeof item === "string")) return simple(Type.VARCHAR);
  if (present.every((item) => typeof item === "boolean")) return simple(Type.BOOLEAN);
  if (present.every((item) => item instanceof Uint8Array)) return simple(Type.BLOB);
  if (present.every((item) => typeof item === "object")) return lib.get_value_type(givenValue(first, field));
  throw sqlFault("parameter", "must have items of one type", { field });
}

function structOf(value: Readonly<Record<string, SqlValue>>, field: string): Value {
  const names = Object.keys(value);
  if (names.length === 0) throw sqlFault("parameter", "must not be an empty object", { field });
  const values = names.map((name) => givenValue(value[name]!, `${field}.${name}`));
  const types = values.map((each) => lib.get_value_type(each));
  return lib.create_struct_value(lib.create_struct_type(types, names), values);
}
