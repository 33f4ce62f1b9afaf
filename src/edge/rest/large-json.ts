import { isAscii } from "node:buffer";
import { invalid } from "../../engine/errors.ts";
import { limits } from "../../engine/limits.ts";

/**
 * JSON of many megabytes, parsed in pieces so that other requests get their turns: the members of the outer object
 * are found by a scan, and the elements of the arrays among them are parsed a few at a time. What the scan does not
 * understand it leaves to the caller, who parses it whole and gets its error. Too many members or elements are refused
 * as soon as they are seen: millions of empty ones fit into a body, and what comes after would take seconds for them.
 */
const pieceBytes = 64 * 1024;
/** Bytes that are scanned or parsed before others get a turn: about two milliseconds. */
const turnBytes = 128 * 1024;

/** Clients choose the names of what they send. */
const shownNameLengthMax = 256;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** The value, or undefined when it is no object in the plain form that the scan knows. Every body is an object. */
export async function parseLargeJson(body: Buffer): Promise<unknown> {
  try {
    return await new PieceParser(body).parse();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

class PieceParser {
  readonly #body: Buffer;
  #at = 0;
  #turnAt = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  async parse(): Promise<unknown> {
    const found: Record<string, unknown> = {};
    if (this.#peek() === openBracket) throw invalid("body", "must be object");
    this.#expect(openBrace);
    if (this.#peek() === closeBrace) this.#at++;
    else {
      let members = 0;
      do {
        if (++members > limits.bodyMembersMax) {
          throw invalid("body", `has more than ${limits.bodyMembersMax} fields`);
        }
        const name = this.#parsed(this.#take()) as string;
        if (typeof name !== "string") throw new SyntaxError();
        this.#expect(colon);
        const value = this.#peek() === openBracket ? await this.#array(name) : this.#parsed(this.#take());
        // As JSON.parse does it: a name such as __proto__ is a member like any other.
        Object.defineProperty(found, name, { value, enumerable: true, configurable: true, writable: true });
      } while (this.#separated(closeBrace));
    }
    if (this.#peek() !== undefined) throw new SyntaxError();
    return found;
  }

  async #array(name: string): Promise<unknown[]> {
    const elements: unknown[] = [];
    this.#expect(openBracket);
    if (this.#peek() === closeBracket) {
      this.#at++;
      return elements;
    }
    for (let more = true; more; ) {
      const from = this.#at;
      let to = from;
      do {
        this.#take();
        to = this.#at;
        more = this.#separated(closeBracket);
      } while (more && to - from < pieceBytes);
      const piece = JSON.parse(`[${textOf(this.#body.subarray(from, to))}]`) as unknown[];
      for (const element of piece) elements.push(element);
      if (elements.length > limits.requestRecordsMax) {
        throw invalid(name.slice(0, shownNameLengthMax), `must not have more than ${limits.requestRecordsMax} items`);
      }
      await this.#giveWay();
    }
    return elements;
  }

  async #giveWay(): Promise<void> {
    if (this.#at - this.#turnAt < turnBytes) return;
    this.#turnAt = this.#at;
    await new Promise((resolve) => setImmediate(resolve));
  }

  #parsed(bytes: Buffer): unknown {
    return JSON.parse(textOf(bytes));
  }

  /** Whether another entry follows; else the closing bracket was taken. */
  #separated(close: number): boolean {
    const byte = this.#peek();
    this.#at++;
    if (byte === close) return false;
    if (byte !== comma) throw new SyntaxError();
    return true;
  }

  #expect(byte: number): void {
    if (this.#peek() !== byte) throw new SyntaxError();
    this.#at++;
  }

  /** The next byte that is no white space. */
  #peek(): number | undefined {
    const body = this.#body;
    let byte = body[this.#at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = body[++this.#at];
    return byte;
  }

  /** Steps over one value; whether it is one is for the parser to say. A plain loop: it sees every byte. */
  #take(): Buffer {
    this.#peek();
    const body = this.#body;
    const from = this.#at;
    let at = from;
    let depth = 0;
    for (; at < body.length; at++) {
      const byte = body[at]!;
      if (byte === quote) at = this.#stringEnd(at);
      else if (byte === openBrace || byte === openBracket) depth++;
      else if (byte === closeBrace || byte === closeBracket) {
        if (depth === 0) break;
        depth--;
      } else if (depth === 0 && (byte === comma || byte === colon)) break;
    }
    if (at === from || depth !== 0) throw new SyntaxError();
    this.#at = at;
    return body.subarray(from, at);
  }

  /** The place of the quote that ends the string that begins at `from`. */
  #stringEnd(from: number): number {
    const body = this.#body;
    for (let at = body.indexOf(quote, from + 1); at !== -1; at = body.indexOf(quote, at + 1)) {
      let escapes = 0;
      while (body[at - 1 - escapes] === backslash) escapes++;
      if (escapes % 2 === 0) return at;
    }
    throw new SyntaxError();
  }
}

function textOf(bytes: Buffer): string {
  return isAscii(bytes) ? bytes.latin1Slice() : bytes.toString();
}
