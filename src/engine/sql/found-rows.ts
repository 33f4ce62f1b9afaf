import { decodeDocument } from "../collection/document-codec.ts";
import { readSchema } from "../collection/schema-parse.ts";
import { fieldValue, sourceValues } from "../search/document.ts";
import { wildcardMatcher } from "../search/filter/wildcard.ts";
import { type CollectionColumn, collectionColumns } from "./columns.ts";
import { type Cell, documentCells, valueCell } from "./document-cells.ts";
import { type FoundDocuments, likeWildcard, type Shown, type ShownValue } from "./retrieval.ts";
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
  readonly #known = new Map<string, readonly CollectionColumn[]>();

  columnsOf({ collectionId, schemaVersion, fields }: FoundDocuments): readonly CollectionColumn[] {
    const key = `${collectionId} ${schemaVersion}`;
    let columns = this.#known.get(key);
    if (columns !== undefined) return columns;
    columns = collectionColumns(readSchema(fields));
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
    if (found.shown.length > 0) showMatches(found.shown, ofDocument, () => JSON.parse(document.source), rest);
    rows.add([id, scores[i], ...rest]);
  }
}

/** Of a field of several values, one that the statement asks for. The cells are those after the id. */
export function showMatches(
  shown: readonly Shown[],
  columns: readonly CollectionColumn[],
  source: () => unknown,
  cells: Cell[],
): void {
  let parsed: unknown;
  const valuesOf = (name: string): readonly unknown[] => {
    const shows = columns.find(({ shows }) => shows.kind === "field" && shows.field.name === name)?.shows;
    if (shows?.kind !== "field") return [];
    parsed ??= source();
    return sourceValues(parsed, shows.field.sourcePath);
  };
  const tests = chosenTests(shown, (all, name) => matchOf(all, name, columns, valuesOf(name)) !== undefined);
  for (const name of new Set(tests.map(({ field }) => field))) {
    const at = columns.findIndex(({ shows }) => shows.kind === "field" && shows.field.name === name);
    const shows = columns[at]?.shows;
    const values = valuesOf(name);
    if (shows?.kind !== "field" || values.length < 2) continue;
    const match = matchOf(tests, name, columns, values);
    // The first column is the id, which is not among the cells.
    if (match !== undefined) cells[at - 1] = valueCell(shows.field, match);
  }
}

/** The tests that all must be met; of several lists the first that goes with the others. */
function chosenTests(
  shown: readonly Shown[],
  holds: (tests: readonly ShownValue[], field: string) => boolean,
): readonly ShownValue[] {
  let tests: readonly ShownValue[] = shown.filter((each) => "field" in each);
  for (const each of shown) {
    if ("field" in each) continue;
    const fits = (list: readonly ShownValue[]) => list.every(({ field }) => holds([...tests, ...list], field));
    tests = [...tests, ...(each.either.find(fits) ?? [])];
  }
  return tests;
}

/** The first value of a field that meets all of its tests. */
function matchOf(
  tests: readonly ShownValue[],
  name: string,
  columns: readonly CollectionColumn[],
  values: readonly unknown[],
): unknown {
  const shows = columns.find(({ shows }) => shows.kind === "field" && shows.field.name === name)?.shows;
  if (shows?.kind !== "field") return undefined;
  const own = tests.filter(({ field }) => field === name);
  return values.find((value) => {
    const held = fieldValue(shows.field, name, value);
    return own.every((test) => meets(held, test));
  });
}

function meets(held: string | number, { values, range, like }: ShownValue): boolean {
  if (values !== undefined && !values.includes(held)) return false;
  if (like !== undefined && !isLike(String(held), like)) return false;
  if (range === undefined) return true;
  const { gt, gte, lt, lte } = range;
  return (
    (gt === undefined || held > gt) &&
    (gte === undefined || held >= gte) &&
    (lt === undefined || held < lt) &&
    (lte === undefined || held <= lte)
  );
}

function isLike(text: string, pattern: string): boolean {
  return wildcardMatcher(likeWildcard(pattern)).matches(text);
}
