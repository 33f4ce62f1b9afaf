/** The table of commands: parsing, help and shell completion are all made from it. */
export interface OptionSpec {
  readonly name: string;
  readonly short?: string;
  /** What its value is called; an option without one is a switch. */
  readonly value?: string;
  /** May be given several times. */
  readonly multiple?: boolean;
  /** The words that its value can be, for completion. */
  readonly choices?: readonly string[];
  readonly help: string;
}

export interface CommandSpec {
  /** For example `["stream", "create"]`. */
  readonly path: readonly string[];
  /** What follows it; `[X]` may be left out. */
  readonly args: readonly string[];
  readonly summary: string;
  /** More lines for its own help. */
  readonly details?: string;
  readonly options?: readonly OptionSpec[];
  /** For programs, not for people: no help names it. */
  readonly hidden?: boolean;
  /** Without a server: the options of the connection are not shown. */
  readonly local?: boolean;
  /** Each command loads its own part of the program. */
  readonly load: () => Promise<Run>;
}

export type Run = (context: import("./context.ts").Context) => Promise<number | undefined>;

export const globalOptions: readonly OptionSpec[] = [
  { name: "json", help: "print JSON instead of tables" },
  { name: "help", short: "h", help: "show this help" },
];

export const connectionOptions: readonly OptionSpec[] = [
  { name: "url", value: "URL", help: "the server (SERVICE_URL; http://127.0.0.1:8080)" },
  { name: "api-key", value: "KEY", help: "the credential (SERVICE_API_KEY, or in a file: SERVICE_API_KEY_FILE)" },
  { name: "ca-file", value: "FILE", help: "also trust this certificate (PEM), of a server or a CA (SERVICE_CA_FILE)" },
  { name: "namespace", short: "n", value: "NAME", help: "the namespace (SERVICE_NAMESPACE; default)" },
];

export const dataDir: OptionSpec = {
  name: "data-dir",
  value: "FOLDER",
  help: "the data directory (SERVICE_DATA_DIR; ./data)",
};

/** Those that mean the same to every command that has them, and so may stand before it. */
export const commonOptions: readonly OptionSpec[] = [...connectionOptions, dataDir, ...globalOptions];

export function optionsOf(spec: CommandSpec): readonly OptionSpec[] {
  return [...(spec.options ?? []), ...(spec.local ? [] : connectionOptions), ...globalOptions];
}

export const exitCodes = {
  done: 0,
  /** The server refused, or data are not as they must be. */
  failed: 1,
  /** The command line can't be understood. */
  usage: 2,
  /** The server can't be reached or has no room now: try again. */
  unavailable: 3,
  /** No credential, or one that may not do this. */
  denied: 4,
  notFound: 5,
  interrupted: 130,
} as const;

export const exitCodesHelp = `Exit codes: 0 done, 1 failed, 2 the command line is wrong, 3 the server is unavailable (try again),
4 not signed in or not allowed, 5 not found, 130 interrupted.`;
