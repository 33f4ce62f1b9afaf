import { isTableSchema } from "../../engine/sql/columns.ts";
import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";
import { type IntervalStyle, intervalStyles, isIntervalStyle } from "./value/interval.ts";
import type { TextStyle } from "./value/text.ts";

interface Known {
  readonly name: string;
  readonly value: string;
  /** Told to the client at the start and with each change. */
  readonly reported?: true;
  readonly isFixed?: true;
  /** Checks a new value, and gives it the form that it is kept in. */
  readonly parse?: (text: string) => string;
  readonly help?: string;
}

/** What clients set and show. Most have no effect here: they are kept, so that a client finds again what it has set. */
function knownSettings(serverVersion: string): readonly Known[] {
  return [
    { name: "server_version", value: serverVersion, reported: true, isFixed: true },
    { name: "server_version_num", value: "150000", isFixed: true },
    { name: "server_encoding", value: "UTF8", reported: true, isFixed: true },
    { name: "client_encoding", value: "UTF8", reported: true, parse: encoding },
    { name: "application_name", value: "", reported: true },
    { name: "DateStyle", value: "ISO, MDY", reported: true, parse: dateStyle },
    { name: "IntervalStyle", value: "postgres", reported: true, parse: intervalStyle },
    { name: "TimeZone", value: "UTC", reported: true, parse: timeZone },
    { name: "integer_datetimes", value: "on", reported: true, isFixed: true },
    { name: "standard_conforming_strings", value: "on", reported: true, parse: alwaysOn },
    { name: "is_superuser", value: "off", reported: true, isFixed: true },
    { name: "session_authorization", value: "", reported: true, isFixed: true },
    { name: "default_transaction_read_only", value: "on", reported: true },
    { name: "in_hot_standby", value: "off", reported: true, isFixed: true },
    { name: "search_path", value: "collections" },
    { name: "statement_timeout", value: "0", parse: duration },
    { name: "lock_timeout", value: "0", parse: duration },
    { name: "idle_in_transaction_session_timeout", value: "0", parse: duration },
    { name: "idle_session_timeout", value: "0", parse: duration },
    { name: "extra_float_digits", value: "1" },
    { name: "bytea_output", value: "hex" },
    { name: "client_min_messages", value: "notice" },
    { name: "log_min_messages", value: "warning" },
    { name: "transaction_read_only", value: "on" },
    { name: "transaction_isolation", value: "read committed" },
    { name: "transaction_deferrable", value: "off" },
    { name: "default_transaction_isolation", value: "read committed" },
    { name: "default_transaction_deferrable", value: "off" },
    { name: "session_replication_role", value: "origin" },
    { name: "synchronous_commit", value: "on" },
    { name: "row_security", value: "on" },
    { name: "check_function_bodies", value: "on" },
    { name: "default_table_access_method", value: "heap" },
    { name: "default_tablespace", value: "" },
    { name: "escape_string_warning", value: "on" },
    { name: "synchronize_seqscans", value: "on" },
    { name: "backslash_quote", value: "safe_encoding" },
    { name: "array_nulls", value: "on" },
    { name: "xmloption", value: "content" },
    { name: "jit", value: "off" },
    { name: "work_mem", value: "4MB" },
    { name: "max_parallel_workers_per_gather", value: "0" },
    { name: "geqo", value: "on" },
    { name: "enable_seqscan", value: "on" },
    { name: "enable_nestloop", value: "on" },
    { name: "password_encryption", value: "scram-sha-256" },
    { name: "lc_collate", value: "C.UTF-8", isFixed: true },
    { name: "lc_ctype", value: "C.UTF-8", isFixed: true },
    { name: "lc_messages", value: "C.UTF-8" },
    { name: "lc_monetary", value: "C.UTF-8" },
    { name: "lc_numeric", value: "C.UTF-8" },
    { name: "lc_time", value: "C.UTF-8" },
    { name: "max_identifier_length", value: "63", isFixed: true },
    { name: "max_index_keys", value: "32", isFixed: true },
    { name: "max_connections", value: "500", isFixed: true },
    { name: "block_size", value: "8192", isFixed: true },
    { name: "ssl", value: "off", isFixed: true },
    { name: "service.consistency", value: "strong", parse: consistency },
    { name: "service.consistency_token", value: "[]" },
  ];
}

export class Settings {
  readonly #known = new Map<string, Known>();
  #values = new Map<string, string>();
  #names = new Map<string, string>();
  /** What a rollback brings back, and what `SET LOCAL` has hidden. */
  #before: { readonly values: Map<string, string>; readonly locals: Map<string, string | undefined> } | undefined;

  constructor(serverVersion: string, user: string) {
    for (const known of knownSettings(serverVersion)) this.#known.set(known.name.toLowerCase(), known);
    this.#known.set("session_authorization", { ...this.#known.get("session_authorization")!, value: user });
    for (const { name } of this.#known.values()) this.#names.set(name.toLowerCase(), name);
  }

  /** All that the client is sent at its start. */
  get reported(): readonly (readonly [string, string])[] {
    return [...this.#known.values()].filter(({ reported }) => reported).map(({ name }) => [name, this.get(name)!]);
  }

  get all(): readonly (readonly [string, string])[] {
    return [...this.#names.values()].sort().map((name) => [name, this.get(name) ?? ""]);
  }

  get(name: string): string | undefined {
    const key = name.toLowerCase();
    return this.#values.get(key) ?? this.#known.get(key)?.value;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** The name that clients see, for a setting whose changes are reported to them. */
  reportedName(name: string): string | undefined {
    const known = this.#known.get(name.toLowerCase());
    return known?.reported === true ? known.name : undefined;
  }

  /** Undefined is the default. */
  set(name: string, value: string | undefined, isLocal: boolean): void {
    const key = name.toLowerCase();
    const known = this.#known.get(key);
    // As in Postgres, a name with a point is anyone's.
    if (known === undefined && !name.includes(".")) throw unknownSetting(name);
    if (known?.isFixed === true && value !== known.value) {
      throw new PostgresError("55P02", `parameter "${known.name}" cannot be changed`);
    }
    if ((value?.length ?? 0) > postgresLimits.settingCharactersMax) {
      throw new PostgresError("22023", `the value of "${name}" is too long`);
    }
    if (!this.#names.has(key) && this.#names.size >= postgresLimits.settingsMax) {
      throw new PostgresError("54000", `a session has at most ${postgresLimits.settingsMax} settings`);
    }
    const parsed = value === undefined ? undefined : (known?.parse?.(value) ?? value);
    // Outside of a transaction it has no effect, as in Postgres.
    if (isLocal && this.#before === undefined) return;
    if (isLocal && !this.#before!.locals.has(key)) this.#before!.locals.set(key, this.#values.get(key));
    if (!isLocal) this.#before?.locals.delete(key);
    if (!this.#names.has(key)) this.#names.set(key, name);
    if (parsed === undefined) this.#values.delete(key);
    else this.#values.set(key, parsed);
  }

  resetAll(): void {
    this.#values.clear();
  }

  begin(): void {
    this.#before ??= { values: new Map(this.#values), locals: new Map() };
  }

  end(isCommitted: boolean): void {
    const before = this.#before;
    this.#before = undefined;
    if (before === undefined) return;
    if (!isCommitted) {
      this.#values = before.values;
      return;
    }
    for (const [key, value] of before.locals) {
      if (value === undefined) this.#values.delete(key);
      else this.#values.set(key, value);
    }
  }

  /** The schemas in which a bare name is looked for. Where none of those that are set exists, it is a collection. */
  get searchPath(): readonly string[] {
    const names = this.get("search_path")!
      .split(",")
      .map((name) => name.trim().replace(/^"(.*)"$/s, "$1"));
    const known = [...new Set(names)].filter((name) => isTableSchema(name));
    const isNowhere = names.every((name) => name === "" || name === "pg_catalog" || name === "pg_temp");
    return known.length > 0 || isNowhere ? known : ["collections"];
  }

  /** How values are written as text. */
  get textStyle(): TextStyle {
    return { interval: intervalStyles[this.get("IntervalStyle") as IntervalStyle] };
  }

  /** 0 is none. */
  get statementTimeoutMs(): number {
    return durationMs(this.get("statement_timeout")!);
  }
}

export function unknownSetting(name: string): PostgresError {
  return new PostgresError("42704", `unrecognized configuration parameter "${name}"`);
}

function invalidValue(name: string, value: string, hint?: string): PostgresError {
  return new PostgresError("22023", `invalid value for parameter "${name}": "${value}"`, { hint });
}

function encoding(value: string): string {
  const name = value.replace(/[-_ '"]/g, "").toUpperCase();
  if (name === "UTF8" || name === "UNICODE" || name === "DEFAULT") return "UTF8";
  // It asks for bytes as they are, and those are UTF-8.
  if (name === "SQLASCII") return "SQL_ASCII";
  throw invalidValue("client_encoding", value, "All text is UTF-8; set client_encoding to UTF8.");
}

function dateStyle(value: string): string {
  const words = value.toLowerCase().split(/[\s,]+/);
  if (words.some((word) => !/^(?:iso|mdy|dmy|ymd|us|european|euro|noneuro|default)$/.test(word))) {
    throw invalidValue("DateStyle", value, "Dates are given in the ISO style.");
  }
  const order = words.includes("dmy") || words.includes("european") ? "DMY" : words.includes("ymd") ? "YMD" : "MDY";
  return `ISO, ${order}`;
}

function intervalStyle(value: string): string {
  const name = value.toLowerCase();
  if (isIntervalStyle(name)) return name;
  throw invalidValue("IntervalStyle", value, `Available values: ${Object.keys(intervalStyles).join(", ")}.`);
}

/** Every zone that there is may be set; instants are given in UTC with their offset, which every client understands. */
function timeZone(value: string): string {
  if (/^[-+]?\d{1,2}(?::?\d{2})?$/.test(value)) return "UTC";
  try {
    new Intl.DateTimeFormat("en", { timeZone: value });
  } catch {
    if (!/^(?:local|default)$/i.test(value)) throw invalidValue("TimeZone", value);
  }
  return "UTC";
}

function alwaysOn(value: string): string {
  if (/^(?:on|true|yes|1)$/i.test(value)) return "on";
  throw invalidValue("standard_conforming_strings", value, "A backslash in a plain string is a backslash.");
}

function consistency(value: string): string {
  if (value === "strong" || value === "eventual") return value;
  throw invalidValue("service.consistency", value, "It is strong or eventual.");
}

const unitsMs: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

function durationMs(value: string): number {
  const [, amount = "0", unit = ""] = /^\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?\s*$/.exec(value) ?? [];
  return Math.ceil(Number(amount) * (unitsMs[unit === "" ? "ms" : unit] ?? 1));
}

function duration(value: string): string {
  if (!/^\s*\d+(?:\.\d+)?\s*(?:us|ms|s|min|h|d)?\s*$/.test(value) || durationMs(value) > 2 ** 31 - 1) {
    throw invalidValue(
      "statement_timeout",
      value,
      'Give milliseconds, or a number with "us", "ms", "s", "min", "h" or "d".',
    );
  }
  return value.trim();
}
