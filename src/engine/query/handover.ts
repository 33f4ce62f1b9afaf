import type { Clock } from "../../port/clock.ts";
import type { Catalog } from "../collection/catalog.ts";
import type { CollectionMeta } from "../collection/collection-store.ts";
import type { Documents } from "../collection/documents.ts";
import { EngineError } from "../errors.ts";
import type { AnswerBody, FormatName } from "../retrieval/format.ts";
import type { QueryKind } from "../retrieval/plan.ts";
import { cancellable, queryStopped } from "../retrieval/stopped.ts";
import { type ConsistencyToken, tokenAt } from "../token.ts";
import type { QueryQueue } from "./query-queue.ts";

export interface HandoverDeps {
  readonly catalog: Catalog;
  readonly documents: Documents;
  readonly clock: Clock;
  readonly onQuery?: (kind: QueryKind, ms: number) => void;
}

/** A query as it was received. */
export interface HandedQuery {
  readonly format: FormatName;
  /** What it seems to call its collection. */
  readonly from: string;
  /** A character for each byte. */
  readonly body: string;
  readonly token: ConsistencyToken;
}

export interface HandedAnswer {
  readonly body: AnswerBody;
  /** Those of a list have one each, in the answer alone. */
  readonly token: ConsistencyToken | undefined;
}

/**
 * Hands whole queries to the threads that search, which read, run and answer them: the listener's thread would be full
 * long before they are. What is out of the ordinary is declined, here or there.
 */
export class Handover {
  readonly #deps: HandoverDeps;
  readonly #queue: QueryQueue;

  constructor(deps: HandoverDeps, queue: QueryQueue) {
    this.#deps = deps;
    this.#queue = queue;
  }

  async answer(namespace: string, query: HandedQuery, signal?: AbortSignal): Promise<HandedAnswer | undefined> {
    const { clock, documents, onQuery } = this.#deps;
    const startedMs = clock.steadyMs();
    const meta = this.#find(namespace, query.from);
    const reading = meta && documents.readingNow(meta, query.token);
    if (reading === undefined) return undefined;
    const place = this.#queue.enter(signal);
    if (place !== undefined) await place;
    try {
      const { runtime, mayBeEventual } = reading;
      const caughtUp = documents.caughtUp(runtime);
      if (caughtUp !== undefined) await caughtUp;
      if (signal?.aborted) throw queryStopped();
      const { meta, manifest, totals } = runtime;
      const running = runtime.answer({
        format: query.format,
        body: query.body,
        from: query.from,
        stream: meta.streamId,
        next: (documents.token(runtime)[0]?.offset ?? -1) + 1,
        applied: manifest.applied,
        changes: totals.changes,
        mayBeEventual,
        startedMs,
      });
      const answered = await cancellable(running, signal);
      if (answered === undefined) return undefined;
      for (const { kind, ms } of answered.runs) onQuery?.(kind, ms);
      const { next } = answered;
      return { body: answered.body, token: next === undefined ? undefined : tokenAt(meta.streamId, next) };
    } catch (error) {
      // The index was closed meanwhile: who opens it anew can answer.
      if (error instanceof EngineError && error.reason === "unavailable") return undefined;
      throw error;
    } finally {
      this.#queue.leave();
    }
  }

  /** Undefined where there is none: what is at fault first is told by whoever reads all of the query. */
  #find(namespace: string, name: string): CollectionMeta | undefined {
    try {
      return this.#deps.catalog.find(namespace, name);
    } catch (error) {
      if (error instanceof EngineError) return undefined;
      throw error;
    }
  }
}
