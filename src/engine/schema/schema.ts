import { asDouble, isWrittenNumber } from "../exact-json.ts";
import { analyzerChoice } from "./analysis/analyzer.ts";
import { parseDate } from "./date.ts";
import { schemaLimits } from "./limits.ts";

/** What a collection's documents hold, typed. The REST form of it is read and written by schema-parse.ts. */
export type FieldKind =
  | { readonly kind: "keyword" }
  | { readonly kind: "text"; readonly analyzer: string; readonly positions: boolean }
  | { readonly kind: "i64" }
  | { readonly kind: "f64" }
  | { readonly kind: "bool" }
  | { readonly kind: "date" }
  | { readonly kind: "json" };

export interface FieldSpec {
  readonly name: string;
  /** Dotted path into the source. */
  readonly sourcePath: string;
  readonly kind: FieldKind;
  /** Term, range and text access. */
  readonly indexed: boolean;
  /** Columnar, for sort, facets, groups, aggregates and range. */
  readonly fast: boolean;
  /** SQL shows all of its values, as a list. */
  readonly multi?: true;
}

export const distances = ["cosine", "dot", "l2"] as const;
export type Distance = (typeof distances)[number];

export interface VectorSpec {
  readonly name: string;
  readonly dim: number;
  readonly distance: Distance;
}

export interface SparseVectorSpec {
  readonly name: string;
}

export const dynamicModes = ["ignore", "strict", "dynamic"] as const;
export type DynamicMode = (typeof dynamicModes)[number];

export interface Schema {
  readonly fields: readonly FieldSpec[];
  readonly vectors: readonly VectorSpec[];
  readonly sparseVectors: readonly SparseVectorSpec[];
  readonly dynamic: DynamicMode;
  readonly maxFields: number;
}

/** Numbers in the index: i64, f64, date (epoch ms) and bool (0 or 1). */
export function isNumeric(kind: FieldKind): boolean {
  return kind.kind === "i64" || kind.kind === "f64" || kind.kind === "date" || kind.kind === "bool";
}

export function findField(schema: Schema, name: string): FieldSpec | undefined {
  return schema.fields.find((field) => field.name === name);
}

export function findVector(schema: Schema, name: string): VectorSpec | undefined {
  return schema.vectors.find((vector) => vector.name === name);
}

function sameKind(a: FieldKind, b: FieldKind): boolean {
  if (a.kind !== b.kind) return false;
  if (a.kind !== "text" || b.kind !== "text") return true;
  // A collection keeps the stemmer that made its terms: who asks for the language's newer one means the same field.
  const [one, other] = [analyzerChoice(a.analyzer), analyzerChoice(b.analyzer)];
  return one.analyzer === other.analyzer && one.folding === other.folding && a.positions === b.positions;
}

function sameField(a: FieldSpec, b: FieldSpec): boolean {
  return (
    a.name === b.name &&
    a.sourcePath === b.sourcePath &&
    a.indexed === b.indexed &&
    a.fast === b.fast &&
    a.multi === b.multi &&
    sameKind(a.kind, b.kind)
  );
}

function sameNamed<T extends { readonly name: string }>(
  a: readonly T[],
  b: readonly T[],
  same: (x: T, y: T) => boolean,
): boolean {
  if (a.length !== b.length) return false;
  const byName = new Map(b.map((entry) => [entry.name, entry]));
  return a.every((entry) => {
    const other = byName.get(entry.name);
    return other !== undefined && same(entry, other);
  });
}

/** The order in which fields are listed carries no meaning. */
export function sameSchema(a: Schema, b: Schema): boolean {
  return (
    a.dynamic === b.dynamic &&
    a.maxFields === b.maxFields &&
    sameNamed(a.fields, b.fields, sameField) &&
    sameNamed(a.vectors, b.vectors, (x, y) => x.dim === y.dim && x.distance === y.distance) &&
    sameNamed(a.sparseVectors, b.sparseVectors, () => true)
  );
}

/** Every path that a field reads, and every path above one, so that a source is checked in one walk. */
export class SchemaPaths {
  readonly #leaves = new Set<string>();
  readonly #branches = new Set<string>();
  /** Json fields take the whole subtree under their path. */
  readonly #subtrees = new Set<string>();

  constructor(fields: readonly FieldSpec[]) {
    for (const field of fields) {
      this.#leaves.add(field.sourcePath);
      if (field.kind.kind === "json") this.#subtrees.add(field.sourcePath);
      for (let dot = field.sourcePath.indexOf("."); dot !== -1; dot = field.sourcePath.indexOf(".", dot + 1)) {
        this.#branches.add(field.sourcePath.slice(0, dot));
      }
    }
  }

  isLeaf(path: string): boolean {
    return this.#leaves.has(path);
  }

  isSubtree(path: string): boolean {
    return this.#subtrees.has(path);
  }

  isBranch(path: string): boolean {
    return this.#branches.has(path);
  }
}

const dateTime = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}/;

function inferKind(value: unknown): FieldKind | undefined {
  switch (typeof value) {
    case "string":
      return dateTime.test(value) && parseDate(value) !== undefined
        ? { kind: "date" }
        : { kind: "text", analyzer: "standard", positions: true };
    case "number":
      if (!Number.isFinite(value)) return undefined;
      return Number.isSafeInteger(value) ? { kind: "i64" } : { kind: "f64" };
    case "boolean":
      return { kind: "bool" };
    default:
      return undefined;
  }
}

/** Why a name can't be a field's; undefined for one that can. */
export function fieldNameFault(name: string): string | undefined {
  if (name.length === 0) return "must be a non-empty string";
  if (name.length > schemaLimits.fieldNameLengthMax) {
    return `must have at most ${schemaLimits.fieldNameLengthMax} characters`;
  }
  if (name.startsWith("_")) return `"${name}" is reserved: names must not start with "_"`;
  if (/[\u0000-\u001f\u007f]/.test(name)) return "must not hold control characters";
  return name.isWellFormed() ? undefined : "must be well-formed Unicode";
}

/** Why a path can't be a field's `source_path`; undefined for one that can. */
export function sourcePathFault(path: string): string | undefined {
  if (path.length === 0) return "must be a non-empty dotted path";
  if (path.length > schemaLimits.sourcePathLengthMax) {
    return `must have at most ${schemaLimits.sourcePathLengthMax} characters`;
  }
  return path.split(".").includes("") ? "must not have an empty part" : undefined;
}

/** Whether a field may be called as the path of its values is: what a schema would refuse is not inferred. */
function inferable(path: string): boolean {
  return fieldNameFault(path) === undefined && sourcePathFault(path) === undefined;
}

/**
 * The fields that a source has and the schema lacks, in the order in which they are met: RFC 3339 strings are dates,
 * other strings text (fast too, so that they sort and count), whole numbers i64; of several values at one path the kind
 * that takes all. Beyond `max_fields`, and under a name that no field may have, nothing is inferred: the value stays in
 * the source.
 */
export function inferFields(schema: Schema, source: unknown): FieldSpec[] {
  const known = new SchemaPaths(schema.fields);
  const names = new Set([...schema.fields, ...schema.vectors, ...schema.sparseVectors].map((entry) => entry.name));
  const found = new Map<string, FieldKind>();
  const room = schema.maxFields - schema.fields.length;

  /** The whole source has no path; an empty one is that of a key without a character. */
  function visit(value: unknown, path: string | undefined, depth: number): void {
    if (value === null || depth > schemaLimits.sourceDepthMax) return;
    if (path !== undefined && known.isSubtree(path)) return;
    if (Array.isArray(value)) {
      for (const entry of value) visit(entry, path, depth + 1);
    } else if (typeof value === "object" && !isWrittenNumber(value)) {
      for (const [key, entry] of Object.entries(value as object)) {
        visit(entry, path === undefined ? key : `${path}.${key}`, depth + 1);
      }
    } else if (path !== undefined) take(value, path);
  }

  function take(value: unknown, path: string): void {
    const kind = inferKind(asDouble(value));
    if (kind === undefined) return;
    const before = found.get(path);
    if (before !== undefined) found.set(path, widerKind(before, kind));
    else if (found.size < room && !known.isLeaf(path) && !names.has(path) && inferable(path)) found.set(path, kind);
  }

  visit(source, undefined, 0);
  return [...found].map(([path, kind]) => ({ name: path, sourcePath: path, kind, indexed: true, fast: true }));
}

/** The kind that takes both of two values at one path, where there is one: whole and other numbers, dates and other texts. */
function widerKind(a: FieldKind, b: FieldKind): FieldKind {
  const isWider = (a.kind === "i64" && b.kind === "f64") || (a.kind === "date" && b.kind === "text");
  return isWider ? b : a;
}
