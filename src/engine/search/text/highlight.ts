import { analyzerByName } from "../../schema/analysis/analyzer.ts";
import { TokenBuffer } from "../../schema/analysis/tokens.ts";
import { searchLimits } from "../limits.ts";
import type { TextClause } from "./query.ts";

export interface HighlightOptions {
  readonly fragments?: number;
  readonly fragmentLength?: number;
  readonly before?: string;
  readonly after?: string;
}

interface Fragment {
  /** Matching tokens, as places in the token list: first, and the one after the last. */
  readonly from: number;
  readonly to: number;
  readonly distinct: number;
}

/** Runs of matches that fit into one fragment, each match in one of them. */
function runs(tokens: TokenBuffer, matches: readonly number[], length: number): Fragment[] {
  const found: Fragment[] = [];
  for (let i = 0; i < matches.length; ) {
    const start = tokens.starts[matches[i]!]!;
    const terms = new Set<string>();
    let j = i;
    while (j < matches.length && (j === i || tokens.ends[matches[j]!]! - start <= length)) {
      terms.add(tokens.terms[matches[j]!]!);
      j++;
    }
    found.push({ from: i, to: j, distinct: terms.size });
    i = j;
  }
  return found;
}

/** How far a cut may move to fall between two words. Some scripts set no spaces: there it falls between two characters. */
const cutSlack = 40;

function isSpace(text: string, at: number): boolean {
  return /\s/.test(text[at]!);
}

/** Whether a cut would part the two halves of a character. */
function splits(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
}

/** The stretch of text to show for a run: as much around it as fits, cut between words. */
function stretch(text: string, first: number, last: number, length: number): [number, number] {
  const spare = Math.max(0, length - (last - first));
  const start = Math.max(0, first - (spare >> 1));
  const end = Math.min(text.length, Math.max(last, start + length));
  let from = start;
  while (from > 0 && from < first && from - start < cutSlack && !isSpace(text, from - 1)) from++;
  if (from - start === cutSlack) from = splits(text, start) ? start + 1 : start;
  let to = end;
  while (to < text.length && to > last && end - to < cutSlack && !isSpace(text, to)) to--;
  if (end - to === cutSlack) to = splits(text, end) ? end - 1 : end;
  return [from, to];
}

function mark(
  text: string,
  from: number,
  to: number,
  tokens: TokenBuffer,
  places: readonly number[],
  options: HighlightOptions,
): string {
  const { before = "<em>", after = "</em>" } = options;
  let shown = "";
  let at = from;
  for (const place of places) {
    const start = tokens.starts[place]!;
    const end = tokens.ends[place]!;
    if (start < from || end > to || end <= at) continue;
    // Terms that share characters are marked as one.
    if (start < at) shown = shown.slice(0, -after.length) + text.slice(at, end) + after;
    else shown += text.slice(at, start) + before + text.slice(start, end) + after;
    at = end;
  }
  return (shown + text.slice(at, to)).trim();
}

/** The tokens that a clause asks for, as places in the token list: of a phrase only those that stand as it does. */
function matchingTokens(tokens: TokenBuffer, clauses: readonly TextClause[]): number[] {
  const single = new Set<string>();
  const phrases: Extract<TextClause, { kind: "phrase" }>[] = [];
  for (const clause of clauses) {
    if (clause.kind === "term") single.add(clause.term);
    else phrases.push(clause);
  }
  const matches = new Set<number>();
  const places = new Map<number, number>();
  for (let i = 0; i < tokens.count; i++) {
    if (single.has(tokens.terms[i]!)) matches.add(i);
    if (phrases.length > 0) places.set(tokens.positions[i]!, i);
  }
  for (const { terms, offsets } of phrases) {
    for (let i = 0; i < tokens.count; i++) {
      if (tokens.terms[i] !== terms[0]) continue;
      const found = terms.map((term, t) => {
        const place = places.get(tokens.positions[i]! + offsets[t]!) ?? -1;
        return place !== -1 && tokens.terms[place] === term ? place : -1;
      });
      if (!found.includes(-1)) for (const place of found) matches.add(place);
    }
  }
  return [...matches].sort((x, y) => x - y);
}

/**
 * The best stretches of a text with its matching words marked, in the order of the text. The text is analysed again, as
 * it was for the index, so that a marked word is one that matched.
 */
export function highlight(
  text: string,
  analyzer: string,
  clauses: readonly TextClause[],
  options: HighlightOptions = {},
): string[] {
  const length = options.fragmentLength ?? searchLimits.highlightFragmentLength;
  const searched = text.slice(0, searchLimits.highlightTextLengthMax);
  const tokens = new TokenBuffer();
  analyzerByName(analyzer).analyze(searched, 0, tokens);
  const matches = matchingTokens(tokens, clauses);
  return runs(tokens, matches, length)
    .sort((x, y) => y.distinct - x.distinct || y.to - y.from - (x.to - x.from) || x.from - y.from)
    .slice(0, options.fragments ?? searchLimits.highlightFragmentsMax)
    .sort((x, y) => x.from - y.from)
    .map((run) => {
      const first = tokens.starts[matches[run.from]!]!;
      const last = tokens.ends[matches[run.to - 1]!]!;
      const [from, to] = stretch(searched, first, last, length);
      return mark(searched, from, to, tokens, matches, options);
    });
}
