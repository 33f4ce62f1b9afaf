import type { Clock } from "../../port/clock.ts";
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

interface Held {
  readonly quota: Quota;
  readonly rate: RequestRate | undefined;
}

export type QuotaRefusals = Readonly<Record<"max_bytes" | "max_requests_per_second", number>>;

/**
 * Bounds on what a namespace stores and how often it is called. The bounds are stored; what is used is measured: at the start,
 * when a bound is set, and from time to time. Between two measurements the bytes of each write are added.
 */
export class Quotas {
  readonly #deps: QuotasDeps;
  #held = new Map<string, Held>();
  readonly #usages = new Map<string, Usage>();
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
    if (this.#held.size === 0) return;
    const over = new AbortController();
    await Promise.race([this.maintain(), this.#deps.clock.sleep(startMsMax, over.signal)]);
    over.abort();
  }

  /** Lets a request into a namespace, or throws. */
  admitRequest(namespace: string): void {
    if (this.#held.size === 0) return;
    const rate = this.#held.get(namespace)?.rate;
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
    if (this.#held.size === 0) return;
    const limit = this.#held.get(namespace)?.quota.maxBytes ?? null;
    if (limit === null) return;
    const usage = this.#usageOf(namespace);
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
    return this.#held.get(namespace)?.quota ?? noQuota;
  }

  /** The namespaces that have one, with what they take as far as that is known. */
  *all(): Iterable<QuotaState & { readonly namespace: string }> {
    for (const [namespace, { quota }] of this.#held) {
      const { measured, added } = this.#usageOf(namespace);
      yield { namespace, ...quota, usedBytes: measured + added };
    }
  }

  /** Measures what has a bound of bytes, where it is time to. */
  async maintain(signal?: AbortSignal): Promise<void> {
    for (const [namespace, { quota }] of this.#held) {
      if (signal?.aborted) return;
      if (quota.maxBytes !== null) await this.#measure(namespace, this.#usageOf(namespace));
    }
  }

  /** Reads the bounds; what is used is not measured. */
  load(): void {
    const { store, clock } = this.#deps;
    const held = new Map<string, Held>();
    for (const { key, value } of store.range(prefixRange(tables.quota))) {
      const namespace = Buffer.from(key).toString("latin1", 1);
      const quota = decode<Quota>(value);
      const { maxRequestsPerSecond: perSecond } = quota;
      const known = this.#held.get(namespace)?.rate;
      const isSame = known !== undefined && known.perSecond === perSecond;
      const rate = perSecond === null ? undefined : isSame ? known : new RequestRate(perSecond, clock.steadyMs());
      held.set(namespace, { quota, rate });
    }
    // A namespace that is made again under the same name starts with nothing.
    for (const namespace of this.#held.keys()) if (!held.has(namespace)) this.#usages.delete(namespace);
    this.#held = held;
  }

  #usageOf(namespace: string): Usage {
    const known = this.#usages.get(namespace);
    if (known !== undefined) return known;
    if (this.#usages.size >= askedMax + this.#held.size) this.#forgetAsked();
    const made = { measured: 0, added: 0, untilMs: 0, running: undefined };
    this.#usages.set(namespace, made);
    return made;
  }

  #forgetAsked(): void {
    for (const [namespace, { running }] of this.#usages) {
      if (running === undefined && !this.#held.has(namespace)) this.#usages.delete(namespace);
    }
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
