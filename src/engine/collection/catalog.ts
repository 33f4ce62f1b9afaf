import { asBuffer } from "../../port/bytes.ts";
import { LruMap } from "../../port/lru-map.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import { notFound } from "../errors.ts";
import { prefixRange, tables } from "../keys.ts";
import type { Metastore } from "../metastore/metastore.ts";
import { decode, encode } from "../stored-value.ts";
import { aliasKey, type CollectionMeta, collectionKey, decodeCollection } from "./collection-store.ts";

export interface Alias {
  readonly alias: string;
  readonly collection: string;
}

/** Collections whose decoded form is kept. */
const decodedMax = 10_000;

/** Collections and aliases by name. */
export class Catalog {
  readonly #store: Store;
  readonly #metastore: Metastore;
  readonly #decoded = new LruMap<string, { readonly stored: Uint8Array; readonly meta: CollectionMeta }>(decodedMax);
  /** What names and aliases stand for, as long as no collection changes. */
  readonly #found = new LruMap<string, CollectionMeta>(decodedMax);

  constructor(store: Store, metastore: Metastore, committer: Committer) {
    this.#store = store;
    this.#metastore = metastore;
    committer.watch([tables.namespace, tables.collection, tables.alias], () => this.#found.clear());
  }

  /** A collection by its name or an alias of it. */
  find(namespace: string, name: string): CollectionMeta {
    const place = `${namespace}/${name}`;
    const known = this.#found.get(place);
    if (known !== undefined) return known;
    const owner = this.#metastore.namespace(namespace);
    const found = this.#read(this.#store, owner.id, namespace, name);
    if (found === undefined) throw collectionMissing(namespace, name);
    this.#found.set(place, found);
    return found;
  }

  /** The same as a change sees it; fails when the collection is another one by now. */
  staged(draft: Draft, meta: CollectionMeta): CollectionMeta {
    const { namespace, name } = meta;
    const found = draft.writesTo(tables.collection) ? this.#readStaged(draft, meta) : this.find(namespace, name);
    if (found?.id !== meta.id) throw collectionMissing(namespace, name);
    return found;
  }

  #readStaged(draft: Draft, meta: CollectionMeta): CollectionMeta | undefined {
    const stored = draft.get(collectionKey(meta.namespaceId, meta.name));
    return stored === undefined ? undefined : this.#decode(meta.namespaceId, meta.namespace, meta.name, stored);
  }

  /** A namespace's collections by name, after one of them. */
  *list(namespace: string, after: string): Iterable<CollectionMeta> {
    const owner = this.#metastore.namespace(namespace);
    const { to } = prefixRange(tables.collection, owner.id);
    const from = Buffer.concat([collectionKey(owner.id, after), Buffer.of(0)]);
    for (const { key, value } of this.#store.range({ from, to })) {
      yield this.#decode(owner.id, namespace, asBuffer(key).toString("latin1", 9), value);
    }
  }

  *all(): Iterable<CollectionMeta> {
    for (const { name } of [...this.#metastore.namespaces()]) yield* this.list(name, "");
  }

  aliases(namespace: string): Alias[] {
    return this.#aliasesIn(this.#store, this.#metastore.namespace(namespace).id);
  }

  #aliasesIn(reader: Pick<Store, "range">, namespaceId: number): Alias[] {
    return [...reader.range(prefixRange(tables.alias, namespaceId))].map(({ key, value }) => ({
      alias: asBuffer(key).toString("latin1", 9),
      collection: decode<string>(value),
    }));
  }

  aliasesOf(meta: CollectionMeta): string[] {
    return this.aliases(meta.namespace)
      .filter(({ collection }) => collection === meta.name)
      .map(({ alias }) => alias);
  }

  /** Those that changes before in the same group have made go too. */
  stageForgetAliases(draft: Draft, { namespaceId, name }: CollectionMeta): void {
    for (const { alias, collection } of this.#aliasesIn(draft, namespaceId)) {
      if (collection === name) this.stageAlias(draft, namespaceId, alias, undefined);
    }
  }

  stageAlias(draft: Draft, namespaceId: number, alias: string, collection: string | undefined): void {
    const key = aliasKey(namespaceId, alias);
    if (collection === undefined) draft.delete(key);
    else draft.put(key, encode(collection));
  }

  #read(reader: Pick<Store, "get">, namespaceId: number, namespace: string, name: string): CollectionMeta | undefined {
    const stored = reader.get(collectionKey(namespaceId, name));
    if (stored !== undefined) return this.#decode(namespaceId, namespace, name, stored);
    const alias = reader.get(aliasKey(namespaceId, name));
    if (alias === undefined) return undefined;
    const target = decode<string>(alias);
    const collection = reader.get(collectionKey(namespaceId, target));
    return collection === undefined ? undefined : this.#decode(namespaceId, namespace, target, collection);
  }

  /** A schema is parsed once for each of its versions, not once for each request. */
  #decode(namespaceId: number, namespace: string, name: string, stored: Uint8Array): CollectionMeta {
    const key = `${namespaceId}/${name}`;
    const known = this.#decoded.get(key);
    if (known !== undefined && Buffer.compare(known.stored, stored) === 0) return known.meta;
    const meta = decodeCollection(namespaceId, namespace, name, stored);
    this.#decoded.set(key, { stored: Uint8Array.from(stored), meta });
    return meta;
  }
}

export function collectionMissing(namespace: string, name: string) {
  return notFound(`collection ${JSON.stringify(name)} does not exist in namespace ${JSON.stringify(namespace)}`);
}
