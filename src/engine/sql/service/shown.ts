import { tableSchemas } from "../columns.ts";
import type { Relation } from "../dialect.ts";

/** The schema of views that show what there is, without what the engine keeps beside it. */
export const shownSchema = "shown";
/** The same for `pg_catalog`. It ends every search path, so a bare `pg_class` is found here before DuckDB's own. */
export const shownCatalogSchema = "shown_catalog";
/** Where the engine keeps the columns of collections. */
export const storedSchema = "stored";

const ownSchemas = `(${tableSchemas.map((name) => `'${name}'`).join(", ")})`;
const tables = `table_schema IN ${ownSchemas} AND table_catalog = current_database()`;

/** `type` is what every one of them is, although some are kept as views. */
const views: readonly (readonly [name: string, query: string])[] = [
  [
    "tables",
    `SELECT * REPLACE ('BASE TABLE' AS table_type) FROM information_schema.tables WHERE ${tables} ORDER BY ALL`,
  ],
  ["columns", `SELECT * FROM information_schema.columns WHERE ${tables}`],
  [
    "schemata",
    `SELECT * FROM information_schema.schemata WHERE catalog_name = current_database() AND schema_name IN ${ownSchemas}`,
  ],
  ["views", "SELECT * FROM information_schema.views WHERE false"],
  [
    "show_tables",
    "SELECT view_name AS name FROM duckdb_views() WHERE schema_name = 'collections' AND database_name = current_database() ORDER BY name",
  ],
  [
    "show_all_tables",
    `SELECT table_catalog AS database, table_schema AS schema, table_name AS name,
       list(column_name ORDER BY ordinal_position) AS column_names,
       list(data_type ORDER BY ordinal_position) AS column_types, false AS temporary
     FROM information_schema.columns WHERE ${tables} GROUP BY ALL ORDER BY schema, name`,
  ],
  ["show_databases", "SELECT current_database() AS database_name"],
  [
    "show_schemas",
    `SELECT catalog_name AS database_name, schema_name FROM information_schema.schemata
     WHERE catalog_name = current_database() AND schema_name IN ${ownSchemas} ORDER BY schema_name`,
  ],
];

const catalogViews: typeof views = [
  [
    "pg_namespace",
    `SELECT * FROM pg_catalog.pg_namespace WHERE nspname IN ${ownSchemas} AND oid IN (SELECT oid FROM duckdb_schemas() WHERE database_name = current_database())`,
  ],
  [
    "pg_class",
    `SELECT * FROM pg_catalog.pg_class WHERE relnamespace IN (SELECT oid FROM ${shownCatalogSchema}.pg_namespace)`,
  ],
  [
    "pg_attribute",
    `SELECT * FROM pg_catalog.pg_attribute WHERE attrelid IN (SELECT oid FROM ${shownCatalogSchema}.pg_class)`,
  ],
  ["pg_tables", `SELECT * FROM pg_catalog.pg_tables WHERE schemaname IN ${ownSchemas}`],
  ["pg_views", "SELECT * FROM pg_catalog.pg_views WHERE false"],
  ["pg_database", "SELECT * FROM pg_catalog.pg_database WHERE datname = current_database()"],
];

export function shownSetUp(): string[] {
  return [
    `CREATE SCHEMA ${shownSchema}`,
    `CREATE SCHEMA ${shownCatalogSchema}`,
    ...views.map(([name, query]) => `CREATE VIEW ${shownSchema}.${name} AS ${query}`),
    ...catalogViews.map(([name, query]) => `CREATE VIEW ${shownCatalogSchema}.${name} AS ${query}`),
  ];
}

const informationNames = ["tables", "columns", "schemata", "views"];
const catalogNames = catalogViews.map(([name]) => name);

/** The view of ours in place of one of DuckDB's. */
export function shownRelation(schema: string | undefined, name: string): Relation | undefined {
  const lower = name.toLowerCase();
  if (schema === "information_schema" && informationNames.includes(lower)) return { schema: shownSchema, name: lower };
  if (schema === "pg_catalog" && catalogNames.includes(lower)) return { schema: shownCatalogSchema, name: lower };
  return undefined;
}
