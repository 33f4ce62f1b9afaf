import type { Clock } from "../../port/clock.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import type { Log, LogStream } from "../log/log.ts";
import { type LinkMeta, readApplied, readTotals, stageApplied, stageTotals } from "./link-store.ts";
import type { LinkTarget } from "./target.ts";

export interface WorkerDeps {
  readonly store: Store;
  readonly log: Log;
  readonly committer: Committer;
  readonly clock: Clock;
  /** The source as it is now, or undefined once it is gone. */
  readonly source: () => LogStream | undefined;
  readonly onApplied: (records: number) => void;
}

/** A step ends when it has run this long, so that the listener's thread is never held for more. */
const stepMsMax = 3;
const stepRecordsMax = 50_000;
const stepSizeMax = 5_000;
/** Records between two looks at the clock. */
const recordsPerLook = 256;
const retryMsMin = 100;
const retryMsMax = 30_000;

interface Progress {
  readonly applied: Map<number, number>;
  records: number;
  lost: number;
  /** The step is to be committed before more is read. */
  full: boolean;
}

/**
 * Pipes one link's records into its target. Sleeps until its source grows; reads in steps, and each step's effect and
 * its offsets are one commit, so that a crash repeats nothing and loses nothing.
 */
export class LinkWorker {
  readonly link: LinkMeta;
  readonly #target: LinkTarget;
  readonly #deps: WorkerDeps;
  readonly #stop = new AbortController();
  readonly #applied = new Map<number, number>();
  readonly #dirty = new Set<number>();
  #wake: (() => void) | undefined;
  #retry: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #progressWaiters = new Set<() => void>();
  #error: string | undefined;

  constructor(link: LinkMeta, target: LinkTarget, deps: WorkerDeps) {
    this.link = link;
    this.#target = target;
    this.#deps = deps;
  }

  /** Why the link does not advance, if it doesn't. */
  get error(): string | undefined {
    return this.#error;
  }

  start(): void {
    const source = this.#deps.source();
    for (let partition = 0; partition < (source?.partitions ?? 0); partition++) this.#dirty.add(partition);
    this.#running = this.#loop();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake?.();
    await this.#running;
  }

  /** The source has new records. */
  notify(partition: number): void {
    this.#dirty.add(partition);
    this.#wake?.();
  }

  /** The target may be ready now, or be another one. */
  targetChanged(): void {
    this.#retry?.();
    this.#wake?.();
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
    if (this.applied(partition) >= offset) return true;
    const done = new AbortController();
    const check = () => {
      if (this.applied(partition) >= offset || this.#stop.signal.aborted) done.abort();
    };
    const stop = () => done.abort();
    this.#progressWaiters.add(check);
    signal?.addEventListener("abort", stop, { once: true });
    await this.#deps.clock.sleep(waitMs, done.signal);
    this.#progressWaiters.delete(check);
    signal?.removeEventListener("abort", stop);
    return this.applied(partition) >= offset;
  }

  async #loop(): Promise<void> {
    let retryMs = retryMsMin;
    while (!this.#stop.signal.aborted) {
      try {
        if (await this.#step()) {
          retryMs = retryMsMin;
          this.#error = undefined;
          await yieldTurn();
        } else await this.#sleep();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#error = (error as Error).message;
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

  #sleep(): Promise<void> {
    if (this.#dirty.size > 0 || this.#stop.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** Reads, collects and commits once; false when there was nothing to do. */
  async #step(): Promise<boolean> {
    const { committer, onApplied } = this.#deps;
    const source = this.#deps.source();
    if (source === undefined) {
      this.#error = "the source stream was deleted; what it had is not read any more";
      this.#dirty.clear();
      return false;
    }
    if (await this.#target.ready(this.link, this.#stop.signal)) this.#startOver(source);
    if (this.#stop.signal.aborted) return false;
    this.#error = undefined;
    const step = this.#target.begin(this.link);
    const progress: Progress = { applied: new Map(), records: 0, lost: 0, full: false };
    const endMs = this.#deps.clock.steadyMs() + stepMsMax;
    for (const partition of [...this.#dirty]) {
      const finished = this.#collect(source, partition, step, progress, endMs);
      // A notification may come while the commit waits, so what is finished is taken off before it.
      if (finished) this.#dirty.delete(partition);
      if (!finished || progress.full) break;
    }
    if (progress.applied.size === 0) return false;
    const linkId = this.link.id;
    try {
      await committer.submit((draft) => {
        const skipped = step.stage(draft);
        for (const [partition, offset] of progress.applied) stageApplied(draft, linkId, partition, offset);
        const before = readTotals(draft, linkId);
        stageTotals(draft, linkId, {
          version: before.version + 1,
          skipped: before.skipped + skipped,
          lost: before.lost + progress.lost,
        });
      });
    } catch (error) {
      for (const partition of progress.applied.keys()) this.#dirty.add(partition);
      throw error;
    }
    for (const [partition, offset] of progress.applied) this.#applied.set(partition, offset);
    for (const check of [...this.#progressWaiters]) check();
    onApplied(progress.records);
    return true;
  }

  #startOver(source: LogStream): void {
    this.#applied.clear();
    for (let partition = 0; partition < source.partitions; partition++) this.#dirty.add(partition);
  }

  /** Collects one partition's records; returns whether it has reached the end. */
  #collect(
    source: LogStream,
    partition: number,
    step: ReturnType<LinkTarget["begin"]>,
    progress: Progress,
    endMs: number,
  ): boolean {
    const { log, clock } = this.#deps;
    const end = log.highWatermark(source, partition);
    const start = log.startOffset(source, partition);
    let next = this.applied(partition);
    if (next < start) {
      progress.lost += start - next;
      next = start;
      progress.applied.set(partition, next);
    }
    if (next >= end) return true;
    let untilLook = recordsPerLook;
    for (const batch of log.read(source, partition, next)) {
      if (!batch.seek(next)) break;
      do {
        progress.full = !step.take(batch, partition);
        next = batch.offset + 1;
        progress.records++;
        if (!progress.full && --untilLook === 0) {
          untilLook = recordsPerLook;
          progress.full = clock.steadyMs() >= endMs || step.size >= stepSizeMax || progress.records >= stepRecordsMax;
        }
      } while (!progress.full && batch.next());
      if (progress.full) break;
    }
    progress.applied.set(partition, next);
    return next >= end;
  }
}

function yieldTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
