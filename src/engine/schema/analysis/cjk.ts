import { tokenizeStandard } from "./tokenize.ts";
import { TokenBuffer } from "./tokens.ts";

/** Scripts that set no spaces between words, and Korean, whose words carry their particles. */
const run = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u30fc\uff70]+$/u;

/** One for the thread: nothing stays in it from text to text. */
const words = new TokenBuffer();

/**
 * Words as `standard` has them, but for Chinese, Japanese and Korean: each two characters that follow each other are a
 * term, and each character is one. Every character takes two positions, so that both have one of their own.
 * A query needs the pairs alone, or it would find every text that shares a character with it.
 */
function tokenize(text: string, base: number, out: TokenBuffer, isQuery: boolean): number {
  words.clear();
  tokenizeStandard(text, 0, words);
  let position = base;
  for (let i = 0; i < words.count; ) {
    if (!run.test(words.terms[i]!)) {
      out.push(words.terms[i]!, position++, words.starts[i]!, words.ends[i]!);
      i++;
      continue;
    }
    const start = words.starts[i]!;
    let end = words.ends[i++]!;
    while (i < words.count && words.starts[i] === end && run.test(words.terms[i]!)) end = words.ends[i++]!;
    position = pairs(text, start, end, position, out, isQuery);
  }
  return position;
}

function pairs(text: string, start: number, end: number, base: number, out: TokenBuffer, isQuery: boolean): number {
  const characters = [...text.slice(start, end)];
  const terms = characters.map((character) => character.normalize("NFKC").toLowerCase());
  let at = start;
  for (const [i, character] of characters.entries()) {
    const next = characters[i + 1];
    const after = at + character.length;
    if (next !== undefined) out.push(terms[i]! + terms[i + 1]!, base + 2 * i, at, after + next.length);
    if (!isQuery || characters.length === 1) out.push(terms[i]!, base + 2 * i + 1, at, after);
    at = after;
  }
  return base + 2 * characters.length;
}

export function tokenizeCjk(text: string, base: number, out: TokenBuffer): number {
  return tokenize(text, base, out, false);
}

export function tokenizeCjkQuery(text: string, base: number, out: TokenBuffer): number {
  return tokenize(text, base, out, true);
}
