import type { ApiKeyInfo } from "../../../engine/auth/keys.ts";

export function timeText(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

/** Where a credential may act: `namespaces`, or all where that is null. `namespace` is the one where there is one alone. */
export function scopeJson({ namespaces }: { readonly namespaces?: readonly string[] }) {
  return { namespace: namespaces?.length === 1 ? namespaces[0]! : null, namespaces: namespaces ?? null };
}

/** What may be told of a key: all but the key. */
export function keyJson(key: ApiKeyInfo) {
  return {
    name: key.name,
    id: key.id,
    role: key.role,
    ...scopeJson(key),
    status: key.status,
    created_at: timeText(key.createdMs),
    expires_at: timeText(key.expiresMs),
    revoked_at: timeText(key.revokedMs),
  };
}
