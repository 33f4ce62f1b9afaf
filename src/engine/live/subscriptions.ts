import type { LiveNamespace } from "./live-namespace.ts";
import { ReaderIndex, type WriteSet } from "./read-set.ts";
import type { LiveCall, Outcome, Ran } from "./run.ts";
import type { HeldSnapshot } from "./snapshots.ts";
import { canonicalJson, digestOf } from "./value.ts";

/** What a query gave at a tick. It holds until a commit touches what was read. */
export interface QueryResult {
  readonly tick: number;
  readonly outcome: Outcome;
  /** The same for the same outcome. */
  readonly digest: string;
  readonly logs: readonly string[];
}

/** One query for all sessions that have it: it runs once for a change, however many they are. */
export interface Subscription {
  readonly key: string;
  readonly call: LiveCall;
  /** Of one caller alone. */
  readonly isPersonal: boolean;
  /** It was shared and has proved to depend on the caller: its watchers subscribe again. */
  isSplit: boolean;
  readonly watchers: Set<() => void>;
  result: (QueryResult & Pick<Ran, "read">) | undefined;
  /** The first tick at which the result may no longer hold. */
  dirtyTick: number | undefined;
  running: Promise<void> | undefined;
}

type Run = (call: LiveCall, at: HeldSnapshot) => Promise<Ran>;

/** The queries of a namespace that somebody watches. */
export class Subscriptions {
  readonly #namespace: LiveNamespace;
  readonly #run: Run;
  readonly #byKey = new Map<string, Subscription>();
  readonly #readers = new ReaderIndex<Subscription>();
  /** Functions that have asked who calls. */
  readonly #personal = new Set<string>();
  #waiting: (() => void)[] = [];

  constructor(namespace: LiveNamespace, run: Run) {
    this.#namespace = namespace;
    this.#run = run;
    namespace.onCommit((tick, written) => this.#onCommit(tick, written));
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** `onDirty` is called when its result may be another. */
  subscribe(call: LiveCall, onDirty: () => void): Subscription {
    const isPersonal = this.#personal.has(call.function);
    const key = `${call.function}\n${isPersonal ? call.principal.id : ""}\n${canonicalJson(call.args)}`;
    let found = this.#byKey.get(key);
    if (found === undefined) {
      const nothing = { result: undefined, dirtyTick: undefined, running: undefined };
      found = { key, call, isPersonal, isSplit: false, watchers: new Set(), ...nothing };
      this.#byKey.set(key, found);
    }
    found.watchers.add(onDirty);
    return found;
  }

  unsubscribe(subscription: Subscription, onDirty: () => void): void {
    subscription.watchers.delete(onDirty);
    if (subscription.watchers.size > 0) return;
    if (this.#byKey.get(subscription.key) === subscription) this.#byKey.delete(subscription.key);
    if (subscription.result !== undefined) this.#readers.remove(subscription, subscription.result.read);
  }

  /** A state whose commits were all seen here: a result that none has touched holds in it. */
  async state(): Promise<HeldSnapshot> {
    for (;;) {
      const snapshot = this.#namespace.snapshots.take(this.#namespace.nowMicros);
      if (snapshot.tick <= this.#namespace.durable.tick) return snapshot;
      // The store may show a commit a moment before it is reported here.
      snapshot[Symbol.dispose]();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The result in a state; undefined where it was run in a later one already, or is split. */
  async resultAt(subscription: Subscription, state: HeldSnapshot): Promise<QueryResult | undefined> {
    for (;;) {
      const { result, dirtyTick } = subscription;
      if (subscription.isSplit) return undefined;
      if (result !== undefined) {
        if (result.tick > state.tick) return undefined;
        if (dirtyTick === undefined || dirtyTick > state.tick) return result;
      }
      subscription.running ??= this.#refresh(subscription, state).finally(() => {
        subscription.running = undefined;
      });
      await subscription.running;
    }
  }

  async #refresh(subscription: Subscription, state: HeldSnapshot): Promise<void> {
    const { outcome, logs, read, readsPrincipal } = await this.#run(subscription.call, state);
    const { result: before } = subscription;
    if (readsPrincipal && !subscription.isPersonal) {
      this.#split(subscription);
      return;
    }
    if (before !== undefined) this.#readers.remove(subscription, before.read);
    subscription.result = { tick: state.tick, outcome, digest: outcomeDigest(outcome), logs, read };
    subscription.dirtyTick = this.#namespace.firstTouch(read, state.tick);
    if (subscription.watchers.size === 0) return;
    this.#readers.add(subscription, read);
    if (subscription.dirtyTick !== undefined) for (const notify of subscription.watchers) notify();
  }

  /** What one caller sees is not for the others. */
  #split(subscription: Subscription): void {
    this.#personal.add(subscription.call.function);
    this.#byKey.delete(subscription.key);
    if (subscription.result !== undefined) this.#readers.remove(subscription, subscription.result.read);
    subscription.result = undefined;
    subscription.isSplit = true;
    for (const notify of subscription.watchers) notify();
  }

  #onCommit(tick: number, written: WriteSet): void {
    const touched = written.schema ? this.#byKey.values() : this.#readers.touchedBy(written);
    for (const subscription of touched) {
      if (subscription.dirtyTick !== undefined || subscription.result === undefined) continue;
      subscription.dirtyTick = tick;
      for (const notify of subscription.watchers) notify();
    }
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function outcomeDigest(outcome: Outcome): string {
  if (outcome.kind === "value") return digestOf(canonicalJson(outcome.value));
  const { kind, message, data = null } = outcome.fault;
  return `!${digestOf(canonicalJson([kind, message, data]))}`;
}
