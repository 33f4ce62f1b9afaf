/** How long a thread works before it rests, and for how long. */
export const restLimits = { workMs: 0.5, restMs: 0.02 } as const;

/**
 * Lets others have the core now and then. A thread that never waits keeps a core until the system's clock ticks, 4 ms or
 * more, while one that serves and has just been woken stands by, whatever their priorities.
 */
export class Rest {
  readonly #never = new Int32Array(new SharedArrayBuffer(4));
  readonly #sleep: (ms: number) => void;
  #sinceMs = performance.now();

  constructor(sleep?: (ms: number) => void) {
    this.#sleep = sleep ?? ((ms) => Atomics.wait(this.#never, 0, 0, ms));
  }

  /** To be called between two short steps of long work. */
  readonly ifDue = (): void => {
    if (performance.now() - this.#sinceMs < restLimits.workMs) return;
    this.#sleep(restLimits.restMs);
    this.#sinceMs = performance.now();
  };
}
