import { sqlFault } from "../../fault.ts";
import { nameOf, type Token } from "./lexer.ts";

/** Text of an argument, from one token up to another. */
export interface Span {
  readonly first: number;
  /** The token after it. */
  readonly end: number;
}

/** A call of a retriever as it is written. */
export type RetrieverCall =
  | {
      readonly kind: "vector" | "text" | "sparse";
      readonly name: string;
      readonly position: number;
      readonly positional: readonly Span[];
      readonly named: ReadonlyMap<string, Span>;
    }
  | {
      readonly kind: "rrf";
      readonly name: string;
      readonly position: number;
      readonly retrievers: readonly RetrieverCall[];
      readonly rankConstant: Span | undefined;
    };

const kinds: Readonly<Record<string, RetrieverCall["kind"]>> = {
  vector_search: "vector",
  text_search: "text",
  sparse_search: "sparse",
  rrf: "rrf",
};

export function isRetriever(functionName: string): boolean {
  return Object.hasOwn(kinds, functionName.toLowerCase());
}

/** Reads a retriever's call from the tokens, beginning with its name. */
export function readCall(query: string, tokens: readonly Token[], at: number): { call: RetrieverCall; end: number } {
  const token = tokens[at]!;
  const name = nameOf(query, token).toLowerCase();
  const kind = kinds[name];
  if (kind === undefined || text(query, tokens[at + 1]) !== "(") {
    throw sqlFault("unsupported", `${name} is called in a way that can't be followed`, { position: token.start });
  }
  const { spans, end } = argumentSpans(query, tokens, at + 2);
  const positional: Span[] = [];
  const named = new Map<string, Span>();
  for (const span of spans) {
    const sign = text(query, tokens[span.first + 1]);
    // No argument is a comparison, so `k = 5` is what it looks like.
    const isNamed = span.end - span.first > 2 && (sign === ":=" || sign === "=>" || sign === "=");
    if (!isNamed) positional.push(span);
    else named.set(nameOf(query, tokens[span.first]!).toLowerCase(), { first: span.first + 2, end: span.end });
  }
  const position = token.start;
  if (kind !== "rrf") return { call: { kind, name, position, positional, named }, end };
  return { call: readFusion(query, tokens, name, position, positional, named), end };
}

function readFusion(
  query: string,
  tokens: readonly Token[],
  name: string,
  position: number,
  positional: readonly Span[],
  named: ReadonlyMap<string, Span>,
): RetrieverCall {
  const retrievers: RetrieverCall[] = [];
  let rankConstant = named.get("k");
  for (const [other, span] of named) {
    if (other !== "k") {
      throw sqlFault("unsupported", `rrf has no argument ${other}`, { position: tokens[span.first]!.start });
    }
  }
  for (const span of positional) {
    const first = tokens[span.first]!;
    if (isRetriever(nameOf(query, first)) && text(query, tokens[span.first + 1]) === "(") {
      const { call } = readCall(query, tokens, span.first);
      if (call.kind === "rrf") throw sqlFault("unsupported", "rrf takes no rrf", { position: first.start });
      retrievers.push(call);
    } else if (rankConstant === undefined) rankConstant = span;
    else throw sqlFault("unsupported", "rrf takes retrievers and one k", { position: first.start });
  }
  if (retrievers.length < 2) throw sqlFault("unsupported", "rrf takes two or more retrievers", { position });
  return { kind: "rrf", name, position, retrievers, rankConstant };
}

/** The arguments up to the closing bracket, and the token after that. */
function argumentSpans(query: string, tokens: readonly Token[], from: number): { spans: Span[]; end: number } {
  const spans: Span[] = [];
  let depth = 0;
  let first = from;
  for (let at = from; at < tokens.length; at++) {
    const sign = text(query, tokens[at]);
    if (depth === 0 && (sign === "," || sign === ")")) {
      if (at > first) spans.push({ first, end: at });
      if (sign === ")") return { spans, end: at + 1 };
      first = at + 1;
    } else if (sign === "(" || sign === "[" || sign === "{") depth++;
    else if (sign === ")" || sign === "]" || sign === "}") depth--;
  }
  throw sqlFault("syntax", "a bracket is not closed", { position: query.length });
}

function text(query: string, token: Token | undefined): string {
  if (token === undefined || token.kind === "text" || token.kind === "quoted") return "";
  return query.slice(token.start, token.end);
}
