import { setTimeout as sleep } from "node:timers/promises";
import { copyBytes } from "../../port/bytes.ts";
import type { SharedLog, SharedRecord, SharedRecords } from "../../port/shared-log.ts";
import { type Bytes, StoreError } from "../../port/store.ts";

const pollMs = 5;

/** A shared log in memory, for tests. */
export class MemorySharedLog implements SharedLog {
  readonly id = "memory";
  readonly recordBytesMax: number;
  #start = 0;
  readonly #records: SharedRecord[] = [];

  constructor(recordBytesMax = 1024 * 1024) {
    this.recordBytesMax = recordBytesMax;
  }

  async append(bytes: Bytes): Promise<number> {
    const offset = this.#records.length;
    this.#records.push({ offset, bytes: copyBytes(bytes) });
    return offset;
  }

  async read(from: number, waitMs: number, signal?: AbortSignal): Promise<SharedRecords> {
    for (let waitedMs = 0; from >= this.#records.length && waitedMs < waitMs; waitedMs += pollMs) {
      if (signal?.aborted) break;
      await sleep(pollMs);
    }
    if (from < this.#start)
      throw new StoreError("damaged", `the shared log was trimmed to ${this.#start}, beyond ${from}`);
    const records = this.#records.slice(from);
    const end = this.#records.length;
    return { records, next: Math.max(from, end), end };
  }

  async bounds(): Promise<{ start: number; end: number }> {
    return { start: this.#start, end: this.#records.length };
  }

  async trim(before: number): Promise<void> {
    this.#start = Math.max(this.#start, Math.min(before, this.#records.length));
  }

  async close(): Promise<void> {}
}
