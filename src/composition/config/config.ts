import { readFileSync } from "node:fs";
import { type AuthConfig, authSettings, parseAuthConfig } from "../../edge/auth/config.ts";
import { invalid } from "../../engine/errors.ts";
import { type ClusterSecrets, checkCluster, loadClusterSecrets } from "./cluster.ts";
import { nearest } from "./nearest.ts";
import { type Setting, settings } from "./settings.ts";
import { formatDuration } from "./values.ts";

type Settings = typeof settings;

export type Config = { readonly [K in keyof Settings]: Settings[K] extends Setting<infer T> ? T : never };

export interface ConfigSources {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

const configFlag = "config";

const configEnv = "SERVICE_CONFIG_FILE";

export type ServerConfig = Config & ClusterSecrets & { readonly auth: AuthConfig };

/** Everything that `serve` needs. */
export function loadServerConfig(sources: ConfigSources): ServerConfig {
  const config = { ...loadConfig(sources), auth: parseAuthConfig(withSecretFiles(sources.env)) };
  if (config.clusterLog === undefined) return config;
  checkCluster(config.clusterObjects, config.auth.modes);
  return { ...config, ...loadClusterSecrets(config.clusterLog, config.clusterObjects, sources.env, readSecret) };
}

/** The variables of authentication; a secret may be in a file that `NAME_FILE` names. */
function withSecretFiles(env: ConfigSources["env"]): Record<string, string | undefined> {
  const values: Record<string, string | undefined> = {};
  for (const [name, { secret }] of Object.entries(authSettings)) {
    // A variable that is empty is none, here as everywhere.
    const file = secret ? env[`${name}_FILE`] || undefined : undefined;
    if (file !== undefined && env[name]) throw invalid(name, `is given twice: also as ${name}_FILE`);
    values[name] = file === undefined ? env[name] : readSecret(`${name}_FILE`, file);
  }
  return values;
}

export function readSecret(field: string, path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    throw invalid(field, `${path} can't be read: ${(error as Error).message}`);
  }
}

export function loadConfig({ argv, env }: ConfigSources): Config {
  const flags = parseFlags(argv);
  const fileName = flags.get(configFlag) ?? (env[configEnv] || undefined);
  const file = fileName === undefined ? new Map<string, string>() : readConfigFile(fileName);
  const config: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(settings) as [string, Setting<unknown>][]) {
    config[name] = resolve(each, flags, env, file);
  }
  const loaded = config as unknown as Config;
  if ((loaded.tlsCertFile === undefined) !== (loaded.tlsKeyFile === undefined)) {
    throw invalid("SERVICE_TLS_CERT_FILE", "TLS needs both SERVICE_TLS_CERT_FILE and SERVICE_TLS_KEY_FILE");
  }
  return loaded;
}

function resolve(
  setting: Setting<unknown>,
  flags: ReadonlyMap<string, string>,
  env: ConfigSources["env"],
  file: ReadonlyMap<string, string>,
): unknown {
  const { flag, env: variable, parse, fallback } = setting;
  const fromFlag = flag === undefined ? undefined : flags.get(flag);
  if (fromFlag !== undefined) return parse(fromFlag, `--${flag}`);
  const fromEnv = env[variable];
  if (fromEnv !== undefined && fromEnv !== "") return parse(fromEnv, variable);
  const fromFile = flag === undefined ? undefined : file.get(flag);
  return fromFile === undefined ? fallback : parse(fromFile, `${flag} in the configuration file`);
}

function knownFlags(): string[] {
  const names = Object.values(settings as Record<string, Setting<unknown>>).flatMap(({ flag }) => flag ?? []);
  return [...names, configFlag].sort();
}

function parseFlags(argv: readonly string[]): Map<string, string> {
  const known = knownFlags();
  const flags = new Map<string, string>();
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i]!;
    const match = /^--([a-z0-9-]+)(?:=(.*))?$/s.exec(argument);
    if (match === null || !known.includes(match[1]!)) {
      const valid = known.map((name) => `--${name}`);
      const meant = nearest(argument.replace(/=.*/s, ""), valid);
      const guess = meant === undefined ? "" : `did you mean ${meant}? `;
      throw invalid(argument, `unknown argument; ${guess}valid flags are ${valid.join(", ")}`);
    }
    const value = match[2] ?? argv[++i];
    if (value === undefined) throw invalid(argument, "needs a value");
    if (flags.has(match[1]!)) throw invalid(argument, "is given twice");
    flags.set(match[1]!, value);
  }
  return flags;
}

function readConfigFile(path: string): Map<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw invalid(configFlag, `${path} can't be read as JSON: ${(error as Error).message}`);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw invalid(configFlag, `${path} must hold a JSON object`);
  }
  const known = knownFlags().filter((name) => name !== configFlag);
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(parsed)) {
    if (!known.includes(name)) throw invalid(name, `unknown setting in ${path}; valid ones are ${known.join(", ")}`);
    // Settings that hold more than one value are JSON in every source, so here they need no quotes.
    const plain = typeof value === "string" || typeof value === "number";
    if (!plain && (typeof value !== "object" || value === null)) {
      throw invalid(name, "must be a string, a number, an object or an array");
    }
    values.set(name, plain ? String(value) : JSON.stringify(value));
  }
  return values;
}

/** What holds without the setting, where its help does not tell already. */
function fallbackHelp({ help, value, fallback }: Setting<unknown>): string {
  if (/unless set|without it/.test(help)) return "";
  if (typeof fallback === "number") return `; ${value === "DURATION" ? formatDuration(fallback) : fallback} unless set`;
  return typeof fallback === "string" ? `; ${fallback} unless set` : "";
}

/** Every setting with what holds without it, for help and for the page that lists them. */
export function settingsTable(): { flag: string | undefined; env: string; value: string; help: string }[] {
  return Object.values(settings as Record<string, Setting<unknown>>).map((each) => ({
    flag: each.flag,
    env: each.env,
    value: each.value,
    help: each.help + fallbackHelp(each),
  }));
}

export function settingsHelp(): string {
  const rows = settingsTable().map(({ flag, env, value, help }) => {
    const left = flag === undefined ? "" : `--${flag} ${value}`;
    return `  ${left.padEnd(40)} ${help} (${env})`;
  });
  return [
    ...rows,
    `  ${`--${configFlag} FILE`.padEnd(40)} settings as a JSON object, flag names as keys (${configEnv})`,
  ].join("\n");
}
