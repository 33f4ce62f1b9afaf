import { makeKey, prefixRange, readU64, tables } from "../keys.ts";
import { openValue, sealValue } from "../stored-value.ts";
import { documentKeyBytes } from "./document-id.ts";
import { creationOrder, inRange } from "./table.ts";
import { keyText, type LayeredReader } from "./writes.ts";

/** One version of a document: its own fields as JSON, and the tick that wrote it. */
export interface StoredDocument {
  readonly since: number;
  readonly json: Buffer;
}

export interface Row {
  /** In its order. */
  readonly key: string;
  readonly documentKey: string;
  load(): StoredDocument | undefined;
}

/** The tables of a namespace as they are, or were. */
export interface TableView {
  document(table: number, key: string): StoredDocument | undefined;
  rows(table: number, index: number, from: string, to: string | undefined, reverse: boolean): Iterable<Row>;
}

export const liveKeys = {
  document: (namespace: number, table: number, key: string) => makeKey(tables.liveDocument, namespace, table, key),
  index: (namespace: number, table: number, index: number, key: string) =>
    makeKey(tables.liveIndex, namespace, table, index, key),
  history: (namespace: number, table: number, key: string, end: number) =>
    makeKey(tables.liveHistory, namespace, table, key, end),
  indexHistory: (namespace: number, table: number, index: number, key: string, end: number) =>
    makeKey(tables.liveIndexHistory, namespace, table, index, key, end),
};

/** What comes before the key of a row: the tag, and 8 bytes each of namespace, table and index. */
const documentPrefixBytes = 17;
const indexPrefixBytes = 25;
const tickBytes = 8;

export function encodeDocument(since: number, json: Uint8Array): Buffer {
  return sealValue(encodeSince(since), json);
}

export function decodeDocument(stored: Uint8Array): StoredDocument {
  const bytes = openValue(stored);
  return { since: bytes.readDoubleBE(0), json: bytes.subarray(8) };
}

export function encodeEntry(since: number): Buffer {
  return sealValue(encodeSince(since));
}

export function entrySince(stored: Uint8Array): number {
  return openValue(stored).readDoubleBE(0);
}

function encodeSince(since: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(since);
  return bytes;
}

export class CurrentView implements TableView {
  readonly #reader: LayeredReader;
  readonly #namespace: number;

  constructor(reader: LayeredReader, namespace: number) {
    this.#reader = reader;
    this.#namespace = namespace;
  }

  document(table: number, key: string): StoredDocument | undefined {
    const stored = this.#reader.get(liveKeys.document(this.#namespace, table, key));
    return stored === undefined ? undefined : decodeDocument(stored);
  }

  *rows(table: number, index: number, from: string, to: string | undefined, reverse: boolean): Iterable<Row> {
    const range = bounds(this.#namespace, table, index, from, to);
    for (const { key, value } of this.#reader.range(range.from, range.to, reverse)) {
      if (index === creationOrder) {
        const own = keyText(key).slice(documentPrefixBytes);
        yield { key: own, documentKey: own, load: () => decodeDocument(value) };
        continue;
      }
      const own = keyText(key).slice(indexPrefixBytes);
      const documentKey = own.slice(-documentKeyBytes);
      yield { key: own, documentKey, load: () => this.document(table, documentKey) };
    }
  }
}

/** The tables as they were after a tick of the past. */
export class HistoricView implements TableView {
  readonly #reader: LayeredReader;
  readonly #namespace: number;
  readonly #tick: number;

  constructor(reader: LayeredReader, namespace: number, tick: number) {
    this.#reader = reader;
    this.#namespace = namespace;
    this.#tick = tick;
  }

  document(table: number, key: string): StoredDocument | undefined {
    const stored = this.#reader.get(liveKeys.document(this.#namespace, table, key));
    const current = stored === undefined ? undefined : decodeDocument(stored);
    if (current !== undefined && current.since <= this.#tick) return current;
    const from = liveKeys.history(this.#namespace, table, key, this.#tick + 1);
    const { to } = prefixRange(tables.liveHistory, this.#namespace, table, key);
    for (const { value } of this.#reader.range(from, to, false)) {
      const version = decodeDocument(value);
      return version.since <= this.#tick ? version : undefined;
    }
    return undefined;
  }

  *rows(table: number, index: number, from: string, to: string | undefined, reverse: boolean): Iterable<Row> {
    const now = this.#currentKeys(table, index, from, to, reverse)[Symbol.iterator]();
    const then = this.#formerKeys(table, index, from, to, reverse)[Symbol.iterator]();
    let [left, right] = [now.next(), then.next()];
    let last: string | undefined;
    while (!left.done || !right.done) {
      const takeLeft = right.done === true || (left.done !== true && left.value > right.value === reverse);
      const key = takeLeft ? (left.value as string) : (right.value as string);
      if (takeLeft) left = now.next();
      else right = then.next();
      if (key === last) continue;
      last = key;
      const documentKey = key.slice(-documentKeyBytes);
      const version = this.document(table, documentKey);
      if (version !== undefined) yield { key, documentKey, load: () => version };
    }
  }

  *#currentKeys(table: number, index: number, from: string, to: string | undefined, reverse: boolean) {
    const range = bounds(this.#namespace, table, index, from, to);
    for (const { key, value } of this.#reader.range(range.from, range.to, reverse)) {
      if (index === creationOrder) yield keyText(key).slice(documentPrefixBytes);
      else if (entrySince(value) <= this.#tick) yield keyText(key).slice(indexPrefixBytes);
    }
  }

  *#formerKeys(table: number, index: number, from: string, to: string | undefined, reverse: boolean) {
    const former = index === creationOrder ? tables.liveHistory : tables.liveIndexHistory;
    const parts = index === creationOrder ? [this.#namespace, table] : [this.#namespace, table, index];
    const end = to === undefined ? prefixRange(former, ...parts).to : makeKey(former, ...parts, to);
    const prefixBytes = index === creationOrder ? documentPrefixBytes : indexPrefixBytes;
    for (const { key, value } of this.#reader.range(makeKey(former, ...parts, from), end, reverse)) {
      // A tick follows the key, so that the bounds of keys are not quite those of the range.
      const own = keyText(key).slice(prefixBytes, -tickBytes);
      if (!inRange(own, { from, to })) continue;
      const ended = readU64(key, key.length - tickBytes);
      if (ended > this.#tick && entrySinceOf(index, value) <= this.#tick) yield own;
    }
  }
}

function entrySinceOf(index: number, value: Uint8Array): number {
  return index === creationOrder ? decodeDocument(value).since : entrySince(value);
}

function bounds(namespace: number, table: number, index: number, from: string, to: string | undefined) {
  const tag = index === creationOrder ? tables.liveDocument : tables.liveIndex;
  const parts = index === creationOrder ? [namespace, table] : [namespace, table, index];
  return {
    from: makeKey(tag, ...parts, from),
    to: to === undefined ? prefixRange(tag, ...parts).to : makeKey(tag, ...parts, to),
  };
}
