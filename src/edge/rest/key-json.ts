import type { ApiKeyInfo } from "../../engine/auth/keys.ts";

export function timeText(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

/** What may be told of a key: all but the key. */
export function keyJson(key: ApiKeyInfo) {
  return {
    name: key.name,
    id: key.id,
    role: key.role,
    namespace: key.namespace ?? null,
    status: key.status,
    created_at: timeText(key.createdMs),
    expires_at: timeText(key.expiresMs),
    revoked_at: timeText(key.revokedMs),
  };
}
