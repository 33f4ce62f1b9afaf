/** Every bound of schemas and the analysis of text, named once with its unit. */
export const schemaLimits = {
  fieldNameLengthMax: 255,
  sourcePathLengthMax: 1024,
  /** Fields, vectors and sparse vectors of one schema, whatever `max_fields` says. */
  fieldsMax: 10_000,
  fieldsDefault: 1_000,
  vectorsMax: 64,
  vectorDimMax: 4_096,
  /** Levels of nested objects and arrays that a source may have. */
  sourceDepthMax: 64,
  /** UTF-16 units of one analysed term; the rest of a longer token is cut off, on both sides alike. */
  termLengthMax: 255,
  /** Stems kept per language, in each of two generations. */
  stemCacheEntriesMax: 50_000,
} as const;
