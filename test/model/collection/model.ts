/** A collection as a plain map, written from the specification alone: what the engine must agree with at every step. */
export type FieldKindName = "keyword" | "text" | "i64" | "f64" | "bool" | "date";

export interface ModelField {
  readonly name: string;
  readonly path: string;
  readonly kind: FieldKindName;
  readonly indexed: boolean;
  readonly fast: boolean;
}

export type DynamicMode = "ignore" | "strict" | "dynamic";
export type Source = Readonly<Record<string, unknown>>;
export type Vector = readonly number[];

export interface ModelDocument {
  readonly version: number;
  readonly source: Source;
  readonly vectors: Readonly<Record<string, Vector>>;
}

export type ModelFilter = Readonly<Record<string, unknown>>;

export interface ModelOp {
  readonly kind: "upsert" | "insert" | "patch" | "delete";
  readonly id: number;
  readonly source?: Source | undefined;
  readonly vectors?: Readonly<Record<string, Vector | null>> | undefined;
  readonly if?: ModelFilter | undefined;
  readonly if_version?: number | undefined;
}

export interface ModelResult {
  readonly id: number;
  readonly status: string;
  readonly version: number;
}

export class Refused extends Error {
  readonly reason: "invalid_argument" | "already_exists" | "not_found";

  constructor(reason: Refused["reason"]) {
    super(reason);
    this.reason = reason;
  }
}

const dim = 2;

export class CollectionModel {
  fields: ModelField[];
  readonly dynamic: DynamicMode;
  documents = new Map<number, ModelDocument>();
  /** Changes ever written, and the documents as they were after each batch of them. */
  changes = 0;
  readonly history = new Map<number, ReadonlyMap<number, ModelDocument>>();

  constructor(fields: readonly ModelField[], dynamic: DynamicMode) {
    this.fields = [...fields];
    this.dynamic = dynamic;
    this.history.set(0, new Map());
  }

  /** Applies a batch, all of it or, by throwing `Refused`, none. */
  write(ops: readonly ModelOp[]): ModelResult[] {
    const fields = this.#checked(ops);
    const after = new Map(this.documents);
    const changed = new Set<number>();
    const results = ops.map((op) => apply(after, changed, fields, op));
    if (changed.size === 0) return results;
    this.documents = after;
    this.fields = fields;
    this.changes += changed.size;
    this.history.set(this.changes, after);
    return results;
  }

  matching(filter: ModelFilter | undefined, documents: ReadonlyMap<number, ModelDocument> = this.documents): number[] {
    return [...documents]
      .filter(([id, document]) => filter === undefined || matches(filter, id, document, this.fields))
      .map(([id]) => id)
      .sort((a, b) => a - b);
  }

  /** Throws `Refused` for a batch that no documents would make right. */
  check(ops: readonly ModelOp[]): void {
    this.#checked(ops);
  }

  /** The fields with those that the batch makes known, or `Refused`. */
  #checked(ops: readonly ModelOp[]): ModelField[] {
    const fields = [...this.fields];
    for (const { kind, source, vectors } of ops) {
      if (kind === "delete") continue;
      const given = Object.entries(source ?? {}).filter(([, value]) => kind !== "patch" || value !== null);
      for (const path of this.dynamic === "strict" ? paths(Object.fromEntries(given)) : []) {
        const known = fields.some((field) => field.path === path || field.path.startsWith(`${path}.`));
        if (!known) throw new Refused("invalid_argument");
      }
      const found = [...leaves(Object.fromEntries(given))];
      for (const [path, value] of found) {
        const field = fields.find((each) => each.path === path);
        if (field !== undefined) {
          if (!fits(field.kind, value)) throw new Refused("invalid_argument");
        } else if (this.dynamic === "strict") {
          throw new Refused("invalid_argument");
        } else if (this.dynamic === "dynamic") {
          const kind = found.flatMap(([at, each]) => (at === path ? [inferred(each)] : [])).reduce(wider);
          if (!fits(kind, value)) throw new Refused("invalid_argument");
          fields.push({ name: path, path, kind, indexed: true, fast: true });
        }
      }
      for (const vector of Object.values(vectors ?? {})) {
        if (vector !== null && vector.length !== dim) throw new Refused("invalid_argument");
      }
    }
    return fields;
  }
}

function apply(
  documents: Map<number, ModelDocument>,
  changed: Set<number>,
  fields: readonly ModelField[],
  op: ModelOp,
): ModelResult {
  const { id, kind } = op;
  const current = documents.get(id);
  const version = current?.version ?? 0;
  const holds =
    (op.if_version === undefined || op.if_version === version) &&
    (op.if === undefined || (current !== undefined && matches(op.if, id, current, fields)));
  if (!holds) return { id, status: "condition_failed", version };
  if (kind === "insert" && current !== undefined) throw new Refused("already_exists");
  if (kind === "patch" && current === undefined) throw new Refused("not_found");
  const isEmpty = Object.keys(op.source ?? {}).length + Object.keys(op.vectors ?? {}).length === 0;
  if (kind === "patch" && isEmpty) return { id, status: "noop", version };
  if (kind === "delete") {
    if (current === undefined) return { id, status: "noop", version: 0 };
    documents.delete(id);
    changed.add(id);
    return { id, status: "deleted", version: version + 1 };
  }
  const patched = kind === "patch" ? current : undefined;
  documents.set(id, {
    version: version + 1,
    source: merged(patched?.source ?? {}, op.source ?? {}, kind === "patch"),
    vectors: merged(patched?.vectors ?? {}, op.vectors ?? {}, true) as Record<string, Vector>,
  });
  changed.add(id);
  return { id, status: current === undefined ? "created" : "updated", version: version + 1 };
}

function merged(before: Source, given: Source, nullRemoves: boolean): Source {
  const all = { ...before, ...given };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => !nullRemoves || value !== null));
}

/** Every scalar of a source with its dotted path. */
function* leaves(value: unknown, path = ""): Iterable<[string, unknown]> {
  if (value === null || value === undefined) return;
  if (Array.isArray(value)) {
    for (const entry of value) yield* leaves(entry, path);
  } else if (typeof value === "object") {
    for (const [key, entry] of Object.entries(value)) yield* leaves(entry, path === "" ? key : `${path}.${key}`);
  } else yield [path, value];
}

/** The dotted path of every key of a source. */
function* paths(value: unknown, path = ""): Iterable<string> {
  if (Array.isArray(value)) for (const entry of value) yield* paths(entry, path);
  else if (typeof value === "object" && value !== null) {
    for (const [key, entry] of Object.entries(value)) {
      const child = path === "" ? key : `${path}.${key}`;
      yield child;
      yield* paths(entry, child);
    }
  }
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export function fits(kind: FieldKindName, value: unknown): boolean {
  switch (kind) {
    case "keyword":
    case "text":
      return typeof value === "string";
    case "i64":
      return Number.isSafeInteger(value);
    case "f64":
      return typeof value === "number";
    case "bool":
      return typeof value === "boolean";
    case "date":
      return typeof value === "number" ? Number.isInteger(value) : rfc3339.test(String(value));
  }
}

function inferred(value: unknown): FieldKindName {
  if (typeof value === "string") return rfc3339.test(value) ? "date" : "text";
  if (typeof value === "boolean") return "bool";
  return Number.isInteger(value) ? "i64" : "f64";
}

/** The kind that takes the values of both, where there is one. */
function wider(a: FieldKindName, b: FieldKindName): FieldKindName {
  return (a === "i64" && b === "f64") || (a === "date" && b === "text") ? b : a;
}

/** What a field holds of a document, as a filter compares it. What does not fit the field is no value of it. */
function valuesOf(document: ModelDocument, field: ModelField): (string | number)[] {
  const all = [...leaves(document.source)].filter(([path]) => path === field.path).map(([, value]) => value);
  // A value that came before the field and does not fit it keeps the whole field out of the index.
  if (!all.every((value) => fits(field.kind, value))) return [];
  return all.map((value) => comparable(field, value));
}

function comparable(field: ModelField, value: unknown): string | number {
  if (field.kind === "date") return typeof value === "string" ? Date.parse(value) : (value as number);
  if (field.kind === "bool") return value ? 1 : 0;
  return value as string | number;
}

/** The vocabulary of the tests is plain lower-case words, so that splitting at spaces is what an analyzer does. */
function terms(values: readonly (string | number)[], field: ModelField): (string | number)[] {
  return field.kind === "text" ? values.flatMap((value) => String(value).split(" ").filter(Boolean)) : [...values];
}

function pattern(text: string): RegExp {
  return new RegExp(`^${text.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");
}

export function matches(
  filter: ModelFilter,
  id: number,
  document: ModelDocument,
  fields: readonly ModelField[],
): boolean {
  const [kind, body] = Object.entries(filter)[0] as [string, Readonly<Record<string, unknown>>];
  const all = (list: unknown) => ((list ?? []) as ModelFilter[]).map((each) => matches(each, id, document, fields));
  switch (kind) {
    case "match_all":
      return true;
    case "and":
      return all(body).every(Boolean);
    case "or":
      return all(body).some(Boolean);
    case "not":
      return !matches(body, id, document, fields);
    case "bool":
      return (
        [...all(body["must"]), ...all(body["filter"])].every(Boolean) &&
        (body["should"] === undefined || all(body["should"]).some(Boolean)) &&
        !all(body["must_not"]).some(Boolean)
      );
    case "ids":
      return (body["values"] as number[]).includes(id);
    default:
      return leaf(kind, body, document, fields);
  }
}

function leaf(
  kind: string,
  body: Readonly<Record<string, unknown>>,
  document: ModelDocument,
  fields: readonly ModelField[],
): boolean {
  const [key, given] = Object.entries(body)[0]!;
  const name = kind === "exists" ? String(given) : key;
  const field = fields.find((each) => each.name === name);
  if (field === undefined) return false;
  const values = valuesOf(document, field);
  const held = terms(values, field);
  const wanted = () => terms([comparable(field, given)], field);
  switch (kind) {
    case "exists":
      return values.length > 0;
    case "term":
      return held.includes(comparable(field, given));
    case "terms":
      return (given as unknown[]).some((value) => held.includes(comparable(field, value)));
    case "prefix":
      return held.some((term) => String(term).startsWith(String(given)));
    case "wildcard":
      return held.some((term) => pattern(String(given)).test(String(term)));
    case "match":
      return wanted().every((term) => held.includes(term));
    case "phrase":
      return field.kind === "text"
        ? values.some((value) => ` ${value} `.includes(` ${given} `))
        : held.includes(String(given));
    case "range":
      return values.some((value) =>
        Object.entries(given as object).every(([op, bound]) => {
          const limit = comparable(field, bound);
          return op === "gt"
            ? value > limit
            : op === "gte"
              ? value >= limit
              : op === "lt"
                ? value < limit
                : value <= limit;
        }),
      );
    default:
      throw new Error(kind);
  }
}
