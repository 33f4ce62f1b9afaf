import { decodeChanges } from "../write-record.ts";

/** Every bound of what a thread keeps of recent changes, named once with its unit. */
export const recentLimits = {
  /** Of one collection; beyond it what is kept is forgotten, and others answer until the store's file has caught up. */
  bytesMax: 32 * 1024 * 1024,
  /** New changes after which the store's file is looked at. */
  trimChanges: 256,
} as const;

interface Recent {
  /** The collection's changes, counted, when this one was told. */
  readonly change: number;
  /** Encoded; undefined for a delete. */
  document: Uint8Array | undefined;
}

/**
 * The documents of one collection that changed so lately that the store's file may not have them: a commit is durable in
 * the log first, and a thread that reads the file by itself would find what was there before.
 */
export class RecentDocuments {
  /** By id, in the order of their last change. */
  readonly #documents = new Map<number, Recent>();
  readonly #storedChanges: () => number;
  /** The changes that were not kept here are up to this count; undefined while none was. */
  #since: number | undefined;
  #bytes = 0;
  #untrimmed = 0;

  /** `storedChanges` counts the collection's changes in the store's file. */
  constructor(storedChanges: () => number) {
    this.#storedChanges = storedChanges;
  }

  /** Changes that were told together; the collection has `total` with them. */
  add(changes: Uint8Array, total: number): void {
    let count = 0;
    for (const { id, document } of decodeChanges(changes)) {
      count++;
      this.#forget(id);
      this.#documents.set(id, { change: total, document });
      this.#bytes += document?.length ?? 0;
    }
    this.#since ??= total - count;
    this.#untrimmed += count;
    if (this.#untrimmed >= recentLimits.trimChanges) this.trim();
    if (this.#bytes <= recentLimits.bytesMax) return;
    this.#documents.clear();
    this.#bytes = 0;
    this.#since = total;
  }

  /** What is kept of a document. */
  find(id: number): Recent | undefined {
    return this.#documents.get(id);
  }

  /** Whether the file and what is kept here tell together of every change up to the given count, and the file of none after it. */
  isWhole(upTo: number): boolean {
    const stored = this.trim();
    return stored <= upTo && stored >= (this.#since ?? upTo);
  }

  /** Whether they tell of every change up to the given count, or of more. */
  isCurrent(upTo: number): boolean {
    return this.trim() >= (this.#since ?? upTo);
  }

  /** Lets go of what the file has; returns how many changes that is. */
  trim(): number {
    this.#untrimmed = 0;
    const stored = this.#storedChanges();
    for (const [id, { change }] of this.#documents) {
      if (change > stored) break;
      this.#forget(id);
    }
    return stored;
  }

  /** The memory that the changes came in goes to somebody else. */
  keepCopies(): void {
    this.trim();
    for (const recent of this.#documents.values()) recent.document &&= new Uint8Array(recent.document);
  }

  #forget(id: number): void {
    const known = this.#documents.get(id);
    if (known === undefined) return;
    this.#bytes -= known.document?.length ?? 0;
    this.#documents.delete(id);
  }
}
