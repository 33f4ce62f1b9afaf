import { invalid } from "../errors.ts";
import { parseName } from "../ids.ts";
import { findField, findVector, type Schema } from "../schema/schema.ts";
import { parseSparseValue, parseVectorValue } from "../search/document.ts";
import type { Filter } from "../search/filter/filter.ts";
import { parseFilter } from "../search/filter/parse.ts";
import type { Fusion } from "../search/fuse.ts";
import { searchLimits } from "../search/limits.ts";
import { type SortKey, sortOrders } from "../search/sort.ts";
import { parseTextQuery, textOperators } from "../search/text/query.ts";
import { fastField } from "../search/values.ts";
import { isObject, type Json, JsonFields } from "./json-fields.ts";
import { queryLimits } from "./limits.ts";
import { parseHighlight, parseProjection } from "./parse-shown.ts";
import { consistencies, type Facet, type GroupBy, type QueryPlan, type Retriever } from "./plan.ts";

/** The schema of a collection or alias; throws `not_found` for a name that is neither. */
export type SchemaOf = (collection: string) => Schema;

/**
 * Reads the body of a query. Every error names the field at fault, with `path` before it; unknown fields are refused and
 * `null` counts as absent.
 */
export function parseQuery(json: unknown, schemaOf: SchemaOf, path = ""): QueryPlan {
  const body = new JsonFields(path, json, queryFields);
  const collection = parseFrom(body);
  const schema = schemaOf(collection);
  const limit = body.integer("limit", 1, queryLimits.resultsMax, queryLimits.limitDefault);
  const offset = body.integer("offset", 0, queryLimits.resultsMax, 0);
  if (offset + limit > queryLimits.resultsMax) {
    throw invalid(body.at("offset"), `offset + limit must be at most ${queryLimits.resultsMax}`);
  }
  const filters = new Filters(schema);
  const filter = filters.parse(body.get("filter"), body.at("filter"));
  const retrievers = (body.array("retrieve", queryLimits.retrieversMax) ?? []).map((entry, i) =>
    parseRetriever(
      entry,
      `${body.at("retrieve")}[${i}]`,
      schema,
      filters,
      Math.max(queryLimits.kDefaultMin, offset + limit),
    ),
  );
  const minScore = body.number("min_score", -Number.MAX_VALUE, Number.MAX_VALUE);
  if (minScore !== undefined && retrievers.length === 0) throw invalid(body.at("min_score"), "needs retrieve");
  const fusion = parseFusion(body);
  if (fusion !== undefined && retrievers.length === 0) throw invalid(body.at("fuse"), "needs retrieve");
  const highlight = parseHighlight(body, schema, retrievers, filter);
  const groupBy = parseGroupBy(body, schema, offset + limit);
  return {
    collection,
    retrievers,
    ...(filter === undefined ? {} : { filter }),
    ...(fusion === undefined ? {} : { fusion }),
    limit,
    offset,
    sort: parseSort(body, schema),
    projection: parseProjection(body, schema),
    ...(highlight === undefined ? {} : { highlight }),
    ...(groupBy === undefined ? {} : { groupBy }),
    facets: parseFacets(body, schema),
    ...(minScore === undefined ? {} : { minScore }),
    consistency: body.oneOf("consistency", consistencies, "strong"),
    explain: body.boolean("explain"),
  };
}

const queryFields = [
  "from",
  "retrieve",
  "filter",
  "fuse",
  "limit",
  "offset",
  "sort",
  "select",
  "exclude",
  "include_vectors",
  "highlight",
  "group_by",
  "facets",
  "min_score",
  "consistency",
  "explain",
] as const;

/** Several queries of one request: `{queries: […]}`. */
export function parseQueries(json: unknown, schemaOf: SchemaOf): QueryPlan[] {
  const body = new JsonFields("", json, ["queries"]);
  const queries = body.array("queries", queryLimits.queriesMax);
  if (queries === undefined || queries.length === 0) throw invalid("queries", "must be an array of queries");
  return queries.map((query, i) => parseQuery(query, schemaOf, `queries[${i}]`));
}

/** Whether a body is one of several queries, and so for parseQueries. */
export function holdsQueries(json: unknown): boolean {
  return isObject(json) && Object.hasOwn(json, "queries");
}

const fromPrefix = "collections.";

function parseFrom(body: JsonFields): string {
  return parseName(body.at("from"), collectionNameOf(body.string("from")));
}

/** The name in a query's `from`. */
export function collectionNameOf(from: string): string {
  return from.startsWith(fromPrefix) ? from.slice(fromPrefix.length) : from;
}

/** Filters of one query: those that are written alike become one object, which is evaluated once. */
class Filters {
  readonly #schema: Schema;
  readonly #known = new Map<string, Filter>();

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  parse(value: unknown, path: string): Filter | undefined {
    if (value === undefined) return undefined;
    // First, as it refuses what is nested too deep.
    const parsed = parseFilter(value, this.#schema, path);
    const text = JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? `${each}n` : each));
    const filter = this.#known.get(text) ?? parsed;
    this.#known.set(text, filter);
    return filter;
  }
}

const retrieverFields = {
  vector: ["field", "query", "k", "filter", "weight", "exact", "ef"],
  text: ["field", "query", "k", "filter", "weight", "operator"],
  sparse: ["field", "query", "k", "filter", "weight"],
} as const;

type RetrieverKind = keyof typeof retrieverFields;

function parseRetriever(value: unknown, path: string, schema: Schema, filters: Filters, defaultK: number): Retriever {
  const kinds = Object.keys(retrieverFields);
  if (!isObject(value)) throw invalid(path, `must be an object with one key of ${kinds.join(", ")}`);
  const keys = Object.keys(value);
  const unknown = keys.find((key) => !kinds.includes(key));
  if (unknown !== undefined)
    throw invalid(`${path}.${unknown.slice(0, 64)}`, `unknown retriever; known are ${kinds.join(", ")}`);
  if (keys.length !== 1) throw invalid(path, `must have exactly one key of ${kinds.join(", ")}`);
  const kind = keys[0] as RetrieverKind;
  const body = new JsonFields(`${path}.${kind}`, (value as Json)[kind], retrieverFields[kind]);
  const field = body.string("field");
  const k = body.integer("k", 1, queryLimits.resultsMax, defaultK);
  const filter = filters.parse(body.get("filter"), body.at("filter"));
  const shared = {
    field,
    k,
    weight: body.number("weight", 0, queryLimits.weightMax) ?? 1,
    ...(filter === undefined ? {} : { filter }),
  };
  switch (kind) {
    case "vector": {
      const ef = body.get("ef") === undefined ? undefined : body.integer("ef", 1, queryLimits.efMax, 1);
      return {
        kind,
        ...shared,
        query: parseVectorQuery(body, schema, field),
        exact: body.boolean("exact"),
        ...(ef === undefined ? {} : { ef }),
      };
    }
    case "text": {
      const operator = body.oneOf("operator", textOperators, "or");
      const text = body.string("query").slice(0, searchLimits.queryTextLengthMax).toWellFormed();
      return { kind, ...shared, text, query: parseTextQuery(schema, field, text, operator, body.path) };
    }
    case "sparse":
      if (!schema.sparseVectors.some((spec) => spec.name === field)) {
        throw invalid(body.at("field"), `the schema has no sparse vector "${field}"`);
      }
      return { kind, ...shared, query: parseSparseValue(body.at("query"), body.required("query")) };
  }
}

function parseVectorQuery(body: JsonFields, schema: Schema, field: string): Float32Array {
  const spec = findVector(schema, field);
  if (spec === undefined) {
    const other = findField(schema, field) !== undefined || schema.sparseVectors.some(({ name }) => name === field);
    throw invalid(body.at("field"), other ? `"${field}" is not a vector` : `the schema has no vector "${field}"`);
  }
  return parseVectorValue(body.at("query"), body.required("query"), spec.dim);
}

function parseFusion(body: JsonFields): Fusion | undefined {
  const input = body.get("fuse");
  if (input === undefined) return undefined;
  const fuse = new JsonFields(body.at("fuse"), input, ["method", "k"]);
  const method = fuse.oneOf("method", ["rrf", "weighted"], "rrf");
  if (method === "rrf") return { method, k: fuse.integer("k", 1, queryLimits.rrfKMax, 60) };
  if (fuse.get("k") !== undefined) throw invalid(fuse.at("k"), "belongs to rrf");
  return { method };
}

function parseSort(body: JsonFields, schema: Schema): SortKey[] {
  return (body.array("sort", queryLimits.sortKeysMax) ?? []).map((entry, i) => {
    const key = new JsonFields(`${body.at("sort")}[${i}]`, entry, ["field", "order"]);
    const name = key.string("field");
    const order = key.oneOf("order", sortOrders, name === "_score" ? "desc" : "asc");
    return { field: name === "_id" || name === "_score" ? name : fastField(schema, name, key.at("field")), order };
  });
}

function parseGroupBy(body: JsonFields, schema: Schema, groups: number): GroupBy | undefined {
  const input = body.get("group_by");
  if (input === undefined) return undefined;
  const group = new JsonFields(body.at("group_by"), input, ["field", "size"]);
  const field = fastField(schema, group.string("field"), group.at("field"));
  const size = group.integer("size", 1, queryLimits.groupSizeMax, queryLimits.groupSizeDefault);
  if (groups * size > queryLimits.resultsMax) {
    throw invalid(group.at("size"), `size · (offset + limit) must be at most ${queryLimits.resultsMax}`);
  }
  return { field, size };
}

function parseFacets(body: JsonFields, schema: Schema): Facet[] {
  const seen = new Set<string>();
  return (body.array("facets", queryLimits.facetsMax) ?? []).map((entry, i) => {
    const facet = new JsonFields(`${body.at("facets")}[${i}]`, entry, ["field", "limit"]);
    const field = fastField(schema, facet.string("field"), facet.at("field"));
    if (seen.has(field.name)) throw invalid(facet.at("field"), `"${field.name}" is there twice`);
    seen.add(field.name);
    return { field, limit: facet.integer("limit", 1, queryLimits.facetLimitMax, queryLimits.facetLimitDefault) };
  });
}
