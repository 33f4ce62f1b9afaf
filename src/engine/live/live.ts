import type { Bundler } from "../../port/bundler.ts";
import type { Children } from "../../port/children.ts";
import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import type { Store } from "../../port/store.ts";
import type { Principal } from "../auth/principal.ts";
import type { Committer } from "../commit/committer.ts";
import { EngineError, notFound } from "../errors.ts";
import type { Log } from "../log/log.ts";
import type { Metastore, NamespaceMeta } from "../metastore/metastore.ts";
import type { Quotas } from "../quota/quotas.ts";
import type { IdempotencyRecords } from "../stream/idempotency.ts";
import type { TokenWaiter } from "../stream/token-waiter.ts";
import type { ConsistencyToken } from "../token.ts";
import { builtIns, describeTable } from "./builtins.ts";
import { Collector } from "./collector.ts";
import { functionOf } from "./find-function.ts";
import { type Deployed, Deployments, type DeployRequest } from "./function/deployments.ts";
import { Functions } from "./function/functions.ts";
import { RunnerPool } from "./function/runner-pool.ts";
import { LiveNamespace } from "./live-namespace.ts";
import { type Mutated, type MutateOptions, Mutations } from "./mutations.ts";
import { type At, Queries, type QueryAnswer } from "./queries.ts";
import { type RecentRun, RecentRuns } from "./recent-runs.ts";
import type { LiveCall, Outcome } from "./run.ts";
import { LiveSession, type QuerySetChange, type WatchedQuery } from "./session.ts";
import type { LiveSettings } from "./settings.ts";
import { Subscriptions } from "./subscriptions.ts";
import { checkValue, type LiveObject } from "./value.ts";

export interface LiveDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly metastore: Metastore;
  readonly log: Log;
  readonly idempotency: IdempotencyRecords;
  readonly quotas: Quotas;
  readonly tokens: TokenWaiter;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: LiveSettings;
  readonly draining: AbortSignal;
  readonly onError: (error: unknown) => void;
  /** What functions need; undefined where there are none. */
  readonly ports: { readonly runners: Children; readonly bundler: Bundler } | undefined;
}

export interface CallRequest {
  readonly namespace: string;
  readonly function: string;
  readonly args: LiveObject;
  readonly principal: Principal;
}

interface Open {
  readonly namespace: LiveNamespace;
  readonly subscriptions: Subscriptions;
}

interface OpenSession {
  readonly session: LiveSession;
  readonly namespace: string;
  readonly principal: Principal;
  readonly openedMs: number;
}

/** Sessions that are listed at most. */
const listedSessionsMax = 100;

/** Tables, functions and queries that stay up to date. */
export class Live {
  readonly #deps: LiveDeps;
  readonly #open = new Map<number, Open>();
  readonly #sessions = new Map<string, OpenSession>();
  readonly #queries: Queries;
  readonly #mutations: Mutations;
  readonly #collector: Collector;
  readonly #runs = new RecentRuns();
  readonly #runners: RunnerPool;
  readonly #deployments: Deployments;

  constructor(deps: LiveDeps) {
    this.#deps = deps;
    this.#runners = new RunnerPool(deps.ports?.runners, deps.clock, deps.settings);
    const shared = { ...deps, runners: this.#runners, bundler: deps.ports?.bundler };
    const functions = new Functions(shared);
    this.#queries = new Queries({ ...shared, functions });
    this.#mutations = new Mutations({ ...shared, functions });
    this.#deployments = new Deployments(shared);
    this.#collector = new Collector(deps);
    deps.draining.addEventListener("abort", () => {
      for (const { session } of this.#sessions.values()) session.wake();
    });
  }

  start(): void {
    this.#collector.start();
  }

  /** Another node has changed a namespace's tables: what is known of them is read again. */
  onApplied(namespaceId: number): void {
    this.#open.delete(namespaceId);
  }

  async stop(): Promise<void> {
    await this.#collector.stop();
    await this.#runners.close();
    await this.#deps.ports?.bundler.close();
  }

  /** How many sessions are open, and runs of functions under way and waiting. */
  get stats(): { readonly sessions: number; readonly running: number; readonly waiting: number } {
    return { sessions: this.#sessions.size, running: this.#runners.running, waiting: this.#runners.waiting };
  }

  /** Runs a query once. */
  async query(
    request: CallRequest,
    at: At | undefined,
    token: ConsistencyToken,
    signal?: AbortSignal,
  ): Promise<QueryAnswer> {
    const { namespace } = this.#of(request.namespace);
    const call = this.#call(namespace, request, "query");
    await this.#waitFor(namespace, token, signal);
    return await this.#noted(namespace, call, "query", this.#queries.run(namespace, call, at));
  }

  /** Runs a mutation: all of what it writes is committed, or nothing. */
  async mutate(request: CallRequest, options: MutateOptions): Promise<Mutated> {
    const { namespace } = this.#of(request.namespace);
    const call = this.#call(namespace, request, "mutation");
    return await this.#noted(namespace, call, "mutation", this.#mutations.run(namespace, call, options));
  }

  /** What a namespace has. */
  overview(name: string) {
    const { namespace } = this.#of(name);
    const { meta, durable } = namespace;
    const sessions = this.#sessions.values().filter((each) => each.namespace === name);
    return {
      version: meta.version,
      tick: durable.tick,
      tables: meta.tables.map(describeTable),
      functions: meta.functions,
      sessions: sessions.reduce((count) => count + 1, 0),
    };
  }

  /** The last runs that were asked for, the newest first. */
  runs(name: string): RecentRun[] {
    return this.#runs.of(this.#of(name).namespace.id);
  }

  /** The newest open sessions first: who watches what. */
  sessions(name: string) {
    this.#of(name);
    const own = [...this.#sessions.values()].filter(({ namespace }) => namespace === name);
    return own
      .slice(-listedSessionsMax)
      .reverse()
      .map(({ session, principal, openedMs }) => {
        return { openedMs, principal: principal.id, tick: session.tick, queries: session.functions };
      });
  }

  /** Replaces the namespace's functions and schema. */
  async deploy(namespace: string, request: DeployRequest): Promise<Deployed> {
    return await this.#deployments.deploy(this.#of(namespace).namespace, request);
  }

  /** The token of a commit. */
  token(namespace: string, tick: number): ConsistencyToken {
    return this.#of(namespace).namespace.token(tick);
  }

  /** As SQL reads them, which says what it needs of them. */
  get sqlTables() {
    return {
      tables: (name: string) => {
        const { namespace } = this.#of(name);
        return Array.from(namespace.tables.values(), ({ name, number, fields }) => {
          return { schema: "live" as const, name, id: number, namespace: namespace.id, fields, reads: [] };
        });
      },
      reflect: async (name: string, token: ConsistencyToken, signal: AbortSignal | undefined) => {
        const { namespace } = this.#of(name);
        await this.#waitFor(namespace, token, signal);
        return namespace.token(namespace.durable.tick);
      },
    };
  }

  /** Opens a session, which its opener closes. */
  async watch(
    request: { readonly namespace: string; readonly principal: Principal; readonly minTick: number },
    queries: readonly (Omit<WatchedQuery, "call"> & { readonly call: CallRequest })[],
    signal: AbortSignal,
  ): Promise<LiveSession> {
    const { namespace, subscriptions } = this.#of(request.namespace);
    const { settings, clock, draining, random } = this.#deps;
    const parsed = queries.map((query) => ({ ...query, call: this.#call(namespace, query.call, "query") }));
    await this.#waitFor(namespace, minTickToken(namespace, request.minTick), signal);
    if (this.#sessions.size >= settings.sessionsMax) {
      throw new EngineError("resource_exhausted", "too many sessions are open", { retryAfterMs: 1000 });
    }
    const id = Buffer.from(random.bytes(18)).toString("base64url");
    const { heartbeatMs, sessionQueriesMax: queriesMax } = settings;
    const deps = { namespace, subscriptions, clock, heartbeatMs, queriesMax, draining };
    const session = new LiveSession(id, deps, parsed);
    this.#sessions.set(id, {
      session,
      namespace: request.namespace,
      principal: request.principal,
      openedMs: clock.nowMs(),
    });
    return session;
  }

  close(session: LiveSession): void {
    this.#sessions.delete(session.id);
    session.close();
  }

  modifyQuerySet(
    request: { readonly namespace: string; readonly principal: Principal; readonly sessionId: string },
    versions: { readonly base: number; readonly next: number },
    changes: readonly (
      | { readonly kind: "add"; readonly query: Omit<WatchedQuery, "call"> & { readonly call: CallRequest } }
      | { readonly kind: "remove"; readonly queryId: number }
    )[],
  ): number {
    const { namespace } = this.#of(request.namespace);
    const open = this.#sessions.get(request.sessionId);
    // Somebody else's session is none.
    const isOwn = open?.namespace === request.namespace && open.principal.id === request.principal.id;
    if (open === undefined || !isOwn) throw notFound("there is no such session");
    const parsed = changes.map((change): QuerySetChange => {
      if (change.kind === "remove") return change;
      const { query } = change;
      return { kind: "add", query: { ...query, call: this.#call(namespace, query.call, "query") } };
    });
    open.session.modify(versions.base, versions.next, parsed);
    return open.session.querySet;
  }

  async #noted<T extends { readonly outcome: Outcome; readonly logs: readonly string[] }>(
    namespace: LiveNamespace,
    call: LiveCall,
    kind: RecentRun["kind"],
    run: Promise<T>,
  ): Promise<T> {
    // What the server itself does for a table is no run that anybody wrote.
    if (builtIns.has(call.function)) return await run;
    const { clock } = this.#deps;
    const timeMs = clock.nowMs();
    const startedMs = clock.steadyMs();
    const done = await run;
    const { outcome, logs } = done;
    const ms = clock.steadyMs() - startedMs;
    this.#runs.add(namespace.id, { timeMs, function: call.function, kind, ms, logs }, outcome);
    return done;
  }

  #of(name: string): Open {
    const meta = this.#deps.metastore.namespace(name);
    const known = this.#open.get(meta.id);
    if (known !== undefined) return known;
    const open = this.#openNamespace(meta);
    this.#open.set(meta.id, open);
    return open;
  }

  #openNamespace(meta: NamespaceMeta): Open {
    const namespace = new LiveNamespace(this.#deps, meta);
    const subscriptions = new Subscriptions(namespace, async (call, state) => {
      try {
        return await this.#queries.runAt(namespace, call, state);
      } catch (error) {
        return this.#queries.failed(namespace, error);
      }
    });
    return { namespace, subscriptions };
  }

  /** A call whose function there is and whose arguments it takes. */
  #call(namespace: LiveNamespace, request: CallRequest, kind: "query" | "mutation"): LiveCall {
    const { function: name, args, principal } = request;
    checkValue("args", args);
    functionOf(namespace, request, kind);
    return { function: name, args, principal };
  }

  async #waitFor(namespace: LiveNamespace, token: ConsistencyToken, signal: AbortSignal | undefined): Promise<void> {
    const { stream } = namespace;
    if (token.length === 0 || stream === undefined) return;
    await this.#deps.tokens.wait(stream, token, 0, signal);
  }
}

function minTickToken(namespace: LiveNamespace, minTick: number): ConsistencyToken {
  if (minTick <= namespace.durable.tick) return [];
  const token = namespace.token(minTick);
  if (token.length > 0) return token;
  throw new EngineError("deadline_exceeded", `min_tick: the tick ${minTick} has not been reached`, {
    retryAfterMs: 1000,
  });
}
