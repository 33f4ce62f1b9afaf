import { createHash } from "node:crypto";
import type { Clock } from "../../port/clock.ts";
import type { Reader, Store } from "../../port/store.ts";
import type { Draft } from "../commit/draft.ts";
import { conflict, invalid } from "../errors.ts";
import { makeKey, prefixRange, readU64, tables } from "../keys.ts";
import { limits } from "../limits.ts";
import { openValue, sealValue } from "../stored-value.ts";

/** A writer's promise that requests with the same key and content are one and the same. */
export interface Idempotency {
  readonly key: string;
  /** A digest of what the request asks for. */
  readonly fingerprint: Uint8Array;
}

const printable = /^[\x20-\x7e]{1,255}$/;

export function parseIdempotencyKey(field: string, key: string): string {
  if (!printable.test(key)) {
    throw invalid(field, `must be 1 to ${limits.idempotencyKeyLengthMax} printable ASCII characters`);
  }
  return key;
}

export function fingerprint(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/**
 * Recorded replies by stream and key. Value, behind its checksum: f64 expiry, 32 bytes of fingerprint, the reply as JSON. A second key,
 * ordered by expiry, lets the background forget the old ones without a scan.
 */
export class IdempotencyRecords {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The recorded reply to the same request, if there is one. */
  replay<T>(reader: Pick<Reader, "get">, stream: number, request: Idempotency): T | undefined {
    const stored = reader.get(recordKey(stream, request.key));
    if (stored === undefined) return undefined;
    const bytes = openValue(stored);
    if (bytes.readDoubleBE(0) <= this.#clock.nowMs()) return undefined;
    if (!bytes.subarray(8, 40).equals(request.fingerprint)) {
      throw conflict("the Idempotency-Key was used with another body on this stream");
    }
    return JSON.parse(bytes.toString("utf8", 40)) as T;
  }

  record(draft: Draft, stream: number, request: Idempotency, reply: unknown): void {
    const expiryMs = this.#clock.nowMs() + limits.idempotencyWindowMs;
    const head = Buffer.allocUnsafe(8);
    head.writeDoubleBE(expiryMs);
    const key = recordKey(stream, request.key);
    const expired = draft.get(key);
    if (expired !== undefined) {
      const expiredMs = openValue(expired).readDoubleBE(0);
      draft.delete(makeKey(tables.idempotencyExpiry, expiredMs, key.subarray(1)));
    }
    draft.put(key, sealValue(head, request.fingerprint, Buffer.from(JSON.stringify(reply))));
    draft.put(makeKey(tables.idempotencyExpiry, expiryMs, key.subarray(1)), Buffer.alloc(0));
  }

  /** Forgets expired replies as part of a change; returns whether more are left. */
  stageExpire(draft: Draft, keysMax: number): boolean {
    const { from } = prefixRange(tables.idempotencyExpiry);
    const to = makeKey(tables.idempotencyExpiry, this.#clock.nowMs());
    let count = 0;
    for (const key of this.#store.keys({ from, to, limit: keysMax })) {
      count++;
      // An earlier change of the group has recorded the key again.
      if (draft.get(key) === undefined) continue;
      draft.delete(key);
      draft.delete(makeKey(tables.idempotency, key.subarray(9)));
    }
    return count === keysMax;
  }

  /** Whether anything has expired, without a change. */
  hasExpired(): boolean {
    const { from, to } = prefixRange(tables.idempotencyExpiry);
    for (const key of this.#store.keys({ from, to, limit: 1 })) return readU64(key, 1) < this.#clock.nowMs();
    return false;
  }
}

/** The stream's id and a digest of the key, so that keys of any content have one length. */
function recordKey(stream: number, key: string): Buffer {
  return makeKey(tables.idempotency, stream, createHash("sha256").update(key).digest().subarray(0, 16));
}
