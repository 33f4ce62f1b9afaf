import assert from "node:assert/strict";
import type { Clock } from "../../port/clock.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import type { Log, LogStream } from "../log/log.ts";
import { type LinkMeta, readApplied, readTotals, stageApplied, stageTotals } from "./link-store.ts";
import type { LinkStep, LinkTarget } from "./target.ts";
import type { Turns } from "./turns.ts";

export interface WorkerDeps {
  readonly store: Store;
  readonly log: Log;
  readonly committer: Committer;
  readonly clock: Clock;
  /** Shared by all workers. */
  readonly turns: Turns;
  /** The source as it is now, or undefined once it is gone. */
  readonly source: () => LogStream | undefined;
  readonly onApplied: (records: number) => void;
}

/** The listener's thread is held no longer than this at a time; a step may take several such slices. */
const sliceMsMax = 3;
/** A step is committed when it has this much, even if there is more to read: staging holds the thread too. */
const stepRecordsMax = 50_000;
const stepSizeMax = 2_000;
/** Records between two looks at the clock. */
const recordsPerLook = 256;
const retryMsMin = 100;
const retryMsMax = 30_000;

/** What one step has read: its effect is in `target`, the rest are the offsets that go with it. */
interface Step {
  readonly target: LinkStep;
  /** What was applied of each of these partitions when the step began. */
  readonly from: Map<number, number>;
  /** The next offset to read, for each partition that was read from. */
  readonly next: Map<number, number>;
  records: number;
  lost: number;
  /** It is to be committed before more is read. */
  full: boolean;
}

/**
 * Pipes one link's records into its target. Sleeps until its source grows; reads in steps, and each step's effect and
 * its offsets are one commit, so that a crash repeats nothing and loses nothing. A partition that can't be read holds
 * back only itself.
 */
export class LinkWorker {
  readonly link: LinkMeta;
  readonly #target: LinkTarget;
  readonly #deps: WorkerDeps;
  readonly #stop = new AbortController();
  readonly #applied = new Map<number, number>();
  /** Partitions with records to read, the one that has waited longest first. */
  readonly #dirty = new Set<number>();
  /** Why a partition can't be read, until it is tried again. */
  readonly #unreadable = new Map<number, string>();
  readonly #progressWaiters = new Set<() => void>();
  #commitError: string | undefined;
  #wake: (() => void) | undefined;
  #retry: (() => void) | undefined;
  #running: Promise<void> | undefined;

  constructor(link: LinkMeta, target: LinkTarget, deps: WorkerDeps) {
    this.link = link;
    this.#target = target;
    this.#deps = deps;
  }

  /** Why the link does not advance, if it doesn't. */
  get error(): string | undefined {
    if (this.#commitError !== undefined) return this.#commitError;
    for (const [partition, message] of this.#unreadable) return `partition ${partition}: ${message}`;
    return undefined;
  }

  start(): void {
    const source = this.#deps.source();
    for (let partition = 0; partition < (source?.partitions ?? 0); partition++) this.#dirty.add(partition);
    this.#running = this.#loop();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake?.();
    for (const check of [...this.#progressWaiters]) check();
    await this.#running;
  }

  /** The source has new records. */
  notify(partition: number): void {
    if (this.#unreadable.has(partition)) return;
    this.#dirty.add(partition);
    this.#wake?.();
  }

  /** The target may be ready now, or be another one. */
  targetChanged(): void {
    this.#retry?.();
    this.#wake?.();
  }

  /** Another node works for the link, and has stored something of it. */
  onStored(): void {
    this.#applied.clear();
    for (const check of [...this.#progressWaiters]) check();
  }

  applied(partition: number): number {
    const known = this.#applied.get(partition);
    if (known !== undefined) return known;
    const stored = readApplied(this.#deps.store, this.link.id, partition);
    this.#applied.set(partition, stored);
    return stored;
  }

  /** Resolves once the link has applied every record below `offset`, or the time is over. */
  async waitApplied(partition: number, offset: number, waitMs: number, signal?: AbortSignal): Promise<boolean> {
    if (this.#reached(partition, offset)) return true;
    if (signal?.aborted) return false;
    const done = new AbortController();
    const check = () => {
      if (this.#reached(partition, offset) || this.#stop.signal.aborted) done.abort();
    };
    const stop = () => done.abort();
    this.#progressWaiters.add(check);
    signal?.addEventListener("abort", stop, { once: true });
    await this.#deps.clock.sleep(waitMs, done.signal);
    this.#progressWaiters.delete(check);
    signal?.removeEventListener("abort", stop);
    return this.#reached(partition, offset);
  }

  /** A target that was created again has nothing of what was applied to the one before it. */
  #reached(partition: number, offset: number): boolean {
    return this.applied(partition) >= offset && this.#target.holds(this.link, this.#deps.store);
  }

  async #loop(): Promise<void> {
    let retryMs = retryMsMin;
    while (!this.#stop.signal.aborted) {
      try {
        const worked = await this.#step();
        this.#commitError = undefined;
        if (this.#unreadable.size === 0) retryMs = retryMsMin;
        if (worked || this.#dirty.size > 0) await this.#deps.turns.next();
        else if (this.#unreadable.size === 0) await this.#sleep();
        else {
          await this.#sleep(retryMs);
          retryMs = Math.min(retryMs * 2, retryMsMax);
          this.#retryUnreadable();
        }
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#commitError = (error as Error).message;
        await this.#pause(retryMs);
        retryMs = Math.min(retryMs * 2, retryMsMax);
      }
    }
  }

  /** Until the time is over, the target has changed or the worker is stopped. */
  async #pause(ms: number): Promise<void> {
    const over = new AbortController();
    this.#retry = () => over.abort();
    await this.#deps.clock.sleep(ms, AbortSignal.any([over.signal, this.#stop.signal]));
    this.#retry = undefined;
  }

  /** Until the source grows, the worker is stopped or the time is over. */
  async #sleep(ms = Infinity): Promise<void> {
    if (this.#dirty.size > 0 || this.#stop.signal.aborted) return;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await this.#deps.clock.sleep(ms, woken.signal);
    this.#wake = undefined;
  }

  #retryUnreadable(): void {
    if (this.#dirty.size > 0) return;
    for (const partition of this.#unreadable.keys()) this.#dirty.add(partition);
    this.#unreadable.clear();
  }

  /** Reads, collects and commits once; false when there was nothing to do. */
  async #step(): Promise<boolean> {
    const source = this.#deps.source();
    if (source === undefined) {
      this.#dirty.clear();
      return false;
    }
    if (await this.#target.ready(this.link, this.#stop.signal)) this.#startOver(source);
    if (this.#stop.signal.aborted) return false;
    // What kept the target from being ready is over.
    this.#commitError = undefined;
    const step: Step = {
      target: this.#target.begin(this.link),
      from: new Map(),
      next: new Map(),
      records: 0,
      lost: 0,
      full: false,
    };
    while (this.#collect(step)) {
      await this.#deps.turns.next();
      if (this.#stop.signal.aborted) return false;
    }
    if (step.next.size === 0) return false;
    let isApplied = false;
    try {
      isApplied = await this.#commit(step);
    } finally {
      if (!isApplied) this.#readAgain(step.next.keys());
    }
    if (!isApplied) return true;
    for (const [partition, offset] of step.next) this.#applied.set(partition, offset);
    for (const check of [...this.#progressWaiters]) check();
    this.#deps.onApplied(step.records);
    return true;
  }

  /** From the store: a commit whose outcome was unknown may have been applied. */
  #readAgain(partitions: Iterable<number>): void {
    for (const partition of partitions) {
      this.#applied.delete(partition);
      this.#dirty.add(partition);
    }
  }

  #startOver(source: LogStream): void {
    this.#applied.clear();
    this.#unreadable.clear();
    for (let partition = 0; partition < source.partitions; partition++) this.#dirty.add(partition);
  }

  /** False where the store is ahead of the step: an earlier commit with an unknown outcome was applied. */
  #commit(step: Step): Promise<boolean> {
    const { id } = this.link;
    return this.#deps.committer.submit((draft) => {
      for (const [partition, from] of step.from) {
        if (readApplied(draft, id, partition) !== from) return false;
        assert((step.next.get(partition) ?? from) >= from, "a link only moves on");
      }
      const skipped = step.target.stage(draft);
      for (const [partition, offset] of step.next) stageApplied(draft, id, partition, offset);
      const before = readTotals(draft, id);
      stageTotals(draft, id, {
        version: before.version + 1,
        skipped: before.skipped + skipped,
        lost: before.lost + step.lost,
      });
      return true;
    });
  }

  /** Collects for one slice of time; returns whether the step has room for more and there is more. */
  #collect(step: Step): boolean {
    const source = this.#deps.source();
    if (source === undefined) {
      this.#dirty.clear();
      return false;
    }
    const endMs = this.#deps.clock.steadyMs() + sliceMsMax;
    for (const partition of this.#dirty) {
      // A notification may come while the commit waits, so what is finished is taken off before it.
      this.#dirty.delete(partition);
      try {
        // Behind the others: one partition that keeps growing must not starve them.
        if (!this.#collectPartition(source, partition, step, endMs)) this.#dirty.add(partition);
      } catch (error) {
        this.#unreadable.set(partition, (error as Error).message);
      }
      if (step.full) return false;
      if (this.#deps.clock.steadyMs() >= endMs) break;
    }
    return this.#dirty.size > 0;
  }

  /** Collects one partition's records; returns whether it has reached the end. */
  #collectPartition(source: LogStream, partition: number, step: Step, endMs: number): boolean {
    const { log, clock } = this.#deps;
    const end = log.highWatermark(source, partition);
    const start = log.startOffset(source, partition);
    let next = step.next.get(partition) ?? this.applied(partition);
    if (!step.from.has(partition)) step.from.set(partition, next);
    if (next < start) {
      step.lost += start - next;
      next = start;
      step.next.set(partition, next);
    }
    if (next >= end) return true;
    const { target } = step;
    const from = next;
    let untilLook = recordsPerLook;
    try {
      for (const batch of log.read(source, partition, next)) {
        if (!batch.seek(next)) break;
        do {
          step.full = !target.take(batch, partition);
          next = batch.offset + 1;
          step.records++;
          if (step.full) return next >= end;
          if (--untilLook > 0) continue;
          untilLook = recordsPerLook;
          step.full = step.records >= stepRecordsMax || target.size >= stepSizeMax;
          if (step.full || clock.steadyMs() >= endMs) return next >= end;
        } while (batch.next());
      }
    } finally {
      // Also when a batch can't be read: what was taken before it is part of the step.
      if (next > from) step.next.set(partition, next);
    }
    // Else the worker would look for it again and again without a pause.
    if (next === from) throw new Error(`the record at offset ${next} is missing`);
    return next >= end;
  }
}
