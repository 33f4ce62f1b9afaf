import type { Clock } from "../../port/clock.ts";
import { EngineError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Log, LogStream } from "../log/log.ts";
import type { ConsistencyToken } from "../token.ts";

/** Holds a read back until the log has what the reader's token names. */
export class TokenWaiter {
  readonly #log: Log;
  readonly #clock: Clock;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Entries of other streams, and of other partitions when one is given, do not concern this read. */
  async wait(
    stream: LogStream,
    token: ConsistencyToken,
    partition: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const deadlineMs = this.#clock.steadyMs() + limits.tokenWaitMsMax;
    for (const entry of token) {
      if (entry.stream !== stream.id) continue;
      if (partition !== undefined && entry.partition !== partition) continue;
      const leftMs = deadlineMs - this.#clock.steadyMs();
      const seen =
        entry.partition < stream.partitions &&
        (await this.#log.waitAbove(stream, entry.partition, entry.offset, leftMs, signal));
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
