import type { Clock } from "../../port/clock.ts";
import type { ObjectStore } from "../../port/object-store.ts";
import type { Ownership } from "../../port/ownership.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { afterPrefix, makeKey, prefixRange, readU64, tables } from "../keys.ts";
import { limits } from "../limits.ts";
import type { Log } from "../log/log.ts";
import { decode } from "../stored-value.ts";
import { Builder } from "./builder.ts";
import type { Catalog } from "./catalog.ts";
import type { Manifest } from "./collection-store.ts";
import type { BuildThread } from "./engine-thread.ts";
import { damagedObject } from "./index/segment-loader.ts";
import { chooseMerge, type WritePace } from "./merge-policy.ts";
import type { ObjectHold } from "./object-hold.ts";
import type { Pins } from "./pins.ts";
import { Publisher } from "./publisher.ts";
import type { CollectionRuntime } from "./runtime.ts";
import type { Runtimes } from "./runtimes.ts";
import { isSealDue, SearchPace } from "./seal-policy.ts";
import type { CollectionSettings } from "./settings.ts";

export interface SealerDeps {
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly committer: Committer;
  readonly catalog: Catalog;
  readonly runtimes: Runtimes;
  readonly pins: Pins;
  readonly build: BuildThread;
  readonly log: Log;
  readonly clock: Clock;
  readonly settings: CollectionSettings;
  readonly hold: ObjectHold;
  readonly ownership: Ownership;
  readonly onError: (error: unknown) => void;
}

const lookMs = 200;
const retryMs = 2_000;
/** Without a write for this long a collection rests. */
const quietMs = 15_000;

/**
 * Keeps the indexes behind the documents in the background, one collection at a time, so that at most one thread
 * builds: seals tails, merges segments, makes damaged or outdated indexes again, closes idle ones and frees what was
 * dropped.
 */
export class Sealer {
  readonly #deps: SealerDeps;
  readonly #builder: Builder;
  readonly #publisher: Publisher;
  readonly #stop = new AbortController();
  /** What was done since the start, for metrics. */
  readonly done = { seals: 0, merges: 0, rebuilds: 0, failures: 0 };
  #startedMs = 0;
  #running: Promise<void> | undefined;
  readonly #retryAtMs = new Map<number, number>();
  readonly #paces = new WeakMap<CollectionRuntime, SearchPace>();

  constructor(deps: SealerDeps) {
    this.#deps = deps;
    this.#builder = new Builder(deps);
    this.#publisher = new Publisher(deps);
  }

  start(): void {
    const { catalog, clock, runtimes } = this.#deps;
    this.#startedMs = clock.nowMs();
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
    const { clock, runtimes, pins, hold, settings, onError } = this.#deps;
    // What a build wrote before the process ended, and no manifest came to name.
    for (const runtime of [...runtimes.all()]) {
      await hold.step(() => this.#publisher.collectGarbage(runtime)).catch(onError);
    }
    while (!this.#stop.signal.aborted) {
      await hold.step(() => this.#reclaimDropped()).catch(onError);
      for (const runtime of [...runtimes.all()]) {
        if (this.#stop.signal.aborted) return;
        await this.#look(runtime);
      }
      runtimes.closeIdle(settings, clock.nowMs());
      pins.sweep();
      await clock.sleep(lookMs, this.#stop.signal);
    }
  }

  async #look(runtime: CollectionRuntime): Promise<void> {
    const { clock, runtimes, onError } = this.#deps;
    const { id } = runtime.meta;
    if ((this.#retryAtMs.get(id) ?? 0) > clock.steadyMs()) return;
    try {
      await this.#deps.hold.step(() => this.#keepUp(runtime));
      this.#retryAtMs.delete(id);
    } catch (error) {
      if (this.#stop.signal.aborted || runtimes.find(id) !== runtime) return;
      // Found by the build thread; what the index holds in memory goes on answering.
      if (damagedObject(error) !== undefined) runtime.markDamaged(error);
      this.done.failures++;
      this.#retryAtMs.set(id, clock.steadyMs() + retryMs);
      onError(error);
    }
  }

  async #keepUp(runtime: CollectionRuntime): Promise<void> {
    const { signal } = this.#stop;
    if (runtime.damaged || lacksFields(runtime)) {
      await this.#publish(runtime, await this.#builder.rebuild(runtime, signal));
      runtime.damaged = false;
      this.done.rebuilds++;
    } else if (this.#isDue(runtime)) {
      await this.#publish(runtime, await this.#builder.seal(runtime));
      this.done.seals++;
    }
    const chosen = chooseMerge(runtime.manifest.segments, this.#paceOf(runtime));
    if (chosen.length > 0 && !signal.aborted) {
      await this.#publisher.publish(runtime, await this.#builder.merge(runtime, chosen));
      this.done.merges++;
    }
    await this.#publisher.collectLeftGarbage(runtime);
  }

  async #publish(runtime: CollectionRuntime, manifest: Manifest): Promise<void> {
    await this.#publisher.publish(runtime, manifest);
    await this.#publisher.trimLog(runtime, this.#stop.signal);
  }

  #paceOf({ backlogRecords, lastWriteMs }: CollectionRuntime): WritePace {
    if (backlogRecords > 0) return "written";
    const sinceMs = Math.max(lastWriteMs, this.#startedMs);
    return this.#deps.clock.nowMs() - sinceMs >= quietMs ? "quiet" : "paused";
  }

  #isDue(runtime: CollectionRuntime): boolean {
    const { clock, settings } = this.#deps;
    const pace = this.#paces.get(runtime) ?? new SearchPace();
    this.#paces.set(runtime, pace);
    const isSearched = pace.isBusy(runtime.strongSearches, clock.steadyMs());
    return runtime.backlogRecords > 0 && isSealDue(runtime, settings, clock.nowMs(), isSearched);
  }

  async #reclaimDropped(): Promise<void> {
    const { store, committer, objects, hold } = this.#deps;
    if (hold.isHeld) return;
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

/** Segments that were made before fields were added hold no values of them. */
function lacksFields({ meta, manifest }: CollectionRuntime): boolean {
  return manifest.segments.some(({ schemaVersion }) => schemaVersion < meta.fillVersion);
}
