export type TokenKind = "word" | "quoted" | "text" | "number" | "parameter" | "sign";

/** One token of SQL: where it stands, without white space and comments. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

const space = /[\s\ufeff]*/y;
const lineComment = /--[^\n\r]*/y;
const quoted = /"(?:[^"]|"")*"?/y;
const text = /'(?:[^']|'')*'?/y;
const escapedText = /[eE]'(?:[^'\\]|''|\\[\s\S])*'?/y;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y;
const parameter = /\$[A-Za-z0-9_]+|\?\d*/y;
const number = /(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const word = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y;
/** Signs of two characters that the planner looks at; every other sign is taken by itself. */
const sign = /:=|=>|::|[\s\S]/y;

function matchAt(pattern: RegExp, query: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(query) ? pattern.lastIndex : at;
}

/** The end of a comment that may hold comments. */
function blockCommentEnd(query: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    if (query.startsWith("/*", at)) {
      depth++;
      at += 2;
    } else if (query.startsWith("*/", at)) {
      depth--;
      at += 2;
    } else at++;
  } while (depth > 0 && at < query.length);
  return at;
}

function skip(query: string, start: number): number {
  for (let at = start; ; ) {
    let next = matchAt(space, query, at);
    if (query.startsWith("--", next)) next = matchAt(lineComment, query, next);
    else if (query.startsWith("/*", next)) next = blockCommentEnd(query, next);
    if (next === at) return at;
    at = next;
  }
}

function dollarTextEnd(query: string, at: number): number | undefined {
  const open = matchAt(dollarTag, query, at);
  if (open === at) return undefined;
  const close = query.indexOf(query.slice(at, open), open);
  return close === -1 ? query.length : close + (open - at);
}

/** The tokens of a query. It does not judge: what is no SQL, the parser refuses. */
export function tokenize(query: string): Token[] {
  const tokens: Token[] = [];
  for (let start = skip(query, 0); start < query.length; ) {
    const [kind, end] = next(query, start);
    tokens.push({ kind, start, end });
    start = skip(query, end);
  }
  return tokens;
}

const patterns: readonly (readonly [TokenKind, RegExp])[] = [
  ["quoted", quoted],
  ["text", text],
  ["text", escapedText],
  ["parameter", parameter],
  ["number", number],
  ["word", word],
];

function next(query: string, start: number): readonly [TokenKind, number] {
  const dollar = dollarTextEnd(query, start);
  if (dollar !== undefined) return ["text", dollar];
  for (const [kind, pattern] of patterns) {
    const end = matchAt(pattern, query, start);
    if (end > start) return [kind, end];
  }
  return ["sign", matchAt(sign, query, start)];
}

/** A name as it is meant: without its quotes. */
export function nameOf(query: string, { kind, start, end }: Token): string {
  const raw = query.slice(start, end);
  return kind === "quoted" ? raw.slice(1, -1).replaceAll('""', '"') : raw;
}
