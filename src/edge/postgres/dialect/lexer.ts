import { checkLength, checkTokens, sqlTextLimits } from "../../../engine/sql/statement-limits.ts";

/** A token of a statement: where it begins and ends in the text. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
  /** The token as it stands; a word is in lower case. */
  readonly text: string;
}

export type TokenKind =
  | "word"
  /** `"name"` */
  | "quoted"
  /** `'text'`, with its prefix, and `$tag$text$tag$`. */
  | "string"
  | "number"
  /** `$1` */
  | "parameter"
  /** One character, or `::`. */
  | "symbol"
  /** A comment that does not end, or a quotation. */
  | "broken";

const space = /[\s\v]+|--[^\n\r]*/y;
const word = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y;
const number = /(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const parameter = /\$\d+/y;
const dollarQuote = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y;

/** The tokens of Postgres's SQL, without spaces and comments. What does not end is `broken`. */
export function tokenize(text: string): Token[] {
  checkLength(text);
  const tokens: Token[] = [];
  let at = skipSpace(text, 0);
  while (at < text.length) {
    checkTokens(tokens.length + 1, at, sqlTextLimits.wireTokensMax);
    const token = next(text, at);
    tokens.push(token);
    at = skipSpace(text, token.end);
  }
  return tokens;
}

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/**
 * What stands between the quote at a place and the next one, with both; two of them stand for one. By hand: a regular
 * expression takes a step back for each quote within, for which its stack is too small.
 */
function quoted(text: string, from: number, hasEscapes: boolean): string | undefined {
  const quote = text.charCodeAt(from);
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (hasEscapes && code === backslash) at++;
    else if (code === quote) {
      if (text.charCodeAt(at + 1) !== quote) return text.slice(from, at + 1);
      at++;
    }
  }
  return undefined;
}

const backslash = 0x5c;

function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const found = match(space, text, at);
    if (found !== undefined) {
      at += found.length;
    } else if (text.startsWith("/*", at)) {
      const end = commentEnd(text, at);
      // Left to become a broken token.
      if (end === undefined) return at;
      at = end;
    } else {
      return at;
    }
  }
}

/** Comments nest. */
function commentEnd(text: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text.startsWith("/*", at)) {
      depth++;
      at++;
    } else if (text.startsWith("*/", at)) {
      depth--;
      at++;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

function next(text: string, at: number): Token {
  const tokenOf = (kind: TokenKind, found: string): Token => ({ kind, start: at, end: at + found.length, text: found });
  const broken = (): Token => ({ kind: "broken", start: at, end: text.length, text: text.slice(at) });
  const character = text[at]!;
  if (character === "'") {
    const found = quoted(text, at, false);
    return found === undefined ? broken() : tokenOf("string", found);
  }
  if (character === '"') {
    const found = quoted(text, at, false);
    return found === undefined ? broken() : tokenOf("quoted", found);
  }
  if (character === "$") {
    const numbered = match(parameter, text, at);
    if (numbered !== undefined) return tokenOf("parameter", numbered);
    const tag = match(dollarQuote, text, at);
    if (tag === undefined) return tokenOf("symbol", "$");
    const end = text.indexOf(tag, at + tag.length);
    return end === -1 ? broken() : tokenOf("string", text.slice(at, end + tag.length));
  }
  const name = match(word, text, at);
  if (name !== undefined) {
    const prefix = name.toLowerCase();
    if (text[at + name.length] === "'" && (prefix === "e" || prefix === "b" || prefix === "x" || prefix === "n")) {
      const rest = quoted(text, at + name.length, prefix === "e");
      return rest === undefined ? broken() : tokenOf("string", name + rest);
    }
    return { kind: "word", start: at, end: at + name.length, text: prefix };
  }
  const digits = match(number, text, at);
  if (digits !== undefined) return tokenOf("number", digits);
  if (text.startsWith("/*", at)) return broken();
  return tokenOf("symbol", text.startsWith("::", at) ? "::" : character);
}

export interface StatementText {
  readonly text: string;
  /** Where it begins in the whole. */
  readonly start: number;
  readonly tokens: readonly Token[];
}

/** The statements that `;` parts, without those that say nothing. Positions of tokens are in the statement's text. */
export function splitStatements(text: string): StatementText[] {
  const found: StatementText[] = [];
  let first: Token | undefined;
  let list: Token[] = [];
  const finish = (end: number) => {
    if (first !== undefined) {
      const { start } = first;
      const tokens = list.map((token) => ({ ...token, start: token.start - start, end: token.end - start }));
      found.push({ text: text.slice(start, end), start, tokens });
    }
    first = undefined;
    list = [];
  };
  let end = 0;
  for (const token of tokenize(text)) {
    if (token.kind === "symbol" && token.text === ";") {
      finish(token.start);
    } else {
      first ??= token;
      list.push(token);
    }
    end = token.end;
  }
  finish(end);
  return found;
}

/** The name that a word or a quoted name stands for. */
export function nameOf(token: Token): string {
  return token.kind === "quoted" ? token.text.slice(1, -1).replaceAll('""', '"') : token.text;
}

/** The text that a string token stands for. */
export function stringOf(token: Token): string {
  if (token.text.startsWith("$")) {
    const tag = token.text.slice(0, token.text.indexOf("$", 1) + 1);
    return token.text.slice(tag.length, -tag.length);
  }
  const quote = token.text.indexOf("'");
  const inner = token.text.slice(quote + 1, -1).replaceAll("''", "'");
  return token.text[0]?.toLowerCase() === "e" && quote === 1 ? unescaped(inner) : inner;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|([0-7]{1,3})|([\s\S]))/g,
    (_, hex, unit, octal, one) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8));
      return escapes[one as string] ?? (one as string);
    },
  );
}

/** A statement that stands within another one, from a place in its text up to another. */
export function statementPart({ text, start, tokens }: StatementText, from: number, to = text.length): StatementText {
  const inside = tokens.filter((token) => token.start >= from && token.end <= to);
  return {
    text: text.slice(from, to),
    start: start + from,
    tokens: inside.map((token) => ({ ...token, start: token.start - from, end: token.end - from })),
  };
}

/** A statement of our own that begins where a part of the client's does, so that places of errors are near it. */
export function madeStatement(text: string, start: number): StatementText | undefined {
  const [statement] = splitStatements(text);
  return statement === undefined ? undefined : { ...statement, start };
}
