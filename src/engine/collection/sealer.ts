import type { Clock } from "../../port/clock.ts";
import type { ObjectStore } from "../../port/object-store.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { conflict } from "../errors.ts";
import { afterPrefix, makeKey, prefixRange, readU64, tables } from "../keys.ts";
import { limits } from "../limits.ts";
import type { Log } from "../log/log.ts";
import { decode } from "../metastore/metastore.ts";
import type { BuildReply } from "./build/messages.ts";
import type { Catalog } from "./catalog.ts";
import {
  encodeManifest,
  type Manifest,
  manifestKey,
  readManifest,
  readManifests,
  type SegmentEntry,
} from "./collection-store.ts";
import { folderOf } from "./collections.ts";
import type { FrozenDeletes } from "./index/messages.ts";
import { chooseMerge } from "./merge-policy.ts";
import type { BuildThread, CollectionRuntime, IndexThread } from "./runtime.ts";
import type { Runtimes } from "./runtimes.ts";
import { formatSchema } from "./schema-parse.ts";
import type { CollectionSettings } from "./settings.ts";

export interface SealerDeps {
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly committer: Committer;
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
  readonly index: IndexThread;
  readonly build: BuildThread;
  readonly log: Log;
  readonly clock: Clock;
  readonly settings: CollectionSettings;
  readonly onError: (error: unknown) => void;
}

const lookMs = 200;
const retryMs = 2_000;
/** Bytes of the log that are handed to the build thread before other work gets a turn. */
const pieceBytes = 1024 * 1024;

/**
 * Turns tails into segments in the background, one collection at a time, so that at most one thread builds: freeze the
 * tail, build its segment, publish a manifest that names it, then free what nothing names any more.
 */
export class Sealer {
  readonly #deps: SealerDeps;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #nextJob = 1;
  readonly #retryAtMs = new Map<number, number>();

  constructor(deps: SealerDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { catalog, runtimes } = this.#deps;
    for (const meta of catalog.all()) {
      const runtime = runtimes.of(meta);
      if (runtime.backlogRecords > 0) runtime.tailSinceMs = 0;
      if (meta.hot) runtime.open().catch(this.#deps.onError);
    }
    this.#running = this.#loop();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #loop(): Promise<void> {
    const { clock, runtimes, onError } = this.#deps;
    while (!this.#stop.signal.aborted) {
      await this.#reclaimDropped().catch(onError);
      for (const runtime of [...runtimes.all()]) {
        if (this.#stop.signal.aborted) return;
        const { id } = runtime.meta;
        if ((this.#retryAtMs.get(id) ?? 0) > clock.steadyMs()) continue;
        try {
          if (this.#isDue(runtime)) await this.#seal(runtime);
          await this.#merge(runtime);
        } catch (error) {
          if (this.#stop.signal.aborted || runtimes.find(id) !== runtime) continue;
          this.#retryAtMs.set(id, clock.steadyMs() + retryMs);
          onError(error);
        }
      }
      await clock.sleep(lookMs, this.#stop.signal);
    }
  }

  #isDue(runtime: CollectionRuntime): boolean {
    const { clock, settings } = this.#deps;
    if (runtime.backlogRecords === 0) return false;
    if (runtime.backlogRecords >= settings.sealRecords || runtime.backlogBytes >= settings.sealBytes) return true;
    const nowMs = clock.nowMs();
    return (
      nowMs - runtime.lastWriteMs >= settings.sealIdleMs || nowMs - (runtime.tailSinceMs ?? nowMs) >= settings.sealAgeMs
    );
  }

  async #seal(runtime: CollectionRuntime): Promise<void> {
    const { index, log, clock } = this.#deps;
    await runtime.open();
    // In one turn: the totals and the freeze are of the same offset, since changes are sent as they are committed.
    const upTo = log.highWatermark(runtime.stream, 0);
    const { totals, meta, manifest } = runtime;
    const frozen = index.request<FrozenDeletes>({ kind: "freeze", collection: meta.id, upTo });
    const deletes = await frozen;
    const id = `${manifest.version + 1}`;
    const job = this.#begin(runtime);
    await this.#sendLog(runtime, job, manifest.applied, upTo);
    const built = await this.#deps.build.request<BuildReply>({ kind: "seal", job, id, deletes });
    const segments = manifest.segments
      .map((entry) => withDeletes(entry, built.deletes))
      .filter(({ documents, deleted }) => deleted < documents);
    await this.#publish(runtime, {
      version: manifest.version + 1,
      createdAtMs: clock.nowMs(),
      applied: upTo,
      totals,
      segments: built.segment === null ? segments : [...segments, built.segment],
      lance: built.lance ?? manifest.lance,
    });
    await this.#trimLog(runtime, upTo);
  }

  async #merge(runtime: CollectionRuntime): Promise<void> {
    const { clock } = this.#deps;
    const { manifest } = runtime;
    const chosen = chooseMerge(manifest.segments);
    if (chosen.length === 0) return;
    const job = this.#begin(runtime);
    const id = `${manifest.version + 1}`;
    const built = await this.#deps.build.request<BuildReply>({ kind: "merge", job, id, segments: chosen });
    const left = manifest.segments.filter((entry) => !chosen.includes(entry));
    await this.#publish(runtime, {
      ...manifest,
      version: manifest.version + 1,
      createdAtMs: clock.nowMs(),
      segments: built.segment === null ? left : [...left, built.segment],
    });
  }

  #begin(runtime: CollectionRuntime): number {
    const job = this.#nextJob++;
    const { id, schema, schemaVersion } = runtime.meta;
    const folder = folderOf(id);
    this.#deps.build.post({ kind: "begin", job, schema: formatSchema(schema), schemaVersion, folder });
    return job;
  }

  async #sendLog(runtime: CollectionRuntime, job: number, from: number, to: number): Promise<void> {
    const { log, build } = this.#deps;
    let next = from;
    while (next < to) {
      const before = next;
      let bytes = 0;
      for (const batch of log.read(runtime.stream, 0, next)) {
        if (!batch.seek(next)) break;
        do {
          build.post({ kind: "changes", job, changes: batch.value! });
          bytes += batch.valueLength;
          next = batch.offset + 1;
        } while (next < to && batch.next());
        if (bytes >= pieceBytes || next >= to) break;
      }
      if (next === before) throw new Error(`the log of collection ${runtime.meta.id} ends at ${next}, not at ${to}`);
      await yieldTurn();
    }
  }

  /** Makes a manifest the current one, unless another was made since. */
  async #publish(runtime: CollectionRuntime, manifest: Manifest): Promise<void> {
    const { committer, catalog, clock, store, settings } = this.#deps;
    const { id } = runtime.meta;
    const nowMs = clock.nowMs();
    const old = readManifests(store, id).filter(
      ({ version, createdAtMs }) => version < manifest.version - 1 && createdAtMs < nowMs - settings.manifestKeepMs,
    );
    await committer.submit((draft) => {
      catalog.staged(draft, runtime.meta);
      const current = readManifest(draft, id);
      if (current.version !== manifest.version - 1) throw conflict("another manifest was published meanwhile");
      draft.put(manifestKey(id, manifest.version), encodeManifest(manifest));
      for (const { version } of old) draft.delete(manifestKey(id, version));
      draft.onCommit(() => runtime.onPublished(manifest, nowMs));
    });
    await this.#collectGarbage(runtime);
  }

  /** Deletes the objects of a collection that no retained manifest names. */
  async #collectGarbage(runtime: CollectionRuntime): Promise<void> {
    const { store, objects } = this.#deps;
    const { id } = runtime.meta;
    const named = new Set<string>();
    for (const { segments } of readManifests(store, id)) {
      for (const { path, deletesPath, graphs } of segments) {
        named.add(path);
        if (deletesPath !== null) named.add(deletesPath);
        for (const graph of Object.values(graphs)) named.add(graph);
      }
    }
    for (const kind of ["segments", "deletes"]) {
      for (const { path } of await objects.list(`${folderOf(id)}/${kind}/`)) {
        if (!named.has(path)) await objects.delete(path);
      }
    }
  }

  /** The documents hold all that the log below the manifest told; what follows it is needed to rebuild the tail. */
  async #trimLog(runtime: CollectionRuntime, upTo: number): Promise<void> {
    const { log, committer, catalog } = this.#deps;
    while (!this.#stop.signal.aborted && log.storedStart(runtime.stream, 0) < upTo) {
      await committer.submit((draft) => {
        catalog.staged(draft, runtime.meta);
        log.stageTrimTo(draft, runtime.stream, 0, upTo, limits.trimStepBatchesMax);
      });
    }
  }

  async #reclaimDropped(): Promise<void> {
    const { store, committer, objects } = this.#deps;
    for (const { key: marker, value } of [...store.range(prefixRange(tables.droppedCollection))]) {
      const id = readU64(marker, 1);
      await objects.delete(`${decode<{ folder: string }>(value).folder}/`);
      for (const table of [tables.document, tables.manifest, tables.collectionTotals]) {
        const from = makeKey(table, id);
        for (;;) {
          if (this.#stop.signal.aborted) return;
          const keys = [...store.keys({ from, to: afterPrefix(from), limit: limits.expireStepKeysMax })];
          if (keys.length === 0) break;
          await committer.submit((draft) => {
            for (const key of keys) draft.delete(key);
          });
        }
      }
      await committer.submit((draft) => draft.delete(marker));
    }
  }
}

function withDeletes(entry: SegmentEntry, written: BuildReply["deletes"]): SegmentEntry {
  const found = written.find(({ segment }) => segment === entry.id);
  return found === undefined ? entry : { ...entry, deleted: found.count, deletesPath: found.path };
}

function yieldTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
