import { invalid } from "../errors.ts";
import { refuseUnknown } from "../unknown-fields.ts";
import { analyzerChoice, analyzerKey, analyzerNames, analyzerRevision, isAnalyzer } from "./analysis/analyzer.ts";
import { schemaLimits } from "./limits.ts";
import {
  type Distance,
  type DynamicMode,
  distances,
  dynamicModes,
  type FieldKind,
  type FieldSpec,
  fieldNameFault,
  type Schema,
  type SparseVectorSpec,
  sourcePathFault,
  type VectorSpec,
} from "./schema.ts";

const kindAliases = new Map<string, FieldKind["kind"]>([
  ["keyword", "keyword"],
  ["text", "text"],
  ["i64", "i64"],
  ["integer", "i64"],
  ["long", "i64"],
  ["f64", "f64"],
  ["float", "f64"],
  ["double", "f64"],
  ["bool", "bool"],
  ["boolean", "bool"],
  ["date", "date"],
  ["timestamp", "date"],
  ["json", "json"],
]);

/** Every name of a kind. */
export const fieldKinds: readonly string[] = [...kindAliases.keys()];

type Json = Readonly<Record<string, unknown>>;

function object(path: string, value: unknown, known: readonly string[]): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(path, "must be an object");
  refuseUnknown(path, value, known);
  return value as Json;
}

function array(path: string, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalid(path, "must be an array");
  return value;
}

function boolean(path: string, value: unknown, absent: boolean): boolean {
  if (value === undefined || value === null) return absent;
  if (typeof value !== "boolean") throw invalid(path, "must be true or false");
  return value;
}

function integer(path: string, value: unknown, min: number, max: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    throw invalid(path, `must be an integer from ${min} to ${max}`);
  }
  return value;
}

function parseFieldName(path: string, value: unknown): string {
  const fault = typeof value === "string" ? fieldNameFault(value) : "must be a non-empty string";
  if (fault !== undefined) throw invalid(path, fault);
  return value as string;
}

/** Where a field's values stand: at a path of its own, or at its name, which must be a path then. */
function parseSourcePath(path: string, value: unknown, name: string): string {
  if (value === undefined || value === null) {
    const fault = sourcePathFault(name);
    if (fault !== undefined) throw invalid(`${path}.name`, `is the source_path too, and ${fault}`);
    return name;
  }
  const fault = typeof value === "string" ? sourcePathFault(value) : "must be a non-empty dotted path";
  if (fault !== undefined) throw invalid(`${path}.source_path`, fault);
  return value as string;
}

function parseRevision(path: string, value: unknown): number {
  if (value === undefined || value === null) return analyzerRevision;
  if (value !== 1 && value !== analyzerRevision) throw invalid(path, `must be 1 or ${analyzerRevision}`);
  return value;
}

function parseText(path: string, value: unknown): FieldKind {
  const options = object(path, value ?? {}, ["analyzer", "positions", "folding", "revision"]);
  const analyzer = options["analyzer"] ?? "standard";
  if (typeof analyzer !== "string" || !isAnalyzer(analyzer)) {
    throw invalid(`${path}.analyzer`, `must be one of ${analyzerNames().join(", ")}`);
  }
  const folding = boolean(`${path}.folding`, options["folding"], false);
  return {
    kind: "text",
    analyzer: analyzerKey({ analyzer, folding, revision: parseRevision(`${path}.revision`, options["revision"]) }),
    positions: boolean(`${path}.positions`, options["positions"], true),
  };
}

function parseKind(path: string, value: unknown): FieldKind {
  if (typeof value === "string") {
    const kind = kindAliases.get(value);
    if (kind === undefined) throw invalid(path, `unknown kind "${value}"`);
    return kind === "text" ? parseText(path, {}) : { kind };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(path, `must be a kind such as "keyword", or an object such as {"text": {…}}`);
  }
  const entries = Object.entries(value);
  const [name, options] = entries[0] ?? ["", undefined];
  if (entries.length !== 1) throw invalid(path, "must have exactly one key, the kind");
  const kind = kindAliases.get(name);
  if (kind === undefined) throw invalid(`${path}.${name}`, "unknown kind");
  if (kind === "text") return parseText(`${path}.${name}`, options);
  object(`${path}.${name}`, options ?? {}, []);
  return { kind };
}

/** One field of a schema, with the defaults of its kind. */
function parseField(path: string, value: unknown): FieldSpec {
  const field = object(path, value, ["name", "source_path", "kind", "indexed", "fast", "multi"]);
  const name = parseFieldName(`${path}.name`, field["name"]);
  const sourcePath = parseSourcePath(path, field["source_path"], name);
  if (field["kind"] === undefined || field["kind"] === null) throw invalid(`${path}.kind`, "is required");
  const kind = parseKind(`${path}.kind`, field["kind"]);
  if (kind.kind === "json") {
    for (const access of ["indexed", "fast", "multi"] as const) {
      if (boolean(`${path}.${access}`, field[access], false)) {
        throw invalid(`${path}.${access}`, "a json field is stored only");
      }
    }
    return { name, sourcePath, kind, indexed: false, fast: false };
  }
  return {
    name,
    sourcePath,
    kind,
    indexed: boolean(`${path}.indexed`, field["indexed"], true),
    fast: boolean(`${path}.fast`, field["fast"], kind.kind !== "keyword" && kind.kind !== "text"),
    ...(boolean(`${path}.multi`, field["multi"], false) ? { multi: true } : {}),
  };
}

export function parseFields(path: string, value: unknown): FieldSpec[] {
  return array(path, value).map((field, i) => parseField(`${path}[${i}]`, field));
}

function parseVector(path: string, value: unknown): VectorSpec {
  const vector = object(path, value, ["name", "dim", "distance"]);
  const name = parseFieldName(`${path}.name`, vector["name"]);
  const dim = integer(`${path}.dim`, vector["dim"], 1, schemaLimits.vectorDimMax);
  const distance = vector["distance"] ?? "cosine";
  if (!distances.includes(distance as Distance)) {
    throw invalid(`${path}.distance`, `must be one of ${distances.join(", ")}`);
  }
  return { name, dim, distance: distance as Distance };
}

function parseSparseVector(path: string, value: unknown): SparseVectorSpec {
  return { name: parseFieldName(`${path}.name`, object(path, value, ["name"])["name"]) };
}

function checkNames(path: string, schema: Schema): void {
  const seen = new Set<string>();
  const lists = [
    ["fields", schema.fields],
    ["vectors", schema.vectors],
    ["sparse_vectors", schema.sparseVectors],
  ] as const;
  for (const [list, entries] of lists) {
    entries.forEach((entry, i) => {
      if (seen.has(entry.name)) throw invalid(`${path}.${list}[${i}].name`, `"${entry.name}" is there twice`);
      seen.add(entry.name);
    });
  }
}

/** Reads the REST form of a schema. `path` is where it stands in the request, for the errors. */
export function parseSchema(value: unknown, path = "schema"): Schema {
  const body = object(path, value, ["fields", "vectors", "sparse_vectors", "dynamic", "max_fields"]);
  const dynamic = body["dynamic"] ?? "ignore";
  if (!dynamicModes.includes(dynamic as DynamicMode)) {
    throw invalid(`${path}.dynamic`, `must be one of ${dynamicModes.join(", ")}`);
  }
  const maxFields = integer(
    `${path}.max_fields`,
    body["max_fields"] ?? schemaLimits.fieldsDefault,
    1,
    schemaLimits.fieldsMax,
  );
  const fields = array(`${path}.fields`, body["fields"]);
  if (fields.length > maxFields) throw invalid(`${path}.fields`, `has more than max_fields (${maxFields}) entries`);
  const vectors = array(`${path}.vectors`, body["vectors"]);
  const sparse = array(`${path}.sparse_vectors`, body["sparse_vectors"]);
  for (const [list, entries] of [
    ["vectors", vectors],
    ["sparse_vectors", sparse],
  ] as const) {
    if (entries.length > schemaLimits.vectorsMax) {
      throw invalid(`${path}.${list}`, `has more than ${schemaLimits.vectorsMax} entries`);
    }
  }
  const schema: Schema = {
    fields: parseFields(`${path}.fields`, fields),
    vectors: vectors.map((vector, i) => parseVector(`${path}.vectors[${i}]`, vector)),
    sparseVectors: sparse.map((vector, i) => parseSparseVector(`${path}.sparse_vectors[${i}]`, vector)),
    dynamic: dynamic as DynamicMode,
    maxFields,
  };
  checkNames(path, schema);
  return schema;
}

/** What a text field was asked for; what is the default of today is left out where it came later. */
export function formatText({ analyzer: key, positions }: Extract<FieldKind, { kind: "text" }>) {
  const { analyzer, folding, revision } = analyzerChoice(key);
  return {
    analyzer,
    positions,
    ...(folding ? { folding } : {}),
    ...(revision === analyzerRevision ? {} : { revision }),
  };
}

function formatKind(kind: FieldKind): unknown {
  return kind.kind === "text" ? { text: formatText(kind) } : kind.kind;
}

function formerKey(key: string): string {
  return analyzerKey({ ...analyzerChoice(key), revision: 1 });
}

/** The schema of a collection whose terms were made before stemmers were versioned. */
export function withFormerAnalyzers(schema: Schema): Schema {
  const fields = schema.fields.map((field) =>
    field.kind.kind === "text"
      ? { ...field, kind: { ...field.kind, analyzer: formerKey(field.kind.analyzer) } }
      : field,
  );
  return { ...schema, fields };
}

/** A schema with every default written out: the REST form, what is stored, and what the threads are told. */
interface FormattedSchema {
  readonly fields: readonly FormattedField[];
  readonly vectors: readonly VectorSpec[];
  readonly sparse_vectors: readonly SparseVectorSpec[];
  readonly dynamic: DynamicMode;
  readonly max_fields: number;
}

interface FormattedField {
  readonly name: string;
  readonly source_path: string;
  readonly kind: unknown;
  readonly indexed: boolean;
  readonly fast: boolean;
  readonly multi?: true;
}

export function formatSchema(schema: Schema): FormattedSchema {
  return {
    fields: schema.fields.map((field) => ({
      name: field.name,
      source_path: field.sourcePath,
      kind: formatKind(field.kind),
      indexed: field.indexed,
      fast: field.fast,
      ...(field.multi ? { multi: true } : {}),
    })),
    vectors: schema.vectors.map(({ name, dim, distance }) => ({ name, dim, distance })),
    sparse_vectors: schema.sparseVectors.map(({ name }) => ({ name })),
    dynamic: schema.dynamic,
    max_fields: schema.maxFields,
  };
}

/**
 * Reads what `formatSchema` wrote, and trusts it: it was checked when it was taken. A rule for names that is stricter
 * today (an earlier build took `a.` and `a..b`) must not keep a stored collection from being read, or a server from
 * starting.
 */
export function readSchema(formatted: unknown): Schema {
  const { fields, vectors, sparse_vectors, dynamic, max_fields } = formatted as FormattedSchema;
  return {
    fields: fields.map(({ name, source_path, kind, indexed, fast, multi }, i) => ({
      name,
      sourcePath: source_path,
      kind: parseKind(`schema.fields[${i}].kind`, kind),
      indexed,
      fast,
      ...(multi ? { multi } : {}),
    })),
    vectors: vectors.map(({ name, dim, distance }) => ({ name, dim, distance })),
    sparseVectors: sparse_vectors.map(({ name }) => ({ name })),
    dynamic,
    maxFields: max_fields,
  };
}

/** The schema with more fields at its end; a name that is taken, or too many fields, is an error. */
export function addFields(schema: Schema, fields: readonly FieldSpec[], path = "fields"): Schema {
  const used = new Set([...schema.fields, ...schema.vectors, ...schema.sparseVectors].map((entry) => entry.name));
  fields.forEach((field, i) => {
    if (used.has(field.name)) throw invalid(`${path}[${i}].name`, `"${field.name}" is there already`);
    used.add(field.name);
  });
  if (schema.fields.length + fields.length > schema.maxFields) {
    throw invalid(path, `the schema would have more than max_fields (${schema.maxFields}) fields`);
  }
  return { ...schema, fields: [...schema.fields, ...fields] };
}
