import { decodeDocument } from "../../collection/document-codec.ts";
import { parseSchema } from "../../collection/schema-parse.ts";
import { fieldValue, sourceValues } from "../../search/document.ts";
import { type CollectionColumn, collectionColumns } from "../columns.ts";
import type { FoundDocuments, ShownValue } from "../retrieval.ts";
import type { SqlColumnInfo } from "../type.ts";
import type { Cell } from "./chunk-writer.ts";
import { documentCells, valueCell } from "./document-cells.ts";
import type { UsedColumns } from "./plan-statement.ts";

const score: SqlColumnInfo = { name: "_score", type: { kind: "float64" } };

/** A retrieval's columns: `_id`, `_score`, the fields; vectors and the source where the statement names them. */
export interface FoundColumns {
  readonly all: readonly SqlColumnInfo[];
  readonly ofDocument: readonly CollectionColumn[];
}

/** Collections whose columns are remembered. */
const knownMax = 100;

/** The columns of collections, parsed once for each version of a schema. */
export class FoundSchemas {
  readonly #known = new Map<string, readonly CollectionColumn[]>();

  columnsOf({ collectionId, schemaVersion, fields }: FoundDocuments): readonly CollectionColumn[] {
    const key = `${collectionId} ${schemaVersion}`;
    let columns = this.#known.get(key);
    if (columns !== undefined) return columns;
    columns = collectionColumns(parseSchema(fields));
    if (this.#known.size >= knownMax) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(key, columns);
    return columns;
  }
}

export function foundColumns(columns: readonly CollectionColumn[], used: UsedColumns): FoundColumns {
  const ofDocument = columns.filter(
    ({ name, shows }) => shows.kind === "id" || shows.kind === "field" || used.names.has(name.toLowerCase()),
  );
  const [id, ...rest] = ofDocument;
  return { all: [id!, score, ...rest], ofDocument };
}

/** Takes rows, one after another. */
export interface RowSink {
  add(cells: readonly Cell[]): void;
}

/** Writes what was found, best first. */
export function writeFound(found: FoundDocuments, { ofDocument }: FoundColumns, rows: RowSink): void {
  const { ids, scores, offsets, data } = found;
  for (let i = 0; i < ids.length; i++) {
    const document = decodeDocument(data.subarray(offsets[i], offsets[i + 1]));
    const [id, ...rest] = documentCells(ids[i]!, document, ofDocument);
    if (found.shown.length > 0) showMatches(found.shown, ofDocument, document.source, rest);
    rows.add([id, scores[i], ...rest]);
  }
}

function showMatches(
  shown: readonly ShownValue[],
  columns: readonly CollectionColumn[],
  source: string,
  cells: Cell[],
): void {
  let parsed: unknown;
  for (const name of new Set(shown.map(({ field }) => field))) {
    const at = columns.findIndex(({ shows }) => shows.kind === "field" && shows.field.name === name);
    const shows = columns[at]?.shows;
    if (shows?.kind !== "field") continue;
    parsed ??= JSON.parse(source);
    const values = sourceValues(parsed, shows.field.sourcePath);
    if (values.length < 2) continue;
    const tests = shown.filter(({ field }) => field === name);
    const match = values.find((value) => {
      const held = fieldValue(shows.field, name, value);
      return tests.every((test) => meets(held, test));
    });
    // The first column is the id, which is not among the cells.
    if (match !== undefined) cells[at - 1] = valueCell(shows.field, match);
  }
}

function meets(held: string | number, { values, range }: ShownValue): boolean {
  if (values !== undefined && !values.includes(held)) return false;
  if (range === undefined) return true;
  const { gt, gte, lt, lte } = range;
  return (
    (gt === undefined || held > gt) &&
    (gte === undefined || held >= gte) &&
    (lt === undefined || held < lt) &&
    (lte === undefined || held <= lte)
  );
}
