import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { ServerProcess } from "../support/process.ts";

export const MiB = 1024 * 1024;

/** Memory of the process itself, without the store's file that is mapped into it and can be dropped at any time. */
export function ownBytes(server: ServerProcess): number {
  const status = readFileSync(`/proc/${server.child.pid}/status`, "utf8");
  const match = /^RssAnon:\s+(\d+) kB$/m.exec(status);
  assert(match !== null, "the kernel reports RssAnon");
  return Number(match[1]) * 1024;
}

/** Looks again and again at what a server holds, for its peak. */
export class MemoryWatch implements Disposable {
  readonly before: number;
  #peak: number;
  readonly #timer: NodeJS.Timeout;

  constructor(server: ServerProcess) {
    this.before = ownBytes(server);
    this.#peak = this.before;
    this.#timer = setInterval(() => {
      this.#peak = Math.max(this.#peak, ownBytes(server));
    }, 20);
  }

  /** Above what it was at first. */
  get growth(): number {
    return this.#peak - this.before;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
