/**
 * What the modules of live functions import as "native-engine/live". The server brings its own copy: this one gives editors the types and lets
 * the command line read a schema.
 */

export type Id<Table extends string = string> = string & { readonly __table?: Table };

/** A validator, as its JSON says it, with the type of the values it takes. */
export interface Validator<T = unknown, Optional extends boolean = boolean> {
  readonly type: string;
  readonly optional?: boolean;
  /** Only a type. */
  readonly __value?: T;
  readonly __optional?: Optional;
}

export type Fields = Readonly<Record<string, Validator>>;

type ValueOf<V> = V extends Validator<infer T> ? T : never;
type OptionalKeys<F> = { [K in keyof F]: F[K] extends Validator<unknown, true> ? K : never }[keyof F];
/** The object that fits fields. */
export type ObjectOf<F extends Fields> = { [K in Exclude<keyof F, OptionalKeys<F>>]: ValueOf<F[K]> } & {
  [K in OptionalKeys<F>]?: ValueOf<F[K]>;
};

function validator<T>(json: object): Validator<T, false> {
  return json as Validator<T, false>;
}

export const v = {
  string: () => validator<string>({ type: "string" }),
  number: () => validator<number>({ type: "number" }),
  boolean: () => validator<boolean>({ type: "boolean" }),
  int64: () => validator<bigint>({ type: "int64" }),
  bytes: () => validator<Uint8Array>({ type: "bytes" }),
  null: () => validator<null>({ type: "null" }),
  any: () => validator<unknown>({ type: "any" }),
  id: <T extends string>(table: T) => validator<Id<T>>({ type: "id", table }),
  array: <V extends Validator>(items: V) => validator<ValueOf<V>[]>({ type: "array", items }),
  object: <F extends Fields>(fields: F) => validator<ObjectOf<F>>({ type: "object", fields }),
  union: <V extends readonly Validator[]>(...of: V) => validator<ValueOf<V[number]>>({ type: "union", of }),
  literal: <const T extends string | number | boolean | null>(value: T) => validator<T>({ type: "literal", value }),
  optional: <V extends Validator>(validator: V) =>
    ({ ...validator, optional: true }) as unknown as Validator<ValueOf<V>, true>,
};

/** A document as it is read. */
// biome-ignore lint/suspicious/noExplicitAny: only the schema knows its fields, and each use would be a cast.
export type Document = { readonly _id: Id; readonly _creationTime: number } & Readonly<Record<string, any>>;

export interface RangeBuilder {
  eq(field: string, value: unknown): RangeBuilder;
  gt(field: string, value: unknown): RangeBuilder;
  gte(field: string, value: unknown): RangeBuilder;
  lt(field: string, value: unknown): RangeBuilder;
  lte(field: string, value: unknown): RangeBuilder;
}

export interface Page {
  readonly page: Document[];
  readonly cursor: string | null;
  readonly isDone: boolean;
}

export interface TableQuery {
  withIndex(name: string, range?: (builder: RangeBuilder) => RangeBuilder): TableQuery;
  filter(keep: (document: Document) => boolean): TableQuery;
  order(order: "asc" | "desc"): TableQuery;
  take(count: number): Promise<Document[]>;
  collect(): Promise<Document[]>;
  first(): Promise<Document | null>;
  unique(): Promise<Document | null>;
  paginate(options: { readonly cursor?: string | null; readonly limit: number }): Promise<Page>;
  count(): Promise<number>;
}

export interface DatabaseReader {
  get(id: Id): Promise<Document | null>;
  query(table: string): TableQuery;
}

export interface DatabaseWriter extends DatabaseReader {
  insert(table: string, document: object): Promise<Id>;
  /** A field given as undefined is taken away. */
  patch(id: Id, patch: object): Promise<void>;
  replace(id: Id, document: object): Promise<void>;
  delete(id: Id): Promise<void>;
}

export interface Caller {
  readonly id: string;
  readonly displayName: string;
  readonly email?: string;
}

export interface QueryContext {
  readonly db: DatabaseReader;
  /** Who calls. A query that asks is run for each caller by itself. */
  readonly auth: { principal(): Promise<Caller> };
}

export interface MutationContext extends Omit<QueryContext, "db"> {
  readonly db: DatabaseWriter;
}

export interface LiveFunction<Kind extends "query" | "mutation", Args = unknown, Result = unknown> {
  readonly kind: Kind;
  readonly args?: Fields;
  readonly returns?: Validator;
  readonly handler: (context: never, args: never) => unknown;
  /** Only types. */
  readonly __args?: Args;
  readonly __result?: Result;
}

interface Definition<F extends Fields, Context, Result> {
  readonly args?: F;
  readonly returns?: Validator;
  readonly handler: (context: Context, args: ObjectOf<F>) => Result;
}

export function query<F extends Fields, R>(
  definition: Definition<F, QueryContext, R>,
): LiveFunction<"query", ObjectOf<F>, Awaited<R>> {
  return { ...definition, kind: "query" };
}

export function mutation<F extends Fields, R>(
  definition: Definition<F, MutationContext, R>,
): LiveFunction<"mutation", ObjectOf<F>, Awaited<R>> {
  return { ...definition, kind: "mutation" };
}

/** An error whose data callers see. */
export class LiveError extends Error {
  readonly data: unknown;

  constructor(message: string, data?: unknown) {
    super(message);
    this.name = "LiveError";
    this.data = data;
  }
}

export interface TableBuilder {
  readonly fields?: Fields;
  readonly indexes: readonly { readonly name: string; readonly fields: readonly string[] }[];
  index(name: string, fields: readonly string[]): TableBuilder;
}

/** A table of `defineSchema`; without fields it takes any document. */
export function defineTable(fields?: Fields, indexes: TableBuilder["indexes"] = []): TableBuilder {
  return {
    ...(fields === undefined ? {} : { fields }),
    indexes,
    index: (name, indexFields) => defineTable(fields, [...indexes, { name, fields: indexFields }]),
  };
}

/** The default export of the module `schema`. */
export function defineSchema(tables: Readonly<Record<string, TableBuilder>>) {
  const plain = Object.entries(tables).map(([name, { fields, indexes }]) => [
    name,
    { ...(fields === undefined ? {} : { fields }), indexes },
  ]);
  return { tables: Object.fromEntries(plain) as Record<string, object> };
}
