import type { Clock } from "../../port/clock.ts";
import type { Committer } from "../commit/committer.ts";
import type { Journal } from "./journal.ts";
import type { PartitionPlace } from "./journal-index.ts";
import type { FlushPart, Log, LogStream } from "./log.ts";

export interface FlusherDeps {
  readonly log: Log;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** What a step moves more when it matters most that it ends. */
const hurriedShare = 5;
/** After a step that failed. */
const retryMs = 1_000;
/** A clock's longest sleep; it is woken before. */
const longMs = 3_600_000;

/** Moves what the journal holds to the log's keys: when there is much of it, and when it has not grown for a while. */
export class JournalFlusher {
  readonly #deps: FlusherDeps;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #wake = new AbortController();
  #isEmptyHanded = false;
  #grownMs = 0;

  constructor(deps: FlusherDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { log, clock } = this.#deps;
    const { journal } = log;
    this.#grownMs = clock.steadyMs();
    journal.onGrown = () => {
      this.#grownMs = clock.steadyMs();
      if (this.#isEmptyHanded || journal.isLarge) this.#wake.abort();
    };
    this.#running = this.#loop();
  }

  /** Leaves an empty journal behind where it can, so that the next start has none to read. */
  async stop(): Promise<void> {
    const { log, onError } = this.#deps;
    this.#stop.abort();
    this.#wake.abort();
    await this.#running;
    if (log.journal.isEmpty) return;
    await this.#flush(log.journal.places()).catch(onError);
  }

  async #loop(): Promise<void> {
    const { log, clock, onError } = this.#deps;
    const { journal } = log;
    const { idleMs } = journal.settings;
    while (!this.#stop.signal.aborted) {
      const leftMs = idleMs - (clock.steadyMs() - this.#grownMs);
      if (journal.isEmpty) await this.#sleep(longMs);
      else if (!journal.isLarge && leftMs > 0) await this.#sleep(leftMs);
      else {
        try {
          await this.#flush(journal.places(), this.#stop.signal);
        } catch (error) {
          if (this.#stop.signal.aborted) return;
          onError(error);
          await this.#sleep(retryMs);
        }
      }
    }
  }

  async #sleep(ms: number): Promise<void> {
    this.#wake = new AbortController();
    if (this.#stop.signal.aborted) return;
    this.#isEmptyHanded = this.#deps.log.journal.isEmpty;
    await this.#deps.clock.sleep(ms, this.#wake.signal);
    this.#isEmptyHanded = false;
  }

  /** Moves everything that the journal holds of a stream now. */
  async settle(stream: LogStream): Promise<void> {
    const { journal } = this.#deps.log;
    if (journal.isEmpty) return;
    await this.#flush(journal.places().filter((place) => place.stream === stream.id));
  }

  /**
   * In steps, short ones where it can be stopped and nobody waits for it, until each partition has nothing left that was there when its turn came, and no value is left of
   * which all has been moved.
   */
  async #flush(places: readonly PartitionPlace[], signal?: AbortSignal): Promise<void> {
    const { log, committer } = this.#deps;
    let from = 0;
    /** The partition whose turn it is. */
    let turn: FlushPart | undefined;
    while (from < places.length || log.journal.hasDead) {
      if (signal?.aborted) return;
      const step: FlushPart[] = [];
      const isHurried = signal === undefined || log.journal.isBehind;
      let left = log.journal.settings.stepBatches * (isHurried ? hurriedShare : 1);
      while (from < places.length && left > 0) {
        turn ??= allOf(log.journal, places[from]!);
        const count = turn === undefined ? 0 : turn.until - turn.of.gone;
        const moved = Math.min(count, left);
        if (turn !== undefined && moved > 0) {
          step.push({ of: turn.of, until: turn.of.gone + moved });
          left -= moved;
        }
        if (moved === count) {
          from++;
          turn = undefined;
        }
      }
      await committer.submit((draft) => log.stageMove(draft, step), 0, "move");
    }
  }
}

/** Everything that the journal holds of a partition now. */
function allOf(journal: Journal, { stream, partition }: PartitionPlace): FlushPart | undefined {
  const of = journal.of(stream, partition);
  return of && { of, until: of.gone + of.batches.length };
}
