import { asBuffer } from "../port/bytes.ts";
import type { Clock } from "../port/clock.ts";
import type { ObjectStore } from "../port/object-store.ts";
import type { Store, WriteOp } from "../port/store.ts";
import {
  type CollectionTotals,
  collectionTotalsKey,
  decodeCollection,
  encodeManifest,
  type Manifest,
  manifestKey,
  readCollectionTotals,
  type SegmentEntry,
  totalsBytes,
  writeCollectionTotals,
} from "./collection/collection-store.ts";
import { folderOf } from "./collection/collections.ts";
import { prefixRange, readU64, tables } from "./keys.ts";
import { decodeLink, type LinkMeta, readTotals, stageTotals } from "./link/link-store.ts";
import type { Log } from "./log/log.ts";
import type { Metastore, NamespaceMeta, StreamMeta } from "./metastore/metastore.ts";

export interface RepairDeps {
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly metastore: Metastore;
  readonly log: Log;
  readonly clock: Clock;
}

/** What becomes of one link's counters. */
export interface LinkRepair {
  readonly namespace: string;
  readonly link: string;
  /** Undefined when they are counted anew; else why they are kept as they are. */
  readonly kept: string | undefined;
}

/**
 * Gives up what is derived from the log and the documents, so that the engine makes it anew. Run on a store that no
 * engine serves. It may end at any moment: what it leaves makes the next start do the rest.
 */
export class Repair {
  readonly #deps: RepairDeps;

  constructor(deps: RepairDeps) {
    this.#deps = deps;
  }

  /** Segments, graphs, datasets, manifests and totals of every collection. */
  async forgetIndexes(): Promise<void> {
    const { store, objects } = this.#deps;
    for (const namespace of [...this.#deps.metastore.namespaces()]) {
      for (const { key, value } of [...store.range(prefixRange(tables.collection, namespace.id))]) {
        const meta = decodeCollection(namespace.id, namespace.name, asBuffer(key).toString("latin1", 9), value);
        await store.commit(this.#forgetIndex(meta.id, meta.streamId));
        await objects.delete(`${folderOf(meta.id)}/`);
      }
    }
  }

  /**
   * The manifest that is left names a segment that is not there: whoever opens the index next, this command or a server
   * after it was cut short, finds that out and makes all of it from the documents.
   */
  #forgetIndex(id: number, streamId: number): WriteOp[] {
    const { store, log, clock } = this.#deps;
    const ops: WriteOp[] = [];
    const put = (key: Uint8Array, value: Uint8Array) => void ops.push({ kind: "put", key, value });
    let version = 0;
    for (const key of store.keys(prefixRange(tables.manifest, id))) {
      version = Math.max(version, readU64(key, 9));
      ops.push({ kind: "delete", key });
    }
    const totals = this.#totals(id);
    if (totals.documents === 0 && totals.changes === 0) return ops;
    put(collectionTotalsKey(id), writeCollectionTotals(Buffer.allocUnsafe(totalsBytes), totals));
    const manifest: Manifest = {
      version: version + 1,
      createdAtMs: clock.nowMs(),
      applied: log.highWatermark({ id: streamId, partitions: 1, retention: undefined }, 0),
      totals,
      segments: [missingSegment(id)],
      lance: null,
    };
    put(manifestKey(id, manifest.version), encodeManifest(manifest));
    return ops;
  }

  /** Documents are counted; the running sums only matter as far as manifest and store agree on them. */
  #totals(id: number): CollectionTotals {
    const { store } = this.#deps;
    let documents = 0;
    for (const _ of store.keys(prefixRange(tables.document, id))) documents++;
    try {
      return { ...readCollectionTotals(store, id), documents };
    } catch {
      return { changes: documents, bytes: 0, documents };
    }
  }

  /** Counters of links whose source still has every record; the links' workers then count from its start. */
  async *forgetCounters(): AsyncGenerator<LinkRepair> {
    const { store, metastore } = this.#deps;
    const namespaces = [...metastore.namespaces()];
    for (const namespace of namespaces) {
      const streams = new Map([...metastore.streams(namespace)].map((stream) => [stream.id, stream]));
      for (const { key, value } of [...store.range(prefixRange(tables.link, namespace.id))]) {
        const link = decodeLink(namespace.id, namespace.name, asBuffer(key).toString("latin1", 9), value);
        if (link.target.kind === "counter")
          yield await this.#forgetCounter(namespace, link, streams.get(link.sourceId));
      }
    }
  }

  async #forgetCounter(
    { name: namespace }: NamespaceMeta,
    link: LinkMeta,
    source: StreamMeta | undefined,
  ): Promise<LinkRepair> {
    const fields = { namespace, link: link.name };
    if (source === undefined) return { ...fields, kept: "its source was deleted" };
    for (let partition = 0; partition < source.partitions; partition++) {
      // What retention implies but has not freed yet may be freed before it is counted.
      if (this.#deps.log.startOffset(source, partition) > 0) {
        return { ...fields, kept: "retention has trimmed what it counted" };
      }
    }
    const { store } = this.#deps;
    const ops: WriteOp[] = [];
    for (const table of [tables.counter, tables.linkState] as const) {
      for (const key of store.keys(prefixRange(table, link.id))) ops.push({ kind: "delete", key });
    }
    const put = (key: Uint8Array, value: Uint8Array) => void ops.push({ kind: "put", key, value });
    stageTotals({ put }, link.id, { version: this.#linkVersion(link.id) + 1, skipped: 0, lost: 0 });
    await store.commit(ops);
    return { ...fields, kept: undefined };
  }

  #linkVersion(linkId: number): number {
    try {
      return readTotals(this.#deps.store, linkId).version;
    } catch {
      return 0;
    }
  }
}

function missingSegment(collectionId: number): SegmentEntry {
  const path = `${folderOf(collectionId)}/segments/given-up`;
  const nothing = { documents: 0, bytes: 0, deleted: 0, deletesPath: null, graphs: {}, schemaVersion: 1 };
  return { id: "given-up", path, ...nothing };
}
