import type { CollectionMeta } from "../collection/collection-store.ts";
import { EngineError } from "../errors.ts";
import type { Queries, StoredHits } from "../query/queries.ts";
import { queryLimits } from "../retrieval/limits.ts";
import { parseQuery } from "../retrieval/parse.ts";
import type { QueryPlan } from "../retrieval/plan.ts";
import type { Schema } from "../schema/schema.ts";
import { formatSchema } from "../schema/schema-parse.ts";
import { type Filter, ofFirstValues } from "../search/filter/filter.ts";
import type { ConsistencyToken } from "../token.ts";
import { type ConditionFilters, conditionFilters } from "./condition-filter.ts";
import { sqlFault } from "./fault.ts";
import type { RunReply } from "./messages.ts";
import { plainRows } from "./plain-rows.ts";
import type { FoundDocuments, PlainSelect, PlannedRetrieval, RetrieverArguments } from "./retrieval.ts";
import type { SqlParameter, SqlValue } from "./sql.ts";

/** What a retriever without `k` finds at most. */
const kDefault = 10;

export interface RetrieveRequest {
  readonly namespace: string;
  readonly params: readonly SqlParameter[];
  readonly token: ConsistencyToken;
  readonly consistency: "strong" | "eventual";
}

/** What restricts the retrievers of one retrieval before their top k. */
export interface Restriction extends ConditionFilters {
  /** The documents that meet the terms which no filter can say. */
  readonly ids: Float64Array | undefined;
}

/** The plan of a retrieval under a schema. It can be reused, since one with parameters is planned for each run. */
interface Known {
  readonly schema: Schema;
  readonly restriction: Restriction;
  readonly plans: Map<RetrieveRequest["consistency"], QueryPlan>;
}

const knownRetrievals = new WeakMap<PlannedRetrieval, Known>();

function known(queries: Queries, planned: PlannedRetrieval, { namespace, params }: RetrieveRequest): Known {
  const schema = schemaOf(queries, namespace, planned);
  let found = knownRetrievals.get(planned);
  if (found?.schema !== schema) {
    const restriction = { ...conditionFilters(schema, planned.terms, params), ids: undefined };
    found = { schema, restriction, plans: new Map() };
    knownRetrievals.set(planned, found);
  }
  return found;
}

/** As far as filters can say it. */
export function restrictionOf(queries: Queries, planned: PlannedRetrieval, request: RetrieveRequest): Restriction {
  return known(queries, planned, request).restriction;
}

/** Runs a retrieval of a statement as the query that it is. */
export async function retrieve(
  queries: Queries,
  planned: PlannedRetrieval,
  restriction: Restriction,
  request: RetrieveRequest,
  signal: AbortSignal | undefined,
  select: PlainSelect | undefined,
): Promise<Retrieved> {
  const { namespace, token, params } = request;
  try {
    const plan = among(queryPlan(queries, planned, restriction, request), restriction.ids);
    const { answer, token: seen } = await queries.hits(
      namespace,
      plan,
      token,
      signal,
      (hits): FoundDocuments | RunReply => {
        const { schema } = hits.meta;
        const rows = select && plainRows(select, { ...hits, schema }, params);
        return rows ?? packed(planned.collection, hits);
      },
    );
    return "batch" in answer ? { rows: answer, token: seen } : { found: answer, token: seen };
  } catch (error) {
    throw asFault(error, planned.position);
  }
}

/** Documents for the statement's thread, or the statement's rows where there is nothing left to do. */
export type Retrieved = { readonly token: ConsistencyToken } & (
  | { readonly found: FoundDocuments }
  | { readonly rows: RunReply }
);

function queryPlan(
  queries: Queries,
  planned: PlannedRetrieval,
  { filters, rest }: Restriction,
  request: RetrieveRequest,
): QueryPlan {
  const { schema, plans } = known(queries, planned, request);
  const { consistency } = request;
  const cached = plans.get(consistency);
  if (cached !== undefined) return cached;
  const body = {
    from: planned.collection,
    retrieve: planned.retrievers.map(retrieverJson),
    ...(filters.length === 0 ? {} : { filter: filters.length === 1 ? filters[0] : { and: filters } }),
    ...(planned.fused ? { fuse: { method: "rrf", ...constantOf(planned.rankConstant) } } : {}),
    limit: limitOf(planned, rest.length === 0),
    select: [],
    consistency,
  };
  const parsed = parseQuery(body, () => schema);
  const plan = parsed.filter === undefined ? parsed : { ...parsed, filter: ofFirstValues(parsed.filter) };
  plans.set(consistency, plan);
  return plan;
}

function among(plan: QueryPlan, ids: Float64Array | undefined): QueryPlan {
  if (ids === undefined) return plan;
  const these: Filter = { kind: "ids", ids };
  return { ...plan, filter: plan.filter === undefined ? these : { kind: "and", filters: [plan.filter, these] } };
}

/** The columns of a retrieval, without running it. */
export function emptyFound(queries: Queries, planned: PlannedRetrieval, namespace: string): FoundDocuments {
  const meta = metaOf(queries, namespace, planned);
  return {
    collection: planned.collection,
    collectionId: meta.id,
    schemaVersion: meta.schemaVersion,
    fields: formatted(meta.schema),
    ids: new Float64Array(),
    scores: new Float64Array(),
    offsets: new Float64Array(1),
    data: new Uint8Array(),
  };
}

function schemaOf(queries: Queries, namespace: string, planned: PlannedRetrieval): Schema {
  return metaOf(queries, namespace, planned).schema;
}

const formattedSchemas = new WeakMap<Schema, unknown>();

/** In the form of REST, worked out once. */
function formatted(schema: Schema): unknown {
  let json = formattedSchemas.get(schema);
  if (json === undefined) {
    json = formatSchema(schema);
    formattedSchemas.set(schema, json);
  }
  return json;
}

function metaOf(queries: Queries, namespace: string, { collection, position }: PlannedRetrieval): CollectionMeta {
  try {
    return queries.metaOf(namespace, collection);
  } catch (error) {
    if (!(error instanceof EngineError) || error.reason !== "not_found") throw error;
    throw sqlFault("unknown_table", `there is no collection ${collection} in namespace ${namespace}`, { position });
  }
}

function retrieverJson({ kind, field, query, k, options }: RetrieverArguments): object {
  const { filter, ...rest } = options;
  const shown = {
    field,
    query: queryJson(kind, query),
    k: numberOf(k ?? kDefault),
    ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, numberOf(value)])),
    ...(filter === undefined ? {} : { filter: typeof filter === "string" ? parsedJson(filter) : filter }),
  };
  return { [kind]: shown };
}

/** A vector may come as a list, as JSON text or as text in PostgreSQL's form of an array. */
function queryJson(kind: RetrieverArguments["kind"], query: SqlValue): unknown {
  if (kind === "text") return query;
  return kind === "sparse" && typeof query === "string" ? parsedJson(query) : vectorJson(query);
}

export function vectorJson(query: SqlValue): unknown {
  if (typeof query === "string") return parsedJson(query.replace(/^\{(.*)\}$/s, "[$1]"));
  return Array.isArray(query) ? query.map(numberOf) : query;
}

/** Of an argument that is JSON: it is read where all requests are served. */
const jsonCharactersMax = 1024 * 1024;

function parsedJson(text: string): unknown {
  if (text.length > jsonCharactersMax) {
    throw sqlFault("out_of_range", `an argument of a retriever has more than ${jsonCharactersMax} characters of JSON`);
  }
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function numberOf(value: SqlValue): unknown {
  if (typeof value === "bigint") return Number(value);
  // Decimals and what a wire sends as text.
  return typeof value === "string" && /^[-+]?[\d.]+(?:e[-+]?\d+)?$/i.test(value) ? Number(value) : value;
}

function constantOf(rankConstant: SqlValue | undefined): object {
  return rankConstant === undefined ? {} : { k: numberOf(rankConstant) };
}

function limitOf({ retrievers, limit }: PlannedRetrieval, isWhole: boolean): number {
  let sum = 0;
  // A `k` that is no count is refused where it stands, and not as a limit that nobody gave.
  for (const { k } of retrievers) sum += Math.max(0, Math.ceil(Number(k ?? kDefault))) || 0;
  const all = Math.min(Math.max(1, sum), queryLimits.resultsMax);
  return limit === undefined || !isWhole ? all : Math.min(all, Math.max(1, limit));
}

/** What the query's parser refuses is the statement's fault. */
function asFault(error: unknown, position: number): unknown {
  if (!(error instanceof EngineError) || error.reason !== "invalid_argument" || "sql" in error.details) return error;
  const field = String(error.details["field"]);
  const [, kind, name] = /^retrieve\[\d+\]\.(\w+)\.(\w+)/.exec(field) ?? [];
  const text = error.message.replace(/^[^:]*: /, "");
  const what = field === "fuse.k" ? "the k of rrf" : kind === undefined ? field : `the ${name} of ${kind}_search`;
  return sqlFault("invalid_value", `${what}: ${text}`, { position, cause: error });
}

function packed(collection: string, found: StoredHits): FoundDocuments {
  const { meta } = found;
  const hits: { id: number; score: number; document: Uint8Array }[] = [];
  for (const { id, score } of found.hits) {
    const document = found.document(id);
    if (document !== undefined) hits.push({ id, score, document });
  }
  const offsets = new Float64Array(hits.length + 1);
  hits.forEach(({ document }, i) => {
    offsets[i + 1] = offsets[i]! + document.length;
  });
  const data = new Uint8Array(offsets[hits.length]!);
  hits.forEach(({ document }, i) => {
    data.set(document, offsets[i]);
  });
  return {
    collection,
    collectionId: meta.id,
    schemaVersion: meta.schemaVersion,
    fields: formatted(meta.schema),
    ids: Float64Array.from(hits, ({ id }) => id),
    scores: Float64Array.from(hits, ({ score }) => score),
    offsets,
    data,
  };
}
