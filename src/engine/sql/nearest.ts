import { EngineError } from "../errors.ts";
import type { Queries } from "../query/queries.ts";
import type { VectorSpec } from "../schema/schema.ts";
import { collectionColumns } from "./columns.ts";
import type { FoundDocuments, PlannedNearest, PlannedRetrieval } from "./retrieval.ts";
import { type RetrieveRequest, restrictionOf, retrieve, vectorJson } from "./retrieve.ts";

/** Rows of a statement up to which an index is asked: for more of them there is little that it spares. */
const rowsMax = 1_000;

/** Found besides those that are needed: SQL computes distances in single precision, and may order near ones otherwise. */
const spareRows = 16;

/**
 * The documents nearest to a vector, from the index, for SQL to order and cut as it would all of them. Undefined where
 * the index can't tell: another measure, conditions that no filter says, fewer documents with a vector than rows.
 */
export async function nearest(
  queries: Queries,
  planned: PlannedNearest,
  request: RetrieveRequest,
  signal: AbortSignal | undefined,
): Promise<
  { readonly ref: number; readonly found: FoundDocuments; readonly token: RetrieveRequest["token"] } | undefined
> {
  const { rows, ref, collection, position, conditions } = planned;
  const vector = rows < 1 || rows > rowsMax ? undefined : vectorColumn(queries, planned, request.namespace);
  if (vector === undefined || vector.distance !== planned.distance) return undefined;
  const query = vectorJson(planned.query);
  if (!isVector(query, vector)) return undefined;
  const retriever = {
    kind: "vector",
    collection,
    field: vector.name,
    query,
    k: rows + spareRows,
    options: {},
  } as const;
  const retrieval: PlannedRetrieval = {
    position,
    collection,
    retrievers: [retriever],
    fused: false,
    rankConstant: undefined,
    terms: conditions,
    limit: undefined,
  };
  const restriction = restrictionOf(queries, retrieval, request);
  if (restriction.rest.length > 0) return undefined;
  const result = await retrieve(queries, retrieval, restriction, request, signal, undefined);
  if (!("found" in result)) return undefined;
  const { found, token } = result;
  // Rows without a vector come last, and so do those of length zero, whose cosine is 0 in the index.
  if (found.ids.length < rows || (vector.distance === "cosine" && !(found.scores[rows - 1]! > 0))) return undefined;
  return { ref, found, token };
}

function vectorColumn(queries: Queries, planned: PlannedNearest, namespace: string): VectorSpec | undefined {
  const { collection, column, label } = planned;
  try {
    const { schema } = queries.metaOf(namespace, collection);
    const columns = collectionColumns(schema);
    const find = (name: string) => columns.find((each) => each.name.toLowerCase() === name.toLowerCase());
    const shows = find(column)?.shows;
    // A name that is a column's as well may mean that.
    if (shows?.kind !== "vector" || (label !== undefined && find(label) !== undefined)) return undefined;
    return schema.vectors.find(({ name }) => name === shows.name);
  } catch (error) {
    // The statement's tables are looked up later, by more than their exact name.
    if (error instanceof EngineError && error.reason === "not_found") return undefined;
    throw error;
  }
}

function isVector(query: unknown, { dim, distance }: VectorSpec): query is number[] {
  if (!Array.isArray(query) || query.length !== dim) return false;
  if (!query.every((number) => typeof number === "number" && Number.isFinite(Math.fround(number)))) return false;
  return distance !== "cosine" || query.some((number) => Math.fround(number) !== 0);
}
