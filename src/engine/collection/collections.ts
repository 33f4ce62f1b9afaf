import type { Clock } from "../../port/clock.ts";
import type { ObjectStore } from "../../port/object-store.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { alreadyExists, conflict, EngineError, notFound } from "../errors.ts";
import { parseName } from "../ids.ts";
import { makeKey, tables } from "../keys.ts";
import type { Log } from "../log/log.ts";
import { backingStreamName, type Metastore, takeId } from "../metastore/metastore.ts";
import { type FieldSpec, type Schema, sameSchema } from "../schema/schema.ts";
import { addFields } from "../schema/schema-parse.ts";
import { encode } from "../stored-value.ts";
import type { ConsistencyToken } from "../token.ts";
import { type Alias, type Catalog, collectionMissing } from "./catalog.ts";
import {
  aliasKey,
  type CollectionMeta,
  collectionKey,
  decodeCollection,
  encodeCollection,
  type Manifest,
  readManifests,
} from "./collection-store.ts";
import type { Pins } from "./pins.ts";
import type { CollectionRuntime } from "./runtime.ts";
import type { Runtimes } from "./runtimes.ts";
import { type Backpressure, backpressureOf, type CollectionSettings } from "./settings.ts";

export type HotState = "cold" | "loading" | "hot";

export interface CollectionInfo {
  readonly meta: CollectionMeta;
  readonly aliases: readonly string[];
  readonly manifest: Manifest;
  readonly lance: { readonly uri: string; readonly version: number } | null;
  readonly hot: { readonly enabled: boolean; readonly state: HotState };
  readonly backpressure: Backpressure;
}

export interface ScanPlan {
  readonly lance: { readonly uri: string; readonly version: number } | null;
  readonly tailRecords: number;
  readonly schema: Schema;
  readonly token: ConsistencyToken;
}

export type AliasAction =
  | { readonly kind: "add"; readonly alias: string; readonly collection: string }
  | { readonly kind: "remove"; readonly alias: string };

export interface CollectionsDeps {
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly committer: Committer;
  readonly metastore: Metastore;
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
  readonly pins: Pins;
  readonly log: Log;
  readonly clock: Clock;
  readonly settings: CollectionSettings;
  /** Told of each collection that was made, once it is durable. */
  readonly onCreated: (meta: CollectionMeta) => void;
}

const rebuildLookMs = 50;

/** What a user does with collections, but for their documents. */
export class Collections {
  readonly #deps: CollectionsDeps;

  constructor(deps: CollectionsDeps) {
    this.#deps = deps;
  }

  /** Makes a collection; the same name with the same schema again gives the same one. */
  async create(namespace: string, name: string, schema: Schema): Promise<CollectionInfo> {
    const { committer, metastore, onCreated } = this.#deps;
    const meta = await committer.submit((draft) => {
      const owner = metastore.stagedNamespace(draft, namespace);
      const key = collectionKey(owner.id, name);
      const existing = draft.get(key);
      if (existing !== undefined) {
        const found = decodeCollection(owner.id, namespace, name, existing);
        if (sameSchema(found.schema, schema)) return found;
        throw alreadyExists(`collection ${JSON.stringify(name)} already exists with another schema`, found.id);
      }
      if (draft.get(aliasKey(owner.id, name)) !== undefined) {
        throw conflict(`the name ${JSON.stringify(name)} is an alias`);
      }
      const stream = metastore.stageCreateStream(draft, namespace, backingStreamName(name), {
        partitions: 1,
        retention: undefined,
        backing: true,
      });
      const meta: CollectionMeta = {
        id: takeId(draft, "collection"),
        namespaceId: owner.id,
        namespace,
        name,
        streamId: stream.id,
        schema,
        schemaVersion: 1,
        fillVersion: 1,
        hot: false,
      };
      draft.put(key, encodeCollection(meta));
      draft.onCommit(() => onCreated(meta));
      return meta;
    });
    return this.#info(meta);
  }

  list(namespace: string, pageSize: number, pageToken: string): { infos: CollectionInfo[]; nextPageToken: string } {
    const infos: CollectionInfo[] = [];
    for (const meta of this.#deps.catalog.list(namespace, pageToken)) {
      if (infos.length === pageSize) return { infos, nextPageToken: infos.at(-1)!.meta.name };
      infos.push(this.#info(meta));
    }
    return { infos, nextPageToken: "" };
  }

  get(namespace: string, name: string): CollectionInfo {
    return this.#info(this.#deps.catalog.find(namespace, name));
  }

  async drop(namespace: string, name: string): Promise<void> {
    const { catalog, committer, metastore, runtimes, pins, log } = this.#deps;
    const meta = catalog.find(namespace, name);
    if (meta.name !== name) throw notFound(`${JSON.stringify(name)} is an alias; drop ${JSON.stringify(meta.name)}`);
    const stream = metastore.stream(namespace, backingStreamName(name));
    await committer.submit((draft) => {
      catalog.staged(draft, meta);
      draft.delete(collectionKey(meta.namespaceId, meta.name));
      draft.put(makeKey(tables.droppedCollection, meta.id), encode({ folder: folderOf(meta.id) }));
      metastore.stageDropStream(draft, stream);
      catalog.stageForgetAliases(draft, meta);
      draft.onCommit(() => {
        runtimes.drop(meta.id);
        pins.dropCollection(meta.id);
        log.forget(stream);
      });
    });
  }

  async addFields(
    namespace: string,
    name: string,
    fields: readonly FieldSpec[],
    expectedVersion: number | undefined,
  ): Promise<CollectionMeta> {
    const { catalog, committer, runtimes } = this.#deps;
    const meta = catalog.find(namespace, name);
    return committer.submit((draft) => {
      const current = catalog.staged(draft, meta);
      if (expectedVersion !== undefined && expectedVersion !== current.schemaVersion) {
        throw conflict(
          `expected_schema_version: the schema has version ${current.schemaVersion}, not ${expectedVersion}`,
          {
            schema_version: current.schemaVersion,
          },
        );
      }
      const schema = addFields(current.schema, fields);
      if (sameSchema(schema, current.schema)) return current;
      const schemaVersion = current.schemaVersion + 1;
      const changed = { ...current, schema, schemaVersion, fillVersion: schemaVersion };
      draft.put(collectionKey(current.namespaceId, current.name), encodeCollection(changed));
      draft.onCommit(() => runtimes.of(changed).onMeta(changed));
      return changed;
    });
  }

  /** The retained manifests, oldest first. */
  versions(namespace: string, name: string): { manifest: Manifest; lance: ScanPlan["lance"] }[] {
    const { catalog, store } = this.#deps;
    const manifests = readManifests(store, catalog.find(namespace, name).id);
    return manifests.map((manifest) => ({ manifest, lance: this.#lance(manifest) }));
  }

  aliases(namespace: string): Alias[] {
    return this.#deps.catalog.aliases(namespace);
  }

  /** All actions or none. */
  async updateAliases(namespace: string, actions: readonly AliasAction[]): Promise<Alias[]> {
    const { catalog, committer, metastore } = this.#deps;
    await committer.submit((draft) => {
      const owner = metastore.stagedNamespace(draft, namespace);
      actions.forEach((action, i) => {
        const path = `actions[${i}].${action.kind}`;
        parseName(`${path}.alias`, action.alias);
        if (action.kind === "remove") {
          if (draft.get(aliasKey(owner.id, action.alias)) === undefined) {
            throw notFound(`${path}.alias: there is no alias ${JSON.stringify(action.alias)}`);
          }
          catalog.stageAlias(draft, owner.id, action.alias, undefined);
          return;
        }
        parseName(`${path}.collection`, action.collection);
        if (draft.get(collectionKey(owner.id, action.alias)) !== undefined) {
          throw conflict(`${path}.alias: ${JSON.stringify(action.alias)} is a collection`);
        }
        if (draft.get(collectionKey(owner.id, action.collection)) === undefined) {
          const missing = collectionMissing(namespace, action.collection);
          throw notFound(`${path}.collection: ${missing.message}`);
        }
        catalog.stageAlias(draft, owner.id, action.alias, action.collection);
      });
    });
    return catalog.aliases(namespace);
  }

  async setHot(namespace: string, name: string, enabled: boolean): Promise<CollectionInfo["hot"]> {
    const { catalog, committer, runtimes } = this.#deps;
    const meta = catalog.find(namespace, name);
    const changed = await committer.submit((draft) => {
      const current = { ...catalog.staged(draft, meta), hot: enabled };
      draft.put(collectionKey(current.namespaceId, current.name), encodeCollection(current));
      draft.onCommit(() => runtimes.of(current).onMeta(current));
      return current;
    });
    if (enabled) this.#load(runtimes.of(changed));
    return this.#info(changed).hot;
  }

  /** Starts loading the collection's index; `hot.state` tells when it is there. */
  warm(namespace: string, name: string): void {
    const { catalog, runtimes } = this.#deps;
    this.#load(runtimes.of(catalog.find(namespace, name)));
  }

  /** Rebuilds the whole index from the documents, which are read directly meanwhile. Resolves when it is published. */
  async rebuild(namespace: string, name: string, signal: AbortSignal): Promise<void> {
    const { catalog, runtimes, clock } = this.#deps;
    const runtime = runtimes.of(catalog.find(namespace, name));
    const { version } = runtime.manifest;
    runtime.damaged = true;
    while (runtime.damaged || runtime.manifest.version === version) {
      signal.throwIfAborted();
      await clock.sleep(rebuildLookMs, signal);
    }
  }

  /** A plan for readers of the columnar dataset, which stays readable for at least an hour. */
  scan(namespace: string, name: string): ScanPlan {
    const { catalog, runtimes, log } = this.#deps;
    const meta = catalog.find(namespace, name);
    const runtime = runtimes.of(meta);
    const highWatermark = log.highWatermark(runtime.stream, 0);
    return {
      lance: this.#lance(runtime.manifest),
      tailRecords: runtime.backlogRecords,
      schema: meta.schema,
      token: highWatermark === 0 ? [] : [{ stream: meta.streamId, partition: 0, offset: highWatermark - 1 }],
    };
  }

  #load(runtime: CollectionRuntime): void {
    runtime.lastUseMs = this.#deps.clock.nowMs();
    runtime.open().catch(() => {});
  }

  #lance(manifest: Manifest): ScanPlan["lance"] {
    const { lance } = manifest;
    return lance === null ? null : { uri: this.#deps.objects.uri(lance.path), version: lance.version };
  }

  #info(meta: CollectionMeta): CollectionInfo {
    const { catalog, runtimes, settings } = this.#deps;
    const runtime = runtimes.of(meta);
    return {
      meta,
      aliases: catalog.aliasesOf(meta),
      manifest: runtime.manifest,
      lance: this.#lance(runtime.manifest),
      hot: { enabled: meta.hot, state: runtime.state },
      backpressure: backpressureOf(runtime, settings),
    };
  }
}

export function folderOf(collectionId: number): string {
  return `collections/${collectionId}`;
}

export function checkNotThrottled(runtime: CollectionRuntime, settings: CollectionSettings): void {
  const { throttled, retryAfterMs } = backpressureOf(runtime, settings);
  if (!throttled) return;
  throw new EngineError("resource_exhausted", "the collection's indexes are behind its writes; retry later", {
    retryAfterMs,
    metadata: { retry_after_ms: String(retryAfterMs) },
  });
}
