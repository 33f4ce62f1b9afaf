import { invalid } from "../../errors.ts";
import { CachedStemmer, stemmerLanguages } from "./stem.ts";
import { stopWordLists } from "./stop-words.ts";
import { tokenizeKeyword, tokenizeSimple, tokenizeStandard, tokenizeWhitespace } from "./tokenize.ts";
import { TokenBuffer } from "./tokens.ts";

/** Turns text into terms. Documents and queries go through the same analyzer, or nothing would match. */
export interface Analyzer {
  readonly name: string;
  /** Appends the tokens of `text`, from position `base` on; returns the position after the last word. */
  analyze(text: string, base: number, out: TokenBuffer): number;
  /**
   * Where an analyzer makes its terms of the words of `standard`, each by itself: the term of a word, undefined for one
   * that it leaves out.
   */
  readonly termOf?: (word: string) => string | undefined;
}

const plain: readonly Analyzer[] = [
  { name: "standard", analyze: tokenizeStandard, termOf: (word) => word },
  { name: "simple", analyze: tokenizeSimple },
  { name: "whitespace", analyze: tokenizeWhitespace },
  { name: "keyword", analyze: tokenizeKeyword },
];

class SnowballAnalyzer implements Analyzer {
  readonly name: string;
  readonly #stemmer: CachedStemmer;
  readonly #stopWords: ReadonlySet<string>;

  constructor(language: string) {
    this.name = language;
    this.#stemmer = new CachedStemmer(language);
    this.#stopWords = new Set((stopWordLists[language] ?? "").split(/\s+/).filter((word) => word !== ""));
  }

  analyze(text: string, base: number, out: TokenBuffer): number {
    const first = out.count;
    const after = tokenizeStandard(text, base, out);
    let kept = first;
    for (let i = first; i < out.count; i++) {
      const term = this.termOf(out.terms[i]!);
      if (term === undefined) continue;
      out.terms[kept] = term;
      out.positions[kept] = out.positions[i]!;
      out.starts[kept] = out.starts[i]!;
      out.ends[kept] = out.ends[i]!;
      kept++;
    }
    out.count = kept;
    return after;
  }

  termOf(given: string): string | undefined {
    // The typographic apostrophe is the same letter to the stop list and the stemmer.
    const word = given.includes("\u2019") ? given.replaceAll("\u2019", "'") : given;
    if (this.#stopWords.has(word)) return undefined;
    const stem = this.#stemmer.stem(word);
    return stem === "" ? word : stem;
  }
}

const analyzers = new Map<string, Analyzer>(plain.map((analyzer) => [analyzer.name, analyzer]));

export function analyzerNames(): readonly string[] {
  return [...plain.map((analyzer) => analyzer.name), ...stemmerLanguages];
}

export function isAnalyzer(name: string): boolean {
  return analyzers.has(name) || stemmerLanguages.includes(name);
}

/** Analyzers hold no state but caches, so each is made once. */
export function analyzerByName(name: string): Analyzer {
  const known = analyzers.get(name);
  if (known !== undefined) return known;
  if (!stemmerLanguages.includes(name)) throw invalid("analyzer", `must be one of ${analyzerNames().join(", ")}`);
  const made = new SnowballAnalyzer(name);
  analyzers.set(name, made);
  return made;
}

/** The terms of a text, in order: for queries and tests, where speed does not matter. */
export function termsOf(analyzer: Analyzer, text: string): string[] {
  const out = new TokenBuffer();
  analyzer.analyze(text, 0, out);
  return out.terms.slice(0, out.count);
}
