import { UsageError } from "../command.ts";
import { commands } from "../commands.ts";
import { otherCommandNames } from "../help.ts";
import { optionsOf, type Run } from "../spec.ts";

export const completion: Run = async (context) => {
  const shells: Readonly<Record<string, () => string>> = { bash, zsh, fish };
  const make = shells[context.arg(0)];
  if (make === undefined) throw new UsageError(`the shell must be one of ${Object.keys(shells).join(", ")}`);
  await context.out.write(make());
  return undefined;
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
  return `_native_engine() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words="" path="\${COMP_WORDS[1]}"
  case "\${COMP_WORDS[1]}" in
    ${[...secondWords().keys()].join("|")}) path="\${COMP_WORDS[1]} \${COMP_WORDS[2]}" ;;
  esac
  if [[ $COMP_CWORD -eq 1 ]]; then words="${firstWords().join(" ")} --help --version"
  elif [[ $COMP_CWORD -eq 2 && "$cur" != -* ]]; then
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
    esac
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
