import { invalid } from "../../engine/errors.ts";
import type { Schema } from "../../engine/schema/schema.ts";
import type { Filter } from "../../engine/search/filter/filter.ts";
import { parseFilter } from "../../engine/search/filter/parse.ts";
import { searchLimits } from "../../engine/search/limits.ts";
import type { BoolFilter, Filter as FilterMessage } from "../../gen/service/collection/v1/filter_pb.ts";
import { toCount } from "./request.ts";

/** The filter of a message, by way of its REST form: one parser knows the rules. */
export function filterOf(path: string, message: FilterMessage | undefined, schema: Schema): Filter | undefined {
  return message === undefined ? undefined : parseFilter(filterJson(message, path), schema, path);
}

/** A filter in the form of REST; `path` names the message in errors. */
export function filterJson({ filter }: FilterMessage, path: string, depth = 0): unknown {
  if (filter.case === undefined) throw invalid(path, "must have exactly one key, the kind of filter");
  if (depth > searchLimits.filterDepthMax) {
    throw invalid(path.slice(0, 200), `is nested more than ${searchLimits.filterDepthMax} levels deep`);
  }
  const list = (name: string, filters: readonly FilterMessage[]) =>
    filters.map((each, i) => filterJson(each, `${path}.${name}[${i}]`, depth + 1));
  switch (filter.case) {
    case "term":
    case "terms":
    case "range":
    case "prefix":
    case "wildcard":
    case "match":
    case "phrase":
      return { [filter.case]: filter.value };
    case "exists":
      return { exists: { field: filter.value.field } };
    case "ids":
      return { ids: { values: filter.value.values.map((id, i) => toCount(`${path}.ids.values[${i}]`, id)) } };
    case "matchAll":
      return { match_all: {} };
    case "and":
    case "or":
      return { [filter.case]: list(filter.case, filter.value.filters) };
    case "not":
      return { not: filterJson(filter.value, `${path}.not`, depth + 1) };
    case "bool":
      return { bool: boolJson(filter.value, list) };
  }
}

function boolJson(
  { must, should, mustNot, filter }: BoolFilter,
  list: (name: string, filters: readonly FilterMessage[]) => unknown[],
) {
  return {
    must: list("bool.must", must),
    should: list("bool.should", should),
    must_not: list("bool.must_not", mustNot),
    filter: list("bool.filter", filter),
  };
}
