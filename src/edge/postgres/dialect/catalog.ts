import { catalogOids, fixedOids } from "./oids.ts";
import { procQuery } from "./procs.ts";
import { emptyCatalog, emptyInformation, emptyRelation } from "./relations.ts";
import { sessionRelations, sessionRows, tableFunctions } from "./session-relations.ts";
import { duckTypes, postgresTypes } from "./types.ts";

/** Where the views and macros of the dialect are. */
export const catalogSchema = "postgres_catalog";

const s = catalogSchema;
/** That of pgvector whose operators are there. */
const vectorVersion = "0.8.0";
const owner = fixedOids.owner;
/** The number of nothing. */
const none = "0::UINTEGER";

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** Scalar and array types: of the latter, the number, name and item. */
const typeRows = postgresTypes.flatMap(([oid, name, size, array, category, item, , align]) => {
  const row = `(${oid}, ${text(name)}, ${size}, ${array}, ${text(category)}, ${item}, ${text(align)})`;
  return array === 0 ? [row] : [row, `(${array}, ${text(`_${name}`)}, -1, 0, 'A', ${oid}, 'i')`];
});

/** What a key stands for. A look-up and no CASE: that would repeat the key, itself an expression, for each of its values. */
function lookup(pairs: readonly (readonly [string, string])[], key: string): string {
  return `map([${pairs.map(([from]) => from).join(", ")}], [${pairs.map(([, to]) => to).join(", ")}])[${key}]`;
}

const scalarOids = Object.entries(duckTypes).map(([name, oid]) => [text(name), String(oid)] as const);
const arrayOids = postgresTypes.flatMap(([oid, , , array]) =>
  array === 0 ? [] : [[String(oid), String(array)] as const],
);
const typeLabels = postgresTypes.flatMap(([oid, , , array, , , label]) => [
  [String(oid), text(label)] as const,
  ...(array === 0 ? [] : [[String(array), text(`${label}[]`)] as const]),
]);

const catalogNumbers = Object.entries(catalogOids).map(([name, oid]) => [text(name), String(oid)] as const);

/** What the views below are made with. */
const helpers: readonly string[] = [
  `CREATE MACRO ${s}.quoted_name(name) AS CASE WHEN regexp_full_match(name, '[a-z_][a-z0-9_$]*') THEN name
     ELSE '"' || replace(name, '"', '""') || '"' END`,
  `CREATE MACRO ${s}.table_oid(schema_name, table_name) AS (md5_number_upper(schema_name || '.' || table_name) % 1000000000 + 100000)::UINTEGER`,
  `CREATE MACRO ${s}.namespace_oid(name) AS CASE name WHEN 'collections' THEN ${fixedOids.collections} WHEN 'streams' THEN ${fixedOids.streams}
     WHEN 'links' THEN ${fixedOids.links} WHEN 'counters' THEN ${fixedOids.counters} WHEN 'live' THEN ${fixedOids.live} WHEN 'pg_catalog' THEN ${fixedOids.pg_catalog} WHEN 'information_schema' THEN ${fixedOids.information_schema} END`,
  `CREATE MACRO ${s}.scalar_type_oid(type) AS coalesce(${lookup(scalarOids, "type")},
     CASE WHEN starts_with(type, 'DECIMAL') THEN 1700 WHEN starts_with(type, 'ENUM') THEN 25 ELSE 114 END)`,
  `CREATE MACRO ${s}.array_type_oid(oid) AS ${lookup(arrayOids, "oid")}`,
  // A list of scalars is an array; what nests deeper is JSON.
  `CREATE MACRO ${s}.type_oid(type) AS CASE WHEN regexp_matches(type, '\\[\\d*\\]$') THEN
     CASE WHEN regexp_matches(type, '^(STRUCT|MAP)|\\[\\d*\\]\\[\\d*\\]$') THEN 114
     ELSE ${s}.array_type_oid(${s}.scalar_type_oid(regexp_replace(type, '\\[\\d*\\]$', ''))) END
     ELSE ${s}.scalar_type_oid(type) END`,
  `CREATE MACRO ${s}.type_modifier(type) AS CASE WHEN type LIKE 'DECIMAL(%' AND type NOT LIKE '%]' THEN
     (regexp_extract(type, '(\\d+),', 1)::INTEGER << 16) + regexp_extract(type, ',\\s*(\\d+)', 1)::INTEGER + 4 ELSE -1 END`,
  `CREATE MACRO ${s}.type_label(oid) AS coalesce(${lookup(typeLabels, "oid::INTEGER")}, '???')`,
];

/** The columns of tables with the numbers of their types, each found once. */
const typedColumns = `(SELECT *, ${s}.type_oid(data_type) AS type, ${s}.type_modifier(data_type) AS modifier FROM shown.columns)`;

/** A view of information_schema has its own prefix: the names of both schemas may be the same. */
const informationPrefix = "information_";

/** The columns of the catalogs themselves. A table, because they never change. */
const catalogColumns = `CREATE TABLE ${s}.catalog_columns (table_oid UINTEGER, table_schema VARCHAR, table_name VARCHAR, column_name VARCHAR,
  data_type VARCHAR, type UINTEGER, ordinal_position INTEGER)`;

/** They are those of the views that stand for them. What is not a part of `SELECT *` in Postgres has its number there. */
const catalogColumnsFilled = `INSERT INTO ${s}.catalog_columns
  SELECT coalesce(CASE schema_name WHEN 'pg_catalog' THEN ${lookup(catalogNumbers, "name")} END, ${s}.table_oid(schema_name, name)), schema_name, name,
    column_name, data_type, ${s}.type_oid(data_type),
    CASE column_name WHEN 'tableoid' THEN -6 WHEN 'xmin' THEN -2 ELSE ordinal_position END
  FROM (SELECT *, CASE WHEN starts_with(table_name, '${informationPrefix}') THEN 'information_schema' ELSE 'pg_catalog' END AS schema_name,
      regexp_replace(table_name, '^${informationPrefix}', '') AS name FROM information_schema.columns
    WHERE table_catalog = current_database() AND table_schema = '${s}' AND table_name NOT IN ('key_indexes', 'catalog_columns'))`;

/** The index of each collection's key. */
const keyIndexes = `SELECT ${s}.table_oid('keys', table_name) AS oid, table_name || '_pkey' AS index_name, table_name,
    ${s}.table_oid(table_schema, table_name) AS table_oid, ${fixedOids.collections}::UINTEGER AS namespace,
    (SELECT c.ordinal_position FROM shown.columns c WHERE c.table_schema = 'collections' AND c.table_name = t.table_name
     AND c.column_name = '_id')::SMALLINT AS position,
    'CREATE UNIQUE INDEX ' || ${s}.quoted_name(table_name || '_pkey') || ' ON collections.' || ${s}.quoted_name(table_name) || ' USING btree (_id)' AS indexdef
  FROM shown.tables t WHERE table_schema = 'collections'`;

/** Most functions of a type are called by it and what they do; these have an underscore between. */
const underscored =
  `date time timetz timestamp timestamptz interval numeric uuid json jsonb xml inet cidr macaddr bit varbit cstring record void vector`
    .split(" ")
    .map((name) => `'${name}'`);

function functionOfType(what: "in" | "out" | "recv" | "send"): string {
  return `CASE WHEN typcategory = 'A' THEN 'array_${what}' WHEN typname IN (${underscored.join(", ")}) THEN typname || '_${what}' ELSE typname || '${what}' END`;
}

const populated: Readonly<Record<string, string>> = {
  pg_namespace: `SELECT * FROM (VALUES (${fixedOids.pg_catalog}::UINTEGER, 'pg_catalog', ${owner}::UINTEGER, NULL::VARCHAR[], 0::UINTEGER),
    (${fixedOids.information_schema}, 'information_schema', ${owner}, NULL, 0), (${fixedOids.collections}, 'collections', ${owner}, NULL, 0),
    (${fixedOids.streams}, 'streams', ${owner}, NULL, 0), (${fixedOids.links}, 'links', ${owner}, NULL, 0),
    (${fixedOids.counters}, 'counters', ${owner}, NULL, 0), (${fixedOids.live}, 'live', ${owner}, NULL, 0))
    AS t(oid, nspname, nspowner, nspacl, xmin)`,
  pg_class: `SELECT ${s}.table_oid(t.table_schema, t.table_name) AS oid, t.table_name AS relname,
      ${s}.namespace_oid(t.table_schema)::UINTEGER AS relnamespace, 0::UINTEGER AS reltype, 0::UINTEGER AS reloftype, ${owner}::UINTEGER AS relowner,
      ${fixedOids.heap}::UINTEGER AS relam, 0::UINTEGER AS relfilenode, 0::UINTEGER AS reltablespace, 0 AS relpages, (-1)::DOUBLE AS reltuples,
      0 AS relallvisible, 0::UINTEGER AS reltoastrelid, t.table_schema = 'collections' AS relhasindex, false AS relisshared, 'p' AS relpersistence, 'r' AS relkind,
      (SELECT count(*) FROM shown.columns c WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name)::SMALLINT AS relnatts,
      0::SMALLINT AS relchecks, false AS relhasrules, false AS relhastriggers, false AS relhassubclass, false AS relrowsecurity,
      false AS relforcerowsecurity, true AS relispopulated, 'n' AS relreplident, false AS relispartition, 0::UINTEGER AS relrewrite,
      0 AS relfrozenxid, 0 AS relminmxid, ['=r/engine'] AS relacl, NULL::VARCHAR[] AS reloptions, NULL::VARCHAR AS relpartbound,
      1259::UINTEGER AS tableoid, false AS relhasoids, 0::UINTEGER AS xmin FROM shown.tables t
    UNION ALL SELECT oid, index_name, namespace, ${none}, ${none}, ${owner}::UINTEGER, ${fixedOids.btree}::UINTEGER, ${none}, ${none}, 0, -1, 0, ${none}, false,
      false, 'p', 'i', 1::SMALLINT, 0::SMALLINT, false, false, false, false, false, true, 'n', false, ${none}, 0, 0, NULL, NULL, NULL, 1259::UINTEGER, false, ${none}
    FROM ${s}.key_indexes
    UNION ALL SELECT table_oid, table_name, ${s}.namespace_oid(table_schema)::UINTEGER, ${none}, ${none}, ${owner}::UINTEGER, ${fixedOids.heap}::UINTEGER, ${none},
      ${none}, 0, -1, 0, ${none}, false, false, 'p', 'v',
      (count(*) FILTER (ordinal_position > 0))::SMALLINT, 0::SMALLINT, false, false, false, false, false, true, 'n', false, ${none}, 0, 0, ['=r/engine'], NULL,
      NULL, 1259::UINTEGER, false, ${none} FROM ${s}.catalog_columns GROUP BY ALL`,
  pg_attribute: `SELECT table_oid AS attrelid, column_name AS attname, type::UINTEGER AS atttypid,
      -1 AS attstattarget, (-1)::SMALLINT AS attlen, ordinal_position::SMALLINT AS attnum,
      CASE WHEN data_type LIKE '%]' THEN 1 ELSE 0 END AS attndims, -1 AS attcacheoff, modifier AS atttypmod,
      false AS attbyval, 'i' AS attalign, 'p' AS attstorage, '' AS attcompression,
      table_schema = 'collections' AND column_name = '_id' AS attnotnull, false AS atthasdef, false AS atthasmissing, '' AS attidentity,
      '' AS attgenerated, false AS attisdropped, true AS attislocal, 0 AS attinhcount, 0::UINTEGER AS attcollation, NULL::VARCHAR[] AS attacl,
      NULL::VARCHAR[] AS attoptions, NULL::VARCHAR[] AS attfdwoptions, NULL::VARCHAR AS attmissingval, 1249::UINTEGER AS tableoid, 0::UINTEGER AS xmin
    FROM (SELECT ${s}.table_oid(table_schema, table_name) AS table_oid, table_schema, column_name, data_type, type, modifier, ordinal_position FROM ${typedColumns}
      UNION ALL SELECT table_oid, table_schema, column_name, data_type, type, -1, ordinal_position FROM ${s}.catalog_columns)`,
  pg_type: `SELECT oid::UINTEGER AS oid, typname, ${fixedOids.pg_catalog}::UINTEGER AS typnamespace, ${owner}::UINTEGER AS typowner, typlen::SMALLINT AS typlen,
      typlen BETWEEN 1 AND 8 AS typbyval, CASE typcategory WHEN 'P' THEN 'p' ELSE 'b' END AS typtype, typcategory, false AS typispreferred,
      true AS typisdefined, ',' AS typdelim, 0::UINTEGER AS typrelid, CASE typcategory WHEN 'A' THEN 'array_subscript_handler' ELSE '-' END AS typsubscript,
      typelem::UINTEGER AS typelem, typarray::UINTEGER AS typarray, ${functionOfType("in")} AS typinput, ${functionOfType("out")} AS typoutput,
      ${functionOfType("recv")} AS typreceive, ${functionOfType("send")} AS typsend, '-' AS typmodin, '-' AS typmodout, '-' AS typanalyze,
      typalign, CASE WHEN typlen = -1 THEN 'x' ELSE 'p' END AS typstorage, false AS typnotnull, 0::UINTEGER AS typbasetype, -1 AS typtypmod, 0 AS typndims,
      CASE typcategory WHEN 'S' THEN 100 ELSE 0 END::UINTEGER AS typcollation, NULL::VARCHAR AS typdefaultbin, NULL::VARCHAR AS typdefault,
      NULL::VARCHAR[] AS typacl, 1247::UINTEGER AS tableoid, 0::UINTEGER AS xmin
    FROM (VALUES ${typeRows.join(", ")}) AS t(oid, typname, typlen, typarray, typcategory, typelem, typalign)`,
  pg_am: `SELECT * FROM (VALUES (${fixedOids.heap}::UINTEGER, 'heap', 'heap_tableam_handler', 't', 2601::UINTEGER, 0::UINTEGER),
      (${fixedOids.btree}, 'btree', 'bthandler', 'i', 2601, 0)) AS t(oid, amname, amhandler, amtype, tableoid, xmin)`,
  pg_index: `SELECT oid AS indexrelid, table_oid AS indrelid, 1::SMALLINT AS indnatts, 1::SMALLINT AS indnkeyatts, true AS indisunique,
      false AS indnullsnotdistinct, true AS indisprimary, false AS indisexclusion, true AS indimmediate, false AS indisclustered,
      true AS indisvalid, false AS indcheckxmin, true AS indisready, true AS indislive, false AS indisreplident, [position] AS indkey,
      [0]::UINTEGER[] AS indcollation, [0]::UINTEGER[] AS indclass, [0]::SMALLINT[] AS indoption, NULL::VARCHAR AS indexprs,
      NULL::VARCHAR AS indpred, 2610::UINTEGER AS tableoid, 0::UINTEGER AS xmin FROM ${s}.key_indexes`,
  pg_indexes: `SELECT 'collections' AS schemaname, table_name AS tablename, index_name AS indexname, NULL::VARCHAR AS tablespace, indexdef
    FROM ${s}.key_indexes`,
  pg_constraint: `SELECT ${s}.table_oid('constraints', table_name) AS oid, index_name AS conname, namespace AS connamespace, 'p' AS contype,
      false AS condeferrable, false AS condeferred, true AS convalidated, table_oid AS conrelid, 0::UINTEGER AS contypid, oid AS conindid,
      0::UINTEGER AS conparentid, 0::UINTEGER AS confrelid, ' ' AS confupdtype, ' ' AS confdeltype, ' ' AS confmatchtype, true AS conislocal,
      0 AS coninhcount, true AS connoinherit, [position] AS conkey, NULL::SMALLINT[] AS confkey, NULL::UINTEGER[] AS conpfeqop,
      NULL::UINTEGER[] AS conppeqop, NULL::UINTEGER[] AS conffeqop, NULL::SMALLINT[] AS confdelsetcols, NULL::UINTEGER[] AS conexclop,
      NULL::VARCHAR AS conbin, 2606::UINTEGER AS tableoid, 0::UINTEGER AS xmin FROM ${s}.key_indexes`,
  pg_tablespace: `SELECT ${fixedOids.tablespace}::UINTEGER AS oid, 'pg_default' AS spcname, ${owner}::UINTEGER AS spcowner, NULL::VARCHAR[] AS spcacl,
      NULL::VARCHAR[] AS spcoptions, 1213::UINTEGER AS tableoid, 0::UINTEGER AS xmin`,
  pg_language: `SELECT 14::UINTEGER AS oid, 'sql' AS lanname, ${owner}::UINTEGER AS lanowner, false AS lanispl, true AS lanpltrusted, 0::UINTEGER AS lanplcallfoid,
      0::UINTEGER AS laninline, 0::UINTEGER AS lanvalidator, NULL::VARCHAR[] AS lanacl, 2612::UINTEGER AS tableoid, 0::UINTEGER AS xmin`,
  pg_proc: procQuery,
  // What psql's \\dx lists: the type and its operators are built in.
  pg_extension: `SELECT 16394::UINTEGER AS oid, 'vector' AS extname, ${owner}::UINTEGER AS extowner, ${fixedOids.pg_catalog}::UINTEGER AS extnamespace,
      false AS extrelocatable, '${vectorVersion}' AS extversion, NULL::UINTEGER[] AS extconfig, NULL::VARCHAR[] AS extcondition,
      3079::UINTEGER AS tableoid, 0::UINTEGER AS xmin`,
  pg_available_extensions: `SELECT 'vector' AS name, '${vectorVersion}' AS default_version, '${vectorVersion}' AS installed_version,
      'vector data type and distances' AS comment`,
  pg_tables: `SELECT table_schema AS schemaname, table_name AS tablename, 'engine' AS tableowner, NULL::VARCHAR AS tablespace, false AS hasindexes,
      false AS hasrules, false AS hastriggers, false AS rowsecurity FROM shown.tables`,
  pg_views: `SELECT NULL::VARCHAR AS schemaname, NULL::VARCHAR AS viewname, NULL::VARCHAR AS viewowner, NULL::VARCHAR AS definition WHERE false`,
};

/** Stands for the namespace's name, which is known at the set-up. */
const databaseName = "{database}";
const information: Readonly<Record<string, string>> = {
  tables: `SELECT ${databaseName} AS table_catalog, table_schema, table_name, 'BASE TABLE' AS table_type,
      NULL::VARCHAR AS self_referencing_column_name, NULL::VARCHAR AS reference_generation, NULL::VARCHAR AS user_defined_type_catalog,
      NULL::VARCHAR AS user_defined_type_schema, NULL::VARCHAR AS user_defined_type_name, 'NO' AS is_insertable_into, 'NO' AS is_typed,
      NULL::VARCHAR AS commit_action FROM shown.tables`,
  columns: `SELECT ${databaseName} AS table_catalog, table_schema, table_name, column_name, ordinal_position::INTEGER AS ordinal_position,
      NULL::VARCHAR AS column_default, CASE WHEN table_schema = 'collections' AND column_name = '_id' THEN 'NO' ELSE 'YES' END AS is_nullable,
      CASE WHEN t.typcategory = 'A' THEN 'ARRAY' ELSE ${s}.type_label(type) END AS data_type, NULL::INTEGER AS character_maximum_length,
      CASE WHEN data_type = 'VARCHAR' THEN 1073741824 END::INTEGER AS character_octet_length,
      CASE type WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
        WHEN 1700 THEN CASE WHEN modifier > 0 THEN (modifier - 4) >> 16 END END::INTEGER AS numeric_precision,
      CASE type WHEN 21 THEN 2 WHEN 23 THEN 2 WHEN 20 THEN 2 WHEN 700 THEN 2 WHEN 701 THEN 2 WHEN 1700 THEN 10 END::INTEGER
        AS numeric_precision_radix,
      CASE type WHEN 21 THEN 0 WHEN 23 THEN 0 WHEN 20 THEN 0
        WHEN 1700 THEN CASE WHEN modifier > 0 THEN (modifier - 4) & 65535 END END::INTEGER AS numeric_scale,
      CASE type WHEN 1082 THEN 0 WHEN 1083 THEN 6 WHEN 1114 THEN 6 WHEN 1184 THEN 6 WHEN 1186 THEN 6 END::INTEGER
        AS datetime_precision,
      NULL::VARCHAR AS interval_type, NULL::INTEGER AS interval_precision, NULL::VARCHAR AS character_set_catalog,
      NULL::VARCHAR AS character_set_schema, NULL::VARCHAR AS character_set_name, NULL::VARCHAR AS collation_catalog,
      NULL::VARCHAR AS collation_schema, NULL::VARCHAR AS collation_name, NULL::VARCHAR AS domain_catalog, NULL::VARCHAR AS domain_schema,
      NULL::VARCHAR AS domain_name, ${databaseName} AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name,
      NULL::VARCHAR AS scope_catalog, NULL::VARCHAR AS scope_schema, NULL::VARCHAR AS scope_name, NULL::INTEGER AS maximum_cardinality,
      ordinal_position::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity, NULL::VARCHAR AS identity_generation,
      NULL::VARCHAR AS identity_start, NULL::VARCHAR AS identity_increment, NULL::VARCHAR AS identity_maximum,
      NULL::VARCHAR AS identity_minimum, 'NO' AS identity_cycle, 'NEVER' AS is_generated, NULL::VARCHAR AS generation_expression,
      'NO' AS is_updatable FROM ${typedColumns} c JOIN ${s}.pg_type t ON t.oid = c.type`,
  schemata: `SELECT ${databaseName} AS catalog_name, nspname AS schema_name, 'engine' AS schema_owner, NULL::VARCHAR AS default_character_set_catalog,
      NULL::VARCHAR AS default_character_set_schema, NULL::VARCHAR AS default_character_set_name, NULL::VARCHAR AS sql_path FROM ${s}.pg_namespace`,
  views: `SELECT NULL::VARCHAR AS table_catalog, NULL::VARCHAR AS table_schema, NULL::VARCHAR AS table_name, NULL::VARCHAR AS view_definition,
      NULL::VARCHAR AS check_option, NULL::VARCHAR AS is_updatable, NULL::VARCHAR AS is_insertable_into WHERE false`,
  table_constraints: `SELECT ${databaseName} AS constraint_catalog, 'collections' AS constraint_schema, index_name AS constraint_name,
      ${databaseName} AS table_catalog, 'collections' AS table_schema, table_name, 'PRIMARY KEY' AS constraint_type, 'NO' AS is_deferrable,
      'NO' AS initially_deferred, 'YES' AS enforced, NULL::VARCHAR AS nulls_distinct FROM ${s}.key_indexes`,
  key_column_usage: `SELECT ${databaseName} AS constraint_catalog, 'collections' AS constraint_schema, index_name AS constraint_name,
      ${databaseName} AS table_catalog, 'collections' AS table_schema, table_name, '_id' AS column_name, 1 AS ordinal_position,
      NULL::INTEGER AS position_in_unique_constraint FROM ${s}.key_indexes`,
  constraint_column_usage: `SELECT ${databaseName} AS table_catalog, 'collections' AS table_schema, table_name, '_id' AS column_name,
      ${databaseName} AS constraint_catalog, 'collections' AS constraint_schema, index_name AS constraint_name FROM ${s}.key_indexes`,
  information_schema_catalog_name: `SELECT ${databaseName} AS catalog_name`,
};

export const tableFunctionNames: readonly string[] = Object.keys({ ...sessionRelations, ...tableFunctions });

export function catalogSetUp(namespace: string): string[] {
  const views = [
    ...Object.entries(populated),
    ...Object.entries(emptyCatalog).map(([name, columns]) => [name, emptyRelation(columns)] as const),
    ...Object.entries({
      ...Object.fromEntries(Object.entries(emptyInformation).map(([name, columns]) => [name, emptyRelation(columns)])),
      ...information,
    }).map(([name, query]) => [informationPrefix + name, query] as const),
  ];
  return [
    `CREATE SCHEMA ${s}`,
    ...helpers,
    ...Object.entries({ ...sessionRelations, ...tableFunctions }).map(
      ([name, rest]) => `CREATE MACRO ${s}.${name}${rest}`,
    ),
    `CREATE VIEW ${s}.key_indexes AS ${keyIndexes}`,
    catalogColumns,
    ...Object.entries(sessionRows).map(([name, call]) => `CREATE VIEW ${s}.${name} AS FROM ${s}.${call}`),
    ...views.map(([name, query]) => `CREATE VIEW ${s}.${name} AS ${query.replaceAll(databaseName, text(namespace))}`),
    catalogColumnsFilled,
  ];
}

/** The view of ours in place of a relation of Postgres, where there is one. */
export function catalogRelation(schema: string | undefined, name: string): string | undefined {
  const lower = name.toLowerCase();
  if (schema === undefined || schema === "pg_catalog") {
    return Object.hasOwn(populated, lower) || Object.hasOwn(emptyCatalog, lower) ? lower : undefined;
  }
  if (schema !== "information_schema") return undefined;
  const known = Object.hasOwn(information, lower) || Object.hasOwn(emptyInformation, lower);
  return known ? informationPrefix + lower : undefined;
}
