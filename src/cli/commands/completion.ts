import { UsageError } from "../command.ts";
import { commands } from "../commands.ts";
import type { Context } from "../context.ts";
import { otherCommandNames } from "../help.ts";
import { optionsOf, type Run } from "../spec.ts";

export const completion: Run = async (context) => {
  if (context.arg(0) === "names") return await names(context, context.args[1] ?? "");
  if (context.args.length > 1) throw new UsageError(`${context.arg(1)} is too much`);
  const shells: Readonly<Record<string, () => string>> = { bash, zsh, fish };
  const make = shells[context.arg(0)];
  if (make === undefined) throw new UsageError(`the shell must be one of ${Object.keys(shells).join(", ")}`);
  await context.out.write(make());
  return undefined;
};

/** How long a shell waits for names, which it asks for while somebody types. */
const namesMsMax = 2_000;

/** The names that there are, a line each; none where the server can't be asked. */
async function names(context: Context, kind: string): Promise<undefined> {
  const client = context.clientWith({ retry: { attemptsMax: 1 }, attemptMs: namesMsMax });
  const namespace = client.namespace(context.namespaceName);
  const kinds: Readonly<Record<string, () => AsyncIterable<Named> | Promise<Iterable<Named>>>> = {
    namespaces: () => client.namespaces(),
    streams: () => namespace.streams(),
    links: () => namespace.links(),
    collections: () => namespace.collections(),
  };
  const list = kinds[kind];
  if (list === undefined) throw new UsageError(`the kind must be one of ${Object.keys(kinds).join(", ")}`);
  for await (const { name } of await list()) await context.out.line(name);
  return undefined;
}

interface Named {
  readonly name: string;
}

/** What the first word after a command names. */
const namedKinds: Readonly<Record<string, string>> = {
  "ns get|ns delete": "namespaces",
  "stream get|stream delete|stream retention|stream append|stream tail": "streams",
  "link get|link delete": "links",
  "collection get|collection drop|collection fields|collection versions": "collections",
  "document get|document put|document edit|document count|document delete": "collections",
};

function firstWords(): string[] {
  return [...new Set([...otherCommandNames, ...commands.map(({ path }) => path[0]!)])];
}

function secondWords(): ReadonlyMap<string, string[]> {
  const words = new Map<string, string[]>();
  for (const { path } of commands) {
    if (path.length === 2) words.set(path[0]!, [...(words.get(path[0]!) ?? []), path[1]!]);
  }
  return words;
}

/** The words of the command line so far choose what may follow. */
function bash(): string {
  const groups = [...secondWords()].map(([name, words]) => `    ${name}) words="${words.join(" ")}" ;;`);
  const options = commands.map(
    (spec) =>
      `    "${spec.path.join(" ")}") words="${optionsOf(spec)
        .map(({ name }) => `--${name}`)
        .join(" ")}" ;;`,
  );
  const choices = new Map<string, Set<string>>();
  for (const { options: own = [] } of commands) {
    for (const { name, choices: given = [] } of own) {
      if (given.length > 0) choices.set(name, new Set([...(choices.get(name) ?? []), ...given]));
    }
  }
  const values = [...choices].map(([name, words]) => `    --${name}) words="${[...words].join(" ")}" ;;`);
  const kinds = Object.entries(namedKinds).map(
    ([paths, kind]) => `    "${paths.replaceAll("|", '"|"')}") [[ $COMP_CWORD -eq 3 ]] && kind=${kind} ;;`,
  );
  return `_native_engine() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words="" path="\${COMP_WORDS[1]}" kind="" given="" i
  case "\${COMP_WORDS[1]}" in
    ${[...secondWords().keys()].join("|")}) path="\${COMP_WORDS[1]} \${COMP_WORDS[2]}" ;;
  esac
  if [[ $COMP_CWORD -eq 1 ]]; then words="${firstWords().join(" ")} --help --version"
  elif [[ $COMP_CWORD -eq 2 && "$cur" != -* && "$path" != query ]]; then
    case "$prev" in
${groups.join("\n")}
    completion) words="bash zsh fish" ;;
    esac
  elif [[ "$cur" == -* ]]; then
    case "$path" in
${options.join("\n")}
    esac
  else
    case "$prev" in
${values.join("\n")}
    -n|--namespace) kind=namespaces ;;
    -s|--stream|--source) kind=streams ;;
    -c|--collection) [[ $path != sql ]] && kind=collections ;;
    *)
      case "$path" in
${kinds.join("\n")}
      query) [[ $COMP_CWORD -eq 2 ]] && kind=collections ;;
      esac ;;
    esac
    if [[ -n $kind ]]; then
      for ((i = 1; i < COMP_CWORD; i++)); do
        case "\${COMP_WORDS[i-1]}" in -n|--namespace|--url|--ca-file) given+=" \${COMP_WORDS[i-1]} \${COMP_WORDS[i]}" ;; esac
      done
      words="$(native-engine completion names $kind$given 2>/dev/null)"
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ \${#COMPREPLY[@]} -eq 0 && "$cur" != -* ]]; then COMPREPLY=($(compgen -f -- "$cur")); fi
}
complete -o filenames -F _native_engine native-engine
`;
}

function zsh(): string {
  return `autoload -Uz bashcompinit && bashcompinit
${bash()}`;
}

function fish(): string {
  const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const base = "complete -c native-engine";
  const groups = secondWords();
  const lines = [`${base} -n __fish_use_subcommand -f -a ${quote(firstWords().join(" "))}`];
  for (const [name, words] of groups) {
    const unless = `not __fish_seen_subcommand_from ${words.join(" ")}`;
    const condition = `__fish_seen_subcommand_from ${name}; and ${unless}`;
    lines.push(`${base} -n ${quote(condition)} -f -a ${quote(words.join(" "))}`);
  }
  const namesOf = (kind: string) => quote(`(native-engine completion names ${kind} 2>/dev/null)`);
  for (const [paths, kind] of Object.entries(namedKinds)) {
    for (const path of paths.split("|")) {
      const condition = path.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
      lines.push(`${base} -n ${quote(condition.join("; and "))} -f -a ${namesOf(kind)}`);
    }
  }
  lines.push(`${base} -n '__fish_seen_subcommand_from query' -f -a ${namesOf("collections")}`);
  for (const spec of commands) {
    const condition = spec.path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    for (const { name, short, value, help, choices = [] } of optionsOf(spec)) {
      const parts = [base, "-n", quote(condition), "-l", name];
      if (short !== undefined) parts.push("-s", short);
      if (value !== undefined) parts.push("-r");
      if (choices.length > 0) parts.push("-f", "-a", quote(choices.join(" ")));
      lines.push([...parts, "-d", quote(help)].join(" "));
    }
  }
  return `${lines.join("\n")}\n`;
}
