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

/** Of what is committed while the log is read, so much is kept. */
const heldBytesMax = 16 * 1024 * 1024;

/** Changes that one commit made. */
interface Committed {
  /** The offset after the last one's record. */
  readonly next: number;
  readonly changes: Uint8Array;
  /** Nobody else has a use for them. */
  readonly isOwned: boolean;
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
  /** The offset from which on commits are held, if they are. */
  heldFrom = 0;
  #held: Committed[] | undefined;
  #heldBytes = 0;
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
   * What is committed from here on is kept until it is sent, so that the part of the log to read has an end however fast others
   * write. Where that is too much it is let go of, and the log is read further. Called in one turn with a look at the log's end.
   */
  hold(from: number): void {
    if (this.#held !== undefined) return;
    this.heldFrom = from;
    this.#held = [];
    this.#heldBytes = 0;
  }

  /** Sends what was held, and holds no more. Returns the offset after it. */
  sendHeld(): number {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const committed of held) {
      for (const id of changedIds(committed.changes)) this.outdated.delete(id);
      this.#send(committed);
    }
    return held.at(-1)?.next ?? this.heldFrom;
  }

  /**
   * Sends a piece of the log up to an offset; returns the offset after the piece. Other work gets its turns meanwhile: `check`
   * throws when this session may send no more.
   */
  async replayFrom(
    log: Log,
    stream: LogStream,
    offset: number,
    until: number,
    find: FindDocument,
    check: () => void,
  ): Promise<number> {
    const piece = readPiece(log, stream, offset, until);
    if (piece.length === 0) throw unavailable("the collection's log was trimmed while it was read; retry");
    const { next } = piece.at(-1)!;
    assert(next > offset && next <= until, "a replay only moves on, as far as it is to go");
    const records = piece.map(({ record }) => record);
    const steps = withDocumentsSteps(records, find, this.outdated);
    let step = steps.next();
    for (; !step.done; step = steps.next()) await nextTurn();
    check();
    this.#send({ next, changes: step.value, isOwned: true });
    return next;
  }

  /** Resolves when the thread has taken what was sent to it. */
  taken(): Promise<void> {
    return this.#thread.request({ kind: "sync", collection: this.#collection });
  }

  /** Whether it is to be told of what is committed. */
  get listens(): boolean {
    return this.following || this.#held !== undefined;
  }

  /** `total`: the collection's changes with these. */
  onCommitted(committed: Committed, total: number): void {
    if (this.#held === undefined) {
      this.#send(committed, total);
      return;
    }
    this.#held.push(committed);
    this.#heldBytes += committed.changes.length;
    if (this.#heldBytes > heldBytesMax) this.#held = undefined;
  }

  end(): void {
    this.following = false;
    this.loaded = false;
    this.#held = undefined;
  }

  /** `total`, where nothing is read from the log any more: with it the thread takes what it was told for all that is new. */
  #send({ next, changes, isOwned }: Committed, total?: number): void {
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

function readPiece(log: Log, stream: LogStream, offset: number, until: number): Logged[] {
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
    } while (next < until && batch.next());
    if (next >= until || changes >= replayPiece.changes || bytes >= replayPiece.bytes) break;
  }
  return piece;
}
