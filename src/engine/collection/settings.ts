import type { CollectionRuntime } from "./runtime.ts";

export interface CollectionSettings {
  /** Changes that no segment holds yet; above either, writes are refused until the indexes have caught up. */
  readonly tailRecordsMax: number;
  readonly tailBytesMax: number;
  /** A tail is sealed when it has this many changes or bytes, */
  readonly sealRecords: number;
  readonly sealBytes: number;
  /** or when nothing was written to it for this long, */
  readonly sealIdleMs: number;
  /** or when its oldest change is this old. */
  readonly sealAgeMs: number;
  /** Manifests kept at least this long, for readers that hold a plan. */
  readonly manifestKeepMs: number;
  /** Objects that no manifest names any more are kept this long for other nodes, which learn of it later. */
  readonly objectGraceMs: number;
  /** An index that is not kept hot is closed when nobody used it for this long, */
  readonly openIdleMs: number;
  /** or, the least recently used first, when the open indexes take more than this. */
  readonly openBytesMax: number;
  /** Threads that search; the further ones only take part where several queries ask at once. */
  readonly searchThreads: number;
}

const MiB = 1024 * 1024;

export const defaultCollectionSettings: CollectionSettings = {
  tailRecordsMax: 200_000,
  tailBytesMax: 256 * MiB,
  sealRecords: 40_000,
  sealBytes: 64 * MiB,
  sealIdleMs: 1_000,
  sealAgeMs: 10_000,
  manifestKeepMs: 3_900_000,
  objectGraceMs: 0,
  openIdleMs: 600_000,
  openBytesMax: 2048 * MiB,
  searchThreads: 2,
};

export interface Backpressure {
  readonly throttled: boolean;
  readonly backlogRecords: number;
  readonly backlogBytes: number;
  readonly retryAfterMs: number;
}

const retryAfterMs = 1_000;

export function backpressureOf(runtime: CollectionRuntime, settings: CollectionSettings): Backpressure {
  const { backlogRecords, backlogBytes } = runtime;
  const throttled = backlogRecords >= settings.tailRecordsMax || backlogBytes >= settings.tailBytesMax;
  return { throttled, backlogRecords, backlogBytes, retryAfterMs: throttled ? retryAfterMs : 0 };
}
