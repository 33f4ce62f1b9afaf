import { invalid } from "../errors.ts";

export interface PushSettings {
  readonly gatewayUrl: string;
  /** Platform to application id. */
  readonly appIds: Readonly<Record<string, string>>;
  readonly unifiedpush: boolean;
}

export interface InstanceSettings {
  readonly name: string;
  readonly push?: PushSettings;
  readonly minAppVersions: Readonly<Record<string, string>>;
}

export const defaultInstanceSettings: InstanceSettings = { name: "native-engine", minAppVersions: {} };

const displayNameLengthMax = 200;
const pushPlatforms = ["ios", "android"];
const appPlatforms = ["ios", "android", "desktop"];

type Members = Readonly<Record<string, unknown>>;

function members(field: string, value: unknown, allowed: readonly string[]): Members {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(field, "must be an object");
  for (const key of Object.keys(value)) {
    if (!allowed.includes(key)) throw invalid(`${field}.${key}`, `unknown; known are ${allowed.join(", ")}`);
  }
  return value as Members;
}

function texts(field: string, value: unknown, allowed: readonly string[]): Readonly<Record<string, string>> {
  const body = members(field, value, allowed);
  for (const [key, text] of Object.entries(body)) {
    if (typeof text !== "string" || text === "") throw invalid(`${field}.${key}`, "must be a text that is not empty");
  }
  return body as Readonly<Record<string, string>>;
}

export function parsePush(field: string, value: unknown): PushSettings {
  const push = members(field, value, ["gatewayUrl", "appIds", "unifiedpush"]);
  const { gatewayUrl, unifiedpush = false } = push;
  if (typeof gatewayUrl !== "string" || !URL.canParse(gatewayUrl)) {
    throw invalid(`${field}.gatewayUrl`, "must be an absolute address");
  }
  if (typeof unifiedpush !== "boolean") throw invalid(`${field}.unifiedpush`, "must be true or false");
  return { gatewayUrl, unifiedpush, appIds: texts(`${field}.appIds`, push["appIds"] ?? {}, pushPlatforms) };
}

export function parseInstanceName(field: string, value: string): string {
  const name = value.trim();
  if (name === "" || name.length > displayNameLengthMax) {
    throw invalid(field, `must be a text of 1 to ${displayNameLengthMax} characters`);
  }
  return name;
}

export function parseMinAppVersions(field: string, value: unknown): Readonly<Record<string, string>> {
  return texts(field, value, appPlatforms);
}
