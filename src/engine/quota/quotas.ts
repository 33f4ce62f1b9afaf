import type { Clock } from "../../port/clock.ts";
import { LruMap } from "../../port/lru-map.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import { EngineError } from "../errors.ts";
import { makeKey, prefixRange, tables } from "../keys.ts";
import type { Log } from "../log/log.ts";
import type { Metastore } from "../metastore/metastore.ts";
import { decode, encode } from "../stored-value.ts";
import { runWithPauses } from "../turns.ts";
import { RequestRate } from "./request-rate.ts";
import { measureUsage } from "./usage.ts";

/** What a namespace may take; null: as much as there is. */
export interface Quota {
  readonly maxBytes: number | null;
  readonly maxRequestsPerSecond: number | null;
}

export interface QuotaState extends Quota {
  readonly usedBytes: number;
}

const noQuota: Quota = { maxBytes: null, maxRequestsPerSecond: null };

export interface QuotasDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly metastore: Metastore;
  readonly log: Log;
  readonly clock: Clock;
}

/** A measurement holds for this long, */
const measuredMs = 5_000;
/** and for so many times what it took, so that a large namespace does not keep the server busy with itself. */
const measuredTimes = 20;
/** Namespaces without a quota whose last measurement is kept for those who ask again. */
const askedMax = 1_000;
/** A start does not wait longer for the measurements; writes are let in until they are there. */
const startMsMax = 1_000;
/** Nothing says when there will be room. */
const fullRetryMs = 60_000;

/** What a namespace takes, and what was let in since that was measured. */
interface Usage {
  measured: number;
  added: number;
  untilMs: number;
  running: Promise<void> | undefined;
}

interface Bound {
  readonly quota: Quota;
  readonly rate: RequestRate | undefined;
  readonly usage: Usage;
}

export type QuotaRefusals = Readonly<Record<"max_bytes" | "max_requests_per_second", number>>;

/**
 * Bounds on what a namespace stores and how often it is called. The bounds are stored; what is used is measured: at the start,
 * when a bound is set, and from time to time. Between two measurements the bytes of each write are added.
 */
export class Quotas {
  readonly #deps: QuotasDeps;
  #bounds = new Map<string, Bound>();
  /** Of namespaces without a bound. */
  readonly #asked = new LruMap<string, Usage>(askedMax);
  readonly #refusals = { max_bytes: 0, max_requests_per_second: 0 };

  constructor(deps: QuotasDeps) {
    this.#deps = deps;
    deps.committer.watch([tables.quota], () => this.load());
  }

  /** Requests that were refused since the start. */
  get refusals(): QuotaRefusals {
    return this.#refusals;
  }

  async start(): Promise<void> {
    this.load();
    if (this.#bounds.size === 0) return;
    const over = new AbortController();
    await Promise.race([this.maintain(), this.#deps.clock.sleep(startMsMax, over.signal)]);
    over.abort();
  }

  /** Lets a request into a namespace, or throws. */
  admitRequest(namespace: string): void {
    if (this.#bounds.size === 0) return;
    const rate = this.#bounds.get(namespace)?.rate;
    const waitMs = rate?.take(this.#deps.clock.steadyMs()) ?? 0;
    if (rate === undefined || waitMs === 0) return;
    this.#refusals.max_requests_per_second++;
    throw new EngineError(
      "resource_exhausted",
      `the quota of namespace ${JSON.stringify(namespace)} is ${rate.perSecond} requests a second; try again in ${waitMs} ms`,
      { details: { quota: "max_requests_per_second", limit: rate.perSecond }, retryAfterMs: waitMs },
    );
  }

  /** Lets a write of so many bytes into a namespace, or throws. */
  admitBytes(namespace: string, bytes: number): void {
    if (this.#bounds.size === 0) return;
    const bound = this.#bounds.get(namespace);
    const limit = bound?.quota.maxBytes ?? null;
    if (bound === undefined || limit === null) return;
    const { usage } = bound;
    const used = usage.measured + usage.added;
    if (used + bytes <= limit) {
      usage.added += bytes;
      return;
    }
    this.#refusals.max_bytes++;
    throw new EngineError(
      "resource_exhausted",
      `the quota of namespace ${JSON.stringify(namespace)} is ${limit} bytes: it has ${used}, and this write has ${bytes}; ` +
        "delete data, shorten retention or raise the quota",
      { details: { quota: "max_bytes", limit, used_bytes: used }, retryAfterMs: fullRetryMs },
    );
  }

  /** Replaces a namespace's quota. */
  async set(namespace: string, quota: Quota): Promise<QuotaState> {
    const { committer, metastore } = this.#deps;
    const isNone = quota.maxBytes === null && quota.maxRequestsPerSecond === null;
    await committer.submit((draft) => {
      metastore.stagedNamespace(draft, namespace);
      const key = makeKey(tables.quota, namespace);
      if (isNone) draft.delete(key);
      else draft.put(key, encode(quota));
    });
    this.#usageOf(namespace).untilMs = 0;
    return await this.get(namespace);
  }

  async get(namespace: string): Promise<QuotaState> {
    this.#deps.metastore.namespace(namespace);
    const usage = this.#usageOf(namespace);
    await this.#measure(namespace, usage);
    return { ...this.of(namespace), usedBytes: usage.measured + usage.added };
  }

  of(namespace: string): Quota {
    return this.#bounds.get(namespace)?.quota ?? noQuota;
  }

  /** The namespaces that have one, with what they take as far as that is known. */
  *all(): Iterable<QuotaState & { readonly namespace: string }> {
    for (const [namespace, { quota, usage }] of this.#bounds) {
      yield { namespace, ...quota, usedBytes: usage.measured + usage.added };
    }
  }

  /** Measures what has a bound of bytes, where it is time to. */
  async maintain(signal?: AbortSignal): Promise<void> {
    for (const [namespace, { quota, usage }] of this.#bounds) {
      if (signal?.aborted) return;
      if (quota.maxBytes !== null) await this.#measure(namespace, usage);
    }
  }

  /** Reads the bounds; what is used is not measured. */
  load(): void {
    const { store, clock } = this.#deps;
    const bounds = new Map<string, Bound>();
    for (const { key, value } of store.range(prefixRange(tables.quota))) {
      const namespace = Buffer.from(key).toString("latin1", 1);
      const quota = decode<Quota>(value);
      const { maxRequestsPerSecond: perSecond } = quota;
      const known = this.#bounds.get(namespace)?.rate;
      const isSame = known !== undefined && known.perSecond === perSecond;
      const rate = perSecond === null ? undefined : isSame ? known : new RequestRate(perSecond, clock.steadyMs());
      bounds.set(namespace, { quota, rate, usage: this.#usageOf(namespace) });
      // With its bound goes what it took: a namespace that is made again under the same name starts with nothing.
      this.#asked.delete(namespace);
    }
    this.#bounds = bounds;
  }

  #usageOf(namespace: string): Usage {
    const known = this.#bounds.get(namespace)?.usage ?? this.#asked.get(namespace);
    if (known !== undefined) return known;
    const usage = { measured: 0, added: 0, untilMs: 0, running: undefined };
    this.#asked.set(namespace, usage);
    return usage;
  }

  /** Those who ask while it is measured share one measurement. */
  #measure(namespace: string, usage: Usage): Promise<void> {
    if (usage.running === undefined && this.#deps.clock.steadyMs() < usage.untilMs) return Promise.resolve();
    usage.running ??= this.#measureNow(namespace, usage).finally(() => {
      usage.running = undefined;
    });
    return usage.running;
  }

  async #measureNow(namespace: string, usage: Usage): Promise<void> {
    const { clock } = this.#deps;
    const startedMs = clock.steadyMs();
    const before = usage.added;
    const measured = await runWithPauses(measureUsage(this.#deps, namespace), clock);
    const endedMs = clock.steadyMs();
    usage.measured = measured;
    usage.added -= before;
    usage.untilMs = endedMs + Math.max(measuredMs, measuredTimes * (endedMs - startedMs));
  }
}
