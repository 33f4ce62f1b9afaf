/** Checks JSON in bytes that are known to be UTF-8, without building it. */

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

export function skipJsonSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** The index after the string whose quote is at `from`, or -1. */
export function jsonStringEnd(bytes: Uint8Array, from: number): number {
  const { length } = bytes;
  for (let at = from + 1; at < length; ) {
    const byte = bytes[at]!;
    if (byte === quote) return at + 1;
    if (byte === backslash) {
      const escaped = bytes[at + 1];
      if (escaped === 0x75) {
        for (let i = at + 2; i < at + 6; i++) if (!isHexDigit(bytes[i])) return -1;
        at += 6;
      } else if (isShortEscape(escaped)) at += 2;
      else return -1;
    } else if (byte < 0x20) return -1;
    else at++;
  }
  return -1;
}

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

/** One of `"`, `\`, `/`, b, f, n, r and t. */
function isShortEscape(byte: number | undefined): boolean {
  switch (byte) {
    case quote:
    case backslash:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(bytes[at])) at++;
  return at === from ? -1 : at;
}

/** The index after the number or the word at `from`, or -1. */
function plainEnd(bytes: Uint8Array, from: number): number {
  switch (bytes[from]) {
    case 0x74:
      return hasWord(bytes, from, "true") ? from + 4 : -1;
    case 0x66:
      return hasWord(bytes, from, "false") ? from + 5 : -1;
    case 0x6e:
      return hasWord(bytes, from, "null") ? from + 4 : -1;
    default:
      return numberEnd(bytes, from);
  }
}

function hasWord(bytes: Uint8Array, from: number, word: string): boolean {
  for (let i = 0; i < word.length; i++) if (bytes[from + i] !== word.charCodeAt(i)) return false;
  return true;
}

function numberEnd(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  at = bytes[at] === 0x30 ? at + 1 : digitsEnd(bytes, at);
  if (at > 0 && bytes[at] === 0x2e) at = digitsEnd(bytes, at + 1);
  if (at > 0 && (bytes[at]! | 0x20) === 0x65) {
    const sign = bytes[at + 1];
    at = digitsEnd(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
  }
  return at;
}

/** The index after a member's name and its colon, where its value starts; or -1. */
function memberValue(bytes: Uint8Array, from: number): number {
  if (bytes[from] !== quote) return -1;
  const end = jsonStringEnd(bytes, from);
  if (end < 0) return -1;
  const at = skipJsonSpace(bytes, end);
  return bytes[at] === colon ? skipJsonSpace(bytes, at + 1) : -1;
}

/** Finds the ends of JSON values. Holds the brackets that are open, so that depth is counted, not recursed into. */
export class JsonValidator {
  readonly #closers: Uint8Array;

  constructor(depthMax: number) {
    this.#closers = new Uint8Array(depthMax);
  }

  /** The index after the value that starts at `from`, or -1 when it is no JSON or nests too deep. */
  valueEnd(bytes: Uint8Array, from: number): number {
    const closers = this.#closers;
    let depth = 0;
    let at = from;
    for (;;) {
      const byte = bytes[at];
      if (byte === openBrace || byte === openBracket) {
        if (depth === closers.length) return -1;
        const closer = byte === openBrace ? closeBrace : closeBracket;
        at = skipJsonSpace(bytes, at + 1);
        if (bytes[at] === closer) at++;
        else {
          closers[depth++] = closer;
          if (closer === closeBrace) at = memberValue(bytes, at);
          if (at < 0) return -1;
          continue;
        }
      } else {
        at = byte === quote ? jsonStringEnd(bytes, at) : plainEnd(bytes, at);
        if (at < 0) return -1;
      }
      // A value has ended: so do the brackets that close behind it, up to the next value.
      while (depth > 0) {
        at = skipJsonSpace(bytes, at);
        const closer = closers[depth - 1];
        if (bytes[at] === closer) {
          at++;
          depth--;
        } else if (bytes[at] === comma) {
          at = skipJsonSpace(bytes, at + 1);
          if (closer === closeBrace) at = memberValue(bytes, at);
          break;
        } else return -1;
      }
      if (at < 0) return -1;
      if (depth === 0) return at;
    }
  }
}
