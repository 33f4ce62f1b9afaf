import { integerMax, limits } from "../../engine/limits.ts";
import { describedKeyword } from "./http/validation.ts";

/** JSON schemas of the REST API: they validate requests and, word for word, make the OpenAPI document. */
export type Schema = Readonly<Record<string, unknown>>;

export function object(properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema {
  return { type: "object", properties, required, additionalProperties: false };
}

/** An answer, described for readers; answers are not validated. */
export function answer(description: string, properties: Readonly<Record<string, Schema>>): Schema {
  return { description, type: "object", properties };
}

/** An answer that is no JSON. */
export function textAnswer(description: string, mediaType: string): Schema {
  return answerIn(description, { [mediaType]: text });
}

/** An answer of one of several media types. */
export function answerIn(description: string, schemas: Readonly<Record<string, Schema>>): Schema {
  const content = Object.fromEntries(Object.entries(schemas).map(([mediaType, schema]) => [mediaType, { schema }]));
  return { description, content };
}

export function array(items: Schema, more: Schema = {}): Schema {
  return { type: "array", items, ...more };
}

/** Optional fields take null for absent. */
export function optional(schema: Schema): Schema {
  return { ...schema, type: [schema["type"] as string, "null"] };
}

export function described(schema: Schema, more: Schema): Schema {
  return { ...schema, [describedKeyword]: more };
}

export const count: Schema = { type: "integer", minimum: 0, maximum: integerMax };
export const positive: Schema = { type: "integer", minimum: 1, maximum: integerMax };
export const text: Schema = { type: "string" };
export const flag: Schema = { type: "boolean" };

export const name: Schema = {
  type: "string",
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
  description: `Starts with a letter or digit; up to ${limits.nameLengthMax} of A-Z a-z 0-9 . _ -`,
};

/** Where a credential may act. */
export const scopeAnswer = {
  namespace: { ...optional(text), description: "The namespace, where it is limited to one" },
  namespaces: { ...optional(array(text)), description: "The namespaces that it is limited to; null: all of them" },
};

/** An object of one field, which says what kind it is. */
export function oneKey(kinds: Readonly<Record<string, Schema>>): Schema {
  return { ...object(kinds), minProperties: 1, maxProperties: 1 };
}

const idempotencyKey: Schema = { minLength: 1, maxLength: limits.idempotencyKeyLengthMax, pattern: "^[ -~]*$" };
export const optionalIdempotencyKey = described(optional(text), idempotencyKey);

/** How fresh a read is: of every write acknowledged before it, or of the last published manifest. */
export const consistency: Schema = { type: "string", enum: ["strong", "eventual"] };
export const optionalConsistency: Schema = { type: ["string", "null"], enum: ["strong", "eventual", null] };

export const base64: Schema = { type: "string", description: "Base64 with padding" };

export const token: Schema = {
  type: "array",
  description: "Names the offsets that a reader must see to include a write",
  items: { type: "object", properties: { stream: positive, partition: count, offset: count } },
};

export const retention: Schema = {
  type: "object",
  description: "Without it, records are kept forever",
  properties: { max_age_ms: optional(positive), max_bytes: optional(positive) },
  additionalProperties: false,
};

export const namespacePath = object({ ns: name }, ["ns"]);
export const streamPath = object({ ns: name, stream: name }, ["ns", "stream"]);
export const partitionPath = object({ ns: name, stream: name, partition: count }, ["ns", "stream", "partition"]);

export const errorAnswer: Schema = {
  description: "Every error has this form; some have more fields",
  type: "object",
  properties: {
    error: { type: "string" },
    message: { type: "string" },
    field: { type: "string", description: "The field at fault, on invalid_argument" },
  },
  required: ["error", "message"],
};

const digits = "(0|[1-9][0-9]{0,14})";
const tokenEntry = `\\{"stream":[1-9][0-9]{0,14},"partition":${digits},"offset":${digits}\\}`;
const tokenPattern = `^\\[(${tokenEntry}(,${tokenEntry})*)?\\]$`;

export const tokenHeader: Schema = {
  type: "object",
  properties: {
    "service-consistency-token": described(
      { type: "string", description: "The read includes the writes that this token names; a JSON array" },
      { pattern: tokenPattern },
    ),
  },
};

export const idempotencyHeader: Schema = {
  type: "object",
  properties: {
    "idempotency-key": described(
      { type: "string", description: "The same key with the same body within 24 h replays the recorded reply" },
      idempotencyKey,
    ),
  },
};
