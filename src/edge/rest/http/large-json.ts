import { isAscii } from "node:buffer";
import { invalid } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import { parseBody } from "./exact-sources.ts";
import { TurnShare } from "./in-turns.ts";

/**
 * JSON of many megabytes, parsed in pieces so that other requests get their turns: the members of the outer object
 * are found by a scan, and the elements of the arrays among them are parsed a few at a time. What the scan does not
 * understand it leaves to the caller, who parses it whole and gets its error. Too many members or elements are refused
 * as soon as they are seen: millions of empty ones fit into a body, and what comes after would take seconds for them.
 */
const pieceBytes = 16 * 1024;
/** How far beyond its size a piece may go to end between two objects, */
const cutBytesMax = 64 * 1024;
/** and in how many pieces what looked like such a place may turn out to be none. */
const wrongCutsMax = 3;

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

interface Piece {
  readonly elements: readonly unknown[];
  /** Whether another element follows. */
  readonly more: boolean;
}

class PieceParser {
  readonly #body: Buffer;
  readonly #turn = new TurnShare();
  #at = 0;
  #wrongCuts = 0;

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
      const piece = this.#cutPiece() ?? this.#scannedPiece(from);
      for (const element of piece.elements) elements.push(element);
      if (elements.length > limits.requestRecordsMax) {
        throw invalid(name.slice(0, shownNameLengthMax), `must not have more than ${limits.requestRecordsMax} items`);
      }
      more = piece.more;
      if (this.#turn.isOver) await this.#turn.giveWay();
    }
    return elements;
  }

  /**
   * The next elements up to a place between two objects, or undefined. What is cut within a text or a nested value does
   * not parse, so that no look at every byte is needed to find the place.
   */
  #cutPiece(): Piece | undefined {
    const from = this.#at;
    const to = this.#wrongCuts < wrongCutsMax ? this.#betweenObjects(from + pieceBytes) : undefined;
    if (to === undefined) return undefined;
    try {
      const elements = this.#elements(from, to);
      this.#at = to;
      this.#expect(comma);
      return { elements, more: true };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      this.#wrongCuts++;
      return undefined;
    }
  }

  /** The place after the first `}` from here on that a comma and a `{` follow. */
  #betweenObjects(from: number): number | undefined {
    const within = this.#body.subarray(0, from + cutBytesMax);
    for (let at = within.indexOf(closeBrace, from); at !== -1; at = within.indexOf(closeBrace, at + 1)) {
      this.#at = at + 1;
      if (this.#peek() !== comma) continue;
      this.#at++;
      if (this.#peek() === openBrace) return at + 1;
    }
    return undefined;
  }

  #scannedPiece(from: number): Piece {
    let to = from;
    let more: boolean;
    this.#at = from;
    do {
      this.#take();
      to = this.#at;
      more = this.#separated(closeBracket);
    } while (more && to - from < pieceBytes);
    return { elements: this.#elements(from, to), more };
  }

  /** The brackets are put around them in place, over what separates them from others: the text is made once. */
  #elements(from: number, to: number): readonly unknown[] {
    const body = this.#body;
    const before = body[from - 1]!;
    const after = body[to]!;
    body[from - 1] = openBracket;
    body[to] = closeBracket;
    try {
      return parseBody(textOf(body.subarray(from - 1, to + 1))) as unknown[];
    } finally {
      body[from - 1] = before;
      body[to] = after;
    }
  }

  #parsed(bytes: Buffer): unknown {
    return parseBody(textOf(bytes));
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
