import type { Clock } from "../../port/clock.ts";
import type { ObjectStore } from "../../port/object-store.ts";
import type { Ownership } from "../../port/ownership.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { conflict } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Log } from "../log/log.ts";
import type { Catalog } from "./catalog.ts";
import { encodeManifest, type Manifest, manifestKey, readManifest, readManifests } from "./collection-store.ts";
import { folderOf } from "./collections.ts";
import type { ObjectHold } from "./object-hold.ts";
import type { CollectionRuntime } from "./runtime.ts";
import type { CollectionSettings } from "./settings.ts";

export interface PublisherDeps {
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly committer: Committer;
  readonly catalog: Catalog;
  readonly log: Log;
  readonly clock: Clock;
  readonly settings: CollectionSettings;
  readonly hold: ObjectHold;
  readonly ownership: Pick<Ownership, "confirm">;
}

/** Makes manifests current, and frees what they leave behind. */
export class Publisher {
  readonly #deps: PublisherDeps;
  /** Collections that may have objects which could not be deleted yet, and when to look again, by the steady clock. */
  readonly #unfreed = new WeakMap<CollectionRuntime, number>();

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
  }

  /** Makes a manifest the current one, unless another was made since or the collection is gone. */
  async publish(runtime: CollectionRuntime, manifest: Manifest): Promise<void> {
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
    await this.collectGarbage(runtime);
  }

  /**
   * Deletes the objects that nobody reads any more. Old manifests are kept for the datasets that they name, not for
   * their segments: an index that is open holds its own, and one that is being opened is left its objects. Other nodes
   * open what was current a while ago, too.
   */
  async collectGarbage(runtime: CollectionRuntime): Promise<void> {
    const { objects, hold, ownership, clock, settings, committer } = this.#deps;
    // A later publication frees what this one leaves.
    if (hold.isHeld) return;
    // A manifest whose outcome is not known yet may name what would seem left over.
    await committer.submit(() => {});
    const { manifest, openingManifest } = runtime;
    const recent = this.#recentlyCurrent(runtime);
    this.#unfreed.set(runtime, recent.length > 0 ? clock.steadyMs() + settings.objectGraceMs : 0);
    const named = new Set<string>();
    for (const { segments } of openingManifest === undefined
      ? [manifest, ...recent]
      : [manifest, openingManifest, ...recent]) {
      for (const { path, deletesPath, graphs } of segments) {
        named.add(path);
        if (deletesPath !== null) named.add(deletesPath);
        for (const graph of Object.values(graphs)) named.add(graph);
      }
    }
    const unnamed: string[] = [];
    for (const kind of ["segments", "deletes", "graphs"]) {
      for (const { path } of await objects.list(`${folderOf(runtime.meta.id)}/${kind}/`)) {
        if (!named.has(path)) unnamed.push(path);
      }
    }
    // An owner that was deposed unknowingly would delete what the next one has just written.
    if (unnamed.length > 0) await ownership.confirm();
    for (const path of unnamed) await objects.delete(path);
    if (openingManifest === undefined && recent.length === 0) this.#unfreed.delete(runtime);
  }

  /** Those that were followed by another within the grace. */
  #recentlyCurrent(runtime: CollectionRuntime): Manifest[] {
    const { store, clock, settings } = this.#deps;
    if (settings.objectGraceMs === 0) return [];
    const sinceMs = clock.nowMs() - settings.objectGraceMs;
    const stored = readManifests(store, runtime.meta.id);
    return stored.filter((_, i) => (stored[i + 1]?.createdAtMs ?? 0) > sinceMs);
  }

  /** Does the same again where it failed, or left what was being opened. */
  async collectLeftGarbage(runtime: CollectionRuntime): Promise<void> {
    const dueMs = this.#unfreed.get(runtime) ?? Infinity;
    if (this.#deps.clock.steadyMs() >= dueMs && runtime.openingManifest === undefined)
      await this.collectGarbage(runtime);
  }

  /** The documents hold all that the log below the manifest told; what follows it is needed to rebuild the tail. */
  async trimLog(runtime: CollectionRuntime, signal: AbortSignal): Promise<void> {
    const { log, committer, catalog } = this.#deps;
    const { applied } = runtime.manifest;
    while (!signal.aborted && log.storedStart(runtime.stream, 0) < applied) {
      await committer.submit((draft) => {
        catalog.staged(draft, runtime.meta);
        log.stageTrimTo(draft, runtime.stream, 0, applied, limits.trimStepBatchesMax);
      });
    }
  }
}
