import type { Clock } from "../../port/clock.ts";
import { conflict, EngineError, invalid, unavailable } from "../errors.ts";
import type { LiveNamespace } from "./live-namespace.ts";
import type { LiveCall } from "./run.ts";
import type { HeldSnapshot, Moment } from "./snapshots.ts";
import type { QueryResult, Subscription, Subscriptions } from "./subscriptions.ts";

export interface WatchedQuery {
  readonly queryId: number;
  readonly call: LiveCall;
  /** The digest of a value that the client has; empty: none. */
  readonly knownDigest: string;
}

export type QuerySetChange =
  | { readonly kind: "add"; readonly query: WatchedQuery }
  | { readonly kind: "remove"; readonly queryId: number };

export interface SessionVersion extends Moment {
  readonly querySet: number;
}

export type StateChange =
  | { readonly kind: "result"; readonly queryId: number; readonly result: QueryResult; readonly unchanged: boolean }
  | { readonly kind: "removed"; readonly queryId: number };

export type SessionEvent =
  | { readonly kind: "opened"; readonly version: SessionVersion }
  | {
      readonly kind: "transition";
      readonly start: SessionVersion;
      readonly end: SessionVersion;
      readonly changes: readonly StateChange[];
    }
  | { readonly kind: "heartbeat"; readonly tick: number };

interface Member {
  readonly call: LiveCall;
  readonly subscription: Subscription;
  readonly onDirty: () => void;
  /** The digest that the client has. */
  sent: string | undefined;
  known: string;
}

export interface SessionDeps {
  readonly namespace: LiveNamespace;
  readonly subscriptions: Subscriptions;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  readonly queriesMax: number;
  /** Aborted when the server drains. */
  readonly draining: AbortSignal;
}

/**
 * What one client watches. Events are made when they are asked for, so that a client that reads slowly has changes merged and none queued. Every
 * transition shows all of the session's queries at one tick, and ticks never go back.
 */
export class LiveSession {
  readonly id: string;
  readonly #deps: SessionDeps;
  readonly #members = new Map<number, Member>();
  readonly #stale = new Set<number>();
  #removed: number[] = [];
  #querySet = 0;
  #shown: SessionVersion;
  #isOpened = false;
  /** Something has happened that nobody has looked at. */
  #isWoken = false;
  #resume: (() => void) | undefined;
  readonly #closed = new AbortController();
  #heardMs: number;
  #isBeatDue = false;
  /** Lets it look again whether there is something to tell. */
  readonly wake = (): void => {
    this.#isWoken = true;
    this.#resume?.();
  };

  constructor(id: string, deps: SessionDeps, queries: readonly WatchedQuery[]) {
    this.id = id;
    this.#deps = deps;
    const { tick, micros } = deps.namespace.durable;
    this.#shown = { tick, micros: tick === 0 && micros === 0 ? deps.namespace.nowMicros : micros, querySet: 0 };
    this.#check(queries.map((query) => ({ kind: "add", query })));
    for (const query of queries) this.#add(query);
    this.#heardMs = deps.clock.steadyMs();
    void this.#beat();
  }

  get querySet(): number {
    return this.#querySet;
  }

  /** What it has shown. */
  get tick(): number {
    return this.#shown.tick;
  }

  /** Of its queries. */
  get functions(): string[] {
    return Array.from(this.#members.values(), ({ call }) => call.function);
  }

  /** Changes the set of queries, all of it or nothing. */
  modify(baseVersion: number, newVersion: number, changes: readonly QuerySetChange[]): void {
    if (baseVersion !== this.#querySet) {
      throw conflict(`base_version: the query set has version ${this.#querySet}, not ${baseVersion}`);
    }
    if (newVersion <= baseVersion) throw invalid("new_version", "must be greater than base_version");
    this.#check(changes);
    for (const change of changes) {
      if (change.kind === "add") this.#add(change.query);
      else this.#remove(change.queryId);
    }
    this.#querySet = newVersion;
    this.wake();
  }

  /** The next event; waits for one. */
  async next(signal: AbortSignal): Promise<SessionEvent> {
    const { namespace, draining } = this.#deps;
    if (!this.#isOpened) {
      this.#isOpened = true;
      signal.addEventListener("abort", this.wake);
      this.#closed.signal.addEventListener("abort", () => signal.removeEventListener("abort", this.wake));
      return { kind: "opened", version: this.#shown };
    }
    for (;;) {
      if (draining.aborted) throw unavailable("the server is draining");
      signal.throwIfAborted();
      if (this.#stale.size > 0 || this.#querySet !== this.#shown.querySet) {
        const transition = await this.#transition();
        if (transition !== undefined) return this.#heard(transition);
        continue;
      }
      if (this.#isBeatDue) return this.#heard({ kind: "heartbeat", tick: namespace.durable.tick });
      await this.#wait();
    }
  }

  close(): void {
    for (const queryId of [...this.#members.keys()]) this.#remove(queryId);
    this.#closed.abort();
    this.wake();
  }

  async #transition(): Promise<SessionEvent | undefined> {
    const { subscriptions } = this.#deps;
    using state = await subscriptions.state();
    const querySet = this.#querySet;
    const stale = [...this.#stale];
    for (const queryId of stale) this.#resubscribe(queryId);
    const members = stale.map((queryId) => this.#members.get(queryId)!);
    for (const queryId of stale) this.#stale.delete(queryId);
    const results = await this.#results(members, state);
    const isOutdated = results.includes(undefined) || this.#querySet !== querySet;
    if (isOutdated) {
      for (const queryId of stale) if (this.#members.has(queryId)) this.#stale.add(queryId);
      return undefined;
    }
    const changes: StateChange[] = this.#removed.splice(0).map((queryId) => ({ kind: "removed", queryId }));
    for (const [i, queryId] of stale.entries()) {
      const [result, member] = [results[i]!, members[i]!];
      if (member.sent === result.digest) continue;
      changes.push({ kind: "result", queryId, result, unchanged: member.known === result.digest });
      member.sent = result.digest;
      member.known = "";
    }
    if (changes.length === 0 && querySet === this.#shown.querySet) return undefined;
    const start = this.#shown;
    this.#shown = { tick: state.tick, micros: state.micros, querySet };
    return { kind: "transition", start, end: this.#shown, changes };
  }

  async #results(members: readonly Member[], state: HeldSnapshot): Promise<(QueryResult | undefined)[]> {
    const { subscriptions } = this.#deps;
    return await Promise.all(members.map(({ subscription }) => subscriptions.resultAt(subscription, state)));
  }

  /** Resolves when something has happened since the last look. Timers and signals for each event would cost more than the event. */
  async #wait(): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
      this.#resume = undefined;
    }
    this.#isWoken = false;
  }

  #heard(event: SessionEvent): SessionEvent {
    this.#heardMs = this.#deps.clock.steadyMs();
    this.#isBeatDue = false;
    return event;
  }

  /** Says when nothing happened for so long that the client wants to hear something. */
  async #beat(): Promise<void> {
    const { clock, heartbeatMs } = this.#deps;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const leftMs = this.#heardMs + heartbeatMs - clock.steadyMs();
      // Once it is due, the client's next read decides when the next one is.
      if (leftMs <= 0 && !this.#isBeatDue) {
        this.#isBeatDue = true;
        this.wake();
      }
      await clock.sleep(leftMs > 0 ? leftMs : heartbeatMs, signal);
    }
  }

  #check(changes: readonly QuerySetChange[]): void {
    const ids = new Set(this.#members.keys());
    for (const change of changes) {
      if (change.kind === "remove") {
        if (!ids.delete(change.queryId)) throw invalid("remove", `there is no query ${change.queryId}`);
      } else {
        const { queryId } = change.query;
        if (ids.has(queryId)) throw invalid("query_id", `the query ${queryId} is there already`);
        ids.add(queryId);
      }
    }
    const { queriesMax } = this.#deps;
    if (ids.size > queriesMax) {
      throw new EngineError("resource_exhausted", `a session has at most ${queriesMax} queries`, {
        retryAfterMs: 1000,
      });
    }
  }

  #add({ queryId, call, knownDigest }: WatchedQuery): void {
    const onDirty = () => {
      this.#stale.add(queryId);
      this.wake();
    };
    const subscription = this.#deps.subscriptions.subscribe(call, onDirty);
    this.#members.set(queryId, { call, subscription, onDirty, sent: undefined, known: knownDigest });
    this.#removed = this.#removed.filter((each) => each !== queryId);
    this.#stale.add(queryId);
  }

  /** To one of its own, where the one that was shared depends on the caller. */
  #resubscribe(queryId: number): void {
    const member = this.#members.get(queryId)!;
    if (!member.subscription.isSplit) return;
    const { subscriptions } = this.#deps;
    subscriptions.unsubscribe(member.subscription, member.onDirty);
    const subscription = subscriptions.subscribe(member.call, member.onDirty);
    this.#members.set(queryId, { ...member, subscription });
  }

  #remove(queryId: number): void {
    const member = this.#members.get(queryId)!;
    this.#deps.subscriptions.unsubscribe(member.subscription, member.onDirty);
    this.#members.delete(queryId);
    this.#stale.delete(queryId);
    this.#removed.push(queryId);
  }
}
