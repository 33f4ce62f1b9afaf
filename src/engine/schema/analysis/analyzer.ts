import { invalid } from "../../errors.ts";
import { schemaLimits } from "../limits.ts";
import { tokenizeCjk, tokenizeCjkQuery } from "./cjk.ts";
import { fold } from "./fold.ts";
import { CachedStemmer, formerStemOf, replacedLanguages, stemmerLanguages, stemOf } from "./stem.ts";
import { stopWordLists } from "./stop-words.ts";
import { tokenizeKeyword, tokenizeSimple, tokenizeStandard, tokenizeWhitespace } from "./tokenize.ts";
import { TokenBuffer } from "./tokens.ts";

type Tokenize = (text: string, base: number, out: TokenBuffer) => number;

/** Turns text into terms. Documents and queries go through the same analyzer, or nothing would match. */
export interface Analyzer {
  readonly name: string;
  /** Appends the tokens of `text`, from position `base` on; returns the position after the last word. */
  analyze(text: string, base: number, out: TokenBuffer): number;
  /** Of a query, where a document has terms that it need not ask for; positions are the same. */
  readonly analyzeQuery?: Tokenize;
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
  { name: "cjk", analyze: tokenizeCjk, analyzeQuery: tokenizeCjkQuery },
];

/** Puts in the place of each term what `termOf` makes of it; one that it leaves out leaves a gap. */
function mapped(tokenize: Tokenize, termOf: (term: string) => string | undefined): Tokenize {
  return (text, base, out) => {
    const first = out.count;
    const after = tokenize(text, base, out);
    let count = first;
    for (let i = first; i < out.count; i++) {
      const term = termOf(out.terms[i]!);
      if (term === undefined) continue;
      out.terms[count] = term;
      out.positions[count] = out.positions[i]!;
      out.starts[count] = out.starts[i]!;
      out.ends[count] = out.ends[i]!;
      count++;
    }
    out.count = count;
    return after;
  };
}

function cut(term: string): string {
  const { termLengthMax } = schemaLimits;
  return term.length > termLengthMax ? term.slice(0, termLengthMax).toWellFormed() : term;
}

/** Turkish has two letters for what others lower-case to one. */
function turkishLetters(tokenize: Tokenize): Tokenize {
  return (text, base, out) => tokenize(text.replaceAll("I", "ı").replaceAll("İ", "i"), base, out);
}

function languageAnalyzer({ analyzer: name, folding, revision }: AnalyzerChoice): Analyzer {
  const isFormer = revision === 1;
  const stemmer = new CachedStemmer(isFormer ? formerStemOf(name) : stemOf(name));
  const folded = folding ? fold : (word: string) => word;
  const stopWords = new Set((stopWordLists[name] ?? "").split(/\s+/).filter((word) => word !== ""));
  const removed = new Set([...stopWords].map(folded));
  const termOf = (token: string) => {
    // The typographic apostrophe is the same letter to the stop list and the stemmer.
    const word = folded(token.includes("\u2019") ? token.replaceAll("\u2019", "'") : token);
    if (removed.has(word)) return undefined;
    // Folded first: only so does a word with and without its accents have one stem.
    const stem = stemmer.stem(word);
    return cut(stem === "" ? word : stem);
  };
  if (name === "turkish" && !isFormer) return { name, analyze: mapped(turkishLetters(tokenizeStandard), termOf) };
  return { name, analyze: mapped(tokenizeStandard, termOf), termOf };
}

function foldingAnalyzer(base: Analyzer): Analyzer {
  const termOf = base.name === "keyword" ? fold : (term: string) => cut(fold(term));
  return {
    name: base.name,
    analyze: mapped(base.analyze, termOf),
    ...(base.analyzeQuery === undefined ? {} : { analyzeQuery: mapped(base.analyzeQuery, termOf) }),
    ...(base.termOf === undefined ? {} : { termOf }),
  };
}

/** What a field asks for. `revision` 1 is what the name meant before stemmers were replaced by those of Snowball 3. */
export interface AnalyzerChoice {
  readonly analyzer: string;
  readonly folding: boolean;
  readonly revision: number;
}

export const analyzerRevision = 2;

/** What a field's analyzer is called inside: its name, with marks for a former stemmer and for folding. */
const foldingMark = "+folding";
const formerMark = "_1";

export function analyzerKey({ analyzer, folding, revision }: AnalyzerChoice): string {
  const name = revision === 1 && replacedLanguages.includes(analyzer) ? analyzer + formerMark : analyzer;
  return folding ? name + foldingMark : name;
}

export function analyzerChoice(key: string): AnalyzerChoice {
  const folding = key.endsWith(foldingMark);
  const name = folding ? key.slice(0, -foldingMark.length) : key;
  const isFormer = name.endsWith(formerMark);
  return {
    analyzer: isFormer ? name.slice(0, -formerMark.length) : name,
    folding,
    revision: isFormer ? 1 : analyzerRevision,
  };
}

const analyzers = new Map<string, Analyzer>(plain.map((analyzer) => [analyzer.name, analyzer]));

export function analyzerNames(): readonly string[] {
  return [...plain.map((analyzer) => analyzer.name), ...stemmerLanguages];
}

export function isAnalyzer(name: string): boolean {
  return plain.some((analyzer) => analyzer.name === name) || stemmerLanguages.includes(name);
}

/** Analyzers hold no state but caches, so each is made once. */
export function analyzerByName(key: string): Analyzer {
  const known = analyzers.get(key);
  if (known !== undefined) return known;
  const choice = analyzerChoice(key);
  const { analyzer: name } = choice;
  if (!isAnalyzer(name)) throw invalid("analyzer", `must be one of ${analyzerNames().join(", ")}`);
  const analyzer = stemmerLanguages.includes(name) ? languageAnalyzer(choice) : foldingAnalyzer(analyzerByName(name));
  analyzers.set(key, analyzer);
  return analyzer;
}

/** The terms of a text, in order: for queries and tests, where speed does not matter. */
export function termsOf(analyzer: Analyzer, text: string): string[] {
  const out = new TokenBuffer();
  analyzer.analyze(text, 0, out);
  return out.terms.slice(0, out.count);
}
