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
  /** Without a server: the options of the connection are not shown. */
  readonly local?: boolean;
  /** Each command loads its own part of the program. */
  readonly load: () => Promise<Run>;
}

export type Run = (context: import("./context.ts").Context) => Promise<number | undefined>;

export const globalOptions: readonly OptionSpec[] = [
  { name: "json", help: "JSON in place of tables" },
  { name: "help", short: "h", help: "this text" },
];

export const connectionOptions: readonly OptionSpec[] = [
  { name: "url", value: "URL", help: "the server (SERVICE_URL; http://127.0.0.1:8080)" },
  { name: "api-key", value: "KEY", help: "the credential (SERVICE_API_KEY, or a file: SERVICE_API_KEY_FILE)" },
  { name: "ca-file", value: "FILE", help: "trust this certificate too, of a server or an authority (SERVICE_CA_FILE)" },
  { name: "namespace", short: "n", value: "NAME", help: "the namespace (SERVICE_NAMESPACE; default)" },
];

/** Other words for the first word of a command; alone they list. */
const groupNames: Readonly<Record<string, string>> = {
  namespace: "ns",
  namespaces: "ns",
  streams: "stream",
  links: "link",
  collections: "collection",
  documents: "document",
};

/**
 * The command line as the table knows it: options that stand before the command go behind it, and `streams` is `stream list`,
 * `streams get` is `stream get`.
 */
export function normalised(argv: readonly string[]): readonly string[] {
  const options = [...connectionOptions, ...globalOptions];
  let at = 0;
  while (at < argv.length && argv[at]!.startsWith("-")) {
    const [, name, short, inline] = /^(?:--([\w-]+)|-(\w))(=.*)?$/s.exec(argv[at]!) ?? [];
    const option = options.find((each) => each.name === name || (short !== undefined && each.short === short));
    if (option === undefined || option.name === "help") break;
    at += option.value === undefined || inline !== undefined ? 1 : 2;
  }
  const [first, ...rest] = argv.slice(at);
  if (first === undefined || first.startsWith("-")) return argv;
  const group = groupNames[first];
  const isAlone = group !== undefined && first.endsWith("s") && group !== "document" && !/^\w/.test(rest[0] ?? "");
  return [group ?? first, ...(isAlone ? ["list"] : []), ...rest, ...argv.slice(0, at)];
}

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
