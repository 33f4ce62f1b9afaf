import assert from "node:assert/strict";
import type { Clock } from "../../port/clock.ts";
import { type Store, StoreError, type WriteOp } from "../../port/store.ts";
import { EngineError, OutcomeUnknown, unavailable } from "../errors.ts";
import type { Table } from "../keys.ts";
import { runInTurns, type Steps } from "../turns.ts";
import { Draft } from "./draft.ts";

/** Decides and writes one change. Runs alone, after every change before it; throwing drops its writes. */
export type Change<T> = (draft: Draft) => T;

/** The same in steps, for a change that would hold the thread too long. Nothing else is decided meanwhile. */
export type SteppedChange<T> = (draft: Draft) => Steps<T>;

export interface CommitGroup {
  readonly changes: number;
  readonly ops: number;
  readonly bytes: number;
  readonly ms: number;
  readonly failed: boolean;
}

export interface CommitterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly queueBytesMax: number;
  readonly groupBytesMax: number;
  /**
   * A group with this many bytes commits at once. While commits are quick it takes at most three times as many; later changes
   * join the next group, so that readers and the store do not wait for each other by turns.
   */
  readonly readyBytes?: number;
  /** With so many ready it does not wait either, while commits are quick. */
  readonly readyChanges?: number;
  /** Changes whose commit takes longer are answered with `unavailable`: their outcome is not known yet. */
  readonly outcomeMsMax?: number;
  readonly onGroup?: (group: CommitGroup) => void;
}

interface Waiting {
  readonly change: (draft: Draft) => unknown;
  readonly stepped: boolean;
  readonly bytes: number;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  result: unknown;
  error: unknown;
  failed: boolean;
  /** It was decided on writes of the group that were not durable yet. */
  onStaged: boolean;
}

/** A commit that takes no longer than this is quick. */
const quickMs = 4;
/** After which a write that was fenced finds the new owner. */
const fencedRetryMs = 1_000;
/** What a group takes while commits are quick, in `readyBytes`. */
const quickShare = 3;

/**
 * The one writer. Changes are decided one after another on the state that the ones before them leave, and those that
 * arrive while a sync is under way share the next one. A change's promise settles when its writes are durable, so
 * an acknowledged change is always durable.
 */
export class Committer {
  readonly #options: CommitterOptions;
  #queue: Waiting[] = [];
  #queuedBytes = 0;
  /** Those of them that no group has taken yet. */
  #readyBytes = 0;
  #running = false;
  /** Ends the wait for others that may join the next group. */
  #goOn: (() => void) | undefined;
  /** Whether the last group was of more than one change. */
  #hadCompany = false;
  /** Whether one has ended in this turn of the event loop. */
  #endedInTurn = false;
  /** Whether the last one was durable soon. */
  #isQuick = false;
  #idle: (() => void)[] = [];
  readonly #watchers: { readonly tables: readonly Table[]; readonly onChanged: () => void }[] = [];
  readonly #closing = new AbortController();
  /** The group whose commit is under way. */
  #written: Waiting[] | undefined;
  #isWatched = false;
  /** The store has not answered for long: until it does, nothing is taken on. */
  #isStuck = false;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Whether the store may show a commit that nobody was told of yet. */
  get isWriting(): boolean {
    return this.#written !== undefined;
  }

  /** `bytes` is about what the change writes; it counts against the queue's limit while it waits. */
  submit<T>(change: Change<T>, bytes = 0): Promise<T> {
    return this.#enqueue(change, false, bytes);
  }

  submitSteps<T>(change: SteppedChange<T>, bytes = 0): Promise<T> {
    return this.#enqueue(change, true, bytes);
  }

  #enqueue<T>(change: (draft: Draft) => unknown, stepped: boolean, bytes: number): Promise<T> {
    if (this.#closing.signal.aborted) return Promise.reject(unavailable("the server is shutting down"));
    if (this.#isStuck) return Promise.reject(unavailable("the disk does not answer; nothing was written, retry"));
    if (bytes > 0 && this.#queuedBytes > 0 && this.#queuedBytes + bytes > this.#options.queueBytesMax) {
      return Promise.reject(unavailable("too many bytes wait for the log's sync; retry"));
    }
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        change,
        stepped,
        bytes,
        resolve: resolve as (value: never) => void,
        reject,
        result: undefined,
        error: undefined,
        failed: false,
        onStaged: false,
      });
      this.#queuedBytes += bytes;
      this.#readyBytes += bytes;
      if (!this.#running) {
        this.#running = true;
        void this.#run();
        void this.#watch();
      } else if (this.#isMuchReady) this.#goOn?.();
    });
  }

  /** `onChanged` is called when writes to one of the tables are durable, before anybody is told. */
  watch(tables: readonly Table[], onChanged: () => void): void {
    this.#watchers.push({ tables, onChanged });
  }

  /** Another node has written to these tables. */
  onApplied(written: ReadonlySet<number>): void {
    for (const { tables, onChanged } of this.#watchers) if (tables.some((each) => written.has(each))) onChanged();
  }

  /** Resolves when nothing waits, or the store does not answer any more. New changes are refused. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#running && !this.#isStuck) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Looks now and then whether the store still answers. A timer for each commit would cost more than the commit's own bookkeeping. */
  async #watch(): Promise<void> {
    const { clock, outcomeMsMax = Infinity } = this.#options;
    if (this.#isWatched || outcomeMsMax === Infinity) return;
    this.#isWatched = true;
    let seen: Waiting[] | undefined;
    while (this.#running) {
      await clock.sleep(outcomeMsMax / 2, this.#closing.signal);
      if (this.#closing.signal.aborted) break;
      // Seen twice, it has been under way for at least half of the time.
      if (seen !== undefined && seen === this.#written) this.#giveUpWaiting(seen);
      seen = this.#written;
    }
    this.#isWatched = false;
  }

  #giveUpWaiting(group: readonly Waiting[]): void {
    this.#isStuck = true;
    for (const { reject } of group) reject(new OutcomeUnknown());
    for (const waiting of this.#takeAll()) {
      this.#queuedBytes -= waiting.bytes;
      this.#readyBytes -= waiting.bytes;
      waiting.reject(unavailable("the disk does not answer; nothing was written, retry"));
    }
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #run(): Promise<void> {
    // Where changes have come one at a time, each in a turn of its own, waiting for others would only make them later.
    if (this.#hadCompany || this.#endedInTurn) await this.#gather();
    else await undefined;
    while (this.#queue.length > 0) {
      await this.#commitGroup(this.#takeGroup());
      if (this.#queue.length > 0) await this.#gather();
    }
    this.#running = false;
    if (!this.#endedInTurn) {
      this.#endedInTurn = true;
      setImmediate(() => {
        this.#endedInTurn = false;
      });
    }
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  get #isMuchReady(): boolean {
    const { readyBytes = Infinity, readyChanges = Infinity } = this.#options;
    return this.#readyBytes >= readyBytes || (this.#isQuick && this.#queue.length >= readyChanges);
  }

  /**
   * The requests that are ready in this turn of the event loop join the group instead of waiting for the one after it;
   * but where there is much already, the store works on it while the others are read.
   */
  async #gather(): Promise<void> {
    if (this.#isMuchReady) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#goOn = resolve;
    setImmediate(resolve);
    await promise;
    this.#goOn = undefined;
  }

  #takeGroup(): Waiting[] {
    const { groupBytesMax, readyBytes = Infinity } = this.#options;
    // Where a sync takes long it is what costs, and everybody had better share it.
    const bytesMax = this.#isQuick ? Math.min(quickShare * readyBytes, groupBytesMax) : groupBytesMax;
    let count = 0;
    let bytes = 0;
    while (count < this.#queue.length) {
      const waiting = this.#queue[count]!;
      bytes += waiting.bytes;
      if (count > 0 && bytes > bytesMax) break;
      count++;
    }
    const group = count === this.#queue.length ? this.#takeAll() : this.#queue.splice(0, count);
    for (const each of group) this.#readyBytes -= each.bytes;
    return group;
  }

  #takeAll(): Waiting[] {
    const all = this.#queue;
    this.#queue = [];
    return all;
  }

  async #commitGroup(group: Waiting[]): Promise<void> {
    const { store, clock, onGroup } = this.#options;
    const startedMs = clock.steadyMs();
    this.#hadCompany = group.length > 1;
    const draft = new Draft(store);
    let bytes = 0;
    for (const waiting of group) {
      bytes += waiting.bytes;
      draft.begin();
      waiting.onStaged = draft.ops.length > 0;
      try {
        const outcome = waiting.change(draft);
        waiting.result = waiting.stepped ? await runInTurns(outcome as Steps<unknown>, clock) : outcome;
      } catch (error) {
        draft.rollback();
        waiting.error = error;
        waiting.failed = true;
      }
    }
    const decidedMs = clock.steadyMs();
    assert(this.#written === undefined, "one group is written at a time");
    this.#written = group;
    const failure = completeDraft(draft) ?? (await this.#write(draft.ops));
    this.#written = undefined;
    this.#isStuck = false;
    this.#isQuick = clock.steadyMs() - decidedMs <= quickMs;
    this.#queuedBytes -= bytes;
    assert(this.#queuedBytes >= this.#readyBytes, "bytes leave the queue once");
    if (failure === undefined) this.#committed(draft);
    else draft.aborted();
    onGroup?.({
      changes: group.length,
      ops: draft.ops.length,
      bytes,
      ms: clock.steadyMs() - startedMs,
      failed: failure !== undefined,
    });
    for (const waiting of group) {
      // A change may have been refused because of another's write in this group, which has now failed.
      if (waiting.failed && !(waiting.onStaged && failure !== undefined)) waiting.reject(waiting.error);
      else if (failure !== undefined) waiting.reject(failure);
      else waiting.resolve(waiting.result as never);
    }
  }

  #committed(draft: Draft): void {
    for (const { tables, onChanged } of this.#watchers) if (tables.some((each) => draft.writesTo(each))) onChanged();
    draft.committed();
  }

  async #write(ops: readonly WriteOp[]): Promise<unknown> {
    if (ops.length === 0) return undefined;
    try {
      await this.#options.store.commit(ops);
      return undefined;
    } catch (error) {
      const kind = error instanceof StoreError ? error.kind : "failed";
      if (kind === "fenced") {
        const options = { retryAfterMs: fencedRetryMs, cause: error };
        return new EngineError("aborted", "another node has become the owner; nothing was written, retry", options);
      }
      const message = kind === "full" ? "the disk is full; nothing was written" : "the write could not be committed";
      return unavailable(message, error);
    }
  }
}

/** Undefined, or why the group can't be committed. */
function completeDraft(draft: Draft): unknown {
  try {
    draft.complete();
    return undefined;
  } catch (error) {
    return unavailable("the write could not be committed", error);
  }
}
