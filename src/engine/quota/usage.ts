import type { Store } from "../../port/store.ts";
import { afterPrefix, type KeyPart, makeKey, prefixRange, type Table, tables } from "../keys.ts";
import type { Log } from "../log/log.ts";
import type { Metastore } from "../metastore/metastore.ts";
import { decode } from "../stored-value.ts";
import type { Steps } from "../turns.ts";

export interface UsageDeps {
  readonly store: Store;
  readonly metastore: Metastore;
  readonly log: Log;
}

/** Values looked at in one step. */
const valuesAtOnce = 128;

/** Tables whose keys begin with a namespace id and whose values are data of users. */
const liveTables = [
  tables.liveDocument,
  tables.liveIndex,
  tables.liveHistory,
  tables.liveIndexHistory,
  tables.liveBundle,
];

/**
 * The bytes that a namespace's records, documents and live tables take in the store. Indexes and datasets are derived from
 * them, and not counted.
 */
export function* measureUsage({ store, metastore, log }: UsageDeps, namespace: string): Steps<number> {
  const owner = metastore.findNamespace(namespace);
  if (owner === undefined) return 0;
  let bytes = 0;
  for (const stream of [...metastore.allStreams(owner)]) {
    for (let partition = 0; partition < stream.partitions; partition++) {
      bytes += log.storedBytes(stream, partition);
      yield;
    }
  }
  const collections = Array.from(
    store.range(prefixRange(tables.collection, owner.id)),
    ({ value }) => decode<{ id: number }>(value).id,
  );
  for (const id of collections) bytes += yield* valueBytes(store, tables.document, id);
  for (const table of liveTables) bytes += yield* valueBytes(store, table, owner.id);
  return bytes;
}

/** Page by page: nothing is held in the store between two steps. */
function* valueBytes(store: Store, table: Table, ...parts: readonly KeyPart[]): Steps<number> {
  const to = afterPrefix(makeKey(table, ...parts));
  let from = makeKey(table, ...parts);
  let bytes = 0;
  for (;;) {
    let last: Buffer | undefined;
    let count = 0;
    for (const { key, value } of store.borrow({ from, to, limit: valuesAtOnce })) {
      bytes += key.length + value.length;
      count++;
      if (count === valuesAtOnce) last = Buffer.from(key);
    }
    yield;
    if (last === undefined) return bytes;
    from = Buffer.concat([last, Buffer.of(0)]);
  }
}
