import { type FastHead, parseFastHead } from "./fast-head.ts";

/** `head` is undefined for one that the lane does not take. */
export interface FoundHead {
  readonly head: FastHead | undefined;
  readonly headLength: number;
}

const headEnd = Buffer.from("\r\n\r\n");
const carriageReturn = 0x0d;
const zero = 0x30;
const lengthDigitsMax = 9;
const lengthHeader = /\r\n(content-length:[ \t]*)(\d+)/i;

/**
 * The head of a connection's last request that was parsed as a whole. A client mostly sends the same again, or one in which
 * only the request line and the length of the body differ: then only these are read. The same head of 9 lines takes 0.1 µs
 * against 3.7 µs without; one with another line and length 1.6 µs against 4.3.
 */
export class KnownHead {
  readonly #head: FastHead;
  readonly #bytes: Buffer;
  readonly #lineEnd: number;
  /** Where the digits of the body's length are; the end of the head where it has none. */
  readonly #digits: { readonly start: number; readonly end: number };
  /** The last request had another line: the next one will, too. */
  #isOther = false;

  constructor(head: FastHead, bytes: Buffer, text: string) {
    this.#bytes = bytes;
    this.#lineEnd = bytes.indexOf(carriageReturn);
    this.#head = readRequestLine(bytes, this.#lineEnd, head) ?? head;
    const length = lengthHeader.exec(text);
    const start = length === null ? bytes.length : length.index + 2 + length[1]!.length;
    this.#digits = { start, end: length === null ? start : start + length[2]!.length };
  }

  /** The head at the start of `bytes`; undefined when it has to be parsed. */
  find(bytes: Buffer): FoundHead | undefined {
    const known = this.#bytes;
    const { length } = known;
    if (!this.#isOther && bytes.length >= length && known.compare(bytes, 0, length) === 0) {
      return { head: this.#head, headLength: length };
    }
    const lineEnd = bytes.indexOf(carriageReturn);
    const sameEnd = lineEnd + length - this.#lineEnd;
    if (lineEnd >= 0 && sameEnd <= bytes.length && known.compare(bytes, lineEnd, sameEnd, this.#lineEnd) === 0) {
      const isSame = lineEnd === this.#lineEnd && known.compare(bytes, 0, lineEnd, 0, lineEnd) === 0;
      this.#isOther = !isSame;
      return { head: isSame ? this.#head : readRequestLine(bytes, lineEnd, this.#head), headLength: sameEnd };
    }
    const { start, end } = this.#digits;
    const digitsAt = lineEnd + start - this.#lineEnd;
    if (lineEnd < 0 || digitsAt > bytes.length) return undefined;
    if (known.compare(bytes, lineEnd, digitsAt, this.#lineEnd, start) !== 0) return undefined;
    const bodyBytes = end === start ? 0 : readLength(bytes, digitsAt);
    if (bodyBytes === undefined) return undefined;
    const digits = end === start ? "" : String(bodyBytes);
    const restAt = digitsAt + digits.length;
    const headLength = restAt + length - end;
    if (headLength > bytes.length || known.compare(bytes, restAt, headLength, end) !== 0) return undefined;
    const before = bodyBytes === this.#head.bodyBytes ? this.#head : withLength(this.#head, digits, bodyBytes);
    return { head: readRequestLine(bytes, lineEnd, before), headLength };
  }
}

/** The head at the start of `bytes`, and how to know it again; undefined while it is not whole or too long. */
export function readHead(bytes: Buffer, bytesMax: number): (FoundHead & { known: KnownHead | undefined }) | undefined {
  const end = bytes.indexOf(headEnd);
  if (end < 0 || end > bytesMax) return undefined;
  const headLength = end + headEnd.length;
  const text = bytes.latin1Slice(0, end);
  const head = parseFastHead(text);
  // A copy: the chunk must not stay in memory for its head.
  const known = head && new KnownHead(head, Buffer.from(bytes.subarray(0, headLength)), text);
  return { head, headLength, known };
}

const getStart = Buffer.from("GET /");
const postStart = Buffer.from("POST /");
const lineTail = Buffer.from(" HTTP/1.1");

/**
 * As it would be parsed, but from bytes: a client that sends to many paths has only this to be read, and a target that is no part of another text
 * is looked up sooner.
 */
function readRequestLine(bytes: Buffer, end: number, head: Omit<FastHead, "method" | "target">): FoundHead["head"] {
  const isPost = startsWith(bytes, 0, postStart);
  if (!isPost && !startsWith(bytes, 0, getStart)) return undefined;
  const start = (isPost ? postStart : getStart).length - 1;
  const targetEnd = end - lineTail.length;
  if (targetEnd <= start || !startsWith(bytes, targetEnd, lineTail)) return undefined;
  for (let at = start; at < targetEnd; at++) if (bytes[at]! < 0x21 || bytes[at]! > 0x7e) return undefined;
  const { headers, rawHeaders, bodyBytes } = head;
  if (!isPost && bodyBytes > 0) return undefined;
  const target = bytes.latin1Slice(start, targetEnd);
  return { method: isPost ? "POST" : "GET", target, headers, rawHeaders, bodyBytes };
}

function startsWith(bytes: Buffer, at: number, part: Buffer): boolean {
  for (let i = 0; i < part.length; i++) if (bytes[at + i] !== part[i]) return false;
  return true;
}

/** A number as a parsed head may have it, and the end of its line after it. */
function readLength(bytes: Buffer, start: number): number | undefined {
  let value = 0;
  let at = start;
  for (; at < bytes.length && bytes[at] !== carriageReturn; at++) {
    const digit = bytes[at]! - zero;
    if (digit < 0 || digit > 9 || at - start >= lengthDigitsMax || (value === 0 && at > start)) return undefined;
    value = value * 10 + digit;
  }
  return at === start ? undefined : value;
}

function withLength(head: FastHead, digits: string, bodyBytes: number): Omit<FastHead, "method" | "target"> {
  const rawHeaders = head.rawHeaders.slice();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() === "content-length") rawHeaders[i + 1] = digits;
  }
  return { headers: { ...head.headers, "content-length": digits }, rawHeaders, bodyBytes };
}
