import type { Column, ColumnarRow, ColumnarSchema, ColumnType, ColumnValues } from "../../../port/columnar.ts";
import { parseExact } from "../../exact-json.ts";
import type { FieldKind, Schema } from "../../schema/schema.ts";
import { type ExtractedDocument, sourceValues } from "../../search/document.ts";
import type { StoredDocument } from "../document-codec.ts";

const columnTypes: Readonly<Record<FieldKind["kind"], ColumnType>> = {
  keyword: "string",
  text: "string",
  i64: "i64",
  f64: "f64",
  bool: "bool",
  date: "date",
  json: "json",
};

/** A collection's schema as the columns of its dataset. */
export function columnarSchema(schema: Schema): ColumnarSchema {
  return {
    columns: schema.fields.map(({ name, kind }): Column => ({ name, type: columnTypes[kind.kind] })),
    vectors: schema.vectors.map(({ name, dim }) => ({ name, dim })),
  };
}

/** A document as a row of those columns. */
export function columnarRow(
  schema: Schema,
  id: number,
  version: number,
  stored: StoredDocument,
  extracted: ExtractedDocument,
): ColumnarRow {
  return {
    id,
    version,
    source: stored.source,
    values: schema.fields.map(({ kind, sourcePath }, i): ColumnValues => {
      if (kind.kind !== "json") return extracted.values[i] ?? [];
      return sourceValues(parseExact(stored.source), sourcePath).map((value) => JSON.stringify(value));
    }),
    vectors: extracted.vectors,
  };
}
