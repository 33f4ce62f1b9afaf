import { isRole, type Role, roles } from "../../engine/auth/principal.ts";
import { hasAllowlist, type OidcConfig } from "./config.ts";
import { notAdmitted } from "./refusal.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** The role of a user with a valid token; throws `permission_denied` for one who is not admitted. */
export function roleOfUser(claims: Claims, config: OidcConfig): Role {
  if (hasAllowlist(config) && !isAllowed(claims, config)) throw notAdmitted("this user is not on an allowlist");
  return roleOf(claims, config);
}

/** One match on any of the lists is enough. */
function isAllowed(claims: Claims, config: OidcConfig): boolean {
  const email = usableEmail(claims);
  if (email !== undefined) {
    if (config.allowedEmails.includes(email)) return true;
    if (config.allowedDomains.includes(email.slice(email.lastIndexOf("@") + 1))) return true;
  }
  const groups = claimAt(claims, config.groupsClaim);
  return textsOf(groups).some((group) => config.allowedGroups.includes(group));
}

/** An address that the provider itself calls unverified could be anyone's. */
function usableEmail(claims: Claims): string | undefined {
  const { email, email_verified: verified } = claims;
  if (typeof email !== "string" || !email.includes("@")) return undefined;
  if (verified === false || verified === "false") return undefined;
  return email.toLowerCase();
}

/**
 * The highest role among the values of the role claim. A user without the claim gets the default role; one whose
 * claim has no value that is a role is not admitted, since the provider said something else on purpose.
 */
function roleOf(claims: Claims, { roleClaim, defaultRole }: OidcConfig): Role {
  const claim = roleClaim === undefined ? undefined : claimAt(claims, roleClaim);
  if (claim === undefined || claim === null) {
    if (defaultRole === "none") throw notAdmitted("this user has no role here");
    return defaultRole;
  }
  const claimed = textsOf(claim).filter(isRole);
  const highest = roles.findLast((role) => claimed.includes(role));
  if (highest === undefined) throw notAdmitted("this user has no role here");
  return highest;
}

/** A claim by its name, which may itself hold dots as URLs do, else by a dotted path into nested objects. */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

function textsOf(value: unknown): string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((each) => typeof each === "string");
}
