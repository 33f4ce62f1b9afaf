import type { Clock } from "../../port/clock.ts";
import { EngineError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Log, LogStream } from "../log/log.ts";
import type { ConsistencyToken } from "../token.ts";

/** Holds a read back until the log has what the reader's token names. */
export class TokenWaiter {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #draining: AbortSignal;

  /** `draining` is aborted when the server drains: waiters are then refused, since hardly anything is written any more. */
  constructor(log: Log, clock: Clock, draining: AbortSignal) {
    this.#log = log;
    this.#clock = clock;
    this.#draining = draining;
  }

  /** Entries of other streams, and of other partitions when one is given, do not concern this read. */
  async wait(
    stream: LogStream,
    token: ConsistencyToken,
    partition: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const deadlineMs = this.#clock.steadyMs() + limits.tokenWaitMsMax;
    let until: AbortSignal | undefined;
    for (const entry of token) {
      if (entry.stream !== stream.id) continue;
      if (partition !== undefined && entry.partition !== partition) continue;
      const exists = entry.partition < stream.partitions;
      if (exists && this.#log.highWatermark(stream, entry.partition) > entry.offset) continue;
      until ??= signal === undefined ? this.#draining : AbortSignal.any([signal, this.#draining]);
      const leftMs = deadlineMs - this.#clock.steadyMs();
      const seen = exists && (await this.#log.waitAbove(stream, entry.partition, entry.offset, leftMs, until));
      if (!seen) {
        throw new EngineError(
          "deadline_exceeded",
          `the consistency token's offset ${entry.offset} of partition ${entry.partition} has not been reached`,
          { retryAfterMs: 1000 },
        );
      }
    }
  }
}
