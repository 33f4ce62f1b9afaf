import type { Guide, GuideSection } from "./guides.ts";

export interface FoundSection {
  readonly guide: Guide;
  readonly section: GuideSection;
  /** The text around the first word that was found. */
  readonly excerpt: string;
}

const foundMax = 30;
const excerptLength = 200;
/** A word in the heading says more of a section than one in its text. */
const headingWeight = 20;

/** The sections that have every word of a question, the ones that are most about it first. */
export function searchGuides(guides: readonly Guide[], question: string): FoundSection[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (words.length === 0) return [];
  const found: (FoundSection & { readonly score: number })[] = [];
  for (const guide of guides) {
    for (const section of guide.sections) {
      const score = scoreOf(words, `${guide.title} ${section.heading}`.toLowerCase(), section.text.toLowerCase());
      if (score > 0) found.push({ guide, section, score, excerpt: excerptOf(section.text, words) });
    }
  }
  return found.sort((a, b) => b.score - a.score).slice(0, foundMax);
}

/** 0 where a word is missing. */
function scoreOf(words: readonly string[], heading: string, text: string): number {
  let score = 0;
  for (const word of words) {
    const inText = text.split(word).length - 1;
    const inHeading = heading.includes(word) ? headingWeight : 0;
    if (inText + inHeading === 0) return 0;
    score += inHeading + Math.min(inText, headingWeight / 2);
  }
  return score;
}

function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const from = places.length === 0 ? 0 : Math.max(0, Math.min(...places) - excerptLength / 4);
  const start = from === 0 ? 0 : text.indexOf(" ", from) + 1;
  const excerpt = text.slice(start, start + excerptLength);
  return `${start > 0 ? "… " : ""}${excerpt}${start + excerptLength < text.length ? " …" : ""}`;
}
