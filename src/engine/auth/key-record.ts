import { EngineError } from "../errors.ts";
import { keyHashBytes } from "./key-text.ts";
import { isRole, type Role } from "./principal.ts";

/** What is stored of a key. Its hash is all that is known of its text. */
export interface KeyRecord {
  readonly name: string;
  readonly role: Role;
  readonly namespaces?: readonly string[];
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
  const { hash, namespaces, ...rest } = record;
  // An older build knows one namespace alone. It must not take a key for several as one for all.
  const scope =
    namespaces?.length === 1 ? { format: 1, namespace: namespaces[0] } : { format: namespaces ? 2 : 1, namespaces };
  return Buffer.from(JSON.stringify({ ...scope, ...rest, hash: Buffer.from(hash).toString("base64url") }));
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
  const { format, name, role, hash, createdMs, expiresMs, revokedMs, ...scope } = value as Record<string, unknown>;
  const digest = typeof hash === "string" ? Buffer.from(hash, "base64url") : undefined;
  if (typeof name !== "string" || !isRole(role) || digest?.length !== keyHashBytes) throw damaged(id);
  const namespaces =
    format === 2 ? scope["namespaces"] : scope["namespace"] === undefined ? undefined : [scope["namespace"]];
  if (format !== 1 && (format !== 2 || namespaces === undefined)) throw damaged(id);
  if (namespaces !== undefined && !isScope(namespaces)) throw damaged(id);
  if (!isTime(createdMs)) throw damaged(id);
  if (expiresMs !== undefined && !isTime(expiresMs)) throw damaged(id);
  if (revokedMs !== undefined && !isTime(revokedMs)) throw damaged(id);
  return {
    name,
    role,
    hash: digest,
    createdMs,
    ...(namespaces === undefined ? {} : { namespaces }),
    ...(expiresMs === undefined ? {} : { expiresMs }),
    ...(revokedMs === undefined ? {} : { revokedMs }),
  };
}

function isScope(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string");
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function damaged(id: string): EngineError {
  return new EngineError("internal", `the record of API key ${id} can't be read`);
}
