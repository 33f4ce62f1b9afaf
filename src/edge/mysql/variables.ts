import { mysqlError } from "./error.ts";
import { isKnownVariable } from "./known-variables.ts";
import { mysqlLimits } from "./limits.ts";
import type { Cell } from "./rows.ts";
import { defaults, type ServerFacts, type Value } from "./variable-defaults.ts";

const wordOnOff: Readonly<Record<string, number>> = { ON: 1, OFF: 0, TRUE: 1, FALSE: 0, YES: 1, NO: 0 };

/** Shown as ON and OFF by SHOW, and as 1 and 0 by `@@`. */
const switches = new Set([
  "autocommit",
  "foreign_key_checks",
  "unique_checks",
  "sql_auto_is_null",
  "sql_safe_updates",
  "sql_log_bin",
  "sql_notes",
  "sql_warnings",
  "performance_schema",
  "read_only",
  "super_read_only",
  "transaction_read_only",
  "tx_read_only",
  "big_tables",
  "low_priority_updates",
  "explicit_defaults_for_timestamp",
]);

/** Facts of the server, which no session changes. */
const fixed = new Set([
  "version",
  "version_comment",
  "version_compile_os",
  "version_compile_machine",
  "hostname",
  "port",
  "protocol_version",
  "license",
  "server_id",
  "server_uuid",
  "socket",
  "datadir",
  "system_time_zone",
  "lower_case_table_names",
  "have_ssl",
  "have_openssl",
  "performance_schema",
  "character_set_system",
  "read_only",
  "super_read_only",
  "max_connections",
]);

const aliases: Readonly<Record<string, string>> = {
  tx_isolation: "transaction_isolation",
  tx_read_only: "transaction_read_only",
};

/** One session's variables. */
export class Variables {
  readonly #facts: ServerFacts;
  readonly #defaults: Readonly<Record<string, Value>>;
  readonly #set = new Map<string, Value>();
  readonly #user = new Map<string, Cell>();

  constructor(facts: ServerFacts) {
    this.#facts = facts;
    this.#defaults = defaults(facts);
  }

  reset(): void {
    this.#set.clear();
    this.#user.clear();
  }

  /** `x`, `session.x` or `global.x`. */
  get(name: string): Value {
    const { scope, key } = split(name);
    const value = scope === "global" ? undefined : this.#set.get(key);
    if (value !== undefined) return value;
    if (!Object.hasOwn(this.#defaults, key)) throw unknownVariable(key);
    return this.#defaults[key]!;
  }

  set(name: string, input: Value | undefined): void {
    const { scope, key } = split(name);
    if (scope === "global" || scope === "persist" || scope === "persist_only") {
      throw mysqlError("privilegeNeeded", "Access denied; settings of the server are not changed by SQL");
    }
    if (!Object.hasOwn(this.#defaults, key) && !isKnownVariable(key)) throw unknownVariable(key);
    if (fixed.has(key)) throw mysqlError("readOnlyVariable", `Variable '${key}' is a read only variable`);
    if (input === undefined) {
      this.#set.delete(key);
      return;
    }
    this.#checkRoom(this.#set, key, input);
    this.#set.set(key, check(key, normal(key, input)));
    const alias = Object.entries(aliases).find(([from, to]) => key === from || key === to);
    for (const each of alias ?? []) this.#set.set(each, this.#set.get(key)!);
  }

  userVariable(name: string): Cell {
    return this.#user.get(name.toLowerCase()) ?? null;
  }

  setUserVariable(name: string, value: Cell): void {
    const key = name.toLowerCase();
    this.#checkRoom(this.#user, key, value);
    this.#user.set(key, value);
  }

  #checkRoom(among: ReadonlyMap<string, Cell>, key: string, value: Cell): void {
    const { sessionVariablesMax, variableCharactersMax, variablesCharactersMax } = mysqlLimits;
    if (key.length + lengthOf(value) > variableCharactersMax) {
      throw mysqlError("wrongValue", `The value of ${key.slice(0, 64)} is too long`);
    }
    let characters = key.length + lengthOf(value);
    for (const [name, each] of [...this.#set, ...this.#user]) characters += name.length + lengthOf(each);
    const isFull = among.size >= sessionVariablesMax && !among.has(key);
    if (isFull || characters > variablesCharactersMax) throw mysqlError("limitReached", "Too many variables are set");
  }

  /** As SHOW VARIABLES lists them. */
  list(): [string, string][] {
    const names = new Set([...Object.keys(this.#defaults), ...this.#set.keys()]);
    return [...names].sort().map((name) => {
      const value = this.get(name);
      if (switches.has(name) && (value === 0 || value === 1)) return [name, value === 1 ? "ON" : "OFF"];
      return [name, String(value ?? "")];
    });
  }

  get facts(): ServerFacts {
    return this.#facts;
  }

  /** The session's distance from UTC. */
  get offsetMicros(): bigint {
    const match = /^([+-])(\d{1,2}):(\d{2})$/.exec(String(this.get("time_zone")));
    if (match === null) return 0n;
    const minutes = BigInt(Number(match[2]) * 60 + Number(match[3])) * 60_000_000n;
    return match[1] === "-" ? -minutes : minutes;
  }

  get ansiQuotes(): boolean {
    return this.#modes.some((mode) => mode === "ANSI_QUOTES" || mode === "ANSI");
  }

  get noBackslashEscapes(): boolean {
    return this.#modes.includes("NO_BACKSLASH_ESCAPES");
  }

  get #modes(): string[] {
    return String(this.get("sql_mode")).toUpperCase().split(",");
  }
}

function unknownVariable(key: string) {
  return mysqlError("unknownVariable", `Unknown system variable '${key.slice(0, 64)}'`);
}

function lengthOf(value: Cell): number {
  return typeof value === "string" ? value.length : 0;
}

function split(name: string): { scope: string; key: string } {
  const dot = name.indexOf(".");
  const key = name.slice(dot + 1).toLowerCase();
  return { scope: dot === -1 ? "session" : name.slice(0, dot).toLowerCase(), key };
}

function normal(key: string, input: Value): Value {
  if (typeof input === "string") {
    if (switches.has(key)) return wordOnOff[input.toUpperCase()] ?? input;
    if (/^\d{1,15}$/.test(input)) return Number(input);
  }
  return input;
}

const characterSets = ["utf8", "utf8mb3", "utf8mb4", "ascii", "binary"];

export function checkCharacterSet(input: Value): void {
  if (input !== null && !characterSets.includes(String(input).toLowerCase())) {
    throw mysqlError("unknownCharacterSet", `Unknown character set: '${input}'; this server speaks utf8mb4 only`);
  }
}

/** A setting that changes how values are shown must be one that is supported. */
function check(key: string, value: Value): Value {
  if (key === "character_set_client" || key === "character_set_results" || key === "character_set_connection") {
    checkCharacterSet(value);
  }
  if (key === "time_zone" && !isZone(String(value))) {
    throw mysqlError("unknownTimeZone", `Unknown or incorrect time zone: '${value}'; give UTC or +HH:MM`);
  }
  return value;
}

function isZone(text: string): boolean {
  if (/^(?:SYSTEM|UTC|GMT|Z|Etc\/UTC)$/i.test(text)) return true;
  const match = /^[+-](\d{1,2}):([0-5]\d)$/.exec(text);
  return match !== null && Number(match[1]) <= 14;
}
