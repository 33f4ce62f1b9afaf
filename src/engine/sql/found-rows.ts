import { LruMap } from "../../port/lru-map.ts";
import { decodeDocument } from "../collection/document-codec.ts";
import { readSchema } from "../schema/schema-parse.ts";
import { type CollectionColumn, collectionColumns } from "./columns.ts";
import { type Cell, documentCells } from "./document-cells.ts";
import type { FoundDocuments } from "./retrieval.ts";
import type { SqlColumnInfo } from "./type.ts";

/** Names of columns that a statement uses, of whatever table. */
export interface UsedColumns {
  readonly all: boolean;
  /** In lower case. */
  readonly names: ReadonlySet<string>;
}

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
  readonly #known = new LruMap<string, readonly CollectionColumn[]>(knownMax);

  columnsOf({ collectionId, schemaVersion, fields }: FoundDocuments): readonly CollectionColumn[] {
    const key = `${collectionId} ${schemaVersion}`;
    let columns = this.#known.get(key);
    if (columns !== undefined) return columns;
    columns = collectionColumns(readSchema(fields));
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
    rows.add([id, scores[i], ...rest]);
  }
}
