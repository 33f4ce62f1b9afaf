import { stemmer as french } from "@orama/stemmers/french";
import { stemmer as greek } from "@orama/stemmers/greek";
import { stemmer as hindi } from "@orama/stemmers/indian";
import { stemmer as indonesian } from "@orama/stemmers/indonesian";
import { stemmer as lithuanian } from "@orama/stemmers/lithuanian";
import { stemmer as nepali } from "@orama/stemmers/nepali";
import { stemmer as serbian } from "@orama/stemmers/serbian";
import snowball from "snowball-stemmers";
import { schemaLimits } from "../limits.ts";
import { stemCzech } from "./stemmer/czech.ts";
import { stemDutch } from "./stemmer/dutch.ts";
import { stemEnglish } from "./stemmer/english.ts";
import { stemEsperanto } from "./stemmer/esperanto.ts";
import { stemEstonian } from "./stemmer/estonian.ts";
import { stemGerman } from "./stemmer/german.ts";
import { stemPersian } from "./stemmer/persian.ts";
import { stemPolish } from "./stemmer/polish.ts";
import { stemSesotho } from "./stemmer/sesotho.ts";
import { stemSwedish } from "./stemmer/swedish.ts";
import { stemYiddish } from "./stemmer/yiddish.ts";

export type Stem = (word: string) => string;

/** The stemmers of the library, by name. `porter` is the older English stemmer, kept out because `english` follows it. */
const older: ReadonlyMap<string, () => Stem> = new Map(
  snowball
    .algorithms()
    .filter((name) => name !== "porter")
    .map((name) => [name, () => ofLibrary(name)]),
);

function ofLibrary(name: string): Stem {
  const stemmer = snowball.newStemmer(name);
  return (word) => stemmer.stem(word);
}

/** Romanian is written with a comma below; the library knows the cedilla that stood for it once. */
function romanian(): Stem {
  const stem = ofLibrary("romanian");
  return (word) => stem(word.replaceAll("ș", "ş").replaceAll("ț", "ţ")).replaceAll("ş", "ș").replaceAll("ţ", "ț");
}

function russian(): Stem {
  const stem = ofLibrary("russian");
  return (word) => stem(word.replaceAll("ё", "е"));
}

function spanish(): Stem {
  const stem = ofLibrary("spanish");
  return (word) => stem(word.replace(/([au])cion$/, "$1ción"));
}

/** A Turkish name has its endings after an apostrophe. */
function turkish(): Stem {
  const stem = ofLibrary("turkish");
  return (word) => {
    const name = word.replace(/^'+/, "");
    const end = name.indexOf("'", 2);
    return stem(end === -1 ? name : name.slice(0, end));
  };
}

/** What is elided stands before an apostrophe; -oux and -aise are inflected forms, but for a few short words. */
function currentFrench(input: string): string {
  const word = input.replace(/^(?:[cdjlmnst]|qu)'(?=.)/, "");
  const short = /^((?:d[eé])?plais|(?:.|ch)(?:al|auv)ais)(?:es?)?$/.exec(word);
  return short?.[1] ?? french(word.replace(/(?<=[bhjlnp])oux$/, "ou").replace(/aises?$/, "ais"));
}

/** The algorithms as Snowball 3 has them, where the library is older or has none. */
const current: Readonly<Record<string, () => Stem>> = {
  czech: () => stemCzech,
  dutch: () => stemDutch,
  english: () => stemEnglish,
  esperanto: () => stemEsperanto,
  estonian: () => stemEstonian,
  french: () => currentFrench,
  german: () => stemGerman,
  greek: () => greek,
  hindi: () => hindi,
  indonesian: () => indonesian,
  lithuanian: () => lithuanian,
  nepali: () => nepali,
  persian: () => stemPersian,
  polish: () => stemPolish,
  romanian,
  russian,
  serbian: () => serbian,
  sesotho: () => stemSesotho,
  spanish,
  swedish: () => stemSwedish,
  turkish,
  yiddish: () => stemYiddish,
};

export const stemmerLanguages: readonly string[] = [...new Set([...older.keys(), ...Object.keys(current)])].sort();

/** Languages whose stemmer was another one once: collections of that time keep it. */
export const replacedLanguages: readonly string[] = Object.keys(current).filter((name) => older.has(name));

export function stemOf(language: string): Stem {
  return (current[language] ?? older.get(language))!();
}

export function formerStemOf(language: string): Stem {
  return older.get(language)!();
}

/**
 * A stemmer with the stems it gave lately: some do no more than 75,000 words a second, and a text repeats its words. Two
 * generations bound the cache without bookkeeping per use.
 */
export class CachedStemmer {
  readonly #stem: Stem;
  #young = new Map<string, string>();
  #old = new Map<string, string>();

  constructor(stem: Stem) {
    this.#stem = stem;
  }

  stem(word: string): string {
    const known = this.#young.get(word);
    if (known !== undefined) return known;
    const stem = this.#old.get(word) ?? this.#stem(word);
    if (this.#young.size >= schemaLimits.stemCacheEntriesMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(word, stem);
    return stem;
  }
}
