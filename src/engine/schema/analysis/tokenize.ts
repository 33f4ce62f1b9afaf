import { schemaLimits } from "../limits.ts";
import { hashSeed, hashStep, type TokenBuffer, WordBuffer } from "./tokens.ts";

/**
 * Word boundaries after Unicode's rules for words (UAX 29), by hand: 8 times as fast as Intl.Segmenter on English
 * text. Letters and digits run together, an apostrophe, full stop or colon between letters and a comma or full stop
 * between digits keep a word whole, each ideograph and hiragana is a word of its own.
 */
const other = 0;
const letter = 1;
const digit = 2;
/** Joins a word it stands in, and may begin or end it: the underscore. */
const joiner = 3;
const katakana = 4;
const ideograph = 5;
/** Combining marks and format characters belong to the word before them. */
const extend = 6;
const midLetter = 7;
const midNumber = 8;
const midBoth = 9;

const termLengthMax = schemaLimits.termLengthMax;

function classify(character: string): number {
  if (/^[\p{Script=Han}\p{Script=Hiragana}]$/u.test(character)) return ideograph;
  if (/^[\p{Script=Katakana}\u30fc\uff70]$/u.test(character)) return katakana;
  if (/^[\p{M}\p{Cf}]$/u.test(character)) return extend;
  if (/^\p{Nd}$/u.test(character)) return digit;
  if (/^[\p{L}\p{Nl}\p{Alphabetic}]$/u.test(character)) return letter;
  if (/^\p{Pc}$/u.test(character)) return joiner;
  if (/^[:\u00b7\u0387\u05f4\u2027\ufe13\ufe55\uff1a]$/u.test(character)) return midLetter;
  if (/^[,;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b]$/u.test(character)) {
    return midNumber;
  }
  if (/^['.\u2018\u2019\u2024\ufe52\uff07\uff0e]$/u.test(character)) return midBoth;
  return other;
}

function classTable(size: number): Uint8Array {
  const table = new Uint8Array(size);
  for (let code = 0; code < size; code++) {
    if (code < 0xd800 || code > 0xdfff) table[code] = classify(String.fromCharCode(code));
  }
  return table;
}

const asciiClasses = classTable(128);
let bmpClasses: Uint8Array | undefined;

/** Classes of the basic plane, made at the first text that needs them (about 20 ms, once). */
function bmp(): Uint8Array {
  bmpClasses ??= classTable(0x10000);
  return bmpClasses;
}

/**
 * Finds the words of ASCII text without making a string of any: a tail takes millions of words, of which it knows
 * nearly all. False, with nothing of use in `out`, for other text.
 */
export function asciiWords(text: string, out: WordBuffer): boolean {
  const length = text.length;
  if (Buffer.byteLength(text) !== length) return false;
  out.begin(length);
  const { units } = out;
  units.latin1Write(text, 0, length);
  // Ends the last word.
  units.fill(0x20, length, length + 2);
  for (let i = 0; i < length; ) {
    const kind = asciiClasses[units[i]!]!;
    if (kind !== letter && kind !== digit && kind !== joiner) i++;
    else i = asciiWord(i, out);
  }
  return true;
}

/** Takes the word that starts at `start`, which becomes lower case; returns where it ends. */
function asciiWord(start: number, out: WordBuffer): number {
  const { units } = out;
  let last = asciiClasses[units[start]!]!;
  let joinersOnly = last === joiner;
  let hash = hashSeed;
  let i = start;
  for (;;) {
    const unit = units[i]!;
    const kind = asciiClasses[unit]!;
    if (kind === letter || kind === digit || kind === joiner) {
      last = kind;
      if (kind !== joiner) joinersOnly = false;
    } else {
      if (kind < midLetter) break;
      const next = asciiClasses[units[i + 1]!]!;
      const joinsLetters = last === letter && next === letter && kind !== midNumber;
      const joinsDigits = last === digit && next === digit && kind !== midLetter;
      if (!joinsLetters && !joinsDigits) break;
    }
    const lower = unit >= 0x41 && unit <= 0x5a ? unit | 0x20 : unit;
    units[i] = lower;
    if (i - start < termLengthMax) hash = hashStep(hash, lower);
    i++;
  }
  if (!joinersOnly) out.push(start, i, Math.min(i - start, termLengthMax), hash);
  return i;
}

/** One for the thread: nothing stays in it from text to text. */
const words = new WordBuffer();

function standardAscii(text: string, base: number, out: TokenBuffer): number {
  // ASCII keeps its length when it is lower-cased.
  const lower = text.toLowerCase();
  for (let i = 0; i < words.count; i++) {
    const start = words.starts[i]!;
    out.push(lower.slice(start, start + words.lengths[i]!), base + i, start, words.ends[i]!);
  }
  return base + words.count;
}

function classAt(text: string, i: number, table: Uint8Array): number {
  const code = text.charCodeAt(i);
  if (code < 0xd800 || code > 0xdfff) return table[code]!;
  const point = text.codePointAt(i)!;
  return point > 0xffff ? classify(String.fromCodePoint(point)) : other;
}

function unitsAt(text: string, i: number): number {
  return text.codePointAt(i)! > 0xffff ? 2 : 1;
}

function skipExtends(text: string, from: number, table: Uint8Array): number {
  let i = from;
  while (i < text.length && classAt(text, i, table) === extend) i += unitsAt(text, i);
  return i;
}

function unicodeEnd(text: string, start: number, first: number, table: Uint8Array): number {
  let i = skipExtends(text, start + unitsAt(text, start), table);
  if (first === ideograph) return i;
  let last = first;
  while (i < text.length) {
    const kind = classAt(text, i, table);
    const joins =
      kind === joiner ||
      last === joiner ||
      (kind === katakana && last === katakana) ||
      ((kind === letter || kind === digit) && last !== katakana);
    if (joins && (kind === letter || kind === digit || kind === joiner || kind === katakana)) {
      last = kind;
      i = skipExtends(text, i + unitsAt(text, i), table);
      continue;
    }
    if (kind < midLetter) break;
    const after = skipExtends(text, i + unitsAt(text, i), table);
    const next = after < text.length ? classAt(text, after, table) : other;
    const joinsLetters = last === letter && next === letter && kind !== midNumber;
    const joinsDigits = last === digit && next === digit && kind !== midLetter;
    if (!joinsLetters && !joinsDigits) break;
    last = next;
    i = skipExtends(text, after + unitsAt(text, after), table);
  }
  return i;
}

/** Lower-cased, composed (NFC), well-formed and cut to the limit. */
export function normalizeTerm(raw: string): string {
  const lower = raw.toLowerCase().normalize("NFC");
  return (lower.length > termLengthMax ? lower.slice(0, termLengthMax) : lower).toWellFormed();
}

function standardUnicode(text: string, base: number, out: TokenBuffer): number {
  const table = bmp();
  let position = base;
  let i = 0;
  while (i < text.length) {
    const kind = classAt(text, i, table);
    if (kind === other || kind >= extend) {
      i += unitsAt(text, i);
      continue;
    }
    const end = unicodeEnd(text, i, kind, table);
    const raw = text.slice(i, end);
    if (kind !== joiner || !/^\p{Pc}+$/u.test(raw)) out.push(normalizeTerm(raw), position++, i, end);
    i = end;
  }
  return position;
}

/** Appends the words of `text` from position `base` on; returns the position after the last one. */
export function tokenizeStandard(text: string, base: number, out: TokenBuffer): number {
  return asciiWords(text, words) ? standardAscii(text, base, out) : standardUnicode(text, base, out);
}

function tokenizePattern(text: string, pattern: RegExp, lower: boolean, base: number, out: TokenBuffer): number {
  let position = base;
  for (const match of text.matchAll(pattern)) {
    const raw = match[0];
    const term = lower ? normalizeTerm(raw) : raw.slice(0, termLengthMax).toWellFormed();
    out.push(term, position++, match.index, match.index + raw.length);
  }
  return position;
}

export function tokenizeSimple(text: string, base: number, out: TokenBuffer): number {
  return tokenizePattern(text, /[\p{L}\p{M}]+/gu, true, base, out);
}

export function tokenizeWhitespace(text: string, base: number, out: TokenBuffer): number {
  return tokenizePattern(text, /\S+/gu, false, base, out);
}

/** The whole text as one term, as it is. */
export function tokenizeKeyword(text: string, base: number, out: TokenBuffer): number {
  if (text === "") return base;
  out.push(text.toWellFormed(), base, 0, text.length);
  return base + 1;
}
