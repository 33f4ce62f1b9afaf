import { nextTurn } from "../../port/next-turn.ts";
import type { Committer } from "../commit/committer.ts";
import { limits } from "../limits.ts";
import type { Log } from "../log/log.ts";
import type { Metastore, StreamMeta } from "../metastore/metastore.ts";

/** Partitions checked before other work runs. */
const partitionsPerTurn = 200;

/** Frees expired batches of a stream, in steps that block nobody. */
export class Trimmer {
  readonly #log: Log;
  readonly #committer: Committer;
  readonly #metastore: Metastore;

  constructor(log: Log, committer: Committer, metastore: Metastore) {
    this.#log = log;
    this.#committer = committer;
    this.#metastore = metastore;
  }

  async trim(stream: StreamMeta, signal?: AbortSignal): Promise<void> {
    for (let partition = 0; partition < stream.partitions; partition++) {
      if (partition % partitionsPerTurn === partitionsPerTurn - 1) await nextTurn();
      while (!signal?.aborted && this.#log.needsTrim(stream, partition)) {
        await this.#committer.submit((draft) => {
          const current = this.#metastore.stagedStream(draft, stream);
          this.#log.stageTrim(draft, current, partition, limits.trimStepBatchesMax);
        });
      }
    }
  }
}
