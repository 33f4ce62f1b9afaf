import { type FixedKey, parseFixedKeys } from "../../engine/auth/fixed-keys.ts";
import { isRole, type Role } from "../../engine/auth/principal.ts";
import { invalid } from "../../engine/errors.ts";
import { isLoopback } from "./address.ts";

export const authModes = ["off", "apikey", "oidc", "mesh"] as const;
export type AuthMode = (typeof authModes)[number];

/** The role of a user whom nothing else gives one; `none` admits no such user. */
export type DefaultRole = Role | "none";

export interface OidcConfig {
  /** Exactly as the provider writes it in its tokens. */
  readonly issuer: string;
  /** A token must name one of these. */
  readonly audiences: readonly string[];
  readonly allowedEmails: readonly string[];
  readonly allowedDomains: readonly string[];
  readonly allowedGroups: readonly string[];
  readonly groupsClaim: string;
  readonly roleClaim: string | undefined;
  readonly defaultRole: DefaultRole;
  /** What the provider knows the console as; without it people paste a token. */
  readonly clientId: string | undefined;
}

export interface MeshConfig {
  readonly socketPath: string;
  /** Login names and, for tagged machines, tags. */
  readonly allowedUsers: readonly string[];
  readonly defaultRole: Role;
}

export interface AuthConfig {
  readonly modes: readonly AuthMode[];
  readonly fixedKeys: readonly FixedKey[];
  readonly oidc: OidcConfig | undefined;
  readonly mesh: MeshConfig | undefined;
}

export type Settings = Readonly<Record<string, string | undefined>>;

/** The settings that this part reads; those marked secret may also come as `NAME_FILE`. */
export const authSettings = {
  SERVICE_AUTH_MODE: { secret: false },
  SERVICE_API_KEYS: { secret: true },
  SERVICE_OIDC_ISSUER: { secret: false },
  SERVICE_OIDC_AUDIENCE: { secret: false },
  SERVICE_OIDC_ALLOWED_EMAILS: { secret: false },
  SERVICE_OIDC_ALLOWED_DOMAINS: { secret: false },
  SERVICE_OIDC_ALLOWED_GROUPS: { secret: false },
  SERVICE_OIDC_GROUPS_CLAIM: { secret: false },
  SERVICE_OIDC_ROLE_CLAIM: { secret: false },
  SERVICE_OIDC_DEFAULT_ROLE: { secret: false },
  SERVICE_OIDC_CLIENT_ID: { secret: false },
  SERVICE_MESH_SOCKET: { secret: false },
  SERVICE_MESH_ALLOWED_USERS: { secret: false },
  SERVICE_MESH_DEFAULT_ROLE: { secret: false },
} as const;

type SettingName = keyof typeof authSettings;

const meshSocketDefault = "/var/run/tailscale/tailscaled.sock";

/** Parses the settings of authentication; every error names the setting and none repeats a secret. */
export function parseAuthConfig(settings: Settings): AuthConfig {
  const modes = parseModes(read(settings, "SERVICE_AUTH_MODE") ?? "off");
  const apiKeys = read(settings, "SERVICE_API_KEYS");
  return {
    modes,
    fixedKeys: apiKeys === undefined ? [] : parseFixedKeys("SERVICE_API_KEYS", apiKeys),
    oidc: modes.includes("oidc") ? parseOidc(settings) : undefined,
    mesh: modes.includes("mesh") ? parseMesh(settings) : undefined,
  };
}

/**
 * Refuses what would leave the service open, by throwing, and returns warnings for the operator. `listenHosts` are
 * the hosts of every address that any edge listens on.
 */
export function checkAuthConfig(config: AuthConfig, listenHosts: readonly string[]): string[] {
  const warnings: string[] = [];
  const open = listenHosts.find((host) => !isLoopback(host));
  if (config.modes.includes("off")) {
    if (open !== undefined) {
      throw invalid(
        "SERVICE_AUTH_MODE",
        `off admits everyone as admin, so it is allowed on loopback addresses only, not on ${open}; ` +
          "set it to apikey, oidc or mesh, or listen on 127.0.0.1",
      );
    }
    if (config.fixedKeys.length > 0) warnings.push("SERVICE_API_KEYS has no effect while SERVICE_AUTH_MODE is off");
    return warnings;
  }
  if (config.fixedKeys.length > 0 && !config.modes.includes("apikey")) {
    warnings.push("SERVICE_API_KEYS has no effect: SERVICE_AUTH_MODE does not include apikey");
  }
  for (const key of config.fixedKeys) {
    if (key.weak) warnings.push(`SERVICE_API_KEYS: the key ${key.name} is short enough to be guessed`);
  }
  if (config.oidc !== undefined && !hasAllowlist(config.oidc)) {
    warnings.push("oidc: no allowlist is set, so every user to whom the provider gives a token is admitted");
  }
  if (config.mesh !== undefined && config.mesh.allowedUsers.length === 0) {
    warnings.push("mesh: SERVICE_MESH_ALLOWED_USERS is not set, so every user of the mesh is admitted");
  }
  return warnings;
}

export function hasAllowlist(oidc: OidcConfig): boolean {
  return oidc.allowedEmails.length + oidc.allowedDomains.length + oidc.allowedGroups.length > 0;
}

/** Providers are asked over TLS; plain http is for one on this machine. */
export function isSafeProviderUrl(url: URL): boolean {
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
}

function parseModes(text: string): AuthMode[] {
  const field = "SERVICE_AUTH_MODE";
  const modes = text.split(",").map((part) => part.trim());
  for (const mode of modes) {
    if (!isMode(mode)) throw invalid(field, `must be ${authModes.join(", ")} or a comma-separated list of them`);
  }
  const chosen = [...new Set(modes.filter(isMode))];
  if (chosen.includes("off") && chosen.length > 1) throw invalid(field, "off stands alone: it can't be in a list");
  return chosen;
}

function isMode(value: string): value is AuthMode {
  return (authModes as readonly string[]).includes(value);
}

function parseOidc(settings: Settings): OidcConfig {
  const audiences = list(settings, "SERVICE_OIDC_AUDIENCE");
  if (audiences.length === 0) throw invalid("SERVICE_OIDC_AUDIENCE", "is required in oidc mode");
  return {
    issuer: parseIssuer(read(settings, "SERVICE_OIDC_ISSUER")),
    audiences,
    allowedEmails: list(settings, "SERVICE_OIDC_ALLOWED_EMAILS").map((email) => email.toLowerCase()),
    allowedDomains: list(settings, "SERVICE_OIDC_ALLOWED_DOMAINS").map((domain) =>
      domain.toLowerCase().replace(/^@/, ""),
    ),
    allowedGroups: list(settings, "SERVICE_OIDC_ALLOWED_GROUPS"),
    groupsClaim: read(settings, "SERVICE_OIDC_GROUPS_CLAIM") ?? "groups",
    roleClaim: read(settings, "SERVICE_OIDC_ROLE_CLAIM"),
    defaultRole: role(settings, "SERVICE_OIDC_DEFAULT_ROLE", true),
    clientId: read(settings, "SERVICE_OIDC_CLIENT_ID"),
  };
}

function parseIssuer(issuer: string | undefined): string {
  const field = "SERVICE_OIDC_ISSUER";
  if (issuer === undefined) throw invalid(field, "is required in oidc mode");
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  if (url === undefined) throw invalid(field, "must be a URL");
  if (!isSafeProviderUrl(url)) throw invalid(field, "must be an https URL; http is allowed on loopback only");
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw invalid(field, "must have no query, fragment or credentials");
  }
  return issuer;
}

function parseMesh(settings: Settings): MeshConfig {
  const defaultRole = role(settings, "SERVICE_MESH_DEFAULT_ROLE", false);
  return {
    socketPath: read(settings, "SERVICE_MESH_SOCKET") ?? meshSocketDefault,
    allowedUsers: list(settings, "SERVICE_MESH_ALLOWED_USERS").map((user) => user.toLowerCase()),
    defaultRole,
  };
}

function role(settings: Settings, field: SettingName, none: true): DefaultRole;
function role(settings: Settings, field: SettingName, none: false): Role;
function role(settings: Settings, field: SettingName, none: boolean): DefaultRole {
  const value = read(settings, field) ?? "writer";
  if (isRole(value) || (none && value === "none")) return value as DefaultRole;
  throw invalid(field, `must be admin, writer${none ? ", reader or none" : " or reader"}`);
}

/** A setting that is empty counts as absent. */
function read(settings: Settings, field: SettingName): string | undefined {
  const value = settings[field]?.trim();
  return value === undefined || value === "" ? undefined : value;
}

function list(settings: Settings, field: SettingName): string[] {
  const text = read(settings, field);
  if (text === undefined) return [];
  const items = text.split(",").map((item) => item.trim());
  if (items.includes("")) throw invalid(field, "has an empty entry");
  return items;
}
