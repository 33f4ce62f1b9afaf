import { commands } from "./commands.ts";
import { type CommandSpec, commonOptions, type OptionSpec, optionsOf } from "./spec.ts";

/** Other words for the first word of a command. */
const groupNames: Readonly<Record<string, string>> = {
  namespace: "ns",
  namespaces: "ns",
  streams: "stream",
  links: "link",
  collections: "collection",
  documents: "document",
  key: "keys",
};

/** Other words for the second word, where the group has the one they stand for. */
const actionNames: Readonly<Record<string, readonly string[]>> = {
  ls: ["list"],
  show: ["get"],
  describe: ["get"],
  rm: ["delete", "drop", "revoke"],
  remove: ["delete", "drop", "revoke"],
  delete: ["drop", "revoke"],
  drop: ["delete"],
};

/** A word of the command line, or an option with the value that follows it. */
export type Item =
  | { readonly kind: "word"; readonly tokens: readonly [string] }
  | { readonly kind: "option"; readonly tokens: readonly string[]; readonly option: OptionSpec | undefined };

export interface OptionValue {
  readonly option: OptionSpec;
  /** Undefined where it takes none, or where its value is still to come. */
  readonly value: string | undefined;
}

/** The specs that begin with these words. */
export function specsAfter(words: readonly string[]): readonly CommandSpec[] {
  const path = words.map((word, i) => (i === 0 ? (groupNames[word] ?? word) : word));
  return commands.filter((spec) => spec.path.every((word, i) => i >= path.length || word === path[i]));
}

/** The options that may stand after these words of a command. */
export function optionsAfter(words: readonly string[]): readonly OptionSpec[] {
  const specs = words.length === 0 ? [] : specsAfter(words);
  return specs.length === 0 ? commonOptions : [...specs.flatMap(optionsOf), ...commonOptions];
}

/** A command line taken apart. Which options there are depends on the words before them. */
export function itemsOf(argv: readonly string[]): Item[] {
  const words: string[] = [];
  const items: Item[] = [];
  for (let at = 0; at < argv.length; at++) {
    const token = argv[at]!;
    if (token === "--") return [...items, ...argv.slice(at).map((each) => ({ kind: "word", tokens: [each] }) as const)];
    if (!/^-./s.test(token)) {
      words.push(token);
      items.push({ kind: "word", tokens: [token] });
      continue;
    }
    const { option, inline } = optionIn(token, optionsAfter(words));
    const takesNext = option?.value !== undefined && inline === undefined;
    items.push({ kind: "option", option, tokens: argv.slice(at, at + (takesNext ? 2 : 1)) });
    if (takesNext) at++;
  }
  return items;
}

function optionIn(token: string, options: readonly OptionSpec[]) {
  const [, name, inline] = /^--([^=]*)(?:=(.*))?$/s.exec(token) ?? [];
  if (name !== undefined) return { option: options.find((each) => each.name === name), inline };
  const option = options.find(({ short }) => short === token[1]);
  // `-nshop` and `-n=shop`; switches may stand together.
  return { option, inline: token.length === 2 ? undefined : token.slice(token[2] === "=" ? 3 : 2) };
}

/** The options of a command line with their values. */
export function optionValuesIn(items: readonly Item[]): OptionValue[] {
  return items.flatMap((item) => {
    if (item.kind !== "option" || item.option === undefined) return [];
    const [token = "", next] = item.tokens;
    const value = item.option.value === undefined ? undefined : (next ?? optionIn(token, [item.option]).inline);
    return [{ option: item.option, value }];
  });
}

/**
 * The command line as the table knows it: the words of the command first, whatever options stand before and between them; `streams`
 * is `stream list`, and `streams get` is `stream get`.
 */
export function normalised(argv: readonly string[]): readonly string[] {
  const items = itemsOf(argv);
  const isInTheWay = (item: Item) =>
    item.kind === "option" && (item.option === undefined || item.option.name === "help");
  const at = items.findIndex((item) => item.kind === "word" || isInTheWay(item));
  const first = items[at];
  if (first === undefined || first.kind === "option") return argv;
  const [word] = first.tokens;
  const name = groupNames[word] ?? word;
  const rest = items.slice(at + 1);
  const seconds = specsAfter([word]).flatMap(({ path }) => path.slice(1));
  const meant = (action: string) => [action, ...(actionNames[action] ?? [])].find((each) => seconds.includes(each));
  const second = rest.findIndex(({ kind, tokens }) => kind === "word" && meant(tokens[0]!) !== undefined);
  const path = [name];
  if (second >= 0) path.push(meant(rest.splice(second, 1)[0]!.tokens[0]!)!);
  // A plural alone lists.
  else if (
    name !== word &&
    word.endsWith("s") &&
    seconds.includes("list") &&
    rest.every(({ kind }) => kind === "option")
  ) {
    path.push("list");
  }
  return [...path, ...[...rest, ...items.slice(0, at)].flatMap(({ tokens }) => tokens)];
}
