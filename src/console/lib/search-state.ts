import type { CollectionSchema, FieldSpec } from "./types.ts";

/** All that the search workbench asks for, as its form holds it. It is the page's address too. */
export interface SearchState {
  readonly collection: string;
  readonly text: string;
  readonly textField: string;
  readonly operator: "or" | "and";
  readonly vectorField: string;
  /** The id of a document whose vector is searched with. */
  readonly like: string;
  /** Or the numbers themselves. */
  readonly vector: string;
  readonly filter: string;
  readonly k: string;
  readonly limit: string;
  readonly fuse: "rrf" | "weighted";
  readonly fuseK: string;
  readonly textWeight: string;
  readonly vectorWeight: string;
  readonly highlight: string;
}

/** Names in the address, and what stands for an absent one. */
const names: Readonly<Record<keyof SearchState, readonly [name: string, fallback: string]>> = {
  collection: ["c", ""],
  text: ["text", ""],
  textField: ["text_field", ""],
  operator: ["op", "or"],
  vectorField: ["vector_field", ""],
  like: ["like", ""],
  vector: ["vector", ""],
  filter: ["filter", ""],
  k: ["k", "50"],
  limit: ["limit", "10"],
  fuse: ["fuse", "rrf"],
  fuseK: ["fuse_k", "60"],
  textWeight: ["text_weight", "1"],
  vectorWeight: ["vector_weight", "1"],
  highlight: ["hl", ""],
};

export function readState(params: URLSearchParams): SearchState {
  const entries = Object.entries(names).map(([key, [name, fallback]]) => [key, params.get(name) ?? fallback]);
  return Object.fromEntries(entries) as SearchState;
}

/** What the address says of a state: only what differs from the fallback. */
export function stateParams(state: SearchState): Record<string, string | undefined> {
  const entries = Object.entries(names).map(([key, [name, fallback]]) => {
    const value = state[key as keyof SearchState];
    return [name, value === fallback ? undefined : value];
  });
  return Object.fromEntries(entries) as Record<string, string | undefined>;
}

export function isText(field: FieldSpec): boolean {
  return field.kind === "text" || typeof field.kind === "object";
}

/** Fills in the fields that the schema offers where the state names none. */
export function withSchema(state: SearchState, schema: CollectionSchema): SearchState {
  const texts = schema.fields.filter(isText).map(({ name }) => name);
  const vectors = (schema.vectors ?? []).map(({ name }) => name);
  return {
    ...state,
    textField: texts.includes(state.textField) ? state.textField : (texts[0] ?? ""),
    vectorField: vectors.includes(state.vectorField) ? state.vectorField : (vectors[0] ?? ""),
  };
}

export interface QueryBody {
  readonly from: string;
  readonly retrieve?: readonly Readonly<Record<string, RetrieverBody>>[];
  readonly filter?: unknown;
  readonly fuse?: { readonly method: string; readonly k?: number };
  readonly limit: number;
  readonly highlight?: { readonly fields: readonly string[] };
  readonly explain?: boolean;
}

export interface RetrieverBody {
  readonly field: string;
  readonly query: string | readonly number[];
  readonly k: number;
  readonly weight?: number;
  readonly operator?: string;
}

/** `1, 2.5 -3` and `[1,2.5,-3]` alike. */
export function parseNumbers(text: string): number[] {
  const parts = text
    .replaceAll(/[[\]]/g, " ")
    .split(/[\s,;]+/)
    .filter((part) => part !== "");
  return parts.map((part) => {
    const value = Number(part);
    if (!Number.isFinite(value)) throw new Error(`${part} is no number of a vector.`);
    return value;
  });
}

export function parseFilter(text: string): unknown {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`The filter is not JSON: ${(error as Error).message}`);
  }
}

function numberOf(text: string, name: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new Error(`${name} must be a number.`);
  return value;
}

/** The query of a state; `vector` is the one searched with, where there is one. */
export function buildQuery(state: SearchState, vector: readonly number[] | undefined): QueryBody {
  const k = numberOf(state.k, "k");
  const weights = {
    text: numberOf(state.textWeight, "The text weight"),
    vector: numberOf(state.vectorWeight, "The vector weight"),
  };
  const retrieve: Record<string, RetrieverBody>[] = [];
  const weight = (value: number) => (value === 1 ? {} : { weight: value });
  if (state.text.trim() !== "" && state.textField !== "") {
    const operator = state.operator === "and" ? { operator: "and" } : {};
    retrieve.push({ text: { field: state.textField, query: state.text, k, ...weight(weights.text), ...operator } });
  }
  if (vector !== undefined && vector.length > 0) {
    retrieve.push({ vector: { field: state.vectorField, query: vector, k, ...weight(weights.vector) } });
  }
  const filter = parseFilter(state.filter);
  const fields = state.highlight.split(",").filter((name) => name !== "");
  const fuse =
    state.fuse === "rrf" ? { method: "rrf", k: numberOf(state.fuseK, "The constant of RRF") } : { method: "weighted" };
  return {
    from: `collections.${state.collection}`,
    ...(retrieve.length === 0 ? {} : { retrieve }),
    ...(filter === undefined ? {} : { filter }),
    ...(retrieve.length > 1 ? { fuse } : {}),
    limit: numberOf(state.limit, "limit"),
    ...(fields.length === 0 ? {} : { highlight: { fields } }),
  };
}

/** The same query with one of its retrievers, or without its filter: what the fused ranking is compared with. */
export function onlyRetriever(body: QueryBody, kind: "text" | "vector"): QueryBody | undefined {
  const retrieve = (body.retrieve ?? []).filter((each) => kind in each);
  if (retrieve.length === 0) return undefined;
  const { fuse: _fuse, ...rest } = body;
  return { ...rest, retrieve };
}

export function withoutFilter(body: QueryBody): QueryBody {
  const { filter: _filter, highlight: _highlight, ...rest } = body;
  return rest;
}
