import type { FieldSpec, Schema } from "../schema/schema.ts";
import type { SqlColumnInfo, SqlType } from "./type.ts";

/** The schemas that a namespace has in SQL; every table is in one of them. */
export const tableSchemas = ["collections", "streams", "links", "counters", "live"] as const;

export type TableSchema = (typeof tableSchemas)[number];

export function isTableSchema(name: string): name is TableSchema {
  return (tableSchemas as readonly string[]).includes(name);
}

/** A column of a collection's table: what it shows of a document. */
export interface CollectionColumn extends SqlColumnInfo {
  readonly shows:
    | { readonly kind: "id" }
    | { readonly kind: "source" }
    | { readonly kind: "field"; readonly field: FieldSpec }
    | { readonly kind: "vector"; readonly name: string }
    | { readonly kind: "sparse"; readonly name: string };
}

const fieldTypes: Readonly<Record<FieldSpec["kind"]["kind"], SqlType>> = {
  keyword: { kind: "text" },
  text: { kind: "text" },
  i64: { kind: "int64" },
  f64: { kind: "float64" },
  bool: { kind: "boolean" },
  date: { kind: "timestamptz" },
  json: { kind: "json" },
};

function fieldType({ kind, multi }: FieldSpec): SqlType {
  const item = fieldTypes[kind.kind];
  return multi ? { kind: "list", item } : item;
}

/**
 * The columns of a collection: `_id`, its fields, its vectors, `_source`. SQL tells names apart without regard to case;
 * of names that are the same to it, later ones get a number. A field that an earlier build gave a name that no text of
 * SQL can hold has no column: `_source` shows its values.
 */
export function collectionColumns(schema: Schema): readonly CollectionColumn[] {
  const columns: CollectionColumn[] = [{ name: "_id", type: { kind: "int64" }, shows: { kind: "id" } }];
  for (const field of schema.fields) {
    if (field.name.includes("\0") || !field.name.isWellFormed()) continue;
    columns.push({ name: field.name, type: fieldType(field), shows: { kind: "field", field } });
  }
  for (const { name, dim } of schema.vectors) {
    columns.push({
      name,
      type: { kind: "list", item: { kind: "float32" }, size: dim },
      shows: { kind: "vector", name },
    });
  }
  for (const { name } of schema.sparseVectors) {
    columns.push({ name, type: { kind: "json" }, shows: { kind: "sparse", name } });
  }
  columns.push({ name: "_source", type: { kind: "json" }, shows: { kind: "source" } });
  const names = uniqueNames(columns.map(({ name }) => name));
  return columns.map((column, i) => ({ ...column, name: names[i]! }));
}

export const streamColumns: readonly SqlColumnInfo[] = [
  { name: "partition", type: { kind: "int32" } },
  { name: "offset", type: { kind: "int64" } },
  { name: "timestamp", type: { kind: "timestamptz" } },
  { name: "key", type: { kind: "text" } },
  { name: "value", type: { kind: "text" } },
  { name: "headers", type: { kind: "json" } },
];

export const linkColumns: readonly SqlColumnInfo[] = [
  { name: "counter", type: { kind: "text" } },
  { name: "value", type: { kind: "int64" } },
];

/** Names that differ by more than their case: later ones get `_1`, `_2`, …. */
export function uniqueNames(names: readonly string[]): string[] {
  const used = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let i = 1; used.has(unique.toLowerCase()); i++) unique = `${name}_${i}`;
    used.add(unique.toLowerCase());
    return unique;
  });
}
