import { type Thread, ThreadError } from "../../port/threads.ts";
import { EngineError, type Reason, reasons } from "../errors.ts";
import type { Log, LogStream } from "../log/log.ts";
import type { BuildMessage } from "./build/messages.ts";
import type { CollectionMeta, CollectionTotals, Manifest } from "./collection-store.ts";
import type { IndexMessage } from "./index/messages.ts";
import { formatSchema } from "./schema-parse.ts";

/** A thread of the engine, with its errors as the engine's own. */
export class EngineThread<M> {
  readonly #thread: Thread;

  constructor(thread: Thread) {
    this.#thread = thread;
  }

  post(message: M): void {
    this.#thread.post(message);
  }

  async request<T>(message: M): Promise<T> {
    try {
      return (await this.#thread.request(message)) as T;
    } catch (error) {
      throw engineError(error);
    }
  }

  onLost(callback: () => void): void {
    this.#thread.onLost(callback);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }
}

export type IndexThread = EngineThread<IndexMessage>;
export type BuildThread = EngineThread<BuildMessage>;

function engineError(error: unknown): unknown {
  if (!(error instanceof ThreadError) || error.reason === undefined || !(error.reason in reasons)) return error;
  return new EngineError(error.reason as Reason, error.message, { details: error.details, cause: error });
}

/** Bytes of the log that are handed to a thread before other work gets a turn. */
const replayPieceBytes = 1024 * 1024;

function yieldTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What is kept in memory of a collection in use. */
export class CollectionRuntime {
  meta: CollectionMeta;
  manifest: Manifest;
  totals: CollectionTotals;
  lastWriteMs = 0;
  /** When the oldest change that no segment holds was written. */
  tailSinceMs: number | undefined;
  lastUseMs = 0;
  sealing = false;
  readonly stream: LogStream;
  readonly #index: IndexThread;
  readonly #log: Log;
  #opened: Promise<void> | undefined;
  /** Changes are sent to the index as they are committed. */
  #isOpen = false;
  #loaded = false;

  constructor(meta: CollectionMeta, manifest: Manifest, totals: CollectionTotals, index: IndexThread, log: Log) {
    this.meta = meta;
    this.manifest = manifest;
    this.totals = totals;
    this.stream = { id: meta.streamId, partitions: 1, retention: undefined };
    this.#index = index;
    this.#log = log;
  }

  get backlogRecords(): number {
    return this.totals.changes - this.manifest.totals.changes;
  }

  get backlogBytes(): number {
    return this.totals.bytes - this.manifest.totals.bytes;
  }

  get state(): "cold" | "loading" | "hot" {
    if (this.#loaded) return "hot";
    return this.#opened === undefined ? "cold" : "loading";
  }

  /** Opens the index and brings it up to what is durable; later changes follow by `onCommitted`. */
  open(): Promise<void> {
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #open(): Promise<void> {
    const { id, schema } = this.meta;
    const { manifest } = this;
    const opened = this.#index.request({ kind: "open", collection: id, schema: formatSchema(schema), manifest });
    let next = manifest.applied;
    while (next < this.#log.highWatermark(this.stream, 0)) {
      next = this.#sendFrom(next);
      await yieldTurn();
    }
    // In one turn with the last look at the log: from here on changes are sent as they are committed.
    this.#isOpen = true;
    await opened;
    this.#loaded = this.#isOpen;
  }

  /** Sends a piece of the log to the index; returns the offset after it. */
  #sendFrom(offset: number): number {
    let next = offset;
    let bytes = 0;
    for (const batch of this.#log.read(this.stream, 0, offset)) {
      if (!batch.seek(next)) break;
      do {
        next = batch.offset + 1;
        this.#sendChanges(next, batch.value!);
        bytes += batch.valueLength;
      } while (batch.next());
      if (bytes >= replayPieceBytes) break;
    }
    return next;
  }

  /** A write was committed: `next` is the offset after its record. */
  onCommitted(next: number, changes: Uint8Array, totals: CollectionTotals, nowMs: number): void {
    this.totals = totals;
    this.lastWriteMs = nowMs;
    this.tailSinceMs ??= nowMs;
    if (this.#isOpen) this.#sendChanges(next, changes);
  }

  onSchema(meta: CollectionMeta): void {
    this.meta = meta;
    if (this.#isOpen) this.#index.post({ kind: "schema", collection: meta.id, schema: formatSchema(meta.schema) });
  }

  onPublished(manifest: Manifest, nowMs: number): void {
    this.manifest = manifest;
    this.tailSinceMs = this.backlogRecords === 0 ? undefined : nowMs;
    if (this.#isOpen) this.#index.post({ kind: "publish", collection: this.meta.id, manifest });
  }

  /** The thread that held the index is gone; the next use opens it anew. */
  onLost(): void {
    this.#isOpen = false;
    this.#loaded = false;
    this.#opened = undefined;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.onLost();
    this.#index.post({ kind: "close", collection: this.meta.id });
  }

  #sendChanges(next: number, changes: Uint8Array): void {
    this.#index.post({ kind: "apply", collection: this.meta.id, next, changes });
  }
}
