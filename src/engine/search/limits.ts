import { schemaLimits } from "../schema/limits.ts";

/** Every bound of the search core beside the schema's, named once with its unit. */
export const searchLimits = {
  ...schemaLimits,
  /** Non-zero entries of one sparse vector. */
  sparseEntriesMax: 65_536,
  /** UTF-8 bytes of one keyword value. */
  keywordBytesMax: 32_766,
  /** UTF-16 units of a query text that are analysed; what follows is ignored. */
  queryTextLengthMax: 16_384,
  /** Distinct clauses of one text query; what follows is ignored. */
  queryClausesMax: 1_024,
  filterDepthMax: 64,
  /** Clauses of one filter, all levels together. */
  filterNodesMax: 10_000,
  /** Values of one `terms` or `ids` clause. */
  filterValuesMax: 65_536,
  wildcardLengthMax: 1_024,
  /** What filters matched, kept of each segment; a filter with more clauses, values or a longer text is not kept. */
  filterCacheBytesMax: 1024 * 1024,
  filterCacheClausesMax: 32,
  filterCacheKeyLengthMax: 2_048,
  /** Terms per segment whose count of deleted documents is remembered. */
  deadCountCacheEntriesMax: 50_000,
  /** Top k, limit, and offset + limit. */
  resultsMax: 10_000,
  highlightFragmentsMax: 3,
  /** UTF-16 units around the matches of one highlight fragment. */
  highlightFragmentLength: 160,
  /** UTF-16 units of a stored text that are searched for highlights. */
  highlightTextLengthMax: 1_000_000,
  facetValuesMax: 10_000,
} as const;

/** Documents, rows or matches that one step looks at; about a millisecond. */
export const stepDocs = 16_384;
