import { EngineError } from "../errors.ts";
import { keyHashBytes } from "./key-text.ts";
import { isRole, type Role } from "./principal.ts";

/** What is stored of a key. Its hash is all that is known of its text. */
export interface KeyRecord {
  readonly name: string;
  readonly role: Role;
  readonly namespace?: string;
  readonly hash: Uint8Array;
  readonly createdMs: number;
  readonly expiresMs?: number;
  readonly revokedMs?: number;
}

export type KeyStatus = "live" | "expired" | "revoked";

export function statusOf(record: KeyRecord, nowMs: number): KeyStatus {
  if (record.revokedMs !== undefined) return "revoked";
  return record.expiresMs !== undefined && record.expiresMs <= nowMs ? "expired" : "live";
}

export function encodeRecord(record: KeyRecord): Buffer {
  const { hash, ...rest } = record;
  return Buffer.from(JSON.stringify({ format: 1, ...rest, hash: Buffer.from(hash).toString("base64url") }));
}

/** Reads a record back; one that does not hold together admits nobody. */
export function decodeRecord(id: string, bytes: Uint8Array): KeyRecord {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    throw damaged(id);
  }
  if (typeof value !== "object" || value === null) throw damaged(id);
  const { format, name, role, namespace, hash, createdMs, expiresMs, revokedMs } = value as Record<string, unknown>;
  const digest = typeof hash === "string" ? Buffer.from(hash, "base64url") : undefined;
  if (format !== 1 || typeof name !== "string" || !isRole(role) || digest?.length !== keyHashBytes) throw damaged(id);
  if (namespace !== undefined && typeof namespace !== "string") throw damaged(id);
  if (!isTime(createdMs)) throw damaged(id);
  if (expiresMs !== undefined && !isTime(expiresMs)) throw damaged(id);
  if (revokedMs !== undefined && !isTime(revokedMs)) throw damaged(id);
  return {
    name,
    role,
    hash: digest,
    createdMs,
    ...(namespace === undefined ? {} : { namespace }),
    ...(expiresMs === undefined ? {} : { expiresMs }),
    ...(revokedMs === undefined ? {} : { revokedMs }),
  };
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function damaged(id: string): EngineError {
  return new EngineError("internal", `the record of API key ${id} can't be read`);
}
