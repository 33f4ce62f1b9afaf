import { searchLimits } from "../limits.ts";
import type { Filter } from "./filter.ts";

/** By what a filter is cached, or undefined for one that is not. */
export function cacheKeyOf(filter: Filter): string | undefined {
  if (!isCached(filter)) return undefined;
  const key = JSON.stringify(filter);
  return key.length <= searchLimits.filterCacheKeyLengthMax ? key : undefined;
}

/** Ids are looked up among the live documents alone, and all is made sooner than it is looked for. */
function isCached(filter: Filter): boolean {
  switch (filter.kind) {
    case "and":
    case "or":
      return filter.filters.length <= searchLimits.filterCacheClausesMax && filter.filters.every(isCached);
    case "not":
      return isCached(filter.filter);
    case "terms":
      return filter.values.length <= searchLimits.filterCacheClausesMax;
    default:
      return filter.kind !== "ids" && filter.kind !== "all";
  }
}
