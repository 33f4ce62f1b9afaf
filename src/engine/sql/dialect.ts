export type DialectName = "postgres" | "mysql";

export interface DialectContext {
  readonly namespace: string;
}

/** A table under another name: `schema` and `name` as they are in the namespace's database. */
export interface Relation {
  readonly schema: string;
  readonly name: string;
}

/** What a wire adds to SQL so that its clients find what they know. It lies in the wire's edge and runs where statements do. */
export interface Dialect {
  readonly name: DialectName;
  /**
   * Statements that are run once in each namespace's database, before the first statement of the dialect: schemas,
   * macros, views. They are ours, so nothing is refused.
   */
  setUp(context: DialectContext): readonly string[];
  /**
   * Schemas of its own that statements may read, besides `collections`, `streams`, `links` and `information_schema`.
   * Their macros and tables are found without naming the schema too, after the collections.
   */
  readonly schemas: readonly string[];
  /** What to read in place of a table, for example of a view of its own in place of `pg_catalog.pg_class`. */
  relation?(schema: string | undefined, name: string): Relation | undefined;
  /** Table functions that its statements may call, besides those that all may. In lower case. */
  readonly tableFunctions?: readonly string[];
  /** Where NULL goes in an ORDER BY that does not say so, in DuckDB's words. */
  readonly nullOrder: "nulls_last_on_asc_first_on_desc" | "nulls_first_on_asc_last_on_desc";
  /** Macros of its own that its statements may call without naming the schema. In lower case. */
  readonly macros: ReadonlySet<string>;
  /** Those of them that look into what tables there are. */
  readonly catalogMacros?: ReadonlySet<string>;
}

export type Dialects = Readonly<Record<DialectName, Dialect>>;
