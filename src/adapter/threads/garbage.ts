import { performance } from "node:perf_hooks";
import { collectorOf } from "../../port/major-gc.ts";

const MiB = 1024 * 1024;

/** Every bound of the garbage collection of threads, named once with its unit. */
export const garbageLimits = {
  /** A thread that has had nothing to do for this long is cleaned, */
  idleMs: 100,
  /** when it has taken so much memory outside of its heap since it was last cleaned; */
  idleBytesMin: 8 * MiB,
  /** between two messages already when it is so much. */
  busyBytesMin: 32 * MiB,
  /** How often a busy thread asks, since asking takes longer than many a message. */
  askMs: 100,
  /**
   * A full major GC follows after this idle time. It takes 20 to 60 ms and drops compiled code, which the next burst has to
   * compile again.
   */
  quietMs: 5_000,
} as const;

/**
 * Collects the garbage of a thread of its own when there is much. The runtime waits for 64 MB of buffers in each
 * thread, and for ever in an idle one, since a buffer hardly counts until then: a bulk load left 200 MB behind.
 */
export class GarbageCollector {
  readonly #collect: (thoroughly: boolean) => void;
  readonly #heldBytes: () => number;
  #keptBytes: number;
  #working = 0;
  #leftBehind = false;
  #majorDue = false;
  #collectedMs = Number.NEGATIVE_INFINITY;
  #askedMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    collect: (thoroughly: boolean) => void = collectorOf(),
    heldBytes: () => number = () => process.memoryUsage().arrayBuffers,
  ) {
    this.#collect = collect;
    this.#heldBytes = heldBytes;
    this.#keptBytes = heldBytes();
  }

  /** A message begins; `done` tells its end. */
  begin(): void {
    this.#working++;
    clearTimeout(this.#timer);
  }

  done(): void {
    if (--this.#working > 0) return;
    const nowMs = performance.now();
    if (nowMs - this.#askedMs >= garbageLimits.askMs) {
      this.#askedMs = nowMs;
      this.collectIfAbove(garbageLimits.busyBytesMin);
    }
    this.#timer = setTimeout(() => this.#onIdle(), garbageLimits.idleMs);
    this.#timer.unref();
  }

  /**
   * Something large was let go that had been kept until now. How much is held does not tell of it, so the next idle
   * moment cleans whatever that is, unless another one did so a moment ago, and a longer rest does so thoroughly.
   */
  leftBehind(): void {
    this.#leftBehind = true;
  }

  #onIdle(): void {
    const isRecent = performance.now() - this.#collectedMs < garbageLimits.quietMs;
    this.collectIfAbove(this.#leftBehind && !isRecent ? 0 : garbageLimits.idleBytesMin);
    this.#majorDue ||= this.#leftBehind;
    if (!isRecent) this.#leftBehind = false;
    if (!this.#majorDue) return;
    this.#timer = setTimeout(() => this.#onQuiet(), garbageLimits.quietMs - garbageLimits.idleMs);
    this.#timer.unref();
  }

  #onQuiet(): void {
    this.#majorDue = false;
    this.#leftBehind = false;
    this.#collect(true);
    this.#keptBytes = this.#heldBytes();
  }

  /** For a long piece of work, after a part that leaves much behind. */
  collectIfAbove(bytes: number): void {
    const held = this.#heldBytes();
    if (held < this.#keptBytes) this.#keptBytes = held;
    if (held - this.#keptBytes < bytes) return;
    this.#collect(false);
    this.#collectedMs = performance.now();
    this.#keptBytes = this.#heldBytes();
  }
}
