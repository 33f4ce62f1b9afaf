import type { Fields, Validator } from "../live/validator.ts";
import { bytesOf, int64Of, type LiveValue } from "../live/value.ts";
import { uniqueNames } from "./columns.ts";
import type { Cell } from "./document-cells.ts";
import type { SqlColumnInfo, SqlType } from "./type.ts";

/** A column of a live table: what it shows of a document. */
export interface LiveColumn extends SqlColumnInfo {
  readonly shows:
    | { readonly kind: "id" }
    | { readonly kind: "time" }
    | { readonly kind: "source" }
    | { readonly kind: "field"; readonly field: string };
}

/** `_id`, `_creationTime` in milliseconds, the fields of the schema, and `_source`, which has what else there is. */
export function liveColumns(fields: Fields | undefined): readonly LiveColumn[] {
  const columns: LiveColumn[] = [
    { name: "_id", type: { kind: "text" }, shows: { kind: "id" } },
    { name: "_creationTime", type: { kind: "float64" }, shows: { kind: "time" } },
  ];
  for (const [field, validator] of Object.entries(fields ?? {})) {
    if (field.includes("\0") || !field.isWellFormed()) continue;
    columns.push({ name: field, type: typeOf(validator), shows: { kind: "field", field } });
  }
  columns.push({ name: "_source", type: { kind: "json" }, shows: { kind: "source" } });
  const names = uniqueNames(columns.map(({ name }) => name));
  return columns.map((column, i) => ({ ...column, name: names[i]! }));
}

const json: SqlType = { kind: "json" };

function typeOf(validator: Validator): SqlType {
  switch (validator.type) {
    case "string":
    case "id":
      return { kind: "text" };
    case "number":
      return { kind: "float64" };
    case "boolean":
      return { kind: "boolean" };
    case "int64":
      return { kind: "int64" };
    case "bytes":
      return { kind: "bytes" };
    case "literal":
      return literalType(validator.value);
    case "union": {
      // What may also be null, or is one of several texts, is of one type still.
      const [first = json, ...others] = validator.of.filter(({ type }) => type !== "null").map(typeOf);
      return others.every(({ kind }) => kind === first.kind) ? first : json;
    }
    default:
      return json;
  }
}

function literalType(value: LiveValue): SqlType {
  if (typeof value === "string") return { kind: "text" };
  if (typeof value === "number") return { kind: "float64" };
  return typeof value === "boolean" ? { kind: "boolean" } : json;
}

/** A field's value in a column of the type; undefined, which is NULL, also for what does not fit. */
export function liveCell(value: LiveValue | undefined, { kind }: SqlType): Cell {
  if (value === undefined || value === null) return undefined;
  switch (kind) {
    case "text":
      return typeof value === "string" ? value : undefined;
    case "float64":
      return typeof value === "number" ? value : undefined;
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "int64":
      return int64Of(value);
    case "bytes":
      return bytesOf(value);
    default:
      return JSON.stringify(value);
  }
}
