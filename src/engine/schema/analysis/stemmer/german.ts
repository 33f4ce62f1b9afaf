import { both, endsInOne, inFirst, inSecond, regionsOf, SuffixStep } from "./suffix.ts";

/** German, as Snowball has it since its third release: umlauts may be written with an e, and -erin, -et, -ln go, too. */
const vowels = "aeiouyäöü";

/** A u or y between vowels is no vowel, which a capital tells. */
function markConsonants(word: string): string {
  const letters = [...word];
  for (let i = 1; i + 1 < letters.length; i++) {
    const letter = letters[i]!;
    if ((letter === "u" || letter === "y") && vowels.includes(letters[i - 1]!) && vowels.includes(letters[i + 1]!)) {
      letters[i] = letter.toUpperCase();
    }
  }
  return letters.join("");
}

const spellings: Readonly<Record<string, string>> = { ß: "ss", ae: "ä", oe: "ö", ue: "ü", qu: "qu" };
const plain: Readonly<Record<string, string>> = { U: "u", Y: "y", ä: "a", ö: "o", ü: "u" };

const inflections = new SuffixStep({
  em: both(inFirst, (stem) => (stem.endsWith("syst") ? undefined : stem)),
  "ern er erin erinnen": inFirst,
  "e en es": both(inFirst, (stem) => (stem.endsWith("niss") ? stem.slice(0, -1) : stem)),
  s: both(inFirst, (stem) => (endsInOne(stem, "bdfghklmnrt") ? stem : undefined)),
  "ln lns": both(inFirst, (stem) => `${stem}l`),
});

const verbs = new SuffixStep({
  "en er est": inFirst,
  st: both(inFirst, (stem) => (stem.length > 3 && endsInOne(stem, "bdfghklmnt") ? stem : undefined)),
  et: both(inFirst, (stem) =>
    endsInOne(stem, "Udfgklmnrstzä") && !/(?:tick|plan|geordn|intern|tr)$/.test(stem) ? stem : undefined,
  ),
});

const derivations = new SuffixStep({
  "end ung": both(inSecond, (stem, { second }) =>
    /(?<!e)ig$/.test(stem) && stem.length - 2 >= second ? stem.slice(0, -2) : stem,
  ),
  "ig ik isch": both(inSecond, (stem) => (stem.endsWith("e") ? undefined : stem)),
  "lich heit": both(inSecond, (stem, { first }) =>
    /e[rn]$/.test(stem) && stem.length - 2 >= first ? stem.slice(0, -2) : stem,
  ),
  keit: both(inSecond, (stem, { second }) => {
    const short = stem.replace(/(?:lich|ig)$/, "");
    return short.length >= second ? short : stem;
  }),
});

const possessives = new SuffixStep({ "' 's 'sch": (stem) => (stem.length > 1 ? stem : undefined) });

export function stemGerman(input: string): string {
  let word = markConsonants(input).replace(/qu|ß|[aou]e/g, (letters) => spellings[letters]!);
  const regions = regionsOf(word, vowels, 3);
  for (const step of [inflections, verbs, derivations, possessives]) word = step.apply(word, regions) ?? word;
  return word.replace(/[UYäöü]/g, (letter) => plain[letter]!);
}
