import { readManifest } from "../../src/engine/collection/collection-store.ts";
import { prefixRange, readU64, type Table, tables } from "../../src/engine/keys.ts";
import { decode } from "../../src/engine/stored-value.ts";
import type { ObjectStore } from "../../src/port/object-store.ts";
import type { Reader } from "../../src/port/store.ts";

/** What is stored and belongs to nothing that exists: the background must come to free it. */
export async function leftovers(store: Reader, objects: ObjectStore): Promise<string[]> {
  const streams = idsIn(store, tables.stream);
  const collections = idsIn(store, tables.collection);
  const found: string[] = [];
  for (const table of [tables.droppedStream, tables.droppedCollection, tables.droppedLink]) {
    for (const key of store.keys(prefixRange(table))) found.push(`table ${table} still lists ${readU64(key, 1)}`);
  }
  for (const [table, ids] of [
    [tables.log, streams],
    [tables.partition, streams],
    [tables.idempotency, streams],
    [tables.document, collections],
    [tables.manifest, collections],
    [tables.collectionTotals, collections],
  ] as const) {
    for (const key of store.keys(prefixRange(table))) {
      if (!ids.has(readU64(key, 1))) found.push(`table ${table} holds a key of ${readU64(key, 1)}`);
    }
  }
  const named = new Set([...collections].flatMap((id) => objectsOf(store, id)));
  for (const { path } of await objects.list("")) if (!named.has(path)) found.push(`the object ${path} is left`);
  return found;
}

function idsIn(store: Reader, table: Table): Set<number> {
  return new Set([...store.range(prefixRange(table))].map(({ value }) => decode<{ id: number }>(value).id));
}

function objectsOf(store: Reader, collection: number): string[] {
  return readManifest(store, collection).segments.flatMap(({ path, deletesPath }) => [path, deletesPath ?? path]);
}
