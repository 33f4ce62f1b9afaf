import { sqlFault } from "../../fault.ts";
import type { SqlParameter, SqlValue } from "../../sql.ts";
import type { SqlType } from "../../type.ts";
import { typeName } from "../../value.ts";
import { type LogicalType, lib, type Prepared, Type, type Value } from "../duckdb.ts";
import type { Edit } from "../edits.ts";
import { parameterNumber } from "../plan/arguments.ts";
import type { Token } from "../plan/lexer.ts";

/** Types whose text is a value as it is. */
const textual = new Set(["text", "json", "null"]);

/** How the parameters of a statement are named, and which value each number stands for. */
export interface NumberedParameters {
  readonly edits: readonly Edit[];
  /** The index among the given values of DuckDB's parameter 1, 2, …. */
  readonly indexes: readonly number[];
}

/**
 * DuckDB wants parameters numbered without gaps, and some of a statement's may be gone with a retriever's call: what
 * is left (`isLeft`) is renumbered. Those that are given as text of another type are cast to it where they stand,
 * so that DuckDB reads the text; `castAll` casts every one that has a type.
 */
export function numberParameters(
  query: string,
  tokens: readonly Token[],
  params: readonly SqlParameter[],
  isLeft: (token: Token) => boolean,
  castAll = false,
): NumberedParameters {
  const left: { readonly token: Token; readonly number: number }[] = [];
  for (const token of tokens) {
    if (token.kind === "parameter" && isLeft(token))
      left.push({ token, number: parameterNumber(query, token, tokens) });
  }
  const numbers = [...new Set(left.map(({ number }) => number))].sort((a, b) => a - b);
  const edits = left.map(({ token, number }): Edit => {
    const name = `$${numbers.indexOf(number) + 1}`;
    const param = params[number - 1];
    const isCast = param?.type !== undefined && (castAll || needsCast(param));
    return { start: token.start, end: token.end, text: isCast ? castTo(name, param.type) : name };
  });
  return { edits, indexes: numbers.map((number) => number - 1) };
}

/** Nothing can be cast to the type of NULL but NULL itself. */
function castTo(name: string, type: SqlType): string {
  return type.kind === "null" ? "NULL" : `CAST(${name} AS ${typeName(type)})`;
}

function needsCast({ value, type }: SqlParameter): boolean {
  return typeof value === "string" && !textual.has(type?.kind ?? "null");
}

/** Fills a statement whose parameters were renumbered. */
export function bindAll(
  prepared: Prepared,
  indexes: readonly number[],
  params: readonly SqlParameter[],
  more: readonly Value[] = [],
): void {
  prepared.parameters.forEach((name, i) => {
    const number = Number(name);
    const at = indexes[number - 1];
    const value = at === undefined ? more[number - indexes.length - 1]! : parameterValue(params[at]!, `params[${at}]`);
    prepared.bind(i + 1, value);
  });
}

/** A parameter's value as DuckDB takes it. */
export function parameterValue({ value, type }: SqlParameter, field: string): Value {
  if (type?.kind === "float64" && typeof value === "number") return lib.create_double(value);
  if (type?.kind === "float32" && typeof value === "number") return lib.create_float(value);
  return boundValue(value, field);
}

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const int128 = { min: -(2n ** 127n), max: 2n ** 127n - 1n };

function boundValue(value: SqlValue, field: string): Value {
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
  const values = items.map((item, i) => boundValue(item, `${field}[${i}]`));
  // Made once and asked for their type: made for it alone, each level would double the work of those below it.
  const first = items.findIndex((item) => item !== null);
  return lib.create_list_value(type === "nested" ? lib.get_value_type(values[first]!) : type, values);
}

/** The type of a list's items; `nested` where their own parts make it. */
function commonType(items: readonly SqlValue[], field: string): LogicalType | "double" | "nested" {
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
  if (present.every((item) => typeof item === "object")) return "nested";
  throw sqlFault("parameter", "must have items of one type", { field });
}

function structOf(value: Readonly<Record<string, SqlValue>>, field: string): Value {
  const names = Object.keys(value);
  if (names.length === 0) throw sqlFault("parameter", "must not be an empty object", { field });
  const values = names.map((name) => boundValue(value[name]!, `${field}.${name}`));
  const types = values.map((each) => lib.get_value_type(each));
  return lib.create_struct_value(lib.create_struct_type(types, names), values);
}
