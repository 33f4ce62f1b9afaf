import { hash } from "node:crypto";
import type { Clock } from "../../port/clock.ts";
import type { Store } from "../../port/store.ts";
import type { Draft } from "../commit/draft.ts";
import { makeKey, prefixRange, readU64, tables, writeU64 } from "../keys.ts";
import { openValue, sealValue } from "../stored-value.ts";

/** Where an event was first written. */
export interface EventPlace {
  readonly partition: number;
  readonly offset: number;
}

/** A stream's memory of an event: 16 bytes that stand for its source and id. */
export function eventDigest(source: string, id: string): Buffer {
  // Neither can hold a control character, so the separator keeps ("a", "bc") and ("ab", "c") apart.
  return hash("sha256", `${source}\n${id}`, "buffer").subarray(0, 16);
}

/**
 * Which events were written inside the window. Value, behind its checksum: u64 expiry, u32 partition, u64 offset. A second key, ordered by
 * expiry, lets the background forget old ones without a scan. Both change in the commit that writes the event.
 */
export class DedupKeys {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #windowMs: number;

  constructor(store: Store, clock: Clock, windowMs: number) {
    this.#store = store;
    this.#clock = clock;
    this.#windowMs = windowMs;
  }

  /** The first write of an event, while it is remembered. */
  find(draft: Draft, stream: number, digest: Uint8Array): EventPlace | undefined {
    const stored = draft.get(makeKey(tables.dedup, stream, digest));
    if (stored === undefined) return undefined;
    const value = openValue(stored);
    if (readU64(value, 0) <= this.#clock.nowMs()) return undefined;
    return { partition: value.readUInt32BE(8), offset: readU64(value, 12) };
  }

  remember(draft: Draft, stream: number, digest: Uint8Array, place: EventPlace): void {
    if (this.#windowMs === 0) return;
    const key = makeKey(tables.dedup, stream, digest);
    const old = draft.get(key);
    // Expired but not yet forgotten: its place in the order of expiry must not take the new key with it.
    if (old !== undefined) draft.delete(expiryKey(readU64(openValue(old), 0), stream, digest));
    const expiryMs = this.#clock.nowMs() + this.#windowMs;
    const value = Buffer.allocUnsafe(20);
    writeU64(value, 0, expiryMs);
    value.writeUInt32BE(place.partition, 8);
    writeU64(value, 12, place.offset);
    draft.put(key, sealValue(value));
    draft.put(expiryKey(expiryMs, stream, digest), Buffer.alloc(0));
  }

  /** Whether anything has expired, without a change. */
  hasExpired(): boolean {
    for (const key of this.#store.keys({ ...prefixRange(tables.dedupExpiry), limit: 1 })) {
      return readU64(key, 1) <= this.#clock.nowMs();
    }
    return false;
  }

  /** Forgets expired events as part of a change. */
  stageExpire(draft: Draft, keysMax: number): void {
    const { from } = prefixRange(tables.dedupExpiry);
    const to = makeKey(tables.dedupExpiry, this.#clock.nowMs() + 1);
    for (const key of this.#store.keys({ from, to, limit: keysMax })) {
      draft.delete(key);
      draft.delete(makeKey(tables.dedup, key.subarray(9)));
    }
  }
}

function expiryKey(expiryMs: number, stream: number, digest: Uint8Array): Buffer {
  return makeKey(tables.dedupExpiry, expiryMs, stream, digest);
}
