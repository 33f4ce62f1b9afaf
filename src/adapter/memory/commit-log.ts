import { copyBytes } from "../../port/bytes.ts";
import type { CommitLog, LogEntry } from "../../port/commit-log.ts";
import type { Bytes } from "../../port/store.ts";

/** A commit log in memory, for tests. */
export class MemoryCommitLog implements CommitLog {
  readonly id = "memory";
  #start = 1;
  #entries: Bytes[] = [];

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#start + this.#entries.length;
  }

  get diskBytes(): number {
    return this.#entries.reduce((sum, { length }) => sum + length, 0);
  }

  async append(bytes: Bytes): Promise<number> {
    return this.#start + this.#entries.push(copyBytes(bytes)) - 1;
  }

  async *read(from: number): AsyncIterable<LogEntry> {
    const { end } = this;
    for (let position = Math.max(from, this.#start); position < end; position++) {
      const bytes = this.#entries[position - this.#start];
      if (bytes !== undefined) yield { position, bytes };
    }
  }

  trim(before: number): void {
    const count = Math.min(Math.max(before - this.#start, 0), this.#entries.length);
    this.#entries.splice(0, count);
    this.#start += count;
  }

  async close(): Promise<void> {}
}
