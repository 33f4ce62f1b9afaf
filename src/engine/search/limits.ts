/** Every bound of the search core, named once with its unit. */
export const searchLimits = {
  fieldNameLengthMax: 255,
  sourcePathLengthMax: 1024,
  /** Fields, vectors and sparse vectors of one schema, whatever `max_fields` says. */
  fieldsMax: 10_000,
  fieldsDefault: 1_000,
  vectorsMax: 64,
  vectorDimMax: 4_096,
  /** Non-zero entries of one sparse vector. */
  sparseEntriesMax: 65_536,
  /** Levels of nested objects and arrays that a source may have. */
  sourceDepthMax: 64,
  /** UTF-16 units of one analysed term; the rest of a longer token is cut off, on both sides alike. */
  termLengthMax: 255,
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
  /** Stems kept per language, in each of two generations. */
  stemCacheEntriesMax: 50_000,
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
