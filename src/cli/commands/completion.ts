import { UsageError } from "../command.ts";
import { Context } from "../context.ts";
import { firstWords } from "../help.ts";
import { type CommandSpec, type OptionSpec, optionsOf, type Run } from "../spec.ts";
import { type Item, itemsOf, optionsAfter, optionValuesIn, specsAfter } from "../words.ts";

export const completion: Run = async (context) => {
  const script = shells[context.arg(0)];
  if (script === undefined) throw new UsageError(`the shell must be one of ${Object.keys(shells).join(", ")}`);
  await context.out.write(script);
  return undefined;
};

export const completeWords: Run = async (context) => {
  for (const { word, help = "" } of await completions(context, context.args)) {
    await context.out.line(`${word}\t${help}`);
  }
  return undefined;
};

interface Completion {
  readonly word: string;
  readonly help?: string;
}

/** The shell completes the name of a file. */
const files: readonly Completion[] = [{ word: ":files" }];

/** What the last of the words can become. */
async function completions(context: Context, argv: readonly string[]): Promise<readonly Completion[]> {
  const { words, hidden } = rejoined(argv);
  const current = words.at(-1) ?? "";
  const items = itemsOf(words.slice(0, -1));
  const [, option, start = ""] = /^(--[^=]+=)(.*)$/s.exec(current) ?? [];
  const found =
    option === undefined
      ? await following(context, items, current)
      : await valuesOf(context, optionValuesIn(itemsOf([...words.slice(0, -1), option])).at(-1)?.option, items);
  const prefix = option ?? "";
  if (found === files) return files;
  return found
    .filter(({ word }) => word.startsWith(option === undefined ? current : start))
    .map(({ word, help }) => ({ word: `${prefix}${word}`.slice(hidden), ...(help === undefined ? {} : { help }) }));
}

/** bash takes `=` and `:` for words of their own; `hidden` is how much of the last word it has no part in then. */
function rejoined(argv: readonly string[]): { readonly words: readonly string[]; readonly hidden: number } {
  const words: string[] = [];
  let hidden = 0;
  let isOpen = false;
  for (const [i, each] of argv.entries()) {
    const isBreak = /^[=:]+$/.test(each);
    if (i > 0 && (isBreak || isOpen)) {
      hidden = words.at(-1)!.length + (isBreak ? each.length : 0);
      words.push(words.pop()! + each);
    } else {
      hidden = 0;
      words.push(each);
    }
    isOpen = isBreak;
  }
  return { words, hidden };
}

async function following(context: Context, items: readonly Item[], current: string): Promise<readonly Completion[]> {
  const last = items.at(-1);
  if (last?.kind === "option" && last.option?.value !== undefined && optionValuesIn([last])[0]!.value === undefined) {
    return await valuesOf(context, last.option, items);
  }
  const words = items.flatMap(({ kind, tokens }) => (kind === "word" ? tokens : []));
  const specs = specsAfter(words);
  const spec = specs.find(({ path }) => path.length <= words.length);
  if (current.startsWith("-")) {
    if (words[0] === "serve") return await serveFlags();
    return uniqueOptions(spec === undefined ? optionsAfter(words) : optionsOf(spec));
  }
  if (words.length === 0) return firstWords.map((word) => ({ word }));
  if (spec !== undefined) return await argumentsOf(context, spec, words.length - spec.path.length, items);
  return specs.map(({ path, summary }) => ({ word: path[words.length]!, help: summary }));
}

function uniqueOptions(options: readonly OptionSpec[]): readonly Completion[] {
  return [...new Map(options.map(({ name, help }) => [name, { word: `--${name}`, help }])).values()];
}

async function serveFlags(): Promise<readonly Completion[]> {
  const { settingsTable } = await import("../../composition/config/config.ts");
  return settingsTable().flatMap(({ flag, help }) => (flag === undefined ? [] : [{ word: `--${flag}`, help }]));
}

/** What a word after the command names. */
const kindsOfGroups: Readonly<Record<string, Kind>> = {
  ns: "namespaces",
  stream: "streams",
  link: "links",
  collection: "collections",
};
const kindsOfOptions: Readonly<Record<string, Kind>> = {
  namespace: "namespaces",
  stream: "streams",
  source: "streams",
  collection: "collections",
};

async function argumentsOf(context: Context, { path, args }: CommandSpec, at: number, items: readonly Item[]) {
  const name = (args[at] ?? "").replace(/[[\]…]/g, "");
  if (name === "FILE" || name === "FOLDER") return files;
  if (name === "SHELL") return Object.keys(shells).map((word) => ({ word }));
  if (name === "COLLECTION") return await namesOf(context, "collections", items);
  const kind = name === "NAME" && path[1] !== "create" ? kindsOfGroups[path[0]!] : undefined;
  return kind === undefined ? [] : await namesOf(context, kind, items);
}

async function valuesOf(
  context: Context,
  option: OptionSpec | undefined,
  items: readonly Item[],
): Promise<readonly Completion[]> {
  if (option?.choices !== undefined) return option.choices.map((word) => ({ word }));
  if (option?.value === "FILE" || option?.value === "FOLDER") return files;
  const kind = kindsOfOptions[option?.name ?? ""];
  return kind === undefined ? [] : await namesOf(context, kind, items);
}

type Kind = "namespaces" | "streams" | "links" | "collections";

/** How long a shell waits for names, which it asks for while somebody types. */
const namesMsMax = 2_000;

/** The names that there are on the server and in the namespace that the line names; none where it can't be asked. */
async function namesOf(context: Context, kind: Kind, items: readonly Item[]): Promise<readonly Completion[]> {
  const values = Object.fromEntries(optionValuesIn(items).map(({ option, value }) => [option.name, value]));
  const { io, out, env, signal } = context;
  const asked = new Context({ args: [], values, io, out, env, signal });
  try {
    const client = asked.clientWith({ retry: { attemptsMax: 1 }, attemptMs: namesMsMax });
    const namespace = client.namespace(asked.namespaceName);
    const found: Completion[] = [];
    for await (const { name } of await (kind === "namespaces" ? client.namespaces() : namespace[kind]())) {
      found.push({ word: name });
    }
    return found;
  } catch {
    return [];
  }
}

const bash = `_native_engine() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" line
  COMPREPLY=()
  while IFS=$'\\t' read -r line _; do
    if [[ $line == :files ]]; then
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -f -- "\${cur/#[=:]/}"))
    else COMPREPLY+=("$line"); fi
  done < <(native-engine completion words -- "\${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null)
}
complete -F _native_engine native-engine
`;

const fish = `function __native_engine
  set -l words (commandline -opc) (commandline -ct)
  for line in (native-engine completion words -- $words[2..-1] 2>/dev/null)
    if string match -q ':files*' -- $line
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c native-engine -f -a '(__native_engine)'
`;

const shells: Readonly<Record<string, string>> = {
  bash,
  zsh: `autoload -Uz bashcompinit && bashcompinit\n${bash}`,
  fish,
};
