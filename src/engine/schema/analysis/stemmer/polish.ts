import { always, inFirst, put, type Rule, regionsOf, SuffixStep } from "./suffix.ts";

/** Polish, as Snowball has it since its third release. */
const vowels = "aeiouyóąę";
/** No ending begins before the third letter. */
const least = 2;

const conditional = new SuffixStep({ "byście bym by byśmy byś": always });

/** What is left of a participle or a comparative without its case. */
const degrees = new SuffixStep({ "ąc ając sz iejsz": always, sząc: put("s", always) });
const adjective: Rule = (stem, regions) => degrees.apply(stem, regions, least) ?? stem;

const verbs = ["a", "ia", "i"].flatMap((vowel) =>
  ["ła", "łam", "łem", "ło", "ły", "ł", "łaś", "łeś"].map((end) => vowel + end),
);
const plurals = ["a", "ie", "i"].flatMap((vowel) => ["li", "liście", "liśmy"].map((end) => vowel + end));
const feminine = ["a", "ia", "i"].flatMap((vowel) => ["łyście", "łyśmy"].map((end) => vowel + end));
const degreeCases = ["a", "e"].flatMap((end) => ["ąc", "ając", "sz", "iejsz"].map((degree) => degree + end));

const endings = new SuffixStep({
  "a ia e ie ach iach i ami iami owi iowi em iem om iom o u iu ów ą ią": inFirst,
  [[...verbs, ...plurals, ...feminine, ...degreeCases].join(" ")]: always,
  "ąc ając cie acie ecie icie ajcie aj am amy emy imy asz esz isz": always,
  "ącą ającą ają iejszą ać ieć ić ąć aść eść ę": always,
  "sząca szące szącą szę": put("s", always),
  szą: (stem, regions) => inFirst(stem, regions) ?? `${stem}s`,
  "liście łyście liśmy łyśmy łaś łeś": put("ł", always),
  "ich ych imi ymi ej iej im ym ego iego emu iemu y": adjective,
});

const hardened: Readonly<Record<string, string>> = { ć: "c", ń: "n", ś: "s", ź: "z" };

export function stemPolish(input: string): string {
  const regions = regionsOf(input, vowels);
  const word = conditional.apply(input, regions, Math.max(regions.first, least)) ?? input;
  const stem = endings.applyAny(word, regions, least);
  if (stem !== undefined) return stem.length > least && stem.endsWith("'") ? stem.slice(0, -1) : stem;
  const last = hardened[word.slice(-1)];
  return last === undefined || word.length < 2 ? word : word.slice(0, -1) + last;
}
