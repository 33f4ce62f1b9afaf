/**
 * The one port that carries all durable state: an ordered key-value store.
 *
 * Keys are compared as unsigned bytes, a prefix before its extensions. There is one writer per store. Reads are
 * synchronous: an adapter keeps its data within reach of the process.
 */
export type Bytes = Uint8Array;

export type WriteOp =
  | { readonly kind: "put"; readonly key: Bytes; readonly value: Bytes }
  | { readonly kind: "delete"; readonly key: Bytes };

export interface Range {
  /** First key, inclusive. */
  readonly from?: Bytes;
  /** End key, exclusive. */
  readonly to?: Bytes;
  /** From the end towards the start; `from` and `to` keep their meaning. */
  readonly reverse?: boolean;
  readonly limit?: number;
}

export interface Entry {
  readonly key: Bytes;
  readonly value: Bytes;
}

export interface Reader {
  /** The caller owns the returned bytes. */
  get(key: Bytes): Bytes | undefined;
  /** The same without a copy: good until anything else is read. */
  peek(key: Bytes): Bytes | undefined;
  /** At most the first `bytesMax` bytes of a value, without copying the rest. */
  head(key: Bytes, bytesMax: number): Bytes | undefined;
  range(range: Range): Iterable<Entry>;
  /** The same without copies: the bytes of an entry are good until the next one is asked for, or anything else is read. */
  borrow(range: Range): Iterable<Entry>;
  keys(range: Range): Iterable<Bytes>;
}

/** A view that later commits do not change. Disposing it lets the store reuse the space it holds. */
export interface Snapshot extends Reader, Disposable {}

export interface StoreStats {
  /** Bytes the store takes on its device, space to reuse included. */
  readonly diskBytes: number;
  /** As of the last checkpoint. */
  readonly entries: number;
  /** Bytes of commits in memory that the store's tree does not hold yet. */
  readonly overlayBytes?: number;
  /** Bytes of commits that it holds by now and that stay in memory for the snapshots of readers. */
  readonly heldBytes?: number;
  /** What the commit log takes of `diskBytes`. */
  readonly logBytes?: number;
}

export interface Store extends Reader {
  /**
   * Applies every op or none, in order. Resolves when they would survive a power cut. Rejects with a StoreError: nothing of it was or will be
   * applied.
   */
  commit(ops: readonly WriteOp[]): Promise<void>;
  /** Resolves when another reader of the same store, in another thread or process, sees everything that was durable at the call. */
  checkpoint(): Promise<void>;
  snapshot(): Snapshot;
  stats(): StoreStats;
  close(): Promise<void>;
}

export class StoreError extends Error {
  /**
   * `full`: no room on the device. `damaged`: what is stored can't be trusted. `fenced`: another process is the writer now. `failed`: anything
   * else.
   */
  readonly kind: "full" | "damaged" | "fenced" | "failed";

  constructor(kind: StoreError["kind"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}
