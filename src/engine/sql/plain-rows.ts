import type { Schema } from "../schema/schema.ts";
import type { SqlBatch, SqlColumn } from "./batch.ts";
import { type CollectionColumn, collectionColumns } from "./columns.ts";
import { type Cell, fieldCell } from "./document-cells.ts";
import { type FoundColumns, foundColumns } from "./found-rows.ts";
import type { RunReply } from "./messages.ts";
import { type Constant, countOf, type PlainItem, type PlainSelect, type PlainTest } from "./retrieval.ts";
import type { SqlParameter } from "./sql.ts";
import type { SqlColumnInfo, SqlType } from "./type.ts";

/** Cells that are made on the listener's thread at most; a larger result is a matter for the statement's thread. */
const cellsMax = 2_000;
/** Each row has two at least. */
export const plainRowsMax = cellsMax / 2;

/** What was found, best first. */
export interface PlainHits {
  readonly hits: readonly { readonly id: number; readonly score: number }[];
  readonly schema: Schema;
  /** A document's source, parsed; undefined when it is gone. */
  source(id: number): unknown;
}

/** What a statement shows of a collection: the columns by their place in a row of `_id`, `_score` and the fields. */
interface Layout {
  readonly schema: Schema;
  readonly found: FoundColumns;
  readonly shown: readonly SqlColumnInfo[];
  readonly places: readonly number[];
  readonly needed: ReadonlySet<number>;
}

const noNames = { all: false, names: new Set<string>() };
const scorePlace = 1;

/** Worked out once for a statement that comes again. */
const layouts = new WeakMap<PlainSelect, Layout>();

/**
 * The rows of a statement that does nothing with what its retriever finds, as DuckDB would give them. Undefined where
 * they are many, or the collection's columns leave a doubt.
 */
export function plainRows(select: PlainSelect, hits: PlainHits, params: readonly SqlParameter[]): RunReply | undefined {
  const layout = layoutOf(select, hits.schema);
  if (layout === undefined || hits.hits.length * layout.found.all.length > cellsMax) return undefined;
  const tests = testsOf(select.tests, layout.found, params);
  const bounds = boundsOf(select, params);
  if (tests === undefined || bounds === undefined) return undefined;
  const rows: Cell[][] = [];
  for (const hit of hits.hits) {
    if (rows.length >= bounds.end) break;
    const source = hits.source(hit.id);
    if (source === undefined) continue;
    const cells = cellsOf(hit, source, layout);
    if (tests.every(({ place, values }) => values.has(cells[place]))) rows.push(cells);
  }
  return { columns: layout.shown, batch: batchOf(rows.slice(bounds.start), layout), done: true };
}

function layoutOf(select: PlainSelect, schema: Schema): Layout | undefined {
  const known = layouts.get(select);
  if (known?.schema === schema) return known;
  const found = foundColumns(collectionColumns(schema), noNames);
  const names = new Set(found.all.map(({ name }) => name.toLowerCase()));
  if (names.size < found.all.length) return undefined;
  const shown: SqlColumnInfo[] = [];
  const places: number[] = [];
  for (const item of select.items) {
    for (const { place, name } of placesOf(item, found)) {
      const column = found.all[place];
      if (column === undefined || column.type.kind === "list") return undefined;
      places.push(place);
      shown.push({ name, type: column.type });
    }
  }
  if (new Set(shown.map(({ name }) => name.toLowerCase())).size < shown.length) return undefined;
  const needed = new Set(places);
  for (const { column } of select.tests) needed.add(placeOf(column, found));
  const plan = { schema, found, shown, places, needed };
  layouts.set(select, plan);
  return plan;
}

function placesOf(item: PlainItem, { all }: FoundColumns): { place: number; name: string }[] {
  if (item.kind === "all") return all.map(({ name }, place) => ({ place, name }));
  // As it is written: a name that differs by its case is DuckDB's to tell.
  return [{ place: all.findIndex(({ name }) => name === item.column), name: item.name }];
}

function placeOf(column: string, { all }: FoundColumns): number {
  const lower = column.toLowerCase();
  return all.findIndex(({ name }) => name.toLowerCase() === lower);
}

interface CellTest {
  readonly place: number;
  readonly values: ReadonlySet<Cell>;
}

/** Undefined where a value would be converted before it is compared. */
function testsOf(
  tests: readonly PlainTest[],
  found: FoundColumns,
  params: readonly SqlParameter[],
): CellTest[] | undefined {
  const cellTests: CellTest[] = [];
  for (const { column, values } of tests) {
    const place = placeOf(column, found);
    const type = found.all[place]?.type;
    const cells = values.map((value) => comparable(value, type, params));
    if (cells.includes(undefined)) return undefined;
    cellTests.push({ place, values: new Set(cells) });
  }
  return cellTests;
}

function comparable(constant: Constant, type: SqlType | undefined, params: readonly SqlParameter[]): Cell {
  const param = constant.kind === "parameter" ? params[constant.index] : undefined;
  if (param?.type !== undefined && param.type.kind !== type?.kind) return undefined;
  const value = constant.kind === "value" ? constant.value : param?.value;
  if (type?.kind === "text") return typeof value === "string" ? value.toWellFormed() : undefined;
  if (type?.kind !== "int64") return undefined;
  const number = typeof value === "bigint" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
}

/** The rows that are taken, of those that meet the tests. */
function boundsOf(
  { limit, offset }: PlainSelect,
  params: readonly SqlParameter[],
): { start: number; end: number } | undefined {
  const start = offset === undefined ? 0 : countOf(offset, params);
  const count = limit === undefined ? Number.POSITIVE_INFINITY : countOf(limit, params);
  return start === undefined || count === undefined ? undefined : { start, end: start + count };
}

function cellsOf(
  { id, score }: PlainHits["hits"][number],
  source: unknown,
  { found: { ofDocument }, needed }: Layout,
): Cell[] {
  const fields: Cell[] = [];
  for (let i = 1; i < ofDocument.length; i++) {
    fields.push(needed.has(i + scorePlace) ? cellOf(ofDocument[i]!, source) : undefined);
  }
  return [id, score, ...fields.map(wellFormed)];
}

function cellOf({ shows }: CollectionColumn, source: unknown): Cell {
  if (shows.kind !== "field") throw new Error(`a ${shows.kind} is shown without having been asked for`);
  return fieldCell(source, shows.field);
}

/** Half a pair of UTF-16 has no place in UTF-8. */
function wellFormed(cell: Cell): Cell {
  return typeof cell === "string" ? cell.toWellFormed() : cell;
}

function batchOf(rows: readonly (readonly Cell[])[], { shown, places }: Layout): SqlBatch | undefined {
  if (rows.length === 0) return undefined;
  const columns = shown.map(({ type }, i) =>
    columnOf(
      type,
      rows.map((cells) => cells[places[i]!]),
    ),
  );
  return { rows: rows.length, columns };
}

function columnOf(type: SqlType, cells: readonly Cell[]): SqlColumn {
  const validity = validityOf(cells);
  switch (type.kind) {
    case "int64":
    case "timestamptz":
      return { layout: "fixed", type, validity, data: BigInt64Array.from(cells, (cell) => BigInt(plain(cell) ?? 0)) };
    case "float64":
      return { layout: "fixed", type, validity, data: Float64Array.from(cells, (cell) => Number(plain(cell) ?? 0)) };
    case "boolean":
      return { layout: "bits", type, validity, data: bitsOf(cells, (cell) => cell === true) };
    case "text":
    case "json":
      return { layout: "bytes", type, validity, ...bytesOf(cells) };
    default:
      throw new Error(`no column of a document is of type ${type.kind}`);
  }
}

function plain(cell: Cell): number | bigint | undefined {
  return typeof cell === "number" || typeof cell === "bigint" ? cell : undefined;
}

function validityOf(cells: readonly Cell[]): Uint8Array | undefined {
  return cells.includes(undefined) ? bitsOf(cells, (cell) => cell !== undefined) : undefined;
}

function bitsOf(cells: readonly Cell[], isSet: (cell: Cell) => boolean): Uint8Array {
  const bits = new Uint8Array(Math.ceil(cells.length / 8));
  for (let i = 0; i < cells.length; i++) if (isSet(cells[i])) bits[i >> 3]! |= 1 << (i & 7);
  return bits;
}

function bytesOf(cells: readonly Cell[]): { offsets: Int32Array; data: Uint8Array } {
  const texts = cells.map((cell) => (cell === undefined ? "" : String(cell)));
  const offsets = new Int32Array(texts.length + 1);
  for (let i = 0; i < texts.length; i++) offsets[i + 1] = offsets[i]! + Buffer.byteLength(texts[i]!);
  // Of its own memory, so that it can go to another thread or wire as it is.
  const data = Buffer.from(new ArrayBuffer(offsets[texts.length]!));
  for (let i = 0; i < texts.length; i++) data.write(texts[i]!, offsets[i]!);
  return { offsets, data };
}
