import { nextTurn } from "../../../../port/next-turn.ts";
import type { Reader } from "../../../../port/store.ts";
import { parseOwnFields } from "../../../live/document.ts";
import { creationTimeOf, documentKeyBytes, formatId, parseId } from "../../../live/document-id.ts";
import { creationOrder } from "../../../live/table.ts";
import type { LiveObject } from "../../../live/value.ts";
import { CurrentView, type StoredDocument } from "../../../live/view.ts";
import { LayeredReader } from "../../../live/writes.ts";
import type { Cell } from "../../document-cells.ts";
import { sqlFault } from "../../fault.ts";
import type { UsedColumns } from "../../found-rows.ts";
import { type LiveColumn, liveCell } from "../../live-columns.ts";
import type { LiveRead, LiveTable } from "../../messages.ts";
import type { ChunkWriter } from "./chunk-writer.ts";
import type { StreamBudget } from "./stream-rows.ts";

const rowsPerTurn = 1_000;

/** Writes the documents of a live table in the order of their creation. */
export async function writeLiveDocuments(
  table: LiveTable,
  { ids, rowsMax = Infinity }: LiveRead,
  columns: readonly LiveColumn[],
  used: UsedColumns,
  reader: Reader,
  rows: ChunkWriter,
  budget: StreamBudget,
  check: () => void,
): Promise<void> {
  const view = new CurrentView(new LayeredReader(reader, []), table.namespace);
  const shown = columns.map((column) => (used.all || used.names.has(column.name.toLowerCase()) ? column : undefined));
  let count = 0;
  for (const [key, document] of ids === undefined ? allOf(view, table) : chosen(view, table, ids)) {
    if (count >= rowsMax) return;
    budget.bytesLeft -= document.json.length;
    if (budget.bytesLeft < 0) throw tooMuch(table.name, budget.bytesMax);
    rows.add(cellsOf(table.id, key, document, shown));
    if (++count % rowsPerTurn > 0) continue;
    await nextTurn();
    check();
  }
}

function* allOf(view: CurrentView, { id }: LiveTable): Iterable<readonly [string, StoredDocument]> {
  for (const { documentKey, load } of view.rows(id, creationOrder, "", undefined, false)) {
    yield [documentKey, load()!];
  }
}

function* chosen(
  view: CurrentView,
  { id }: LiveTable,
  ids: readonly string[],
): Iterable<readonly [string, StoredDocument]> {
  for (const text of new Set(ids)) {
    const parsed = parseId(text);
    if (parsed === undefined || parsed.table !== id || parsed.key.length !== documentKeyBytes) continue;
    const document = view.document(id, parsed.key);
    if (document !== undefined) yield [parsed.key, document];
  }
}

function cellsOf(
  table: number,
  key: string,
  { json }: StoredDocument,
  columns: readonly (LiveColumn | undefined)[],
): Cell[] {
  const own = columns.some((column) => column?.shows.kind === "field") ? parseOwnFields(json) : {};
  return columns.map((column) => column && cellOf(column, { table, key, json, own }));
}

function cellOf(
  { shows, type }: LiveColumn,
  { table, key, json, own }: { table: number; key: string; json: Buffer; own: LiveObject },
): Cell {
  switch (shows.kind) {
    case "id":
      return formatId({ table, key });
    case "time":
      return creationTimeOf(key);
    case "source":
      return json.toString();
    case "field":
      return liveCell(Object.hasOwn(own, shows.field) ? own[shows.field] : undefined, type);
  }
}

function tooMuch(name: string, bytesMax: number) {
  return sqlFault(
    "too_many_rows",
    `live.${name} holds more than the ${bytesMax} bytes that one statement reads of streams and live tables (SERVICE_SQL_STREAM_BYTES); narrow it by _id or LIMIT`,
  );
}
