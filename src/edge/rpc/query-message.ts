import { fromJson, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { type ListValue, ValueSchema } from "@bufbuild/protobuf/wkt";
import { withDoubles } from "../../engine/exact-json.ts";
import type { QueryPlan } from "../../engine/retrieval/plan.ts";
import type { QueryResult, Row } from "../../engine/retrieval/result.ts";
import type { Filter } from "../../gen/service/collection/v1/filter_pb.ts";
import type { Fuse, GroupBy, Retriever, RowSchema, SearchRequest } from "../../gen/service/collection/v1/query_pb.ts";
import { filterJson } from "./filter.ts";

/** Queries and their answers as messages. */

/** A text without presence: proto3 does not tell an empty one from one that is not there. */
function nonEmpty(text: string): string | undefined {
  return text === "" ? undefined : text;
}

function filterField(message: Filter | undefined, path: string): unknown {
  return message === undefined ? undefined : filterJson(message, path);
}

/** A request as the body of a REST query. */
export function queryJson(request: SearchRequest): unknown {
  return {
    from: nonEmpty(request.from),
    retrieve: request.retrieve.map((retriever, i) => retrieverJson(retriever, `retrieve[${i}]`)),
    filter: filterField(request.filter, "filter"),
    fuse: fuseJson(request.fuse),
    limit: request.limit,
    offset: request.offset,
    sort: request.sort.map(({ field, order }) => ({ field: nonEmpty(field), order: nonEmpty(order) })),
    select: namesOf(request.select),
    exclude: request.exclude,
    include_vectors: request.includeVectors,
    highlight: request.highlight && { fields: request.highlight.fields },
    group_by: groupJson(request.groupBy),
    facets: request.facets.map(({ field, limit }) => ({ field: nonEmpty(field), limit })),
    min_score: request.minScore,
    consistency: nonEmpty(request.consistency),
    explain: request.explain,
  };
}

function retrieverJson({ retriever }: Retriever, path: string): unknown {
  if (retriever.case === undefined) return {};
  const { field, k, filter, weight } = retriever.value;
  const shared = { field: nonEmpty(field), k, weight, filter: filterField(filter, `${path}.${retriever.case}.filter`) };
  switch (retriever.case) {
    case "vector": {
      const { query, exact, ef } = retriever.value;
      return { vector: { ...shared, query, exact, ef } };
    }
    case "text": {
      const { query, operator } = retriever.value;
      return { text: { ...shared, query, operator: nonEmpty(operator) } };
    }
    case "sparse": {
      const { query } = retriever.value;
      return { sparse: { ...shared, query: query && { indices: query.indices, values: query.values } } };
    }
  }
}

function fuseJson(fuse: Fuse | undefined): unknown {
  return fuse && { method: nonEmpty(fuse.method), k: fuse.k };
}

function groupJson(group: GroupBy | undefined): unknown {
  return group && { field: nonEmpty(group.field), size: group.size };
}

/** What is no text becomes null, which the parser refuses by its place in the list. */
function namesOf(list: ListValue | undefined): unknown {
  return list?.values.map(({ kind }) => (kind.case === "stringValue" ? kind.value : null));
}

/** The answer of the engine, without its token. */
export function resultMessage(plan: QueryPlan, result: QueryResult) {
  const { rows = [], groups = [], facets = {}, took_ms: tookMs, stats } = result;
  return {
    rows: rows.map((row) => rowMessage(plan, row)),
    groups: groups.map(({ key, rows: members }) => ({
      key: fromJson(ValueSchema, key),
      rows: members.map((row) => rowMessage(plan, row)),
    })),
    facets: Object.fromEntries(
      Object.entries(facets).map(([field, counts]) => [
        field,
        { values: counts.map(({ value, count }) => ({ value: fromJson(ValueSchema, value), count: BigInt(count) })) },
      ]),
    ),
    tookMs,
    ...(stats === undefined ? {} : { stats: plain(stats) }),
  };
}

function rowMessage({ projection }: QueryPlan, row: Row): MessageInitShape<typeof RowSchema> {
  const { _id, _score, _highlights, _explain } = row;
  return {
    id: BigInt(_id),
    score: _score,
    fields: mapValues(
      pick<unknown>(
        row,
        projection.fields.map(({ name }) => name),
      ),
      (value) => withDoubles(value) as JsonObject[string],
    ),
    highlights: mapValues(_highlights ?? {}, (fragments) => ({ fragments })),
    vectors: mapValues(pick<number[]>(row, projection.vectors), (values) => ({ values })),
    sparseVectors: pick<SparseValue>(row, projection.sparseVectors),
    ...(_explain === undefined ? {} : { explain: plain(_explain) }),
  };
}

interface SparseValue {
  readonly indices: number[];
  readonly values: number[];
}

/** The values of a row by name; a name that the row lacks is left out. */
function pick<T>(row: Row, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(names.filter((name) => Object.hasOwn(row, name)).map((name) => [name, row[name] as T]));
}

function mapValues<T, U>(values: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

/** What REST writes of an object: a Struct takes no value that JSON has not. */
function plain(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
