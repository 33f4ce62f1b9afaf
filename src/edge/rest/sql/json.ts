import type { SqlBatch, SqlColumn } from "../../../engine/sql/batch.ts";
import { isJson } from "../../../engine/sql/json-check.ts";
import type { SqlValue } from "../../../engine/sql/sql.ts";
import type { SqlColumnInfo, SqlType } from "../../../engine/sql/type.ts";
import {
  exactDigits,
  int128,
  isValid,
  jsonScalar,
  jsonText,
  keyText,
  readValue,
  weightOf,
} from "../../../engine/sql/value.ts";

/** The names of a row's members: a name that is there already gets a number. */
export function memberNames(columns: readonly SqlColumnInfo[]): string[] {
  const used = new Set<string>();
  const numbers = new Map<string, number>();
  return columns.map(({ name }) => {
    let unique = name;
    // Goes on where the same name left off: there may be thousands.
    let number = numbers.get(name) ?? 1;
    for (; used.has(unique); number++) unique = `${name}_${number}`;
    numbers.set(name, number);
    used.add(unique);
    return unique;
  });
}

/** A value that weighs more is written in parts, so that others have their turn between them. */
const partWeight = 1_000;

/** Rows as JSON objects, each with a comma before it but for the first of a result; a long row is several texts. */
export function* rowTexts(names: readonly string[], batch: SqlBatch, isFirstBatch: boolean): Iterable<string> {
  const prefixes = names.map((name, i) => `${i === 0 ? "{" : ","}${JSON.stringify(name)}:`);
  const { columns } = batch;
  const cells = columns.map(cellWriter);
  for (let row = 0; row < batch.rows; row++) {
    let text = isFirstBatch && row === 0 ? "" : ",";
    for (let i = 0; i < cells.length; i++) {
      text += prefixes[i]!;
      if (isLong(columns[i]!, row)) {
        yield text;
        text = "";
        yield* parts(columns[i]!, row);
      } else text += cells[i]!(row);
    }
    yield `${text}}`;
  }
}

function isLong(column: SqlColumn, row: number): boolean {
  if (column.layout === "bytes") return column.offsets[row + 1]! - column.offsets[row]! > partLength;
  return weightOf(column, row, row + 1) > partWeight;
}

function isNested({ layout }: SqlColumn): boolean {
  return layout === "list" || layout === "struct";
}

/** The text of one value, of which any part may be long. */
function* parts(column: SqlColumn, row: number): Iterable<string> {
  if (column.layout === "null" || !isValid(column.validity, row)) yield "null";
  else if (column.layout === "struct" && column.type.kind === "struct") {
    for (const [i, { name }] of column.type.fields.entries()) {
      yield `${i === 0 ? "{" : ","}${JSON.stringify(name)}:`;
      yield* parts(column.fields[i]!, row);
    }
    yield column.fields.length === 0 ? "{}" : "}";
  } else if (column.layout === "list") yield* items(column, row);
  else yield* valueParts(readValue(column, row), column.type);
}

/** An empty part stands for work that made nothing yet. */
function* valueParts(value: SqlValue, type: SqlType): Iterable<string> {
  if (type.kind === "json" && typeof value === "string") {
    const checking = isJson(value);
    let step = checking.next();
    for (; !step.done; step = checking.next()) yield "";
    if (step.value) {
      for (let at = 0; at < value.length; at += partLength) yield value.slice(at, at + partLength);
      return;
    }
  }
  const shown = jsonScalar(value, type);
  if (typeof shown !== "string") {
    yield JSON.stringify(shown);
    return;
  }
  yield '"';
  // A pair of surrogates that is cut here becomes two escapes, which mean the same.
  for (let at = 0; at < shown.length; at += partLength)
    yield JSON.stringify(shown.slice(at, at + partLength)).slice(1, -1);
  yield '"';
}

function* items({ type, items, offsets }: Extract<SqlColumn, { layout: "list" }>, row: number): Iterable<string> {
  const isMap = type.kind === "map" && items.layout === "struct";
  const values = isMap ? items.fields[1]! : items;
  let text = isMap ? "{" : "[";
  for (let i = offsets[row]!; i < offsets[row + 1]!; i++) {
    if (i > offsets[row]!) text += ",";
    if (isMap) text += `${keyText(items.fields[0]!, i)}:`;
    if (isNested(values) || isLong(values, i)) {
      yield text;
      yield* parts(values, i);
      text = "";
    } else text += jsonText(values, i);
    if (text.length < partLength) continue;
    yield text;
    text = "";
  }
  yield text + (isMap ? "}" : "]");
}

/** About as much as a millisecond makes. */
const partLength = 16 * 1024;

/**
 * How the values of a column are written. JSON stays what it is; decimals are numbers where every reader keeps all of
 * their digits, and text where not.
 */
function cellWriter(column: SqlColumn): (row: number) => string {
  if (column.layout === "null") return () => "null";
  const { type, validity } = column;
  const there = (row: number) => isValid(validity, row);
  if (column.layout === "fixed") {
    const { data } = column;
    switch (type.kind) {
      case "int8":
      case "int16":
      case "int32":
      case "uint8":
      case "uint16":
      case "uint32":
        return (row) => (there(row) ? String(data[row]) : "null");
      case "int64":
      case "uint64":
        return (row) => (there(row) ? integerText(BigInt(data[row]!)) : "null");
      case "int128":
        return (row) => (there(row) ? integerText(int128(data as BigInt64Array, row)) : "null");
      case "decimal": {
        const isExact = type.width <= exactDigits;
        return (row) => {
          const value = readValue(column, row) as string | null;
          return value === null ? "null" : isExact ? value : JSON.stringify(value);
        };
      }
    }
  }
  return (row) => jsonText(column, row);
}

function integerText(value: bigint): string {
  const isSafe = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
  return isSafe ? String(value) : `"${value}"`;
}
