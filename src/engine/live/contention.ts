import type { LiveCall } from "./run.ts";
import { canonicalJson, digestOf } from "./value.ts";

interface Line {
  readonly waiting: (() => void)[];
  /** Calls that were in each other's way here. */
  readonly calls: Set<string>;
  isTaken: boolean;
}

/** Calls that one line remembers. */
const callsMax = 1_000;

/**
 * Queues for what mutations conflict over. A call that has conflicted, and equal calls, wait for the one before them:
 * of those that run at once all but one would run again. A queue lasts while somebody is in it. It only saves work:
 * conflicts are decided at the commit. No cache: a queue ends with the last call in it, not with its age.
 */
export class Contention {
  readonly #lines = new Map<string, Line>();
  readonly #lineOf = new Map<string, string>();

  /** The call has conflicted over this: it waits in its line next time. */
  note(call: LiveCall, over: string): void {
    const line = this.#lines.get(over) ?? { waiting: [], calls: new Set(), isTaken: false };
    this.#lines.set(over, line);
    if (line.calls.size >= callsMax) this.#forget(line);
    const name = nameOf(call);
    const before = this.#lineOf.get(name);
    if (before !== undefined) this.#lines.get(before)?.calls.delete(name);
    line.calls.add(name);
    this.#lineOf.set(name, over);
  }

  /** Gives what ends it, which may be called more than once. */
  enter(call: LiveCall): Promise<() => void> | (() => void) {
    if (this.#lineOf.size === 0) return free;
    const over = this.#lineOf.get(nameOf(call));
    const line = over === undefined ? undefined : this.#lines.get(over);
    if (over === undefined || line === undefined) return free;
    if (!line.isTaken) return this.#take(over, line);
    return new Promise((resolve) => line.waiting.push(() => resolve(this.#take(over, line))));
  }

  #take(over: string, line: Line): () => void {
    line.isTaken = true;
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      line.isTaken = false;
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else this.#end(over, line);
    };
  }

  #end(over: string, line: Line): void {
    this.#forget(line);
    this.#lines.delete(over);
  }

  #forget({ calls }: Line): void {
    for (const name of calls) this.#lineOf.delete(name);
    calls.clear();
  }
}

const free = () => {};

function nameOf(call: LiveCall): string {
  return digestOf(`${call.function} ${canonicalJson(call.args)}`);
}
