import { invalid } from "../errors.ts";
import { asDouble, isWrittenNumber } from "../exact-json.ts";
import { parseDate } from "../schema/date.ts";
import { type FieldSpec, type Schema, SchemaPaths } from "../schema/schema.ts";
import { refuseUnknown } from "../unknown-fields.ts";
import { newFloats, type TakeFloats } from "./float-slab.ts";
import { searchLimits } from "./limits.ts";

/** Sorted by index, without duplicates and without zeroes. */
export interface SparseVector {
  readonly indices: Uint32Array;
  readonly values: Float32Array;
}

/** A field's values: strings for keyword and text, numbers for i64, f64, date (epoch ms) and bool (0 or 1). */
export type FieldValues = readonly string[] | readonly number[];

/** What the index takes of a document, field by field in the order of its schema. An empty list is a missing field. */
export interface ExtractedDocument {
  readonly values: readonly FieldValues[];
  readonly vectors: readonly (Float32Array | undefined)[];
  readonly sparse: readonly (SparseVector | undefined)[];
}

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isWrittenNumber(value);
}

/** Appends every value at `path` below `value`, through nested objects and arrays; nulls are no values. */
function collect(value: unknown, path: string, into: unknown[], depth: number): void {
  if (value === null || value === undefined || depth > searchLimits.sourceDepthMax) return;
  if (Array.isArray(value)) {
    for (const entry of value) collect(entry, path, into, depth + 1);
    return;
  }
  if (path === "") {
    into.push(value);
    return;
  }
  if (!isObject(value)) return;
  if (Object.hasOwn(value, path)) {
    collect(value[path], "", into, depth + 1);
    return;
  }
  const dot = path.indexOf(".");
  if (dot === -1) return;
  const head = path.slice(0, dot);
  if (Object.hasOwn(value, head)) collect(value[head], path.slice(dot + 1), into, depth + 1);
}

/** The values at a dotted path of a source, as they are: what a result row shows and a highlight marks. */
export function sourceValues(source: unknown, path: string): unknown[] {
  const found: unknown[] = [];
  collect(source, path, found, 0);
  return found;
}

function asString(path: string, value: unknown): string {
  if (typeof value !== "string") throw invalid(path, `must be a string, not ${typeName(value)}`);
  return value.isWellFormed() ? value : value.toWellFormed();
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** One value as the index holds it. The filters use it too, so that both sides agree on every type. */
export function fieldValue(field: FieldSpec, path: string, input: unknown): string | number {
  const value = asDouble(input);
  switch (field.kind.kind) {
    case "text":
      return asString(path, value);
    case "keyword": {
      const text = asString(path, value);
      // A UTF-16 unit takes at most three bytes, so that most values need no counting.
      const long = text.length * 3 > searchLimits.keywordBytesMax;
      if (long && Buffer.byteLength(text) > searchLimits.keywordBytesMax) {
        throw invalid(path, `must have at most ${searchLimits.keywordBytesMax} bytes`);
      }
      return text;
    }
    case "i64":
      if (typeof value !== "number" || !Number.isSafeInteger(value)) {
        throw invalid(path, `must be an integer from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`);
      }
      return value + 0;
    case "f64":
      if (typeof value !== "number" || !Number.isFinite(value)) throw invalid(path, "must be a finite number");
      return value + 0;
    case "bool":
      if (typeof value !== "boolean") throw invalid(path, `must be true or false, not ${typeName(value)}`);
      return value ? 1 : 0;
    case "date": {
      const epochMs = parseDate(value);
      if (epochMs === undefined) throw invalid(path, "must be an RFC 3339 date or whole epoch milliseconds");
      return epochMs;
    }
    case "json":
      throw invalid(path, "a json field is stored only");
  }
}

function extractField(field: FieldSpec, source: Json, root: string): FieldValues {
  if (field.kind.kind === "json") return [];
  const path = `${root}.${field.sourcePath}`;
  return sourceValues(source, field.sourcePath).map((value) => fieldValue(field, path, value)) as FieldValues;
}

function checkStrict(paths: SchemaPaths, value: unknown, path: string, root: string, depth: number): void {
  if (value === null || value === undefined || (path !== "" && paths.isSubtree(path))) return;
  if (Array.isArray(value)) {
    for (const entry of value) checkStrict(paths, entry, path, root, depth + 1);
  } else if (isObject(value)) {
    for (const [key, entry] of Object.entries(value)) {
      const child = path === "" ? key : `${path}.${key}`;
      if (!paths.isLeaf(child) && !paths.isBranch(child)) throw invalid(`${root}.${child}`, "is not in the schema");
      checkStrict(paths, entry, child, root, depth + 1);
    }
  } else if (!paths.isLeaf(path)) {
    throw invalid(`${root}.${path}`, "is not in the schema");
  }
}

/**
 * Refuses what no walk should have to follow, and numbers that JSON can't hold: a literal beyond the range of doubles is
 * read as an infinity and would be stored as null, unseen. Iterative, so that depth cannot exhaust the stack.
 */
export function checkStorable(source: unknown, root: string): void {
  let level: unknown[] = [source];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > searchLimits.sourceDepthMax) {
      throw invalid(root, `is nested more than ${searchLimits.sourceDepthMax} levels deep`);
    }
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue;
      for (const entry of Object.values(value)) {
        if (typeof entry === "number" && !Number.isFinite(entry)) {
          throw invalid(`${root}${pathOfInfinite(source) ?? ""}`, "must be a finite number");
        }
        if (typeof entry === "object" && entry !== null) next.push(entry);
      }
    }
    level = next;
  }
}

/** Refuses numbers beyond the range of doubles, which JSON is read with; what nests deeper than a source may is passed over. */
export function checkFinite(value: unknown, root: string): void {
  const path = pathOfInfinite(value);
  if (path !== undefined) throw invalid(`${root}${path}`, "must be a finite number");
}

/** Where a number that is not finite stands. */
function pathOfInfinite(value: unknown, depth = 0): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "";
  if (typeof value !== "object" || value === null || depth > searchLimits.sourceDepthMax) return undefined;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = pathOfInfinite(value[i], depth + 1);
      if (found !== undefined) return `[${i}]${found}`;
    }
    return undefined;
  }
  for (const [name, entry] of Object.entries(value)) {
    const found = pathOfInfinite(entry, depth + 1);
    if (found !== undefined) return `.${name}${found}`;
  }
  return undefined;
}

/** Checks a vector of numbers and gives it in single precision. Query vectors go through it too. */
export function parseVectorValue(path: string, value: unknown, dim: number, take = newFloats): Float32Array {
  if (!Array.isArray(value) && !(value instanceof Float32Array) && !(value instanceof Float64Array)) {
    throw invalid(path, "must be an array of numbers");
  }
  if (value.length !== dim) throw invalid(path, `must have ${dim} numbers, not ${value.length}`);
  const vector = take(dim);
  for (let i = 0; i < dim; i++) {
    const number: unknown = value[i];
    if (typeof number !== "number" || !Number.isFinite(Math.fround(number))) {
      throw invalid(`${path}[${i}]`, "must be a finite number of single precision");
    }
    vector[i] = number;
  }
  return vector;
}

export function parseSparseValue(path: string, value: unknown): SparseVector {
  if (!isObject(value)) throw invalid(path, "must be {indices, values}");
  refuseUnknown(path, value, ["indices", "values"]);
  const { indices, values } = value;
  if (!Array.isArray(indices)) throw invalid(`${path}.indices`, "must be an array of integers");
  if (!Array.isArray(values)) throw invalid(`${path}.values`, "must be an array of numbers");
  if (indices.length !== values.length) throw invalid(`${path}.values`, "must be as long as indices");
  if (indices.length > searchLimits.sparseEntriesMax) {
    throw invalid(`${path}.indices`, `has more than ${searchLimits.sparseEntriesMax} entries`);
  }
  const entries = new Map<number, number>();
  for (let i = 0; i < indices.length; i++) {
    const index: unknown = indices[i];
    const weight: unknown = values[i];
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index > 0xffffffff) {
      throw invalid(`${path}.indices[${i}]`, "must be an integer from 0 to 4294967295");
    }
    if (entries.has(index)) throw invalid(`${path}.indices[${i}]`, "is there twice");
    if (typeof weight !== "number" || !Number.isFinite(Math.fround(weight))) {
      throw invalid(`${path}.values[${i}]`, "must be a finite number of single precision");
    }
    entries.set(index, Math.fround(weight));
  }
  const sorted = [...entries].filter(([, weight]) => weight !== 0).sort(([a], [b]) => a - b);
  return {
    indices: Uint32Array.from(sorted, ([index]) => index),
    values: Float32Array.from(sorted, ([, weight]) => weight),
  };
}

function extractNamed<S extends { readonly name: string }, V>(
  path: string,
  specs: readonly S[],
  input: unknown,
  parse: (path: string, value: unknown, spec: S) => V,
): (V | undefined)[] {
  if (input === undefined || input === null) return specs.map(() => undefined);
  if (!isObject(input)) throw invalid(path, "must be an object of names");
  for (const name of Object.keys(input)) {
    if (!specs.some((spec) => spec.name === name)) throw invalid(`${path}.${name}`, "is not in the schema");
  }
  return specs.map((spec) => {
    const value = Object.hasOwn(input, spec.name) ? input[spec.name] : undefined;
    return value === undefined || value === null ? undefined : parse(`${path}.${spec.name}`, value, spec);
  });
}

/** Checks documents against one schema; made once for it, used for each of its documents. */
export class Extractor {
  readonly schema: Schema;
  readonly #paths: SchemaPaths;

  constructor(schema: Schema) {
    this.schema = schema;
    this.#paths = new SchemaPaths(schema.fields);
  }

  /** What the fields take of a source that was checked when it was written. */
  values(source: unknown, root = "source"): readonly FieldValues[] {
    return this.schema.fields.map((field) => extractField(field, source as Json, root));
  }

  /** `prefix` stands before the names in errors, for example `ops[3].upsert.`; `take` gives memory for the vectors. */
  extract(source: unknown, vectors?: unknown, sparse?: unknown, prefix = "", take?: TakeFloats): ExtractedDocument {
    const { schema } = this;
    const root = `${prefix}source`;
    if (!isObject(source)) throw invalid(root, "must be an object");
    checkStorable(source, root);
    if (schema.dynamic === "strict") checkStrict(this.#paths, source, "", root, 0);
    return {
      values: this.values(source, root),
      vectors: extractNamed(`${prefix}vectors`, schema.vectors, vectors, (path, value, spec) =>
        parseVectorValue(path, value, spec.dim, take),
      ),
      sparse: extractNamed(`${prefix}sparse_vectors`, schema.sparseVectors, sparse, parseSparseValue),
    };
  }
}

const extractors = new WeakMap<Schema, Extractor>();

/** The schema's own, made when it is first asked for. */
export function extractorOf(schema: Schema): Extractor {
  const known = extractors.get(schema);
  if (known !== undefined) return known;
  const extractor = new Extractor(schema);
  extractors.set(schema, extractor);
  return extractor;
}

export function extract(schema: Schema, source: unknown, vectors?: unknown, sparse?: unknown): ExtractedDocument {
  return extractorOf(schema).extract(source, vectors, sparse);
}
