/**
 * A target with a number before its last part, such as a partition's: taken apart, since of the targets that come by the thousand most differ only in
 * that number. A table of all of them would be memory that no cache has.
 */
export interface NumberedTarget {
  readonly start: TargetStart;
  readonly number: number;
  readonly end: string;
}

/** What stands before the number. One that came before is the same object again. */
export class TargetStart {
  readonly text: string;
  /** What somebody has found out about it, which holds as long as the text does. */
  known: unknown;

  constructor(text: string) {
    this.text = text;
  }
}

const slash = 0x2f;
const questionMark = 0x3f;
const zero = 0x30;
const nine = 0x39;
const digitsMax = 9;
/** Longer ones are left as they are. */
const bytesMax = 512;
const endBytesMax = 32;
/** Starts that are kept; forgotten all at once, so that a look-up keeps no order. */
const startsMax = 4_096;
const visible = /^[\x21-\x7e]*$/;

/** Reads targets from bytes. */
export class NumberedTargets {
  readonly #starts = new Map<string, TargetStart>();
  #end = { bytes: Buffer.alloc(0), text: "" };

  /** Undefined for any other target, and for one with a byte that none may have. */
  read(bytes: Buffer, start: number, end: number): NumberedTarget | undefined {
    if (end - start > bytesMax) return undefined;
    let last = end - 1;
    const lastMin = Math.max(start, end - endBytesMax);
    while (last > lastMin && bytes[last] !== slash) last--;
    let digits = last;
    while (digits > start && isDigit(bytes[digits - 1]!)) digits--;
    const length = last - digits;
    if (length < 1 || length > digitsMax || bytes[last] !== slash || bytes[digits - 1] !== slash) return undefined;
    if (length > 1 && bytes[digits] === zero) return undefined;
    let number = 0;
    for (let at = digits; at < last; at++) number = number * 10 + bytes[at]! - zero;
    const endText = this.#readEnd(bytes, last, end);
    if (endText === undefined) return undefined;
    const found = this.#readStart(bytes, start, digits);
    return found === undefined ? undefined : { start: found, number, end: endText };
  }

  #readStart(bytes: Buffer, start: number, end: number): TargetStart | undefined {
    const text = bytes.latin1Slice(start, end);
    const known = this.#starts.get(text);
    if (known !== undefined) return known;
    if (!visible.test(text)) return undefined;
    if (this.#starts.size >= startsMax) this.#starts.clear();
    const found = new TargetStart(text);
    this.#starts.set(text, found);
    return found;
  }

  /** Mostly what it was the last time. */
  #readEnd(bytes: Buffer, start: number, end: number): string | undefined {
    if (isSame(this.#end.bytes, bytes, start, end)) return this.#end.text;
    const text = bytes.latin1Slice(start, end);
    if (!visible.test(text) || bytes.subarray(start, end).includes(questionMark)) return undefined;
    this.#end = { bytes: Buffer.from(bytes.subarray(start, end)), text };
    return text;
  }
}

function isSame(known: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (known.length !== end - start) return false;
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[start + i]) return false;
  return true;
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= nine;
}
