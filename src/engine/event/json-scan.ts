/**
 * Finds the raw bytes of `data` in a JSON event. But for `exceedsDepth`, it runs after JSON.parse has accepted the
 * text, so it only has to find the ends of values, not to check them. Each byte is looked at once: a search for the
 * next of its kind could run to the end of the body for every member.
 */

const quote = 0x22;
const backslash = 0x5c;

/** Whether brackets nest deeper than `depthMax`, in any text: to be asked before JSON.parse. */
export function exceedsDepth(bytes: Uint8Array, depthMax: number): boolean {
  if (bytes.length <= depthMax) return false;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === quote) {
      for (at++; at < bytes.length && bytes[at] !== quote; at++) if (bytes[at] === backslash) at++;
    } else if ((byte | 0x20) === 0x7b) {
      if (++depth > depthMax) return true;
    } else if ((byte | 0x20) === 0x7d) depth--;
  }
  return false;
}

/** What JSON.parse loses about one object. */
export interface ObjectScan {
  /** Index after the closing brace. */
  end: number;
  /** Members as written, duplicates included. */
  members: number;
  dataStart: number;
  dataEnd: number;
  /** How deep the object nests, itself included. */
  depth: number;
  /** A top-level number other than `data` that is written with a fraction or an exponent. */
  unevenNumber: string | undefined;
}

export function newObjectScan(): ObjectScan {
  return { end: 0, members: 0, depth: 1, dataStart: -1, dataEnd: -1, unevenNumber: undefined };
}

export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  // Below the exclamation mark, valid JSON has only whitespace.
  while (at < bytes.length && bytes[at]! <= 0x20) at++;
  return at;
}

/** In longer strings the native search for the next quote is faster than a loop. */
const shortStringBytes = 48;

/** The index of the closing quote of the string that opens at `from`. */
function closingQuote(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  const end = at + shortStringBytes;
  for (let byte = bytes[at]!; byte !== quote; byte = bytes[at]!) {
    at += byte === backslash ? 2 : 1;
    if (at >= end) return closingQuoteOfLong(bytes, at);
  }
  return at;
}

function closingQuoteOfLong(bytes: Uint8Array, from: number): number {
  const at = bytes.indexOf(quote, from);
  // The first quote from here on: it ends the string unless a backslash stands before it, which may itself be escaped.
  if (at === from || bytes[at - 1] !== backslash) return at;
  let next = from;
  for (let byte = bytes[next]!; byte !== quote; byte = bytes[next]!) next += byte === backslash ? 2 : 1;
  return next;
}

/** The index after the value that starts at `from`. Depth is counted, not recursed into: bodies may nest deeply. */
function valueEnd(bytes: Uint8Array, from: number, scan: ObjectScan): number {
  const first = bytes[from]!;
  if (first === quote) return closingQuote(bytes, from) + 1;
  let at = from;
  if (first !== 0x7b && first !== 0x5b) {
    for (let byte = first; byte > 0x20 && byte !== 0x2c && byte !== 0x7d && byte !== 0x5d; byte = bytes[at]!) {
      at++;
      if (at === bytes.length) break;
    }
    return at;
  }
  let depth = 1;
  do {
    const byte = bytes[at]!;
    if (byte === quote) at = closingQuote(bytes, at);
    // With the bit 0x20 set, [ becomes { and ] becomes }.
    else if ((byte | 0x20) === 0x7b) {
      if (++depth > scan.depth) scan.depth = depth;
    } else if ((byte | 0x20) === 0x7d) depth--;
    at++;
  } while (depth > 1);
  return at;
}

function isNamedData(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from === 4) {
    return bytes[from] === 0x64 && bytes[from + 1] === 0x61 && bytes[from + 2] === 0x74 && bytes[from + 3] === 0x61;
  }
  // `data` with some of its letters escaped has 9 to 24 characters.
  if (to - from < 9 || to - from > 24) return false;
  for (let at = from; at < to; at++) if (bytes[at] === backslash) return nameAt(bytes, from, to) === "data";
  return false;
}

function nameAt(bytes: Uint8Array, from: number, to: number): string {
  return JSON.parse(Buffer.from(bytes.subarray(from - 1, to + 1)).toString()) as string;
}

function isUneven(bytes: Uint8Array, from: number, to: number): boolean {
  const first = bytes[from]!;
  if (first !== 0x2d && (first < 0x30 || first > 0x39)) return false;
  for (let at = from; at < to; at++) if (bytes[at] === 0x2e || (bytes[at]! | 0x20) === 0x65) return true;
  return false;
}

/** Scans the object whose opening brace is at `from`. `names` collects the member names, for errors. */
export function scanObject(bytes: Uint8Array, from: number, scan: ObjectScan, names?: string[]): void {
  scan.members = 0;
  scan.depth = 1;
  scan.dataStart = -1;
  scan.dataEnd = -1;
  scan.unevenNumber = undefined;
  let at = skipSpace(bytes, from + 1);
  while (bytes[at] !== 0x7d) {
    const nameStart = at + 1;
    const nameEnd = closingQuote(bytes, at);
    const start = skipSpace(bytes, skipSpace(bytes, nameEnd + 1) + 1);
    const end = valueEnd(bytes, start, scan);
    scan.members++;
    names?.push(nameAt(bytes, nameStart, nameEnd));
    if (isNamedData(bytes, nameStart, nameEnd)) {
      scan.dataStart = start;
      scan.dataEnd = end;
    } else if (scan.unevenNumber === undefined && isUneven(bytes, start, end)) {
      scan.unevenNumber = nameAt(bytes, nameStart, nameEnd);
    }
    at = skipSpace(bytes, end);
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1);
  }
  scan.end = at + 1;
}
