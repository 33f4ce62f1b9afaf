import { sqlFault } from "../../fault.ts";
import type { RetrieverArguments } from "../../retrieval.ts";
import { type PlannedRetrieval, rowsOf } from "../../retrieval.ts";
import type { SqlParameter, SqlValue } from "../../sql.ts";
import { nameOf, type Token } from "./lexer.ts";
import type { RetrievalRef } from "./retrieval-refs.ts";
import type { RetrieverCall, Span } from "./retriever-call.ts";

/** Works out an expression without columns; `parameters` fill `$1`, `$2`, …. */
export type Evaluate = (expression: string, parameters: readonly SqlParameter[]) => Promise<SqlValue>;

/** Where arguments come from. */
export interface ArgumentSource {
  readonly query: string;
  readonly tokens: readonly Token[];
  readonly namespace: string;
}

const signatures = {
  vector: ["collection", "vector", "vector_field", "k"],
  text: ["collection", "text", "text_field", "k"],
  sparse: ["collection", "vector", "vector_field", "k"],
} as const;

const optionNames: Readonly<Record<string, readonly string[]>> = {
  vector: ["weight", "filter", "exact", "ef"],
  text: ["weight", "filter", "operator"],
  sparse: ["weight", "filter"],
};

type SearchCall = Exclude<RetrieverCall, { kind: "rrf" }>;

/** The arguments of a call by their names, wherever they stand. */
function argumentsOf(call: SearchCall, source: ArgumentSource): Map<string, Span> {
  const names = signatures[call.kind];
  const found = new Map<string, Span>();
  const usage = `${call.name}(${names.join(", ")})`;
  if (call.positional.length > names.length) {
    throw sqlFault("unsupported", `${call.name} has too many arguments: ${usage}`, { position: call.position });
  }
  call.positional.forEach((span, i) => {
    found.set(names[i]!, span);
  });
  for (const [name, span] of call.named) {
    const known = (names as readonly string[]).includes(name) || optionNames[call.kind]!.includes(name);
    if (!known || found.has(name)) {
      const position = source.tokens[span.first]!.start;
      throw sqlFault("unsupported", `${call.name} takes no other ${name}: ${usage}`, { position });
    }
    found.set(name, span);
  }
  for (const name of names.slice(0, 3)) {
    if (!found.has(name)) {
      throw sqlFault("unsupported", `${call.name} lacks its ${name}: ${usage}`, { position: call.position });
    }
  }
  return found;
}

/** The collection that a retriever searches, which is known before anything is worked out. */
export function collectionOf(
  call: SearchCall,
  source: ArgumentSource,
  params: readonly SqlParameter[] | undefined,
): string {
  const span = argumentsOf(call, source).get("collection")!;
  const parts = nameParts(source, span, params);
  const position = source.tokens[span.first]!.start;
  if (parts === undefined) throw sqlFault("unsupported", "the collection must be a name", { position });
  const name = parts[parts.length - 1]!;
  const before = parts.slice(0, -1).map((part) => part.toLowerCase());
  const own = source.namespace.toLowerCase();
  const fits =
    before.length === 0 ||
    (before.length === 1 && (before[0] === "collections" || before[0] === own)) ||
    (before.length === 2 && before[0] === own && before[1] === "collections");
  if (!fits) throw sqlFault("unknown_table", `${parts.join(".")} is no collection of this namespace`, { position });
  return name;
}

/** A name in any of the ways it can be written: bare or quoted, with dots, as text or as a parameter. */
function nameParts(
  { query, tokens }: ArgumentSource,
  { first, end }: Span,
  params: readonly SqlParameter[] | undefined,
): string[] | undefined {
  const token = tokens[first]!;
  if (end - first === 1 && (token.kind === "text" || token.kind === "parameter")) {
    const value = token.kind === "text" ? textOf(query, token) : parameterOf(query, token, tokens, params)?.value;
    if (typeof value !== "string") return undefined;
    return value.toLowerCase().startsWith("collections.") ? ["collections", value.slice(12)] : [value];
  }
  const parts: string[] = [];
  for (let at = first; at < end; at += 2) {
    const part = tokens[at]!;
    if (part.kind !== "word" && part.kind !== "quoted") return undefined;
    const dot = tokens[at + 1];
    if (at + 1 < end && (dot === undefined || query.slice(dot.start, dot.end) !== ".")) return undefined;
    parts.push(nameOf(query, part));
  }
  return parts;
}

function textOf(query: string, { start, end }: Token): string | undefined {
  const raw = query.slice(start, end);
  return raw.startsWith("'") && raw.endsWith("'") ? raw.slice(1, -1).replaceAll("''", "'") : undefined;
}

/** A plain `?` is numbered by its place among all of them. */
export function parameterNumber(query: string, token: Token, tokens: readonly Token[]): number {
  const text = query.slice(token.start, token.end);
  if (text !== "?") {
    const number = Number(text.slice(1));
    if (number > 0) return number;
    throw sqlFault("parameter", "parameters are numbered from $1 on", { position: token.start });
  }
  return tokens.filter((each) => each.kind === "parameter" && each.start <= token.start).length;
}

function parameterOf(
  query: string,
  token: Token,
  tokens: readonly Token[],
  params: readonly SqlParameter[] | undefined,
): SqlParameter | undefined {
  return params?.[parameterNumber(query, token, tokens) - 1];
}

/** All arguments of a retriever, worked out. */
async function retrieverArguments(
  call: SearchCall,
  source: ArgumentSource,
  params: readonly SqlParameter[],
  evaluate: Evaluate,
): Promise<RetrieverArguments> {
  const spans = argumentsOf(call, source);
  const names = signatures[call.kind];
  const work = (span: Span) => argumentValue(source, span, params, evaluate);
  const fieldSpan = spans.get(names[2])!;
  const field = nameParts(source, fieldSpan, params)?.join(".");
  if (field === undefined) {
    throw sqlFault("unsupported", "the field must be a name", { position: source.tokens[fieldSpan.first]!.start });
  }
  const options: Record<string, SqlValue> = {};
  for (const name of optionNames[call.kind]!) {
    const span = spans.get(name);
    if (span !== undefined) options[name] = await work(span);
  }
  const k = spans.get("k");
  return {
    kind: call.kind,
    collection: collectionOf(call, source, params),
    field,
    query: await work(spans.get(names[1])!),
    k: k && (await work(k)),
    options,
  };
}

const numericList = /^\[\s*[-+\d.eE\s,]*\]$/;

/** Literals and parameters are read here; whatever else is a constant DuckDB works out. */
async function argumentValue(
  source: ArgumentSource,
  span: Span,
  params: readonly SqlParameter[],
  evaluate: Evaluate,
): Promise<SqlValue> {
  const { query, tokens } = source;
  const first = tokens[span.first]!;
  const last = tokens[span.end - 1]!;
  const raw = query.slice(first.start, last.end);
  if (span.end - span.first === 1) {
    if (first.kind === "parameter") return parameterOf(query, first, tokens, params)?.value ?? null;
    const text = first.kind === "text" ? textOf(query, first) : undefined;
    if (text !== undefined) return text;
    if (first.kind === "number" && Number.isFinite(Number(raw))) return Number(raw);
  }
  if (numericList.test(raw)) {
    const numbers = raw
      .slice(1, -1)
      .split(",")
      .map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
    if (numbers.every(Number.isFinite)) return numbers;
  }
  refuseSubquery(source, span);
  return evaluate(numbered(source, span), params);
}

/** What is retrieved is found before any table is read. */
function refuseSubquery({ query, tokens }: ArgumentSource, { first, end }: Span): void {
  const found = tokens
    .slice(first, end)
    .find(({ kind, start, end }) => kind === "word" && /^select$/i.test(query.slice(start, end)));
  if (found === undefined) return;
  const message = "an argument of a retriever can't be a subquery; read its value first and pass it as a parameter";
  throw sqlFault("unsupported", message, { position: found.start });
}

/** An argument's text, with every parameter under its number. */
function numbered(source: ArgumentSource, { first, end }: Span): string {
  const { query, tokens } = source;
  let text = "";
  let at = tokens[first]!.start;
  for (const token of tokens.slice(first, end)) {
    if (token.kind !== "parameter") continue;
    text += `${query.slice(at, token.start)}$${parameterNumber(query, token, tokens)}`;
    at = token.end;
  }
  return text + query.slice(at, tokens[end - 1]!.end);
}

/** What a retriever of a statement is asked for; without values for the parameters only whom it asks. */
export async function plannedRetrieval(
  ref: RetrievalRef,
  source: ArgumentSource,
  params: readonly SqlParameter[] | undefined,
  evaluate: Evaluate,
): Promise<PlannedRetrieval> {
  const { call, start: position } = ref;
  const calls = call.kind === "rrf" ? call.retrievers : [call];
  const searches = calls.filter((each) => each.kind !== "rrf");
  const [collection, ...others] = searches.map((each) => collectionOf(each, source, params));
  if (others.some((other) => other !== collection)) {
    throw sqlFault("unsupported", "the retrievers of one rrf must search the same collection", { position });
  }
  const fused = call.kind === "rrf";
  const whose = { position, collection: collection!, fused };
  if (params === undefined) {
    return { ...whose, retrievers: [], rankConstant: undefined, terms: [], limit: undefined };
  }
  const rank = call.kind === "rrf" ? call.rankConstant : undefined;
  return {
    ...whose,
    retrievers: await Promise.all(searches.map((each) => retrieverArguments(each, source, params, evaluate))),
    rankConstant: rank && (await argumentValue(source, rank, params, evaluate)),
    terms: ref.terms.map(({ condition }) => condition),
    limit: rowsOf(ref.limit, params),
  };
}
