import { invalid } from "../../src/engine/errors.ts";
import { type FieldSpec, findField, isNumeric, type Schema } from "../../src/engine/schema/schema.ts";
import type { Filter, FilterValue } from "../../src/engine/search/filter/filter.ts";
import { searchLimits } from "../../src/engine/search/limits.ts";

/** Checks a filter that was built by another edge (RPC, SQL) and not by parseFilter. */
export function validateFilter(schema: Schema, filter: Filter, path = "filter"): void {
  // An explicit stack: depth and size are bounded before anything recurses into the filter.
  const open: { filter: Filter; path: string; depth: number }[] = [{ filter, path, depth: 0 }];
  for (let nodes = 1; open.length > 0; nodes++) {
    const { filter, path, depth } = open.pop()!;
    if (depth > searchLimits.filterDepthMax) {
      throw invalid(path.slice(0, 200), `is nested more than ${searchLimits.filterDepthMax} levels deep`);
    }
    if (nodes > searchLimits.filterNodesMax) {
      throw invalid("filter", `has more than ${searchLimits.filterNodesMax} clauses`);
    }
    switch (filter.kind) {
      case "and":
      case "or":
        filter.filters.forEach((child, i) => {
          open.push({ filter: child, path: `${path}.${filter.kind}[${i}]`, depth: depth + 1 });
        });
        break;
      case "not":
        open.push({ filter: filter.filter, path: `${path}.not`, depth: depth + 1 });
        break;
      case "all":
        break;
      case "ids":
        checkCount(filter.ids.length, `${path}.ids`);
        break;
      default:
        validateLeaf(schema, filter, `${path}.${filter.kind}.${filter.field}`);
    }
  }
}

type Leaf = Extract<Filter, { field: string }>;

function checkCount(count: number, path: string): void {
  if (count > searchLimits.filterValuesMax) {
    throw invalid(path, `has more than ${searchLimits.filterValuesMax} values`);
  }
}

function validateLeaf(schema: Schema, filter: Leaf, path: string): void {
  const field = findField(schema, filter.field);
  if (field === undefined) throw invalid(path, `the schema has no field "${filter.field}"`);
  if (!field.indexed && !field.fast) throw invalid(path, `"${filter.field}" is neither indexed nor fast`);
  const { kind } = field.kind;
  if (kind === "text" && !field.indexed && filter.kind !== "exists") {
    throw invalid(path, `"${filter.field}" is not indexed`);
  }
  switch (filter.kind) {
    case "exists":
      return;
    case "terms":
      checkCount(filter.values.length, path);
      for (const value of filter.values) checkValue(field, value, path);
      return;
    case "range":
      if (kind === "text" || kind === "bool") throw invalid(path, "range needs a number, date or keyword field");
      for (const bound of [filter.range.gt, filter.range.gte, filter.range.lt, filter.range.lte]) {
        if (bound !== undefined) checkValue(field, bound, path);
      }
      return;
    case "prefix":
    case "wildcard":
    case "match":
    case "phrase":
      if (kind !== "keyword" && kind !== "text") throw invalid(path, `${filter.kind} needs a keyword or text field`);
      if (filter.kind === "phrase" && field.kind.kind === "text" && !field.kind.positions) {
        throw invalid(path, `"${filter.field}" keeps no positions`);
      }
  }
}

function checkValue(field: FieldSpec, value: FilterValue, path: string): void {
  const wanted = isNumeric(field.kind) ? "number" : "string";
  if (typeof value !== wanted) throw invalid(path, `must be a ${wanted}`);
  if (typeof value === "number" && Number.isNaN(value)) throw invalid(path, "must be a number");
}
