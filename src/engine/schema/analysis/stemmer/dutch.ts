import { always, both, endsInOne, inFirst, inSecond, put, type Regions, type Rule, SuffixStep } from "./suffix.ts";

/** Dutch after Kraaij and Pohlmann, as Snowball has it since its third release. */
const vowels = "aeiouyàáâäèéêëìíîïòóôöùúûü";
const vowelsButY = vowels.replace("y", "");
const vowelsButE = "aiouàáâäìíîïòóôöùúûü";

function endsInVowel(word: string): boolean {
  return endsInOne(word, vowels) || word.endsWith("ij");
}

function endsInConsonant(word: string): boolean {
  return word !== "" && !endsInVowel(word);
}

/** A vowel of an open syllable is written twice when the syllable closes: lop(en) becomes loop. */
function lengthen(word: string): string {
  const last = word.slice(-1);
  const body = word.slice(0, -1);
  if (last === "" || `${vowels}wx`.includes(last)) return word;
  if (body.endsWith("eë")) return `${body}e${last}`;
  if (body.endsWith("ië")) return `${body.slice(0, -1)}ee${last}`;
  const vowel = body.slice(-1);
  const before = body.slice(0, -1);
  if (vowel === "" || endsInOne(before, vowelsButY)) return word;
  if ("aouàáâäòóôöùúûü".includes(vowel)) return body + vowel + last;
  return "eèéê".includes(vowel) && isStressed(before.slice(0, -1)) ? body + vowel + last : word;
}

/** Whether an e is the vowel of its word, and not a weak one after another. */
function isStressed(before: string): boolean {
  if (endsInOne(before, vowelsButE) || (before.length === 1 && "eèéêë".includes(before))) return false;
  const other = before.slice(0, -1);
  return !endsInOne(other, vowelsButE) || other.length === 1 || endsInOne(other.slice(0, -1), vowelsButY);
}

const closed = both(inFirst, (stem) => (endsInConsonant(stem) ? stem : undefined));
const open = both(inFirst, (stem) => (endsInVowel(stem) ? stem : undefined));
const long = (rule: Rule) => both(rule, lengthen);

const plurals = new SuffixStep({
  "'s": always,
  s: (stem, regions) =>
    stem.endsWith("t") && inFirst(stem.slice(0, -1), regions) !== undefined ? undefined : closed(stem, regions),
  ies: put("ie", inFirst),
  es: (stem, regions) => {
    const short = closed(stem.slice(0, -2), regions);
    if (stem.endsWith("ar") && short !== undefined) return lengthen(stem);
    if (stem.endsWith("er") && short !== undefined) return stem;
    return put("e", closed)(stem, regions);
  },
  és: put("é", inFirst),
  aus: put("au", open),
  en: (stem, regions) => {
    if (stem.endsWith("hed") && inFirst(stem.slice(0, -3), regions) !== undefined) return `${stem.slice(0, -3)}heid`;
    if (stem.endsWith("nd")) return stem;
    if (stem.endsWith("d") && closed(stem.slice(0, -1), regions) !== undefined) return stem.slice(0, -1);
    if (endsInOne(stem, "ij") && endsInVowel(stem.slice(0, -1))) return stem;
    return long(closed)(stem, regions);
  },
  nde: put("nd", always),
});

const inflections = new SuffixStep({
  je: (stem, regions) => {
    const short = stem.slice(0, -1);
    const inside = inFirst(short, regions) !== undefined;
    if (stem.endsWith("'t")) return stem.slice(0, -2);
    if (stem.endsWith("et") && closed(stem.slice(0, -2), regions) !== undefined) return stem.slice(0, -2);
    if (stem.endsWith("rnt") || stem.endsWith("mp")) return short;
    if (stem.endsWith("t") && inside && endsInVowel(short.slice(0, -1))) return short;
    if (stem.endsWith("ink")) return `${short}g`;
    return stem.endsWith("'") && inside ? short : closed(stem, regions);
  },
  ge: put("g", inFirst),
  lijke: put("lijk", inFirst),
  ische: put("isch", inFirst),
  de: closed,
  te: put("t", inFirst),
  se: put("s", inFirst),
  re: put("r", inFirst),
  le: long(put("l", inFirst)),
  ene: long(put("en", closed)),
  ieve: put("ief", closed),
});

const nouns = new SuffixStep({
  atie: put("eer", inFirst),
  iteit: long(inFirst),
  "heid sel ster": inFirst,
  rder: put("r", always),
  "ing isme erij": (stem, regions) => (stem.endsWith("ild") ? `${stem}er` : long(inFirst)(stem, regions)),
  arij: put("aar", closed),
  fie: long(put("f", inSecond)),
  gie: long(put("g", inSecond)),
  tst: put("t", closed),
  dst: put("d", closed),
});

const adjectives = new SuffixStep({
  ioneel: put("ie", inFirst),
  atief: put("eer", inFirst),
  "baar achtig achtiger achtigst": inFirst,
  naar: put("n", open),
  laar: put("l", open),
  raar: put("r", open),
  tant: put("teer", inFirst),
  "lijker lijkst": put("lijk", inFirst),
  "end erig eriger erigst": long(closed),
});

const adjectivesOnIg = new SuffixStep({
  "ig iger igst": (stem, regions) => (stem === "inn" ? undefined : long(closed)(stem, regions)),
});

const participles = new SuffixStep({
  d: both(closed, (stem, regions) => {
    if (stem.endsWith("n") && inFirst(stem.slice(0, -1), regions) !== undefined) return undefined;
    return stem === "in" ? "inn" : stem;
  }),
  t: both(closed, (stem, regions) => {
    if (stem.endsWith("h") && inFirst(stem.slice(0, -1), regions) !== undefined) return undefined;
    return stem === "en" ? undefined : stem;
  }),
});

/** Where the part after the next vowels and a consonant begins; the word's length if there is none. */
function region(word: string, from: number): number {
  let i = from;
  while (i < word.length && !vowels.includes(word[i]!)) i++;
  const start = i;
  for (;;) {
    if (word.startsWith("ij", i)) i += 2;
    else if (i < word.length && vowels.includes(word[i]!)) i++;
    else break;
  }
  return i === start || i === word.length ? word.length : i + 1;
}

function regionsOf(word: string): Regions {
  const first = region(word, 0);
  return { first, second: region(word, first) };
}

/** The word without the `ge` that a participle has at this place, if a syllable follows that is not the last thing in it. */
function withoutPrefix(word: string, at: number): string | undefined {
  const rest = word.slice(at + 2);
  if (!word.startsWith("ge", at) || rest.length < 3 || !hasClosedSyllable(rest)) return undefined;
  const plain = rest.startsWith("ë") ? `e${rest.slice(1)}` : rest.startsWith("ï") ? `i${rest.slice(1)}` : rest;
  return word.slice(0, at) + plain;
}

function hasClosedSyllable(text: string): boolean {
  const vowel = text.search(new RegExp(`[${vowels}]`));
  let i = vowel;
  while (i !== -1 && i < text.length && (text.startsWith("ij", i) || vowels.includes(text[i]!))) {
    i += text.startsWith("ij", i) ? 2 : 1;
  }
  return vowel !== -1 && i < text.length;
}

function simplify(word: string): string {
  if (/([bcdfghjklmnpqrstvwxz])\1$/.test(word)) return word === "inn" ? word : word.slice(0, -1);
  if (word.endsWith("v")) return `${word.slice(0, -1)}f`;
  return word.endsWith("z") ? `${word.slice(0, -1)}s` : word;
}

export function stemDutch(input: string): string {
  let word = input;
  let changed = false;
  const take = (next: string | undefined) => {
    if (next === undefined) return;
    word = next;
    changed = true;
  };
  const regions = regionsOf(word);
  for (const step of [plurals, inflections, nouns]) take(step.apply(word, regions));
  take(adjectives.apply(word, regions) ?? adjectivesOnIg.apply(word, regions));
  const prefixed = /^ge(?:eft|vaa|val(?!i)|vare)/.test(word) ? undefined : withoutPrefix(word, 0);
  take(prefixed);
  if (prefixed !== undefined) take(participles.apply(word, regionsOf(word)));
  const infix = word.indexOf("ge", 1);
  const shortened = infix === -1 ? undefined : withoutPrefix(word, infix);
  take(shortened);
  if (shortened !== undefined) take(participles.apply(word, regionsOf(word)));
  if (/[fkp]t$/.test(word)) take(word.slice(0, -1));
  return changed ? simplify(word) : word;
}
