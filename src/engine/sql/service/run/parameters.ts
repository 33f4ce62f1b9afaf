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

/** Text of another type, and a list whose items are to be of the type that its client says. */
function needsCast({ value, type }: SqlParameter): boolean {
  if (typeof value === "string") return !textual.has(type?.kind ?? "null");
  return Array.isArray(value) && type?.kind === "list";
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
  return valueAs(value, typed(shapeOf(value, field)), field);
}

/** What a value and its parts are; of a list one for all items, so that none is changed to be as the first is. */
type Shape =
  | "null"
  | "boolean"
  | "int64"
  | "int128"
  | "double"
  | "text"
  | "bytes"
  | { readonly item: Shape }
  | { readonly members: ReadonlyMap<string, Shape> };

function shapeOf(value: SqlValue, field: string): Shape {
  if (value === null) return "null";
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "string":
      return "text";
    case "number":
      return Number.isSafeInteger(value) ? "int64" : "double";
    case "bigint":
      if (value >= int64.min && value <= int64.max) return "int64";
      if (value < int128.min || value > int128.max) throw sqlFault("out_of_range", "is too large a number", { field });
      return "int128";
    case "object":
      break;
  }
  if (value instanceof Uint8Array) return "bytes";
  if (Array.isArray(value)) {
    const shapes = value.map((item, i) => shapeOf(item, `${field}[${i}]`));
    return { item: shapes.reduce((common, shape) => commonOf(common, shape, field), "null") };
  }
  const entries = Object.entries(value as Readonly<Record<string, SqlValue>>);
  if (entries.length === 0) throw sqlFault("parameter", "must not be an empty object", { field });
  return { members: new Map(entries.map(([name, member]) => [name, shapeOf(member, `${field}.${name}`)])) };
}

/** From what fits least to what fits most. */
const numbers: readonly Shape[] = ["int64", "int128", "double"];

/** The shape that has room for both. */
function commonOf(a: Shape, b: Shape, field: string): Shape {
  if (a === b || b === "null") return a;
  if (a === "null") return b;
  if (numbers.includes(a) && numbers.includes(b)) return numbers[Math.max(numbers.indexOf(a), numbers.indexOf(b))]!;
  if (typeof a === "object" && typeof b === "object") {
    if ("item" in a && "item" in b) return { item: commonOf(a.item, b.item, field) };
    if ("members" in a && "members" in b && a.members.size === b.members.size) {
      const members = new Map<string, Shape>();
      for (const [name, shape] of a.members) {
        const other = b.members.get(name);
        if (other !== undefined) members.set(name, commonOf(shape, other, field));
      }
      if (members.size === a.members.size) return { members };
    }
  }
  throw sqlFault("parameter", "must have items of one type", { field });
}

/** A shape with its type, which is made once for all items of a list. */
type Typed = { readonly shape: Shape; readonly type: LogicalType; readonly parts: readonly Typed[] };

const simpleTypes = {
  null: Type.VARCHAR,
  boolean: Type.BOOLEAN,
  int64: Type.BIGINT,
  int128: Type.HUGEINT,
  double: Type.DOUBLE,
  text: Type.VARCHAR,
  bytes: Type.BLOB,
} as const;

function typed(shape: Shape): Typed {
  if (typeof shape === "string") return { shape, type: lib.create_logical_type(simpleTypes[shape]), parts: [] };
  if ("item" in shape) {
    const item = typed(shape.item);
    return { shape, type: lib.create_list_type(item.type), parts: [item] };
  }
  const parts = [...shape.members.values()].map(typed);
  const types = parts.map(({ type }) => type);
  return { shape, type: lib.create_struct_type(types, [...shape.members.keys()]), parts };
}

function valueAs(value: SqlValue, { shape, type, parts }: Typed, field: string): Value {
  if (value === null) return lib.create_null_value();
  if (typeof shape === "object") {
    if ("item" in shape) {
      const [item] = parts as [Typed];
      const items = (value as readonly SqlValue[]).map((each, i) => valueAs(each, item, `${field}[${i}]`));
      return lib.create_list_value(item.type, items);
    }
    const members = value as Readonly<Record<string, SqlValue>>;
    const values = [...shape.members.keys()].map((name, i) => valueAs(members[name]!, parts[i]!, `${field}.${name}`));
    return lib.create_struct_value(type, values);
  }
  switch (shape) {
    case "boolean":
      return lib.create_bool(value as boolean);
    case "text":
      return lib.create_varchar(value as string);
    case "int64":
      return lib.create_int64(BigInt(value as number | bigint));
    case "int128":
      return lib.create_hugeint(BigInt(value as number | bigint));
    case "double":
      return lib.create_double(Number(value));
    case "bytes":
      return lib.create_blob(value as Uint8Array);
    case "null":
      return lib.create_null_value();
  }
}
