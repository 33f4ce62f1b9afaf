import { always, endsInOne, regionsOf, SuffixStep } from "./suffix.ts";

/** Swedish, as Snowball has it since its third release: the article -et goes, too. */
const vowels = "aeiouyäåö";

/** What -et belongs to the word after. */
const withoutArticle = /(?:fab|h|pak|rak|stak|kom|iet|[cdmnprstux]it|[ai]lit|ivit|kvit)$/;

function takesArticle(stem: string): boolean {
  const vowel = stem.at(-2);
  const consonant = stem.at(-1);
  if (stem.length < 3 || withoutArticle.test(stem)) return false;
  return vowels.includes(vowel!) && !vowels.includes(consonant!);
}

const inflections = new SuffixStep({
  "a arna erna heterna orna ad e ade ande arne are aste en anden aren heten ern ar er heter or": always,
  "as arnas ernas ornas es ades andes ens arens hetens erns at andet het ast": always,
  s: (stem) => {
    if (stem.endsWith("et") && takesArticle(stem.slice(0, -2))) return stem.slice(0, -2);
    return endsInOne(stem, "bcdfghjklmnoprtvy") ? stem : undefined;
  },
  et: (stem) => (takesArticle(stem) ? stem : undefined),
});

const derivations = new SuffixStep({
  "ig lig els": always,
  fullt: (stem) => `${stem}full`,
  öst: (stem) => (endsInOne(stem, "iklnprtuv") ? `${stem}ös` : undefined),
});

export function stemSwedish(input: string): string {
  const regions = regionsOf(input, vowels, 3);
  const { first } = regions;
  let word = inflections.apply(input, regions, first) ?? input;
  if (/(?:[dg]d|nn|[dgkt]t)$/.test(word) && word.length - 2 >= first) word = word.slice(0, -1);
  return derivations.apply(word, regions, first) ?? word;
}
