import { queryLimits } from "../../engine/retrieval/limits.ts";
import { consistencies } from "../../engine/retrieval/plan.ts";
import { analyzerNames, analyzerRevision } from "../../engine/schema/analysis/analyzer.ts";
import { distances, dynamicModes } from "../../engine/schema/schema.ts";
import { fieldKinds } from "../../engine/schema/schema-parse.ts";
import { searchLimits } from "../../engine/search/limits.ts";
import { sortOrders } from "../../engine/search/sort.ts";
import { textOperators } from "../../engine/search/text/query.ts";
import { array, count, described, flag, name, object, oneKey, optional, type Schema, text } from "./schemas.ts";

/**
 * The shapes of bodies that a parser of the engine reads. They are for the description alone: the parsers also know the
 * collection, and tell better what is wrong.
 */

const anyObject: Schema = { type: "object" };
const number: Schema = { type: "number" };
const integer = (minimum: number, maximum: number): Schema => ({ type: "integer", minimum, maximum });
const oneOf = (choices: readonly string[]): Schema => ({ type: ["string", "null"], enum: [...choices, null] });

const fieldName: Schema = {
  ...text,
  minLength: 1,
  maxLength: searchLimits.fieldNameLengthMax,
  pattern: "^[^_\\u0000-\\u001f\\u007f][^\\u0000-\\u001f\\u007f]*$",
};
const sourcePath: Schema = {
  ...text,
  maxLength: searchLimits.sourcePathLengthMax,
  pattern: "^[^.]+(\\.[^.]+)*$",
  description: "Dotted path to its values in a source; default: its name",
};
const textKind = optional(
  object({
    analyzer: oneOf(analyzerNames()),
    positions: optional(flag),
    folding: optional(flag),
    revision: { type: ["integer", "null"], enum: [1, analyzerRevision, null] },
  }),
);
const kindShapes = fieldKinds.map((kind) => [kind, kind === "text" ? textKind : optional(object({}))] as const);
const fieldShape = object(
  {
    name: fieldName,
    source_path: optional(sourcePath),
    kind: { anyOf: [{ enum: fieldKinds }, oneKey(Object.fromEntries(kindShapes))] },
    indexed: optional(flag),
    fast: optional(flag),
    multi: optional(flag),
  },
  ["name", "kind"],
);
const vectorShape = object(
  { name: fieldName, dim: integer(1, searchLimits.vectorDimMax), distance: oneOf(distances) },
  ["name", "dim"],
);

export const schemaField = described(anyObject, fieldShape);
export const collectionSchema = described(
  { ...anyObject, description: "Fields, vectors and how to index them" },
  object({
    fields: optional(array(fieldShape, { maxItems: searchLimits.fieldsMax })),
    vectors: optional(array(vectorShape, { maxItems: searchLimits.vectorsMax })),
    sparse_vectors: optional(array(object({ name: fieldName }, ["name"]), { maxItems: searchLimits.vectorsMax })),
    dynamic: oneOf(dynamicModes),
    max_fields: optional(integer(1, searchLimits.fieldsMax)),
  }),
);

export const aliasAction = described(
  anyObject,
  oneKey({
    add: object({ alias: name, collection: name }, ["alias", "collection"]),
    remove: object({ alias: name }, ["alias"]),
  }),
);

const filterRef: Schema = { $ref: "#/components/schemas/Filter" };
const optionalFilter: Schema = { anyOf: [filterRef, { type: "null" }] };
const filters = array(filterRef);
const clauses: Schema = { anyOf: [filterRef, filters, { type: "null" }] };
const ofField = (value: Schema): Schema => ({
  ...anyObject,
  additionalProperties: value,
  minProperties: 1,
  maxProperties: 1,
});
const scalar: Schema = { type: ["string", "number", "boolean"] };
const bound: Schema = { type: ["string", "number", "null"] };
const filterShape = oneKey({
  term: ofField(scalar),
  terms: ofField(array(scalar, { maxItems: searchLimits.filterValuesMax })),
  range: ofField({ ...object({ gt: bound, gte: bound, lt: bound, lte: bound }), minProperties: 1 }),
  exists: object({ field: text }, ["field"]),
  prefix: ofField(text),
  wildcard: ofField({ ...text, maxLength: searchLimits.wildcardLengthMax }),
  ids: object({ values: array(count, { maxItems: searchLimits.filterValuesMax }) }, ["values"]),
  match: ofField(text),
  phrase: ofField(text),
  match_all: object({}),
  and: filters,
  or: filters,
  not: filterRef,
  bool: object({ must: clauses, should: clauses, must_not: clauses, filter: clauses }),
});

const filterText = { description: "Which documents, by the collection's own fields" };
/** A filter that may be left out, and one that may not. */
export const filterField = described({ type: ["object", "null"] }, { ...optionalFilter, ...filterText });
export const neededFilter = described(anyObject, { ...filterRef, ...filterText });

const vectors = { ...optional(anyObject), additionalProperties: { type: ["array", "null"], items: number } };
const sparseVector = object({ indices: array(integer(0, 0xffffffff)), values: array(number) }, ["indices", "values"]);
const sparseVectors = { ...optional(anyObject), additionalProperties: { anyOf: [sparseVector, { type: "null" }] } };
const condition = { if: optionalFilter, if_version: optional(count) };
const patchParts = { source: optional(anyObject), vectors, sparse_vectors: sparseVectors };
const writeShape = object({ id: count, ...patchParts, source: anyObject, ...condition }, ["id", "source"]);

export const patchShape = described(anyObject, object(patchParts));
export const writeOp = described(
  anyObject,
  oneKey({
    upsert: writeShape,
    insert: writeShape,
    patch: object({ id: count, ...patchParts, ...condition }, ["id"]),
    delete: object({ id: count, ...condition }, ["id"]),
  }),
);

const k = optional(integer(1, queryLimits.resultsMax));
const ranking = {
  field: text,
  k,
  filter: optionalFilter,
  weight: optional({ ...number, minimum: 0, maximum: queryLimits.weightMax }),
};
const retrieverShape = oneKey({
  vector: object(
    {
      ...ranking,
      query: array(number, { maxItems: searchLimits.vectorDimMax }),
      exact: optional(flag),
      ef: optional(integer(1, queryLimits.efMax)),
    },
    ["field", "query"],
  ),
  text: object({ ...ranking, query: text, operator: oneOf(textOperators) }, ["field", "query"]),
  sparse: object({ ...ranking, query: sparseVector }, ["field", "query"]),
});
const names = (maxItems: number) => optional(array(text, { maxItems }));
const queryShape = object(
  {
    from: {
      ...text,
      pattern: `^(collections\\.)?${String(name["pattern"]).slice(1)}`,
      description: "collections.<name>, or the name alone",
    },
    retrieve: optional(array(retrieverShape, { maxItems: queryLimits.retrieversMax })),
    filter: optionalFilter,
    fuse: optional(object({ method: oneOf(["rrf", "weighted"]), k: optional(integer(1, queryLimits.rrfKMax)) })),
    limit: optional(integer(1, queryLimits.resultsMax)),
    offset: optional(integer(0, queryLimits.resultsMax)),
    sort: optional(
      array(object({ field: text, order: oneOf(sortOrders) }, ["field"]), { maxItems: queryLimits.sortKeysMax }),
    ),
    select: names(queryLimits.projectionMax),
    exclude: names(queryLimits.projectionMax),
    include_vectors: optional(flag),
    highlight: optional(object({ fields: array(text, { maxItems: queryLimits.highlightFieldsMax }) }, ["fields"])),
    group_by: optional(object({ field: text, size: optional(integer(1, queryLimits.groupSizeMax)) }, ["field"])),
    facets: optional(
      array(object({ field: text, limit: optional(integer(1, queryLimits.facetLimitMax)) }, ["field"]), {
        maxItems: queryLimits.facetsMax,
      }),
    ),
    min_score: optional(number),
    consistency: oneOf(consistencies),
    explain: optional(flag),
  },
  ["from"],
);
const queryRef: Schema = { $ref: "#/components/schemas/Query" };

export const queryBody = described(
  { ...anyObject, required: [], description: "A query, or several of them" },
  {
    anyOf: [
      queryRef,
      object({ queries: array(queryRef, { minItems: 1, maxItems: queryLimits.queriesMax }) }, ["queries"]),
    ],
  },
);

/** What the shapes refer to by name. */
export const namedShapes: Readonly<Record<string, Schema>> = { Filter: filterShape, Query: queryShape };

const attribute: Schema = { ...text, minLength: 1 };
const eventShape: Schema = {
  ...anyObject,
  description: "A CloudEvent in its JSON format; extension attributes are top-level fields",
  properties: {
    specversion: { enum: ["1.0"] },
    id: attribute,
    source: { ...attribute, format: "uri-reference" },
    type: attribute,
    subject: optional(attribute),
    time: { ...optional(text), format: "date-time" },
    datacontenttype: optional(attribute),
    dataschema: { ...optional(attribute), format: "uri" },
    data: {},
    data_base64: { ...optional(text), contentEncoding: "base64" },
  },
  required: ["specversion", "id", "source", "type"],
};

/** The bodies of events; in binary mode attributes are `ce-` headers, and the body is the data, of any type. */
export const eventBody: Schema = {
  content: {
    "application/cloudevents+json": { schema: described({}, eventShape) },
    "application/cloudevents-batch+json": { schema: described({}, array(eventShape)) },
  },
};
