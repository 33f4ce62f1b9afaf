import { isDeepStrictEqual } from "node:util";
import { analyzerByName, analyzerNames, termsOf } from "../../../src/engine/schema/analysis/analyzer.ts";
import { TokenBuffer } from "../../../src/engine/schema/analysis/tokens.ts";
import { wildcardMatcher } from "../../../src/engine/search/filter/wildcard.ts";
import { searchLimits } from "../../../src/engine/search/limits.ts";
import { highlight } from "../../../src/engine/search/text/highlight.ts";
import { parseTextQuery, queryTerms } from "../../../src/engine/search/text/query.ts";
import { schema } from "../../model/search/model.ts";
import { must, nothingToClose, type Target } from "../target.ts";

const names = analyzerNames();

interface Tokens {
  readonly terms: readonly string[];
  readonly positions: readonly number[];
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

function tokensOf(name: string, text: string, base: number): Tokens {
  const out = new TokenBuffer();
  const after = analyzerByName(name).analyze(text, base, out);
  const { count } = out;
  must(count === 0 || after > out.positions[count - 1]!, "the position after the last word is before it", () => after);
  return {
    terms: out.terms.slice(0, count),
    positions: out.positions.slice(0, count),
    starts: out.starts.slice(0, count),
    ends: out.ends.slice(0, count),
  };
}

function checkTokens(name: string, text: string): Tokens {
  const tokens = tokensOf(name, text, 7);
  const { terms, positions, starts, ends } = tokens;
  for (const [i, term] of terms.entries()) {
    must(term !== "", `${name} gives an empty term`, () => text);
    must(term.isWellFormed(), `${name} gives a term that is not well formed`, () => text);
    const isCut = name === "keyword" || term.length <= searchLimits.termLengthMax;
    must(isCut, `${name} gives a term that is too long`, () => term.length);
    must(
      starts[i]! >= ((name === "cjk" ? starts : ends)[i - 1] ?? 0) && ends[i]! > starts[i]! && ends[i]! <= text.length,
      `${name}: places`,
      () => [starts, ends],
    );
    must(positions[i]! >= 7 && positions[i]! > (positions[i - 1] ?? 6), `${name}: positions`, () => positions);
  }
  return tokens;
}

/** Text of ASCII alone is read by a way of its own, which must read it as the other does. */
function checkAscii(name: string, text: string, tokens: Tokens): void {
  // Those that take more than words would take the sign that is added.
  if (name === "whitespace" || name === "keyword" || /[^\x00-\x7f]/.test(text)) return;
  const other = tokensOf(name, `${text} \u20ac`, 7);
  must(isDeepStrictEqual(other, tokens), `${name} reads ASCII in two ways`, () => [tokens, other]);
}

function checkQuery(text: string): void {
  const query = parseTextQuery(schema, "body", text);
  must(query.clauses.length <= searchLimits.queryClausesMax, "too many clauses");
  const fragments = highlight(text, "standard", query.clauses);
  for (const fragment of fragments) {
    const plain = fragment.replaceAll("<em>", "").replaceAll("</em>", "");
    // A text that holds the marks itself can't be told from one that was marked.
    if (!text.includes("em>")) must(text.includes(plain), "a fragment that is not of the text", () => [fragment, text]);
  }
  if (queryTerms(query).length > 0 && text.length < searchLimits.queryTextLengthMax) {
    must(fragments.length > 0 || query.clauses.every(({ kind }) => kind === "phrase"), "its own words are not found");
  }
}

/** By the definition, for short texts. */
function matches(pattern: readonly string[], text: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return text.length === 0;
  if (first === "*") return matches(rest, text) || (text.length > 0 && matches(pattern, text.slice(1)));
  if (text.length === 0) return false;
  const literal = first === "\\" && rest.length > 0 ? rest[0]! : first;
  const isAny = first === "?";
  const left = first === "\\" && rest.length > 0 ? rest.slice(1) : rest;
  return (isAny || literal === text[0]) && matches(left, text.slice(1));
}

function checkWildcard(text: string): void {
  const [pattern = "", given = ""] = text.split("\n", 2);
  if (pattern.length > 10 || given.length > 12) return;
  const { prefix, matches: found } = wildcardMatcher(pattern);
  must(found(given) === matches([...pattern], [...given]), "a wildcard matches otherwise", () => [pattern, given]);
  must(!found(given) || given.startsWith(prefix), "a wildcard's prefix is wrong", () => [pattern, given, prefix]);
}

/** By hand: Node's own decoder of UTF-16 damages the process's memory where the bytes begin at an odd place. */
function wideText(bytes: Buffer): string {
  const units = Array.from({ length: bytes.length >> 1 }, (_, i) => bytes.readUInt16LE(2 * i));
  return String.fromCharCode(...units);
}

/** The first byte chooses the analyzer; text in UTF-16 may hold half a character. */
export const analyzers: Target = {
  name: "analyzers",
  open: async () => ({
    ...nothingToClose,
    inputs: {
      kind: "guided",
      seeds: [
        "\u0000The quick brown fox's 3,141.5 jumps_over e.g. 日本語 カタカナ été\u0301",
        "\u0001simple words, here",
        "\u0004running runners' ran can\u2019t",
        "\u0002*a?b\\*c\nxaybc",
        "\u0005über Straße \u0130stanbul \u{1f600}x a:b:c 1.2.3",
      ],
      words: [
        "'",
        "\u2019",
        ".",
        ":",
        ",",
        "_",
        "日",
        "カ",
        "\u0301",
        "\u200d",
        "\u0130",
        "\ufb01",
        "*",
        "?",
        "\\",
        '"',
      ],
      bytesMax: 2_000,
      sources: ["src/engine/schema/analysis/", "src/engine/search/text/", "filter/wildcard"],
    },
    run: (input) => {
      const name = names[(input[0] ?? 0) % names.length]!;
      const isWide = (input[0] ?? 0) >= 128;
      const text = isWide ? wideText(input.subarray(1)) : input.toString("utf8", 1);
      const tokens = checkTokens(name, text);
      checkAscii(name, text, tokens);
      must(isDeepStrictEqual(termsOf(analyzerByName(name), text), tokens.terms), `${name} is not the same twice`);
      checkQuery(text);
      checkWildcard(text);
    },
  }),
};
