import { nearest, nearestOption } from "../composition/config/nearest.ts";
import { version } from "../composition/version.ts";
import { commands } from "./commands.ts";
import {
  type CommandSpec,
  commonOptions,
  connectionOptions,
  exitCodesHelp,
  globalOptions,
  type OptionSpec,
} from "./spec.ts";

const nameWidth = 34;

function optionLine({ name, short, value, help, choices }: OptionSpec): string {
  const left = `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
  const words = choices === undefined ? "" : ` (${choices.join(", ")})`;
  return `  ${left.padEnd(nameWidth)} ${help}${words}`;
}

function usageLine({ path, args }: CommandSpec): string {
  return ["native-engine", ...path, ...args].join(" ");
}

export function commandHelp(spec: CommandSpec): string {
  const { options = [], details, local } = spec;
  const parts = [`${usageLine(spec)}\n\n${spec.summary}.\n`];
  if (details !== undefined) parts.push(`${details.trim()}\n`);
  if (options.length > 0) parts.push(`Options:\n${options.map(optionLine).join("\n")}\n`);
  const common = [...(local ? [] : connectionOptions), ...globalOptions];
  parts.push(`Common options:\n${common.map(optionLine).join("\n")}\n`);
  parts.push(`${exitCodesHelp}\n`);
  return parts.join("\n");
}

export function groupHelp(name: string, group: readonly CommandSpec[]): string {
  const lines = group.map((spec) => `  ${usageLine(spec).slice("native-engine ".length).padEnd(44)} ${spec.summary}`);
  return `native-engine ${name} …\n\n${lines.join("\n")}\n\nEach has its own --help.\n`;
}

/** The first words of all commands; `serve` alone is not in the table. */
export const firstWords: readonly string[] = [...new Set(["serve", ...commands.map(({ path }) => path[0]!)])];

/** Every command on a line. */
function commandList(): string {
  const groups = new Map<string, CommandSpec[]>();
  for (const spec of commands.filter(({ hidden }) => !hidden))
    groups.set(spec.path[0]!, [...(groups.get(spec.path[0]!) ?? []), spec]);
  const lines = [...groups].map(([name, group]) => {
    const [first] = group;
    if (group.length === 1 && first!.path.length === 1) return [[name, ...first!.args].join(" "), first!.summary];
    const words = [...new Set(group.map(({ path }) => path[1]!))].join(", ");
    return [`${name} …`, words];
  });
  return [["serve [flags]", "run the server"], ...lines]
    .map(([words, summary]) => `  native-engine ${words!.padEnd(30)} ${summary![0]!.toLowerCase()}${summary!.slice(1)}`)
    .join("\n");
}

/** What to say to a first word that is no command. */
export function unknownCommand(word: string): string {
  const isOption = word.startsWith("-");
  const name = isOption ? word.replace(/=.*/s, "") : word;
  const meant = isOption ? nearestOption(name, commonOptions) : nearest(name, firstWords);
  const what = isOption ? "unknown option" : "unknown command";
  const wrong = `native-engine: ${what} ${name}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
  return `${wrong}\n\n${commandList()}\n\nSee native-engine --help\n`;
}

/** What somebody needs who has typed nothing but the name. */
export const shortHelp = `native-engine: no command given

  native-engine serve                       run the server on http://127.0.0.1:8080, with its data in ./data
  native-engine ns create NAME              create a namespace, then streams and collections in it:
  native-engine stream create NAME -n NS
  native-engine stream append NAME FILE     records from a file or standard input
  native-engine import FILE -c NAME         documents from JSONL, CSV or Parquet
  native-engine query NAME -t FIELD:WORDS   search a collection
  native-engine sql                         run SQL

native-engine --help lists all commands; each has its own --help.
`;

export function serveHelp(settings: string): string {
  return `native-engine serve [flags]

Run the server until SIGTERM or SIGINT. Without flags it listens on http://127.0.0.1:8080, keeps its data in ./data and needs
no credentials, which it allows on loopback addresses only.

Flags override environment variables, which override the configuration file:
${settings}

Authentication is set by variables only (SERVICE_AUTH_MODE and others, see docs/security.md). A secret can come from a file: NAME_FILE.
`;
}

export function mainHelp(settings: string): string {
  return `native-engine ${version}: durable streams, hybrid search and SQL in one process

${commandList()}
  native-engine ${"--help".padEnd(30)} show this help; every command has its own
  native-engine ${"--version".padEnd(30)} print the version

Options of the commands that talk to a server:
${[...connectionOptions, ...globalOptions].map(optionLine).join("\n")}

${exitCodesHelp}

Flags of serve (flags override environment variables, which override the configuration file):
${settings}
`;
}
