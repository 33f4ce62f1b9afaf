import type { Clock } from "../../port/clock.ts";
import { nextTurn } from "../../port/next-turn.ts";
import type { Ownership } from "../../port/ownership.ts";
import type { Entry, Snapshot, Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import type { Log } from "../log/log.ts";
import { formatSchema } from "../schema/schema-parse.ts";
import type { BuildReply } from "./build/messages.ts";
import {
  type CollectionTotals,
  documentIdOf,
  documentKey,
  type Manifest,
  type SegmentEntry,
} from "./collection-store.ts";
import { folderOf } from "./collections.ts";
import { documentsOf, openStored } from "./document-codec.ts";
import type { BuildThread } from "./engine-thread.ts";
import type { FrozenDeletes, FrozenTail } from "./index/messages.ts";
import type { ObjectHold } from "./object-hold.ts";
import type { CollectionRuntime } from "./runtime.ts";
import type { CollectionSettings } from "./settings.ts";
import { encodeChanges, loggedDeletes, withDocuments } from "./write-record.ts";

export interface BuilderDeps {
  readonly store: Store;
  readonly build: BuildThread;
  readonly committer: Committer;
  readonly log: Log;
  readonly clock: Clock;
  readonly settings: CollectionSettings;
  readonly hold: ObjectHold;
  readonly ownership: Pick<Ownership, "epoch">;
}

/** A tail that takes no more changes, with the documents as they were then. */
interface Frozen {
  readonly upTo: number;
  readonly totals: CollectionTotals;
  readonly manifest: Manifest;
  readonly tail: Promise<FrozenTail>;
  readonly documents: Snapshot;
}

/** Bytes that are handed to the build thread before other work gets a turn. */
const pieceBytes = 256 * 1024;

/** Has the build thread make what a new manifest names, fed from the log or the documents. One job at a time. */
export class Builder {
  readonly #deps: BuilderDeps;
  #nextJob = 1;

  constructor(deps: BuilderDeps) {
    this.#deps = deps;
  }

  /** Freezes the tail and makes a segment of it. */
  async seal(runtime: CollectionRuntime): Promise<Manifest> {
    await runtime.open();
    const frozen = await this.#freeze(runtime);
    const { manifest, totals, upTo } = frozen;
    const next = this.#next(manifest);
    const built = await this.#job(runtime, async (job) => {
      const deletes = await this.#sendFrozen(runtime, job, frozen);
      return this.#deps.build.request<BuildReply>({
        kind: "seal",
        job,
        id: this.#name(next),
        deletes,
        keeps: this.#deps.hold.isHeld,
      });
    });
    const segments = manifest.segments
      .map((entry) => withDeletes(entry, built.deletes))
      .filter(({ documents, deleted }) => deleted < documents);
    return {
      ...next,
      applied: upTo,
      totals,
      segments: built.segment === null ? segments : [...segments, built.segment],
      lance: built.lance ?? manifest.lance,
    };
  }

  /**
   * Between two commits, when the committer has nothing under way: the totals, the frozen tail and the documents are of
   * the same offset.
   */
  async #freeze(runtime: CollectionRuntime): Promise<Frozen> {
    const { store, committer, log } = this.#deps;
    let frozen: Frozen | undefined;
    try {
      await committer.submit(() => {
        const upTo = log.highWatermark(runtime.stream, 0);
        const { totals, manifest } = runtime;
        const tail = runtime.freeze(upTo);
        // Whoever asked awaits it later.
        tail.catch(() => {});
        frozen = { upTo, totals, manifest, tail, documents: store.snapshot() };
      });
      return frozen!;
    } catch (error) {
      frozen?.documents[Symbol.dispose]();
      throw error;
    }
  }

  /** From the index, whose memory the changes are in; where it no longer has them all, from the log and the documents. */
  async #sendFrozen(runtime: CollectionRuntime, job: number, frozen: Frozen): Promise<FrozenDeletes> {
    using documents = frozen.documents;
    const { deletes, changes } = await frozen.tail;
    if (changes !== undefined) for (const each of changes) this.#send(job, each);
    else {
      const find = documentsOf(documents, runtime.meta.id);
      await this.#sendLog(runtime, job, frozen.manifest.applied, frozen.upTo, (logged) =>
        withDocuments([logged], find),
      );
    }
    return deletes;
  }

  async merge(runtime: CollectionRuntime, chosen: readonly SegmentEntry[]): Promise<Manifest> {
    const { manifest } = runtime;
    const next = this.#next(manifest);
    const built = await this.#job(runtime, (job) =>
      this.#deps.build.request<BuildReply>({ kind: "merge", job, id: this.#name(next), segments: chosen }),
    );
    const left = manifest.segments.filter((entry) => !chosen.includes(entry));
    return { ...next, segments: built.segment === null ? left : [...left, built.segment] };
  }

  /**
   * Makes the whole index again from the documents: after damage, and when fields were added. A document that changes
   * while this runs may go in as it was or as it is; the tail, which has the change too, stands above it either way.
   */
  async rebuild(runtime: CollectionRuntime, signal: AbortSignal): Promise<Manifest> {
    const { log, settings } = this.#deps;
    const upTo = log.highWatermark(runtime.stream, 0);
    const { totals, manifest } = runtime;
    if (runtime.state === "hot") await runtime.freeze(upTo);
    const next = this.#next(manifest);
    const segments: SegmentEntry[] = [];
    let { lance } = manifest;
    let afterId = -1;
    for (let piece = 0; afterId !== Infinity; piece++) {
      const built = await this.#job(runtime, async (job) => {
        // The dataset beside the index must hear of what was deleted: the documents no longer tell.
        if (piece === 0) await this.#sendLog(runtime, job, manifest.applied, upTo, loggedDeletes);
        afterId = await this.#sendDocuments(runtime, job, afterId, settings, signal);
        const id = `${this.#name(next)}-${piece}`;
        return this.#deps.build.request<BuildReply>({
          kind: "seal",
          job,
          id,
          deletes: [],
          keeps: this.#deps.hold.isHeld,
        });
      });
      if (built.segment !== null) segments.push(built.segment);
      lance = built.lance ?? lance;
    }
    return { ...next, applied: upTo, totals, segments, lance };
  }

  #next(manifest: Manifest): Manifest {
    return { ...manifest, version: manifest.version + 1, createdAtMs: this.#deps.clock.nowMs() };
  }

  /** Of the objects of a manifest. A deposed owner that still writes must not write over what the next one has. */
  #name({ version }: Manifest): string {
    const { epoch } = this.#deps.ownership;
    return epoch === 1 ? `${version}` : `${epoch}e${version}`;
  }

  /** A job that fails leaves nothing behind in the build thread. */
  async #job<T>(runtime: CollectionRuntime, run: (job: number) => Promise<T>): Promise<T> {
    const { build } = this.#deps;
    const job = this.#nextJob++;
    const { id, schema, schemaVersion } = runtime.meta;
    build.post({ kind: "begin", job, schema: formatSchema(schema), schemaVersion, folder: folderOf(id) });
    try {
      return await run(job);
    } catch (error) {
      build.post({ kind: "cancel", job });
      throw error;
    }
  }

  async #sendLog(
    runtime: CollectionRuntime,
    job: number,
    from: number,
    to: number,
    changesOf: (logged: Uint8Array) => Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    const { log } = this.#deps;
    let next = from;
    while (next < to) {
      const before = next;
      let bytes = 0;
      for (const batch of log.read(runtime.stream, 0, next)) {
        if (!batch.seek(next)) break;
        do {
          const changes = changesOf(batch.value!);
          bytes += changes.length;
          this.#send(job, changes);
          next = batch.offset + 1;
        } while (next < to && batch.next());
        if (bytes >= pieceBytes || next >= to) break;
      }
      if (next === before) throw new Error(`the log of collection ${runtime.meta.id} ends at ${next}, not at ${to}`);
      await nextTurn();
    }
  }

  /** Sends the documents after an id, as many as a segment is to have; returns the last id, or Infinity when there are no more. */
  async #sendDocuments(
    runtime: CollectionRuntime,
    job: number,
    afterId: number,
    { sealRecords, sealBytes }: CollectionSettings,
    signal: AbortSignal,
  ): Promise<number> {
    const { id } = runtime.meta;
    let last = afterId;
    let left = sealRecords;
    let bytes = 0;
    while (left > 0 && bytes < sealBytes) {
      signal.throwIfAborted();
      const entries = this.#documents(id, last, left);
      if (entries.length === 0) return Infinity;
      const changes = entries.map(({ key, value }) => ({ id: documentIdOf(key), ...openStored(key, value) }));
      const encoded = encodeChanges(changes);
      bytes += encoded.length;
      this.#send(job, encoded);
      last = changes.at(-1)!.id;
      left -= entries.length;
      await nextTurn();
    }
    return last;
  }

  #documents(collectionId: number, afterId: number, limit: number): Entry[] {
    const range = { from: documentKey(collectionId, afterId + 1), to: documentKey(collectionId + 1, 0), limit };
    const found: Entry[] = [];
    let bytes = 0;
    for (const entry of this.#deps.store.range(range)) {
      found.push(entry);
      bytes += entry.value.length;
      if (bytes >= pieceBytes) break;
    }
    return found;
  }

  /** The changes are taken over. */
  #send(job: number, changes: Uint8Array<ArrayBuffer>): void {
    this.#deps.build.post({ kind: "changes", job, changes }, [changes.buffer]);
  }
}

function withDeletes(entry: SegmentEntry, written: BuildReply["deletes"]): SegmentEntry {
  const found = written.find(({ segment }) => segment === entry.id);
  return found === undefined ? entry : { ...entry, deleted: found.count, deletesPath: found.path };
}
