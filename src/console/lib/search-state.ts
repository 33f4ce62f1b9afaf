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
  readonly sparseField: string;
  readonly sparseLike: string;
  /** `index:weight` pairs, or the JSON of a sparse vector. */
  readonly sparse: string;
  readonly filter: string;
  readonly k: string;
  readonly limit: string;
  readonly fuse: "rrf" | "weighted";
  readonly fuseK: string;
  readonly textWeight: string;
  readonly vectorWeight: string;
  readonly sparseWeight: string;
  /** Names with commas, as `facets`. */
  readonly highlight: string;
  readonly facets: string;
  readonly groupBy: string;
  readonly groupSize: string;
  /** A field, `_id` or `_score`; empty for the order of the scores. */
  readonly sort: string;
  readonly order: "asc" | "desc";
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
  sparseField: ["sparse_field", ""],
  sparseLike: ["sparse_like", ""],
  sparse: ["sparse", ""],
  filter: ["filter", ""],
  k: ["k", "50"],
  limit: ["limit", "10"],
  fuse: ["fuse", "rrf"],
  fuseK: ["fuse_k", "60"],
  textWeight: ["text_weight", "1"],
  vectorWeight: ["vector_weight", "1"],
  sparseWeight: ["sparse_weight", "1"],
  highlight: ["hl", ""],
  facets: ["facets", ""],
  groupBy: ["group", ""],
  groupSize: ["group_size", "3"],
  sort: ["sort", ""],
  order: ["order", "asc"],
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

/** Fields with a column: what can be counted, grouped and sorted by. */
export function fastFields(schema: CollectionSchema | undefined): string[] {
  return (schema?.fields ?? []).filter(({ fast }) => fast === true).map(({ name }) => name);
}

/** The names of a list with commas. */
export function namesIn(text: string): string[] {
  return text.split(",").filter((name) => name !== "");
}

/** The list with a name more, or one less. */
export function withName(text: string, name: string, on: boolean): string {
  const others = namesIn(text).filter((each) => each !== name);
  return (on ? [...others, name] : others).join(",");
}

/** Fills in the fields that the schema offers where the state names none. */
export function withSchema(state: SearchState, schema: CollectionSchema): SearchState {
  const texts = schema.fields.filter(isText).map(({ name }) => name);
  const vectors = (schema.vectors ?? []).map(({ name }) => name);
  const sparse = (schema.sparse_vectors ?? []).map(({ name }) => name);
  const columns = fastFields(schema);
  return {
    ...state,
    textField: texts.includes(state.textField) ? state.textField : (texts[0] ?? ""),
    vectorField: vectors.includes(state.vectorField) ? state.vectorField : (vectors[0] ?? ""),
    sparseField: sparse.includes(state.sparseField) ? state.sparseField : (sparse[0] ?? ""),
    facets: namesIn(state.facets)
      .filter((name) => columns.includes(name))
      .join(","),
    groupBy: columns.includes(state.groupBy) ? state.groupBy : "",
    sort: [...columns, "_id", "_score"].includes(state.sort) ? state.sort : "",
  };
}

export interface QueryBody {
  readonly from: string;
  readonly retrieve?: readonly Readonly<Record<string, RetrieverBody>>[];
  readonly filter?: unknown;
  readonly fuse?: { readonly method: string; readonly k?: number };
  readonly limit: number;
  readonly highlight?: { readonly fields: readonly string[] };
  readonly facets?: readonly { readonly field: string }[];
  readonly group_by?: { readonly field: string; readonly size: number };
  readonly sort?: readonly { readonly field: string; readonly order: "asc" | "desc" }[];
  readonly explain?: boolean;
}

/** How a query finds candidates. */
export type RetrieverKind = "text" | "vector" | "sparse";

export interface SparseVector {
  readonly indices: readonly number[];
  readonly values: readonly number[];
}

/** What is searched with besides words. */
export interface Vectors {
  readonly dense?: readonly number[] | undefined;
  readonly sparse?: SparseVector | undefined;
}

export interface RetrieverBody {
  readonly field: string;
  readonly query: string | readonly number[] | SparseVector;
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

/** `3:0.5, 17:1.5` and `{"indices":[3,17],"values":[0.5,1.5]}` alike. */
export function parseSparse(text: string): SparseVector {
  if (text.trim().startsWith("{")) return JSON.parse(text) as SparseVector;
  const pairs = text.split(/[\s,;]+/).filter((part) => part !== "");
  const entries = pairs.map((pair) => {
    const [index, value] = pair.split(":").map(Number);
    if (!Number.isInteger(index) || !Number.isFinite(value)) {
      throw new Error(`${pair} is no part of a sparse vector: write index:weight, for example 3:0.5.`);
    }
    return [index!, value!] as const;
  });
  return { indices: entries.map(([index]) => index), values: entries.map(([, value]) => value) };
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

function retrieversOf(state: SearchState, { dense = [], sparse }: Vectors): Record<string, RetrieverBody>[] {
  const k = numberOf(state.k, "k");
  const weight = (text: string, name: string) => {
    const value = numberOf(text, `The ${name} weight`);
    return value === 1 ? {} : { weight: value };
  };
  const found: Record<string, RetrieverBody>[] = [];
  if (state.text.trim() !== "" && state.textField !== "") {
    const operator = state.operator === "and" ? { operator: "and" } : {};
    const text = { field: state.textField, query: state.text, k, ...weight(state.textWeight, "text"), ...operator };
    found.push({ text });
  }
  if (dense.length > 0) {
    found.push({ vector: { field: state.vectorField, query: dense, k, ...weight(state.vectorWeight, "vector") } });
  }
  if (sparse !== undefined) {
    found.push({ sparse: { field: state.sparseField, query: sparse, k, ...weight(state.sparseWeight, "sparse") } });
  }
  return found;
}

/** What is made of the ranking: counts, groups, another order. */
function shapeOf(state: SearchState): Pick<QueryBody, "facets" | "group_by" | "sort"> {
  const facets = namesIn(state.facets).map((field) => ({ field }));
  return {
    ...(facets.length === 0 ? {} : { facets }),
    ...(state.groupBy === ""
      ? {}
      : { group_by: { field: state.groupBy, size: numberOf(state.groupSize, "The size of a group") } }),
    ...(state.sort === "" ? {} : { sort: [{ field: state.sort, order: state.order }] }),
  };
}

/** The query of a state. */
export function buildQuery(state: SearchState, vectors: Vectors): QueryBody {
  const retrieve = retrieversOf(state, vectors);
  const filter = parseFilter(state.filter);
  const fields = namesIn(state.highlight);
  const fuse =
    state.fuse === "rrf" ? { method: "rrf", k: numberOf(state.fuseK, "The constant of RRF") } : { method: "weighted" };
  return {
    from: `collections.${state.collection}`,
    ...(retrieve.length === 0 ? {} : { retrieve }),
    ...(filter === undefined ? {} : { filter }),
    ...(retrieve.length > 1 ? { fuse } : {}),
    limit: numberOf(state.limit, "limit"),
    ...(fields.length === 0 ? {} : { highlight: { fields } }),
    ...shapeOf(state),
  };
}

/** The same query with one of its retrievers, or without its filter: what the fused ranking is compared with. */
export function onlyRetriever(body: QueryBody, kind: RetrieverKind): QueryBody | undefined {
  const retrieve = (body.retrieve ?? []).filter((each) => kind in each);
  if (retrieve.length === 0) return undefined;
  const { fuse: _fuse, facets: _facets, group_by: _group, sort: _sort, ...rest } = body;
  return { ...rest, retrieve };
}

export function withoutFilter(body: QueryBody): QueryBody {
  const { filter: _filter, highlight: _highlight, facets: _facets, group_by: _group, ...rest } = body;
  return rest;
}

/** The filter and one more condition. */
export function narrowed(filter: string, field: string, value: unknown): string {
  const parsed = parseFilter(filter);
  const term = { term: { [field]: value } };
  return JSON.stringify(parsed === undefined ? term : { and: [parsed, term] });
}
