import assert from "node:assert/strict";
import { nextTurn } from "../../port/next-turn.ts";
import type { SharedSegments } from "../../port/shared-bytes.ts";
import { unavailable } from "../errors.ts";
import type { Log, LogStream } from "../log/log.ts";
import type { Manifest } from "./collection-store.ts";
import type { IndexThread } from "./engine-thread.ts";
import { changedIds, type FindDocument, loggedCount, withDocumentsSteps } from "./write-record.ts";

/** What of the log is handed to an index thread before it is waited for: so many changes, or bytes of records. */
const replayPiece = { changes: 1_000, bytes: 1024 * 1024 } as const;

/** A record of a collection's log, in memory of its own. */
interface Logged {
  /** The offset after it. */
  readonly next: number;
  readonly record: Uint8Array;
}

/** Changes that one commit made. */
interface Committed {
  /** The offset after the last one's record. */
  readonly next: number;
  readonly changes: Uint8Array;
  /** The collection's changes with these. */
  readonly total: number;
}

/** One opening of a collection's index in one thread: what it holds came from a manifest and every change since. */
export class IndexSession {
  /** The manifest that it was opened from. */
  readonly manifest: Manifest;
  /** The number of its thread; the first is asked for everything. */
  readonly place: number;
  ready: Promise<void> = Promise.resolve();
  /** Changes are sent to the index as they are committed. */
  following = false;
  /** Every change up to the opening has been taken. */
  loaded = false;
  /** The offset at which the tail was frozen last; only a manifest that goes up to it fits this session. */
  frozenAt: number | undefined;
  /** The manifest that its thread was told last. */
  sentManifest: Manifest;
  /** Changes sent since the last search here. */
  changesUnsearched = 0;
  /**
   * Documents that were replayed no further than to a version before the stored one. When the log has been replayed
   * to its end, the commit that changed them has been made but not been heard of yet.
   */
  readonly outdated = new Set<number>();
  /** What is committed while the last piece of the log is sent. */
  #held: Committed[] | undefined;
  readonly #thread: IndexThread;
  readonly #collection: number;

  constructor(thread: IndexThread, place: number, collection: number, manifest: Manifest) {
    this.#thread = thread;
    this.place = place;
    this.#collection = collection;
    this.manifest = manifest;
    this.sentManifest = manifest;
  }

  open(schema: unknown, loaded: SharedSegments): Promise<SharedSegments> {
    const { manifest } = this;
    // The first thread is the one that is asked what to make a segment of.
    const keeps = this.place === 0;
    return this.#thread.request({ kind: "open", collection: this.#collection, schema, manifest, loaded, keeps });
  }

  /**
   * Sends a piece of the log; returns the offset after it. Other work gets its turns meanwhile: `check` throws when this
   * session may send no more. What is committed while the last piece is sent follows it, so that the end is reached
   * however fast others write.
   */
  async replayFrom(
    log: Log,
    stream: LogStream,
    offset: number,
    find: FindDocument,
    check: () => void,
  ): Promise<number> {
    const piece = readPiece(log, stream, offset);
    if (piece.length === 0) throw unavailable("the collection's log was trimmed while it was read; retry");
    const { next } = piece.at(-1)!;
    assert(next > offset, "a replay only moves on");
    if (next === log.highWatermark(stream, 0)) this.#held = [];
    const records = piece.map(({ record }) => record);
    const steps = withDocumentsSteps(records, find, this.outdated);
    let step = steps.next();
    for (; !step.done; step = steps.next()) await nextTurn();
    check();
    this.#sendChanges({ next, changes: step.value }, true);
    return this.#sendHeld() ?? next;
  }

  /** Resolves when the thread has taken what was sent to it. */
  taken(): Promise<void> {
    return this.#thread.request({ kind: "sync", collection: this.#collection });
  }

  #sendHeld(): number | undefined {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const committed of held) {
      for (const id of changedIds(committed.changes)) this.outdated.delete(id);
      this.#sendChanges(committed, false);
    }
    return held.at(-1)?.next;
  }

  /** Whether it is to be told of what is committed. */
  get listens(): boolean {
    return this.following || this.#held !== undefined;
  }

  /** `isOwned`: the caller has no further use for the changes. */
  onCommitted(committed: Committed, isOwned: boolean): void {
    if (this.#held === undefined) this.#sendChanges(committed, isOwned);
    else this.#held.push(committed);
  }

  end(): void {
    this.following = false;
    this.loaded = false;
    this.#held = undefined;
  }

  #sendChanges({ next, changes, total }: Omit<Committed, "total"> & Partial<Committed>, isOwned: boolean): void {
    this.changesUnsearched++;
    // The memory goes over to the thread: a copy where others need it, or where it lies in a pool with other buffers.
    const isAlone = changes.buffer instanceof ArrayBuffer && changes.buffer.byteLength === changes.byteLength;
    const copy = isOwned && isAlone ? new Uint8Array(changes.buffer as ArrayBuffer) : new Uint8Array(changes);
    this.#thread.post({ kind: "apply", collection: this.#collection, next, changes: copy, total }, [copy.buffer]);
  }

  sendSchema(schema: unknown): void {
    this.#thread.post({ kind: "schema", collection: this.#collection, schema });
  }

  freeze(upTo: number): void {
    this.frozenAt = upTo;
    this.#thread.post({ kind: "freeze", collection: this.#collection, upTo });
  }

  /** Whether what the index holds goes with a manifest: a tail that was not frozen at its end would be there twice. */
  fits(manifest: Manifest, before: Manifest): boolean {
    return manifest.applied === before.applied || this.frozenAt === manifest.applied;
  }

  publish(manifest: Manifest, loaded: SharedSegments): Promise<SharedSegments> {
    this.sentManifest = manifest;
    return this.#thread.request({ kind: "publish", collection: this.#collection, manifest, loaded });
  }

  cancel(query: number): void {
    this.#thread.post({ kind: "cancel", collection: this.#collection, query });
  }

  close(): void {
    this.#thread.post({ kind: "close", collection: this.#collection });
  }
}

function readPiece(log: Log, stream: LogStream, offset: number): Logged[] {
  const piece: Logged[] = [];
  let next = offset;
  let changes = 0;
  let bytes = 0;
  for (const batch of log.read(stream, 0, offset)) {
    if (!batch.seek(next)) break;
    do {
      next = batch.offset + 1;
      const record = new Uint8Array(batch.value!);
      changes += loggedCount(record);
      bytes += record.length;
      piece.push({ next, record });
    } while (batch.next());
    if (changes >= replayPiece.changes || bytes >= replayPiece.bytes) break;
  }
  return piece;
}
