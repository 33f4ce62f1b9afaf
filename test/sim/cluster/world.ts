import type { Clock } from "../../../src/port/clock.ts";
import { Dice } from "../dice.ts";

interface Event {
  readonly atMs: number;
  readonly order: number;
  /** Events of a node wait while it is frozen, and are lost with its life. */
  readonly life: NodeLife | undefined;
  readonly run: () => void;
}

/** One life of a process: from its start to its end. */
export class NodeLife {
  isAlive = true;
  frozenUntilMs = 0;
  /** How fast its clocks run, against the true time. */
  readonly rate: number;

  constructor(rate: number) {
    this.rate = rate;
  }
}

/** True time, and what is to happen in it. Everything is decided by the seed. */
export class World {
  readonly dice: Dice;
  #nowMs = 0;
  #order = 0;
  #events: Event[] = [];
  /** A fingerprint of all that happened. */
  trace = 0;
  readonly lines: string[] = [];

  constructor(seed: number) {
    this.dice = new Dice(seed);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  note(line: string): void {
    const text = `${this.#nowMs.toFixed(1)} ${line}`;
    for (let i = 0; i < text.length; i++) this.trace = (Math.imul(this.trace, 31) + text.charCodeAt(i)) | 0;
    this.lines.push(text);
    if (this.lines.length > 400) this.lines.splice(0, 200);
  }

  after(ms: number, run: () => void, life?: NodeLife): void {
    this.#push({ atMs: this.#nowMs + ms, order: this.#order++, life, run });
  }

  wait(ms: number, life?: NodeLife): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve, life));
  }

  clockOf(life: NodeLife): Clock {
    const bornMs = this.#nowMs;
    const passed = () => (this.#nowMs - bornMs) * life.rate;
    return {
      nowMs: () => 1_700_000_000_000 + passed(),
      steadyMs: passed,
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted || ms <= 0) return resolve();
          signal?.addEventListener("abort", () => this.after(0, resolve, life), { once: true });
          if (Number.isFinite(ms)) this.after(ms / life.rate, resolve, life);
        }),
    };
  }

  /** Runs what happens in the next so many milliseconds. */
  async run(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settled();
    for (;;) {
      const next = this.#events[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#pop();
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      const { life } = next;
      if (life?.isAlive === false) continue;
      if (life !== undefined && life.frozenUntilMs > this.#nowMs) {
        this.#push({ ...next, atMs: life.frozenUntilMs, order: this.#order++ });
        continue;
      }
      next.run();
      await settled();
    }
    this.#nowMs = untilMs;
  }

  /** A heap: the earliest is first. */
  #push(event: Event): void {
    const heap = this.#events;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#events;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Everything that can go on without time passing has. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
