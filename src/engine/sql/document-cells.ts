import type { StoredDocument } from "../collection/document-codec.ts";
import { parseExact } from "../exact-json.ts";
import { valueAt } from "../retrieval/result.ts";
import type { FieldSpec } from "../schema/schema.ts";
import { fieldValue, sourceValues } from "../search/document.ts";
import { shortFloats } from "../search/vector/short-floats.ts";
import type { CollectionColumn } from "./columns.ts";

/** What a cell takes, by the type of its column; undefined is NULL. */
export type Cell = CellItem | Float32Array | Uint8Array | readonly CellItem[] | undefined;
export type CellItem = number | bigint | string | boolean;

/** A document as a row of these columns. */
export function documentCells(id: number, document: StoredDocument, columns: readonly CollectionColumn[]): Cell[] {
  const isExact = columns.some(({ shows }) => shows.kind === "field" && shows.field.kind.kind === "json");
  let source: unknown;
  // Parsed once for all fields, and not at all where none is asked for.
  const parsed = () => {
    source ??= isExact ? parseExact(document.source) : JSON.parse(document.source);
    return source;
  };
  return columns.map(({ shows }) => cellOf(shows, id, document, parsed));
}

function cellOf(shows: CollectionColumn["shows"], id: number, document: StoredDocument, source: () => unknown): Cell {
  switch (shows.kind) {
    case "id":
      return id;
    case "source":
      return document.source;
    case "vector":
      return document.vectors.get(shows.name);
    case "sparse": {
      const vector = document.sparse.get(shows.name);
      if (vector === undefined) return undefined;
      return JSON.stringify({ indices: Array.from(vector.indices), values: shortFloats(vector.values) });
    }
    case "field":
      return fieldCell(source(), shows.field);
  }
}

/** The first value of a field, or all of them; `_source` has them, too. */
export function fieldCell(source: unknown, field: FieldSpec): Cell {
  if (field.kind.kind === "json") {
    const value = valueAt(source, field.sourcePath);
    return value === undefined || value === null ? undefined : JSON.stringify(value);
  }
  const [first, ...more] = sourceValues(source, field.sourcePath);
  if (field.multi && first !== undefined) {
    return [first, ...more].map((value) => valueCell(field, value)).filter((cell) => cell !== undefined);
  }
  return first === undefined ? undefined : valueCell(field, first);
}

function valueCell(field: FieldSpec, value: unknown): CellItem | undefined {
  let cell: string | number;
  try {
    cell = fieldValue(field, field.name, value);
  } catch {
    // Written before the field was added, when nothing checked it.
    return undefined;
  }
  switch (field.kind.kind) {
    case "bool":
      return cell === 1;
    case "date":
      return BigInt(cell) * 1000n;
    default:
      return cell;
  }
}
