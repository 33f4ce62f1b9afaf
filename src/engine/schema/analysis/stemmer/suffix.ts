/** Where in a word the parts begin that a suffix must stand in: the first, and the second within it. */
export interface Regions {
  readonly first: number;
  readonly second: number;
}

/** What becomes of a word whose suffix was taken off; undefined where the suffix must stay. */
export type Rule = (stem: string, regions: Regions) => string | undefined;

/** A table of suffixes with their rules. The longest suffix that a word ends in is the one that is tried. */
export class SuffixStep {
  readonly #rules = new Map<string, Rule>();
  readonly #longest: number;

  /** Suffixes are parted by spaces. */
  constructor(rules: Readonly<Record<string, Rule>>) {
    for (const [suffixes, rule] of Object.entries(rules)) {
      for (const suffix of suffixes.split(" ")) this.#rules.set(suffix, rule);
    }
    this.#longest = Math.max(...[...this.#rules.keys()].map((suffix) => suffix.length));
  }

  /** Only suffixes count that do not begin before `from`. */
  apply(word: string, regions: Regions, from = 0): string | undefined {
    for (let length = Math.min(this.#longest, word.length - from); length > 0; length--) {
      const rule = this.#rules.get(word.slice(word.length - length));
      if (rule !== undefined) return rule(word.slice(0, word.length - length), regions);
    }
    return undefined;
  }

  /** As `apply`, but where a suffix must stay, the shorter ones are tried. */
  applyAny(word: string, regions: Regions, from = 0): string | undefined {
    for (let length = Math.min(this.#longest, word.length - from); length > 0; length--) {
      const rule = this.#rules.get(word.slice(word.length - length));
      const stem = rule?.(word.slice(0, word.length - length), regions);
      if (stem !== undefined) return stem;
    }
    return undefined;
  }
}

export const always: Rule = (stem) => stem;
export const inFirst: Rule = (stem, { first }) => (stem.length >= first ? stem : undefined);
export const inSecond: Rule = (stem, { second }) => (stem.length >= second ? stem : undefined);

/** Both rules, one after the other. */
export function both(one: Rule, other: Rule): Rule {
  return (stem, regions) => {
    const next = one(stem, regions);
    return next === undefined ? undefined : other(next, regions);
  };
}

/** Puts an end in the place of the suffix. */
export function put(end: string, rule: Rule): Rule {
  return both(rule, (stem) => stem + end);
}

export function endsInOne(word: string, letters: string): boolean {
  return word !== "" && letters.includes(word[word.length - 1]!);
}

/** Where the part begins that follows the next consonant after a vowel; the word's length if there is none. */
function regionAfter(word: string, vowels: string, from: number): number {
  let i = from;
  while (i < word.length && !vowels.includes(word[i]!)) i++;
  while (i < word.length && vowels.includes(word[i]!)) i++;
  return Math.min(i + 1, word.length);
}

/** The first region begins after at least `least` letters; the second is counted from where it would begin without that. */
export function regionsOf(word: string, vowels: string, least = 0): Regions {
  const end = word.length < least ? word.length : regionAfter(word, vowels, 0);
  return { first: Math.max(end, Math.min(least, word.length)), second: regionAfter(word, vowels, end) };
}
