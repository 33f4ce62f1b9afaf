import { EngineError } from "../../../engine/errors.ts";
import type { SqlFault } from "../../../engine/sql/fault.ts";
import { checkTokens, sqlTextLimits } from "../../../engine/sql/statement-limits.ts";

/** The words of a statement as MySQL reads them; comments and spaces are gone. */
export interface MysqlToken {
  readonly kind: TokenKind;
  /** What it stands for: a name without its quotes, a string with its escapes undone, else as it was written. */
  readonly value: string;
  readonly start: number;
  readonly end: number;
  /** Whether nothing stands between it and the token before. */
  readonly glued: boolean;
}

export type TokenKind =
  /** A name or keyword without quotes. */
  | "word"
  /** A name in backticks, or in double quotes where these quote names. */
  | "name"
  | "string"
  /** Double quotes that MySQL reads as a string, and that stand for a name where only a name can stand. */
  | "doubled"
  | "number"
  /** `x'…'` and `0x…`, as pairs of hexadecimal digits. */
  | "hex"
  | "parameter"
  /** `@name`. */
  | "user-variable"
  /** `@@name`, `@@session.name`; the value is without the `@@`. */
  | "variable"
  | "operator";

export interface MysqlModes {
  /** Double quotes quote names. */
  readonly ansiQuotes: boolean;
  /** A backslash in a string is a backslash. */
  readonly noBackslashEscapes: boolean;
}

const operators = ["<=>", "->>", "<<", ">>", "<=", ">=", "<>", "!=", ":=", "&&", "||", "->", "::", "=>", "//", "**"];
const wordStart = /[A-Za-z_\u0080-\uffff$]/;
const wordPart = /[A-Za-z0-9_\u0080-\uffff$]/;

export function lexMysql(source: string, modes: MysqlModes): MysqlToken[] {
  return new Lexer(source, modes).run();
}

class Lexer {
  readonly #source: string;
  readonly #modes: MysqlModes;
  readonly #tokens: MysqlToken[] = [];
  #at = 0;
  #lastEnd = -1;
  #nextBackslash: number;
  /** Inside `/*! … *\/`, whose content counts. */
  #executable = false;

  constructor(source: string, modes: MysqlModes) {
    this.#source = source;
    this.#modes = modes;
    this.#nextBackslash = source.indexOf("\\");
  }

  run(): MysqlToken[] {
    while (this.#skipSpace()) this.#tokens.push(this.#next());
    return this.#tokens;
  }

  /** Moves to the next token; false at the end. */
  #skipSpace(): boolean {
    const source = this.#source;
    for (;;) {
      const c = source[this.#at];
      if (c === undefined) return false;
      if (isSpace(c)) this.#at++;
      else if (c === "#") this.#skipLine();
      // Two dashes begin a comment only before a space: `1--1` is 2.
      else if (c === "-" && /^--(?:[\s]|$)/.test(source.slice(this.#at, this.#at + 3))) this.#skipLine();
      else if (source.startsWith("/*", this.#at)) this.#skipComment();
      else if (this.#executable && source.startsWith("*/", this.#at)) {
        this.#executable = false;
        this.#at += 2;
      } else return true;
    }
  }

  #skipLine(): void {
    const end = this.#source.indexOf("\n", this.#at);
    this.#at = end === -1 ? this.#source.length : end + 1;
  }

  #skipComment(): void {
    const source = this.#source;
    const executable = /^\/\*M?!\d{0,6}/.exec(source.slice(this.#at, this.#at + 12));
    if (executable !== null && !this.#executable) {
      this.#executable = true;
      this.#at += executable[0].length;
      return;
    }
    const end = source.indexOf("*/", this.#at + 2);
    if (end === -1) throw syntax("a comment has no end", this.#at);
    this.#at = end + 2;
  }

  #next(): MysqlToken {
    const start = this.#at;
    const c = this.#source[start]!;
    if (c === "`") return this.#token("name", start, this.#quoted("`", false));
    if (c === "'") return this.#token("string", start, this.#quoted("'", !this.#modes.noBackslashEscapes));
    if (c === '"') {
      if (this.#modes.ansiQuotes) return this.#token("name", start, this.#quoted('"', false));
      return this.#token("doubled", start, this.#quoted('"', !this.#modes.noBackslashEscapes));
    }
    if (c === "?") return this.#take("parameter", 1);
    if (c === "@") return this.#variable(start);
    if (/[0-9]/.test(c) || (c === "." && /[0-9]/.test(this.#source[start + 1] ?? "") && !this.#afterName())) {
      return this.#number(start);
    }
    if (wordStart.test(c)) return this.#word(start);
    const operator = operators.find((each) => this.#source.startsWith(each, start));
    return this.#take("operator", operator?.length ?? 1);
  }

  #afterName(): boolean {
    const last = this.#tokens.at(-1);
    return last !== undefined && last.end === this.#at && (last.kind === "word" || last.kind === "name");
  }

  #word(start: number): MysqlToken {
    const source = this.#source;
    let end = start + 1;
    while (end < source.length && wordPart.test(source[end]!)) end++;
    const word = source.slice(start, end);
    this.#at = end;
    if (source[end] === "'" && /^[xXbBnN]$/.test(word)) {
      const value = this.#quoted("'", /[nN]/.test(word) && !this.#modes.noBackslashEscapes);
      if (/[nN]/.test(word)) return this.#token("string", start, value);
      if (/[bB]/.test(word)) return this.#bits(start, value);
      if (!/^(?:[0-9a-fA-F]{2})*$/.test(value)) throw syntax("x'…' holds pairs of hexadecimal digits", start);
      return this.#token("hex", start, value);
    }
    return this.#token("word", start, word);
  }

  #bits(start: number, value: string): MysqlToken {
    if (!/^[01]{0,64}$/.test(value)) throw syntax("b'…' holds up to 64 bits", start);
    return this.#token("number", start, value === "" ? "0" : BigInt(`0b${value}`).toString());
  }

  #number(start: number): MysqlToken {
    hexNumber.lastIndex = start;
    const digits = hexNumber.exec(this.#source)?.[1];
    if (digits !== undefined) {
      this.#at = start + 2 + digits.length;
      return this.#token("hex", start, digits.length % 2 === 0 ? digits : `0${digits}`);
    }
    const match = /^(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/.exec(this.#source.slice(start, start + 400));
    const length = match![0].length;
    // A name may begin with a digit, as `2024_orders` does.
    const tail = /^[A-Za-z0-9_$\u0080-\uffff]+/.exec(this.#source.slice(start + length, start + length + 256));
    if (tail !== null && /^\d+$/.test(match![0])) return this.#take("word", length + tail[0].length);
    return this.#take("number", length);
  }

  #variable(start: number): MysqlToken {
    const system = this.#source[start + 1] === "@";
    this.#at = start + (system ? 2 : 1);
    let value = this.#variablePart();
    while (system && this.#source[this.#at] === ".") {
      this.#at++;
      value += `.${this.#variablePart()}`;
    }
    return this.#token(system ? "variable" : "user-variable", start, value);
  }

  #variablePart(): string {
    const c = this.#source[this.#at];
    if (c === "`" || c === "'" || c === '"') return this.#quoted(c, false);
    const match = /^[A-Za-z0-9_$\u0080-\uffff]+/.exec(this.#source.slice(this.#at, this.#at + 256));
    if (match === null) throw syntax("a variable has no name", this.#at);
    this.#at += match[0].length;
    return match[0];
  }

  /** From the opening quote to behind the closing one; a doubled quote stands for one. Long strings are only searched. */
  #quoted(quote: string, escapes: boolean): string {
    const source = this.#source;
    const opened = this.#at;
    const parts: string[] = [];
    let from = opened + 1;
    let backslash = escapes ? this.#backslash(from) : -1;
    let end = -1;
    for (;;) {
      // Looked for once however many backslashes stand before it.
      if (end < from) end = source.indexOf(quote, from);
      if (end === -1) throw syntax(`${quote === "'" ? "a string" : "a quoted name"} has no end`, opened);
      if (backslash !== -1 && backslash < end) {
        parts.push(source.slice(from, backslash), unescaped(source[backslash + 1] ?? ""));
        from = backslash + 2;
        backslash = this.#backslash(from);
        continue;
      }
      parts.push(source.slice(from, end));
      if (source[end + 1] !== quote) {
        this.#at = end + 1;
        return parts.join("");
      }
      parts.push(quote);
      from = end + 2;
    }
  }

  /** The next backslash, looked for once however many strings come before it. */
  #backslash(from: number): number {
    if (this.#nextBackslash !== -1 && this.#nextBackslash < from) {
      this.#nextBackslash = this.#source.indexOf("\\", from);
    }
    return this.#nextBackslash;
  }

  #take(kind: TokenKind, length: number): MysqlToken {
    const start = this.#at;
    this.#at += length;
    return this.#token(kind, start, this.#source.slice(start, this.#at));
  }

  #token(kind: TokenKind, start: number, value: string): MysqlToken {
    checkTokens(this.#tokens.length + 1, start, sqlTextLimits.wireTokensMax);
    const glued = start === this.#lastEnd;
    this.#lastEnd = this.#at;
    return { kind, value, start, end: this.#at, glued };
  }
}

/** What goes on as a name is one, as `0xfg` does. */
const hexNumber = /0x([0-9a-fA-F]+)(?![A-Za-z0-9_$\u0080-\uffff])/y;

function isSpace(c: string): boolean {
  return c === " " || c === "\n" || c === "\t" || c === "\r" || c === "\f" || c === "\v" || c === "\u00a0";
}

const escapes: Readonly<Record<string, string>> = {
  "0": "\0",
  b: "\b",
  n: "\n",
  r: "\r",
  t: "\t",
  Z: "\x1a",
  // Left for LIKE, which gives them their meaning.
  "%": "\\%",
  _: "\\_",
};

function unescaped(c: string): string {
  return escapes[c] ?? c;
}

export function syntax(message: string, position: number): EngineError {
  const fault: SqlFault = { kind: "syntax", position };
  return new EngineError("invalid_argument", `query: ${message}`, {
    details: { field: "query", sql: fault },
    metadata: { field: "query" },
  });
}

/** The statements of a text, without the empty ones. */
export function splitMysql(tokens: readonly MysqlToken[]): MysqlToken[][] {
  const statements: MysqlToken[][] = [[]];
  for (const token of tokens) {
    if (token.kind === "operator" && token.value === ";") statements.push([]);
    else statements.at(-1)!.push(token);
  }
  return statements.filter((each) => each.length > 0);
}

export function isWord(token: MysqlToken | undefined, ...words: readonly string[]): boolean {
  return token !== undefined && token.kind === "word" && words.includes(token.value.toUpperCase());
}

export function isOperator(token: MysqlToken | undefined, value: string): boolean {
  return token !== undefined && token.kind === "operator" && token.value === value;
}

export function isName(token: MysqlToken | undefined): boolean {
  return token !== undefined && (token.kind === "word" || token.kind === "name");
}

/** One statement's words, and the text they are of. */
export interface Statement {
  readonly source: string;
  readonly tokens: readonly MysqlToken[];
}
