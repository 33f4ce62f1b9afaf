import { asBuffer } from "../../port/bytes.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import { alreadyExists, EngineError, invalid, notFound } from "../errors.ts";
import { parseName } from "../ids.ts";
import { makeKey, prefixRange, tables } from "../keys.ts";
import { integerMax } from "../limits.ts";
import type { Retention } from "../log/log.ts";
import { decode, encode } from "../stored-value.ts";

export interface NamespaceMeta {
  readonly id: number;
  readonly name: string;
}

export interface StreamMeta {
  readonly id: number;
  readonly namespaceId: number;
  readonly namespace: string;
  readonly name: string;
  readonly partitions: number;
  readonly retention: Retention | undefined;
  /** The log of a collection: hidden from lists and from the streams' routes. */
  readonly backing: boolean;
}

type StoredStream = Pick<StreamMeta, "id" | "partitions" | "backing"> & { retention: Retention | null };

/** Streams kept in memory after their first use. */
const streamsCachedMax = 50_000;

/** A collection's backing stream has a name that no user can give. */
export function backingStreamName(collection: string): string {
  return `~${collection}`;
}

/** The stream whose offsets are the ticks of the Live engine; no user can give it either. */
export const liveStreamName = "!live";

/** By namespace, then name: a joined key would be a new string, hashed again, for every request. */
class StreamCache {
  readonly #byNamespace = new Map<string, Map<string, StreamMeta>>();
  #size = 0;
  /** Changes of streams that have been decided and are not durable yet. */
  #changing = 0;

  get(namespace: string, name: string): StreamMeta | undefined {
    return this.#byNamespace.get(namespace)?.get(name);
  }

  /** A stream as it is stored now; one that is about to change is not cached. */
  add(meta: StreamMeta): void {
    if (this.#changing > 0) return;
    if (this.#size >= streamsCachedMax) {
      this.#byNamespace.clear();
      this.#size = 0;
    }
    let streams = this.#byNamespace.get(meta.namespace);
    if (streams === undefined) {
      streams = new Map();
      this.#byNamespace.set(meta.namespace, streams);
    }
    if (!streams.has(meta.name)) this.#size++;
    streams.set(meta.name, meta);
  }

  beginChange({ namespace, name }: StreamMeta): void {
    this.#changing++;
    const streams = this.#byNamespace.get(namespace);
    if (streams === undefined || !streams.delete(name)) return;
    this.#size--;
    if (streams.size === 0) this.#byNamespace.delete(namespace);
  }

  endChange(): void {
    this.#changing--;
  }

  /** Some stream was changed by another node. */
  clear(): void {
    this.#byNamespace.clear();
    this.#size = 0;
  }
}

/** Names that clients of the SQL wires expect of every server. */
const reservedNames = new Set(["information_schema", "pg_catalog", "mysql", "performance_schema", "sys"]);

/** Names and ids. Every change goes through the committer; what is read is what was committed. */
export class Metastore {
  readonly #store: Store;
  readonly #committer: Committer;
  readonly #namespaces = new Map<string, NamespaceMeta>();
  readonly #streams = new StreamCache();

  constructor(store: Store, committer: Committer) {
    this.#store = store;
    this.#committer = committer;
  }

  namespace(name: string): NamespaceMeta {
    const found = this.findNamespace(name);
    if (found === undefined) throw notFound(`namespace ${JSON.stringify(name)} does not exist`);
    return found;
  }

  findNamespace(name: string): NamespaceMeta | undefined {
    const known = this.#namespaces.get(name);
    if (known !== undefined) return known;
    const stored = this.#store.get(makeKey(tables.namespace, name));
    if (stored === undefined) return undefined;
    const found = decodeNamespace(name, stored);
    if (this.#namespaces.size < streamsCachedMax) this.#namespaces.set(name, found);
    return found;
  }

  /** Sorted by name. */
  *namespaces(): Iterable<NamespaceMeta> {
    for (const { key, value } of this.#store.range(prefixRange(tables.namespace))) {
      yield decodeNamespace(asBuffer(key).toString("latin1", 1), value);
    }
  }

  /** Another node has changed namespaces or streams: caches by name are dropped. */
  onApplied(): void {
    this.#namespaces.clear();
    this.#streams.clear();
  }

  async createNamespace(name: string): Promise<NamespaceMeta> {
    parseName("name", name);
    if (reservedNames.has(name.toLowerCase())) throw invalid("name", "is the name of a catalog of SQL");
    return await this.#committer.submit((draft) => {
      const key = makeKey(tables.namespace, name);
      const existing = draft.get(key);
      if (existing !== undefined) {
        throw alreadyExists(`namespace ${JSON.stringify(name)} already exists`, decodeNamespace(name, existing).id);
      }
      const id = takeId(draft, "namespace");
      draft.put(key, encode({ id }));
      return { id, name };
    });
  }

  deleteNamespace(name: string): Promise<void> {
    return this.#committer.submit((draft) => {
      const owner = this.stagedNamespace(draft, name);
      const { id } = owner;
      this.#dropLive(draft, owner);
      // Collections first: each has a stream of its own, which nobody could drop by itself.
      for (const [what, table] of [
        ["collections", tables.collection],
        ["links", tables.link],
        ["streams", tables.stream],
      ] as const) {
        if (!draft.has(prefixRange(table, id))) continue;
        throw new EngineError("failed_precondition", `namespace ${JSON.stringify(name)} is not empty: it has ${what}`);
      }
      draft.delete(makeKey(tables.namespace, name));
      const quota = makeKey(tables.quota, name);
      if (draft.get(quota) !== undefined) draft.delete(quota);
      draft.onCommit(() => this.#namespaces.delete(name));
    });
  }

  /** What the Live engine leaves in a namespace that has no tables and functions any more. */
  #dropLive(draft: Draft, owner: NamespaceMeta): void {
    const key = makeKey(tables.liveMeta, owner.id);
    const stored = draft.get(key);
    if (stored === undefined) return;
    const live = decode<{ tables: readonly unknown[]; functions: readonly unknown[] }>(stored);
    if (live.tables.length > 0 || live.functions.length > 0) {
      const what = live.tables.length > 0 ? "live tables" : "live functions";
      throw new EngineError(
        "failed_precondition",
        `namespace ${JSON.stringify(owner.name)} is not empty: it has ${what}`,
      );
    }
    draft.delete(key);
    draft.delete(makeKey(tables.liveTick, owner.id));
    for (const { key: bundle } of draft.range(prefixRange(tables.liveBundle, owner.id))) draft.delete(bundle);
    for (const { key: list } of draft.range(prefixRange(tables.liveExpiry, owner.id))) draft.delete(list);
    const stream = draft.get(makeKey(tables.stream, owner.id, liveStreamName));
    if (stream !== undefined) this.stageDropStream(draft, decodeStream(owner, liveStreamName, stream));
  }

  /** A namespace as a change sees it. */
  stagedNamespace(draft: Draft, name: string): NamespaceMeta {
    const stored = draft.get(makeKey(tables.namespace, name));
    if (stored === undefined) throw notFound(`namespace ${JSON.stringify(name)} does not exist`);
    return decodeNamespace(name, stored);
  }

  stream(namespace: string, name: string): StreamMeta {
    const known = this.#streams.get(namespace, name);
    if (known !== undefined) return known;
    const owner = this.namespace(namespace);
    const stored = this.#store.get(makeKey(tables.stream, owner.id, name));
    if (stored === undefined) throw streamMissing(namespace, name);
    const found = decodeStream(owner, name, stored);
    this.#streams.add(found);
    return found;
  }

  /** The stream of an earlier look-up as a change sees it; fails when it was dropped or created again since. */
  stagedStream(draft: Draft, meta: StreamMeta): StreamMeta {
    // In the cache means committed and not dropped since: dropping takes it out while the drop is decided.
    if (this.#streams.get(meta.namespace, meta.name) === meta) return meta;
    const stored = draft.get(makeKey(tables.stream, meta.namespaceId, meta.name));
    const found =
      stored === undefined
        ? undefined
        : decodeStream({ id: meta.namespaceId, name: meta.namespace }, meta.name, stored);
    if (found?.id !== meta.id) throw streamMissing(meta.namespace, meta.name);
    return found;
  }

  /** A namespace's streams sorted by name, from the one after `after` on, without the logs of collections. */
  *streams(namespace: NamespaceMeta, after = ""): Iterable<StreamMeta> {
    for (const meta of this.allStreams(namespace, after)) if (!meta.backing) yield meta;
  }

  /** The same with the logs of collections and of the Live engine. */
  *allStreams(namespace: NamespaceMeta, after = ""): Iterable<StreamMeta> {
    const { to } = prefixRange(tables.stream, namespace.id);
    const from = Buffer.concat([makeKey(tables.stream, namespace.id, after), Buffer.of(0)]);
    for (const { key, value } of this.#store.range({ from, to })) {
      yield decodeStream(namespace, asBuffer(key).toString("latin1", 9), value);
    }
  }

  /** Of every stream that exists, the logs of collections too. */
  streamIds(): Set<number> {
    const ids = new Set<number>();
    for (const { value } of this.#store.range(prefixRange(tables.stream))) ids.add(decode<StoredStream>(value).id);
    return ids;
  }

  /** Makes a stream as part of a change. */
  stageCreateStream(
    draft: Draft,
    namespace: string,
    name: string,
    shape: Pick<StreamMeta, "partitions" | "retention" | "backing">,
  ): StreamMeta {
    const owner = this.stagedNamespace(draft, namespace);
    const key = makeKey(tables.stream, owner.id, name);
    const existing = draft.get(key);
    if (existing !== undefined) {
      const { id } = decodeStream(owner, name, existing);
      throw alreadyExists(`stream ${JSON.stringify(name)} already exists`, id);
    }
    const id = takeId(draft, "stream");
    const meta: StreamMeta = { ...shape, id, namespaceId: owner.id, namespace, name };
    this.#putStream(draft, meta);
    return meta;
  }

  /** Replaces a stream's retention as part of a change. */
  stageRetention(draft: Draft, meta: StreamMeta, retention: Retention | undefined): StreamMeta {
    const changed = { ...this.stagedStream(draft, meta), retention };
    this.#putStream(draft, changed);
    return changed;
  }

  /** Drops a stream as part of a change; its log is freed in the background. */
  stageDropStream(draft: Draft, meta: StreamMeta): void {
    const { id, namespaceId, name, partitions } = this.stagedStream(draft, meta);
    draft.delete(makeKey(tables.stream, namespaceId, name));
    draft.delete(makeKey(tables.retainedStream, id));
    draft.put(makeKey(tables.droppedStream, id), encode({ partitions }));
    this.#uncache(draft, meta);
  }

  /** The next stream by id that has a retention. */
  retainedStreamAfter(id: number): StreamMeta | undefined {
    const range = { from: makeKey(tables.retainedStream, id + 1), to: prefixRange(tables.retainedStream).to, limit: 1 };
    for (const { value } of this.#store.range(range)) {
      const { namespace, name } = decode<{ namespace: string; name: string }>(value);
      return this.stream(namespace, name);
    }
    return undefined;
  }

  #putStream(draft: Draft, meta: StreamMeta): void {
    const { id, partitions, backing, retention } = meta;
    const stored: StoredStream = { id, partitions, backing, retention: retention ?? null };
    draft.put(makeKey(tables.stream, meta.namespaceId, meta.name), encode(stored));
    const retained = makeKey(tables.retainedStream, id);
    if (retention === undefined) draft.delete(retained);
    else draft.put(retained, encode({ namespace: meta.namespace, name: meta.name }));
    this.#uncache(draft, meta);
  }

  #uncache(draft: Draft, meta: StreamMeta): void {
    this.#streams.beginChange(meta);
    const end = () => this.#streams.endChange();
    draft.onCommit(end);
    draft.onUndo(end);
  }
}

/** Ids are positive and never used twice. */
export function takeId(draft: Draft, kind: "namespace" | "stream" | "link" | "collection"): number {
  const key = makeKey(tables.nextId, kind);
  const stored = draft.get(key);
  const id = stored === undefined ? 1 : decode<number>(stored);
  if (id >= integerMax) throw new EngineError("internal", `no ${kind} ids are left`);
  draft.put(key, encode(id + 1));
  return id;
}

function streamMissing(namespace: string, name: string): EngineError {
  return notFound(`stream ${JSON.stringify(name)} does not exist in namespace ${JSON.stringify(namespace)}`);
}

function decodeNamespace(name: string, bytes: Uint8Array): NamespaceMeta {
  return { id: decode<{ id: number }>(bytes).id, name };
}

function decodeStream(owner: NamespaceMeta, name: string, bytes: Uint8Array): StreamMeta {
  const { id, partitions, backing, retention } = decode<StoredStream>(bytes);
  return {
    id,
    partitions,
    backing,
    retention: retention ?? undefined,
    namespaceId: owner.id,
    namespace: owner.name,
    name,
  };
}
