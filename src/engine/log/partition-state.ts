import type { Bytes } from "../../port/store.ts";
import { readU64, writeU64 } from "../keys.ts";
import { openValue, sealValue } from "../stored-value.ts";

/** The end of a partition: what the next batch continues from. */
export interface Tail {
  next: number;
  bytes: number;
  prefixTimestampMs: number;
  prefixRetentionMs: number;
}

export const emptyTail: Readonly<Tail> = { next: 0, bytes: 0, prefixTimestampMs: 0, prefixRetentionMs: 0 };

export function setTail(tail: Tail, to: Readonly<Tail>): void {
  tail.next = to.next;
  tail.bytes = to.bytes;
  tail.prefixTimestampMs = to.prefixTimestampMs;
  tail.prefixRetentionMs = to.prefixRetentionMs;
}

/**
 * What remains of a partition's head after trimming, behind its checksum: u64 stored start, then the tail, which is needed once no batch
 * is left to tell it: u64 next, and f64 bytes, timestamp and retention maxima.
 */
export function encodePartition(storedStart: number, tail: Readonly<Tail>): Buffer {
  const bytes = Buffer.allocUnsafe(40);
  writeU64(bytes, 0, storedStart);
  writeU64(bytes, 8, tail.next);
  bytes.writeDoubleBE(tail.bytes, 16);
  bytes.writeDoubleBE(tail.prefixTimestampMs, 24);
  bytes.writeDoubleBE(tail.prefixRetentionMs, 32);
  return sealValue(bytes);
}

export function decodePartition(stored: Bytes): { storedStart: number; tail: Readonly<Tail> } {
  const bytes = openValue(stored);
  return {
    storedStart: readU64(bytes, 0),
    tail: {
      next: readU64(bytes, 8),
      bytes: bytes.readDoubleBE(16),
      prefixTimestampMs: bytes.readDoubleBE(24),
      prefixRetentionMs: bytes.readDoubleBE(32),
    },
  };
}
