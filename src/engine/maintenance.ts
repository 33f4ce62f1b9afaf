import type { Clock } from "../port/clock.ts";
import type { Store } from "../port/store.ts";
import type { Committer } from "./commit/committer.ts";
import { EngineError } from "./errors.ts";
import type { DedupIndex } from "./event/dedup/dedup-index.ts";
import { afterPrefix, makeKey, readU64, tables } from "./keys.ts";
import { limits } from "./limits.ts";
import type { Metastore } from "./metastore/metastore.ts";
import type { Quotas } from "./quota/quotas.ts";
import type { IdempotencyRecords } from "./stream/idempotency.ts";
import type { Trimmer } from "./stream/trimmer.ts";

export interface MaintenanceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly committer: Committer;
  readonly metastore: Metastore;
  readonly trimmer: Trimmer;
  readonly idempotency: IdempotencyRecords;
  readonly dedup: DedupIndex;
  readonly quotas: Quotas;
  readonly onError: (error: unknown) => void;
}

const pauseMs = 500;

/** Frees in the background what retention, expiry and dropping have given up, in steps that block nobody. */
export class Maintenance {
  readonly #deps: MaintenanceDeps;
  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;

  constructor(deps: MaintenanceDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { dedup, quotas } = this.#deps;
    const { signal } = this.#stop;
    this.#running = Promise.all([
      this.#loop(async () => {
        await this.#reclaimDropped();
        await this.#expireReplies();
        await this.#trim();
      }),
      // By itself: a large stream that is being freed must not keep the memory of new events from being sealed.
      this.#loop(
        () => dedup.maintain(signal),
        () => dedup.full,
      ),
      this.#loop(() => quotas.maintain(signal)),
    ]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** The next round begins at once when `early` is aborted. */
  async #loop(round: () => Promise<void>, early?: () => AbortSignal): Promise<void> {
    const { clock, onError } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await round();
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
      await clock.sleep(pauseMs, early === undefined ? signal : AbortSignal.any([signal, early()]));
    }
  }

  async #trim(): Promise<void> {
    const { metastore, trimmer, onError } = this.#deps;
    let after = 0;
    for (;;) {
      const stream = metastore.retainedStreamAfter(after);
      if (stream === undefined || this.#stop.signal.aborted) return;
      after = stream.id;
      // One stream that can't be trimmed, or was dropped a moment ago, holds no other back.
      await trimmer.trim(stream, this.#stop.signal).catch((error: unknown) => {
        if (!(error instanceof EngineError && error.reason === "not_found")) onError(error);
      });
    }
  }

  async #expireReplies(): Promise<void> {
    const { idempotency, committer } = this.#deps;
    while (idempotency.hasExpired() && !this.#stop.signal.aborted) {
      await committer.submit((draft) => idempotency.stageExpire(draft, limits.expireStepKeysMax));
    }
  }

  /** A dropped stream's batches and everything else that is keyed by its id. */
  async #reclaimDropped(): Promise<void> {
    const { store, committer } = this.#deps;
    const dropped = { from: makeKey(tables.droppedStream), to: makeKey(tables.retainedStream) };
    for (const marker of [...store.keys(dropped)]) {
      const id = readU64(marker, 1);
      for (const table of [tables.log, tables.partition, tables.idempotency]) {
        const from = makeKey(table, id);
        const range = { from, to: afterPrefix(from), limit: limits.trimStepBatchesMax };
        for (;;) {
          if (this.#stop.signal.aborted) return;
          const keys = [...store.keys(range)];
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
