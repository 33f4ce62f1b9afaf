import { analyzerByName } from "../analysis/analyzer.ts";
import { TokenBuffer } from "../analysis/tokens.ts";
import { searchLimits } from "../limits.ts";

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

/** The stretch of text to show for a run: as much around it as fits, cut between words. */
function stretch(text: string, first: number, last: number, length: number): [number, number] {
  const spare = Math.max(0, length - (last - first));
  let from = Math.max(0, first - (spare >> 1));
  let to = Math.min(text.length, Math.max(last, from + length));
  while (from > 0 && from < first && !/\s/.test(text[from - 1]!)) from++;
  while (to < text.length && to > last && !/\s/.test(text[to]!)) to--;
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
  let shown = "";
  let at = from;
  for (const place of places) {
    const start = tokens.starts[place]!;
    const end = tokens.ends[place]!;
    if (start < at || end > to) continue;
    shown += `${text.slice(at, start)}${options.before ?? "<em>"}${text.slice(start, end)}${options.after ?? "</em>"}`;
    at = end;
  }
  return (shown + text.slice(at, to)).trim();
}

/**
 * The best stretches of a text with its matching words marked, in the order of the text. The text is analysed again, as
 * it was for the index, so that a marked word is one that matched.
 */
export function highlight(
  text: string,
  analyzer: string,
  terms: ReadonlySet<string>,
  options: HighlightOptions = {},
): string[] {
  const length = options.fragmentLength ?? searchLimits.highlightFragmentLength;
  const searched = text.slice(0, searchLimits.highlightTextLengthMax);
  const tokens = new TokenBuffer();
  analyzerByName(analyzer).analyze(searched, 0, tokens);
  const matches: number[] = [];
  for (let i = 0; i < tokens.count; i++) if (terms.has(tokens.terms[i]!)) matches.push(i);
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
