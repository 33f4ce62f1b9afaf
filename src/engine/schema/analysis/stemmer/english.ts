import { both, endsInOne, inFirst, inSecond, put, type Regions, regionsOf, SuffixStep } from "./suffix.ts";

/** English, Porter's second stemmer, as Snowball has it since its third release. */
const vowels = "aeiouy";

const exceptions = new Map(
  Object.entries({
    ...{ andes: "andes", atlas: "atlas", bias: "bias", cosmos: "cosmos", howe: "howe", news: "news", sky: "sky" },
    ...{ early: "earli", gently: "gentl", idly: "idl", only: "onli", singly: "singl", ugly: "ugli" },
    ...{ skies: "sky", skis: "ski" },
  }),
);

/** Beginnings that are words of their own, so that what follows counts as an ending. */
const beginnings = /^(?:arsen|commun|emerg|gener|inter|later|organ|past|univers)/;

function regions(word: string): Regions {
  const length = beginnings.exec(word)?.[0].length;
  if (length === undefined) return regionsOf(word, vowels);
  return { first: length, second: length + regionsOf(word.slice(length), vowels).first };
}

/** A y that begins a word or follows a vowel is no vowel, which a capital tells. */
function markConsonants(word: string): string {
  let marked = "";
  for (const letter of word) {
    const isConsonant = letter === "y" && (marked === "" || endsInOne(marked, vowels));
    marked += isConsonant ? "Y" : letter;
  }
  return marked;
}

/** Whether it ends in a syllable that an e after it would lengthen. */
function endsShort(word: string): boolean {
  return /[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$|past$/.test(word);
}

function withoutPlural(word: string): string {
  const stem = word.replace(/'(?:s'?)?$/, "");
  if (stem.endsWith("sses")) return stem.slice(0, -2);
  if (/ie[ds]$/.test(stem)) return stem.slice(0, stem.length > 4 ? -2 : -1);
  return /[aeiouy].*[^us]s$/.test(stem) ? stem.slice(0, -1) : stem;
}

/** The stem of a form on -ed or -ing, with the end that the plain form has. */
function plainForm(stem: string, { first }: Regions): string | undefined {
  if (!/[aeiouy]/.test(stem)) return undefined;
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (/([bdfgmnprt])\1$/.test(stem)) return /^[aeo]..$/.test(stem) ? stem : stem.slice(0, -1);
  return stem.length === first && endsShort(stem) ? `${stem}e` : stem;
}

const verbs = new SuffixStep({
  "eed eedly": both(inFirst, (stem) => (/^(?:succ|proc|exc)$/.test(stem) ? undefined : `${stem}ee`)),
  "ed edly ingly": plainForm,
  ing: (stem, found) => {
    if (/^[^aeiouy]y$/.test(stem)) return `${stem[0]}ie`;
    return /^(?:even|cann|inn|earr|herr|out)$/.test(stem) ? undefined : plainForm(stem, found);
  },
});

const derivations = new SuffixStep({
  tional: put("tion", inFirst),
  enci: put("ence", inFirst),
  anci: put("ance", inFirst),
  abli: put("able", inFirst),
  entli: put("ent", inFirst),
  "izer ization": put("ize", inFirst),
  "ational ation ator": put("ate", inFirst),
  "alism aliti alli": put("al", inFirst),
  "fulness fulli": put("ful", inFirst),
  "ousli ousness": put("ous", inFirst),
  "iveness iviti": put("ive", inFirst),
  "biliti bli": put("ble", inFirst),
  ogist: put("og", inFirst),
  ogi: both(inFirst, (stem) => (stem.endsWith("l") ? `${stem}og` : undefined)),
  lessli: put("less", inFirst),
  li: both(inFirst, (stem) => (endsInOne(stem, "cdeghkmnrt") ? stem : undefined)),
});

const adjectives = new SuffixStep({
  tional: put("tion", inFirst),
  ational: put("ate", inFirst),
  alize: put("al", inFirst),
  "icate iciti ical": put("ic", inFirst),
  "ful ness": inFirst,
  ative: both(inFirst, inSecond),
});

const endings = new SuffixStep({
  "al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize": inSecond,
  ion: both(inSecond, (stem) => (endsInOne(stem, "st") ? stem : undefined)),
});

const last = new SuffixStep({
  e: (stem, found) => inSecond(stem, found) ?? (endsShort(stem) ? undefined : inFirst(stem, found)),
  l: both(inSecond, (stem) => (stem.endsWith("l") ? stem : undefined)),
});

export function stemEnglish(input: string): string {
  const known = exceptions.get(input);
  if (known !== undefined || input.length < 3) return known ?? input;
  let word = markConsonants(input.replace(/^'/, ""));
  const found = regions(word);
  word = withoutPlural(word);
  word = verbs.apply(word, found) ?? word;
  if (/.[^aeiouy][yY]$/.test(word)) word = `${word.slice(0, -1)}i`;
  for (const step of [derivations, adjectives, endings, last]) word = step.apply(word, found) ?? word;
  return word.replaceAll("Y", "y");
}
