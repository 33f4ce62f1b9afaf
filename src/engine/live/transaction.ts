import type { WriteOp } from "../../port/store.ts";
import { invalid, notFound } from "../errors.ts";
import type { Steps } from "../turns.ts";
import {
  checkDocument,
  type FoundDocument,
  formatCursor,
  ownFieldsOf,
  parseOwnFields,
  type ScanSpec,
  scanRange,
} from "./document.ts";
import { documentKey, formatId, parseId } from "./document-id.ts";
import { FunctionFault, overLimit } from "./fault.ts";
import { documentName, ReadSet, type WriteSet } from "./read-set.ts";
import { type LiveSettings, liveLimits } from "./settings.ts";
import { type IndexPlace, type KeyRange, type LiveTable, placesOf } from "./table.ts";
import { isObject, type LiveObject, type LiveValue } from "./value.ts";
import { encodeDocument, encodeEntry, liveKeys, type StoredDocument, type TableView } from "./view.ts";

/** What a transaction does to one document. */
export interface Change {
  readonly table: LiveTable;
  readonly key: string;
  /** As it was when the transaction began. */
  readonly before: StoredDocument | undefined;
  /** Undefined: removed. */
  readonly after: { readonly document: LiveObject; readonly json: Buffer } | undefined;
}

export interface Patch {
  readonly patch: LiveValue | undefined;
  readonly patchPath: string;
  readonly unset?: readonly string[];
}

export interface Page {
  readonly documents: readonly FoundDocument[];
  /** Where the next page starts; undefined at the end. */
  readonly cursor: string | undefined;
}

export interface TransactionDeps {
  readonly view: TableView;
  readonly namespace: number;
  readonly tables: ReadonlyMap<string, LiveTable>;
  readonly tablesByNumber: ReadonlyMap<number, LiveTable>;
  readonly settings: LiveSettings;
  /** The time of the next document that it makes, which no other has. */
  nextMicros(): number;
  random(bytes: number): Uint8Array;
  /** The tick that the view shows; indexes that are younger know nothing of it. */
  readonly tick: number;
  /** Puts writes on top of the view, for scans that must see them. */
  overlay?(ops: readonly WriteOp[]): void;
}

/** Rows between two points at which others may run. */
const rowsPerStep = 64;

/** One run's reads and writes of tables, within its limits. Its own writes are seen by its later reads. */
export class Transaction {
  readonly read = new ReadSet();
  readonly #deps: TransactionDeps;
  readonly #changes = new Map<string, Change>();
  #documentsRead = 0;
  #bytesRead = 0;
  #bytesWritten = 0;
  #writes = 0;

  constructor(deps: TransactionDeps) {
    this.#deps = deps;
  }

  get changes(): Iterable<Change> {
    return this.#changes.values();
  }

  /** Of documents that it makes or replaces. */
  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  get hasChanges(): boolean {
    return this.#changes.size > 0;
  }

  /** All of them; a run that asks is run again when there are others. */
  tables(): LiveTable[] {
    return [...this.#deps.tables.values()];
  }

  table(name: string): LiveTable {
    const table = this.#deps.tables.get(name);
    if (table === undefined) throw notFound(`table ${JSON.stringify(name)} does not exist`);
    return table;
  }

  /** `path` names the id in errors. */
  get(path: string, id: LiveValue | undefined): FoundDocument | undefined {
    const found = this.#locate(path, id);
    if (found === undefined) return undefined;
    const { table, key } = found;
    const stored = this.#stored(table, key);
    return stored === undefined ? undefined : { table: table.number, key, json: stored.json };
  }

  *scan(spec: ScanSpec): Steps<Page> {
    const table = this.table(spec.table);
    const { index, range } = scanRange(table, spec, this.#deps.tick);
    const reverse = spec.order === "desc";
    this.#countRange();
    const documents: FoundDocument[] = [];
    let last: string | undefined;
    let rows = 0;
    for (const row of this.#deps.view.rows(table.number, index, range.from, range.to, reverse)) {
      if (documents.length >= spec.limit) {
        this.#note(range, last, reverse);
        return { documents, cursor: formatCursor(last!) };
      }
      if (++rows % rowsPerStep === 0) yield;
      last = row.key;
      const stored = row.load();
      if (stored === undefined) throw new Error("an index names a document that is not there");
      this.#countRead(stored.json.length);
      documents.push({ table: table.number, key: row.documentKey, json: stored.json });
    }
    this.#note(range, undefined, reverse);
    return { documents, cursor: undefined };
  }

  *count(spec: Omit<ScanSpec, "limit">): Steps<number> {
    const table = this.table(spec.table);
    const { index, range } = scanRange(table, spec, this.#deps.tick);
    this.#countRange();
    let count = 0;
    for (const _ of this.#deps.view.rows(table.number, index, range.from, range.to, false)) {
      if (++count % rowsPerStep === 0) yield;
      if (count > liveLimits.countKeysMax) throw overLimit(`counts more than ${liveLimits.countKeysMax} documents`);
    }
    this.#note(range, undefined, false);
    return count;
  }

  /** Returns the new document's id. */
  insert(path: string, tableName: string, document: LiveValue | undefined): string {
    const table = this.table(tableName);
    const after = this.#checked(path, table, document, undefined);
    const key = documentKey(this.#deps.nextMicros(), this.#deps.random(8));
    this.#write({ table, key, before: undefined, after });
    return formatId({ table: table.number, key });
  }

  /** Replaces the fields that are given and takes away those of `unset`. */
  patch(path: string, id: LiveValue | undefined, input: Patch): void {
    const { table, key, stored } = this.#existing(path, id);
    const { patch, patchPath, unset = [] } = input;
    if (!isObject(patch)) throw invalid(patchPath, "must be an object");
    const merged = { ...parseOwnFields(stored.json), ...patch };
    for (const name of unset) delete merged[name];
    this.#replace(table, key, stored, this.#checked(patchPath, table, merged, key));
  }

  replace(path: string, id: LiveValue | undefined, document: LiveValue | undefined, documentPath: string): void {
    const { table, key, stored } = this.#existing(path, id);
    this.#replace(table, key, stored, this.#checked(documentPath, table, document, key));
  }

  remove(path: string, id: LiveValue | undefined): void {
    const { table, key, stored } = this.#existing(path, id);
    this.#replace(table, key, stored, undefined);
  }

  /** What a commit of it at a tick writes. */
  finish(tick: number, entrySince: (key: Buffer) => number): { ops: WriteOp[]; written: WriteSet; former: Buffer[] } {
    const { namespace } = this.#deps;
    const ops: WriteOp[] = [];
    const former: Buffer[] = [];
    const documents: string[] = [];
    const places: IndexPlace[] = [];
    const put = (key: Buffer, value: Buffer) => ops.push({ kind: "put", key, value });
    for (const { table, key, before, after } of this.#changes.values()) {
      if (before === undefined && after === undefined) continue;
      documents.push(documentName(table.number, key));
      const own = liveKeys.document(namespace, table.number, key);
      if (after === undefined) ops.push({ kind: "delete", key: own });
      else put(own, encodeDocument(tick, after.json));
      if (before !== undefined) {
        const history = liveKeys.history(namespace, table.number, key, tick);
        put(history, encodeDocument(before.since, before.json));
        former.push(history);
      }
      const old = before === undefined ? [] : placesOf(table, parseOwnFields(before.json), key);
      const now = after === undefined ? [] : placesOf(table, after.document, key);
      places.push(...(old.length > 0 ? old : now));
      for (const [i, { number }] of table.indexes.entries()) {
        const [from, to] = [old[i + 1], now[i + 1]];
        if (from?.key === to?.key) continue;
        if (from !== undefined) {
          const entry = liveKeys.index(namespace, table.number, number, from.key);
          const history = liveKeys.indexHistory(namespace, table.number, number, from.key, tick);
          put(history, encodeEntry(entrySince(entry)));
          former.push(history);
          ops.push({ kind: "delete", key: entry });
        }
        if (to !== undefined) put(liveKeys.index(namespace, table.number, number, to.key), encodeEntry(tick));
        if (from !== undefined && to !== undefined) places.push(to);
      }
    }
    return { ops, written: { documents, places, schema: false }, former };
  }

  #locate(path: string, id: LiveValue | undefined): { table: LiveTable; key: string } | undefined {
    const parsed = parseId(id);
    if (parsed === undefined) throw invalid(path, "must be the id of a document");
    const table = this.#deps.tablesByNumber.get(parsed.table);
    return table === undefined ? undefined : { table, key: parsed.key };
  }

  #stored(table: LiveTable, key: string): StoredDocument | undefined {
    const name = documentName(table.number, key);
    this.read.documents.add(name);
    const change = this.#changes.get(name);
    const stored =
      change === undefined
        ? this.#deps.view.document(table.number, key)
        : change.after && { since: 0, ...change.after };
    this.#countRead(stored?.json.length ?? 0);
    return stored;
  }

  #existing(path: string, id: LiveValue | undefined): { table: LiveTable; key: string; stored: StoredDocument } {
    const found = this.#locate(path, id);
    const stored = found === undefined ? undefined : this.#stored(found.table, found.key);
    if (found === undefined || stored === undefined) {
      throw new FunctionFault("thrown", `${path}: there is no document ${String(id)}`);
    }
    return { ...found, stored };
  }

  #checked(path: string, table: LiveTable, input: LiveValue | undefined, key: string | undefined) {
    const { settings, tables } = this.#deps;
    const document = ownFieldsOf(path, input, table, key);
    checkDocument(path, table, document, (name) => tables.get(name)?.number);
    const json = Buffer.from(JSON.stringify(document));
    if (json.length > settings.documentBytesMax) {
      throw invalid(path, `a document takes at most ${settings.documentBytesMax} bytes, this one ${json.length}`);
    }
    placesOf(table, document, "");
    return { document, json };
  }

  #replace(table: LiveTable, key: string, stored: StoredDocument, after: Change["after"]): void {
    const known = this.#changes.get(documentName(table.number, key));
    this.#write({ table, key, before: known === undefined ? stored : known.before, after });
  }

  #write(change: Change): void {
    const { settings } = this.#deps;
    const { table, key, after } = change;
    const name = documentName(table.number, key);
    if (++this.#writes > settings.documentsWrittenMax) {
      throw overLimit(`writes more than ${settings.documentsWrittenMax} documents`);
    }
    this.#bytesWritten += after?.json.length ?? 0;
    if (this.#bytesWritten > settings.writtenBytesMax)
      throw overLimit(`writes more than ${settings.writtenBytesMax} bytes`);
    const former = this.#changes.get(name);
    this.#changes.set(name, change);
    this.#deps.overlay?.(this.#overlayOps(change, former));
  }

  /** As scans see it until it is committed. */
  #overlayOps({ table, key, before, after }: Change, former: Change | undefined): WriteOp[] {
    const { namespace } = this.#deps;
    const ops: WriteOp[] = [];
    const old = former === undefined ? before && parseOwnFields(before.json) : former.after?.document;
    if (old !== undefined) {
      const places = placesOf(table, old, key);
      for (const [i, { number }] of table.indexes.entries()) {
        ops.push({ kind: "delete", key: liveKeys.index(namespace, table.number, number, places[i + 1]!.key) });
      }
    }
    const own = liveKeys.document(namespace, table.number, key);
    if (after === undefined) return [...ops, { kind: "delete", key: own }];
    ops.push({ kind: "put", key: own, value: encodeDocument(0, after.json) });
    const places = placesOf(table, after.document, key);
    for (const [i, { number }] of table.indexes.entries()) {
      const entry = liveKeys.index(namespace, table.number, number, places[i + 1]!.key);
      ops.push({ kind: "put", key: entry, value: encodeEntry(0) });
    }
    return ops;
  }

  /** Only up to the last row that was looked at: what lies behind it may change. */
  #note(range: KeyRange, last: string | undefined, reverse: boolean): void {
    if (last === undefined) this.read.ranges.push(range);
    else if (reverse) this.read.ranges.push({ ...range, from: last });
    else this.read.ranges.push({ ...range, to: `${last}\0` });
  }

  #countRange(): void {
    const { rangesMax } = this.#deps.settings;
    if (this.read.ranges.length >= rangesMax) throw overLimit(`reads more than ${rangesMax} ranges`);
  }

  #countRead(bytes: number): void {
    const { documentsReadMax, readBytesMax } = this.#deps.settings;
    if (++this.#documentsRead > documentsReadMax) throw overLimit(`reads more than ${documentsReadMax} documents`);
    this.#bytesRead += bytes;
    if (this.#bytesRead > readBytesMax) throw overLimit(`reads more than ${readBytesMax} bytes`);
  }
}
