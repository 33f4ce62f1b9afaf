import { searchLimits } from "../search/limits.ts";

/** Every bound and default of a query, named once with its unit. */
export const queryLimits = {
  limitDefault: 10,
  /** `limit`, `offset` + `limit`, each `k` and the rows of all groups together. */
  resultsMax: searchLimits.resultsMax,
  /** A retriever without `k` looks at least this deep, so that fusion has something to choose from. */
  kDefaultMin: 50,
  /** What the rows of one request may take as text, about. */
  rowBytesMax: 128 * 1024 * 1024,
  efMax: 10_000,
  weightMax: 1_000_000,
  rrfKMax: 10_000,
  queriesMax: 32,
  retrieversMax: 16,
  sortKeysMax: 16,
  facetsMax: 64,
  facetLimitDefault: 10,
  facetLimitMax: searchLimits.facetValuesMax,
  groupSizeDefault: 3,
  groupSizeMax: 100,
  highlightFieldsMax: 64,
  /** Entries of `select` and `exclude`. */
  projectionMax: searchLimits.fieldsMax,
} as const;
