import { catalogSchema, tableFunctionNames } from "./catalog.ts";
import { catalogOids, fixedOids } from "./oids.ts";
import { sqlFunctions } from "./sql-functions.ts";
import { duckTypes, postgresTypes } from "./types.ts";

const s = catalogSchema;

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

/** A function's forms, each with its parameters and what it gives. */
type Forms = readonly (readonly [parameters: string, result: string])[];

function always(result: string, ...parameters: string[]): Forms {
  return parameters.map((list) => [list, result]);
}

/** Other names that people write for types. */
const typeAliases = [
  ["int", "int4"],
  ["decimal", "numeric"],
  ["float", "float8"],
  ["timestamp", "timestamp without time zone"],
  ["timestamptz", "timestamp with time zone"],
] as const;

/** Whoever may connect may read everything and nothing else. */
const mayRead = (privilege: string) =>
  `coalesce(regexp_matches(lower(${privilege}), '^\\s*(select|usage|connect)\\b'), false)`;

const catalogName = `CASE lower(regexp_replace(replace(name, '"', ''), '^pg_catalog\\.', '')) ${Object.entries(
  catalogOids,
)
  .map(([name, oid]) => `WHEN ${text(name)} THEN ${oid}`)
  .join(" ")} END`;

const indexDefinition = `(SELECT map(list(x.oid), list(x.indexdef)) FROM ${s}.key_indexes x)[i]`;

/** What people call the types that columns have here, by DuckDB's names. */
const typeLabels = Object.entries({ ...duckTypes, DECIMAL: 1700 })
  .map(([name, oid]) => `'${name}': '${postgresTypes.find(([number]) => number === oid)![6]}'`)
  .join(", ");

/** The numbers of types by their names, with and without their schema. */
const typeNumbers = (() => {
  const pairs = new Map<string, number>();
  for (const [oid, name, , array, , , label] of postgresTypes) {
    for (const each of [name, label]) {
      pairs.set(each, oid).set(`pg_catalog.${each}`, oid);
      if (array !== 0) pairs.set(`${each}[]`, array).set(`pg_catalog.${each}[]`, array).set(`_${each}`, array);
    }
  }
  for (const [alias, name] of typeAliases) pairs.set(alias, pairs.get(name)!);
  const [names, numbers] = [[...pairs.keys()].map(text), [...pairs.values()].map((oid) => `${oid}::UINTEGER`)];
  return `map([${names.join(", ")}], [${numbers.join(", ")}])[lower(replace(name, '"', ''))]`;
})();

/** The number of a name that must be there; that of NULL is NULL. */
function foundOr(kind: string, found: string): string {
  const missing = `error('${kind} "' || replace(name, '"', '') || '" does not exist')`;
  return `CASE WHEN name IS NOT NULL THEN coalesce(${found}, ${missing}::UINTEGER) END`;
}

const functions: Readonly<Record<string, Forms>> = {
  pg_is_in_recovery: [["", "false"]],
  pg_encoding_to_char: [["e", "CASE e WHEN 6 THEN 'UTF8' WHEN 0 THEN 'SQL_ASCII' ELSE '' END"]],
  pg_char_to_encoding: [["e", "CASE upper(e) WHEN 'UTF8' THEN 6 WHEN 'SQL_ASCII' THEN 0 ELSE -1 END"]],
  getdatabaseencoding: [["", "'UTF8'"]],
  pg_client_encoding: [["", "'UTF8'"]],
  pg_get_expr: always("NULL::VARCHAR", "a, b", "a, b, c"),
  obj_description: always("NULL::VARCHAR", "a", "a, b"),
  shobj_description: always("NULL::VARCHAR", "a, b"),
  col_description: always("NULL::VARCHAR", "a, b"),
  has_table_privilege: [
    ["t, p", mayRead("p")],
    ["u, t, p", mayRead("p")],
  ],
  has_schema_privilege: [
    ["t, p", mayRead("p")],
    ["u, t, p", mayRead("p")],
  ],
  has_database_privilege: [
    ["t, p", mayRead("p")],
    ["u, t, p", mayRead("p")],
  ],
  has_any_column_privilege: [
    ["t, p", mayRead("p")],
    ["u, t, p", mayRead("p")],
  ],
  has_column_privilege: [
    ["t, c, p", mayRead("p")],
    ["u, t, c, p", mayRead("p")],
  ],
  has_sequence_privilege: always("false", "t, p", "u, t, p"),
  has_function_privilege: always("false", "t, p", "u, t, p"),
  has_language_privilege: always("false", "t, p", "u, t, p"),
  has_tablespace_privilege: always("false", "t, p", "u, t, p"),
  has_type_privilege: always("true", "t, p", "u, t, p"),
  has_server_privilege: always("false", "t, p", "u, t, p"),
  has_foreign_data_wrapper_privilege: always("false", "t, p", "u, t, p"),
  pg_has_role: always("true", "r, p", "u, r, p"),
  // A subquery of a macro names nothing that an argument may name too: what is looked up is found outside of it.
  pg_table_is_visible_in: [
    [
      "path, t",
      `coalesce(list_contains((SELECT list(c.oid) FROM ${s}.pg_class c JOIN ${s}.pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'pg_catalog' OR list_contains(path, n.nspname)), t), false)`,
    ],
  ],
  pg_type_is_visible: [["t", "true"]],
  pg_function_is_visible: [["t", "true"]],
  pg_operator_is_visible: [["t", "true"]],
  pg_opclass_is_visible: [["t", "true"]],
  pg_opfamily_is_visible: [["t", "true"]],
  pg_collation_is_visible: [["t", "true"]],
  pg_conversion_is_visible: [["t", "true"]],
  pg_statistics_obj_is_visible: [["t", "true"]],
  pg_ts_config_is_visible: [["t", "true"]],
  pg_ts_dict_is_visible: [["t", "true"]],
  pg_ts_parser_is_visible: [["t", "true"]],
  pg_ts_template_is_visible: [["t", "true"]],
  pg_get_userbyid: [["u", "'engine'"]],
  pg_get_viewdef: always("NULL::VARCHAR", "a", "a, b"),
  pg_get_ruledef: always("NULL::VARCHAR", "a", "a, b"),
  pg_get_triggerdef: always("NULL::VARCHAR", "a", "a, b"),
  pg_get_functiondef: always("NULL::VARCHAR", "a"),
  pg_get_function_arguments: always("''", "a"),
  pg_get_function_identity_arguments: always("''", "a"),
  pg_get_function_result: always("''", "a"),
  pg_get_function_sqlbody: always("NULL::VARCHAR", "a"),
  pg_get_function_arg_default: always("NULL::VARCHAR", "a, b"),
  pg_get_indexdef: [
    ["i", indexDefinition],
    ["i, c, p", `CASE c WHEN 0 THEN ${indexDefinition} WHEN 1 THEN '_id' END`],
  ],
  pg_get_constraintdef: always("'PRIMARY KEY (_id)'", "a", "a, b"),
  pg_get_partkeydef: always("NULL::VARCHAR", "a"),
  pg_get_partition_constraintdef: always("NULL::VARCHAR", "a"),
  pg_get_serial_sequence: always("NULL::VARCHAR", "a, b"),
  pg_get_statisticsobjdef: always("NULL::VARCHAR", "a"),
  pg_get_statisticsobjdef_columns: always("NULL::VARCHAR", "a"),
  pg_relation_is_publishable: always("false", "a"),
  pg_relation_filenode: always("NULL::UINTEGER", "a"),
  pg_relation_size: always("0::BIGINT", "a", "a, b"),
  pg_total_relation_size: always("0::BIGINT", "a"),
  pg_table_size: always("0::BIGINT", "a"),
  pg_indexes_size: always("0::BIGINT", "a"),
  pg_database_size: always("0::BIGINT", "a"),
  pg_tablespace_size: always("0::BIGINT", "a"),
  pg_tablespace_location: always("''", "a"),
  pg_size_pretty: [["n", "n::VARCHAR || ' bytes'"]],
  pg_stat_get_numscans: always("0::BIGINT", "a"),
  pg_my_temp_schema: always("0::UINTEGER", ""),
  pg_is_other_temp_schema: always("false", "a"),
  pg_postmaster_start_time: always("now()", ""),
  pg_conf_load_time: always("now()", ""),
  pg_advisory_unlock_all: always("NULL::VARCHAR", ""),
  pg_cancel_backend: always("false", "a"),
  pg_terminate_backend: always("false", "a", "a, b"),
  pg_sequence_last_value: always("NULL::BIGINT", "a"),
  pg_column_is_updatable: always("false", "a, b, c"),
  pg_relation_is_updatable: always("0", "a, b"),
  txid_current: always("1::BIGINT", ""),
  pg_current_xact_id: always("1::BIGINT", ""),
  inet_server_addr: always("NULL::VARCHAR", ""),
  inet_server_port: always("NULL::INTEGER", ""),
  inet_client_addr: always("NULL::VARCHAR", ""),
  inet_client_port: always("NULL::INTEGER", ""),
  current_schemas_in: [["path, implicit", "CASE WHEN implicit THEN list_concat(['pg_catalog'], path) ELSE path END"]],
  array_upper: [["a, d", "CASE WHEN len(a) > 0 AND d = 1 THEN len(a)::INTEGER END"]],
  array_lower: [["a, d", "CASE WHEN len(a) > 0 AND d = 1 THEN 1 END"]],
  array_remove: [["a, x", "list_filter(a, lambda e: e IS DISTINCT FROM x)"]],
  array_ndims: [["a", "CASE WHEN len(a) > 0 THEN 1 END"]],
  cardinality: [["a", "len(a)::INTEGER"]],
  btrim: [
    ["t", "trim(t)"],
    ["t, c", "trim(t, c)"],
  ],
  initcap: [
    [
      "t",
      "array_to_string(list_transform(regexp_extract_all(lower(t), '[\\pL\\pN]+|[^\\pL\\pN]+'), lambda w: upper(w[1]) || w[2:]), '')",
    ],
  ],
  clock_timestamp: always("now()", ""),
  statement_timestamp: always("now()", ""),
  transaction_timestamp: always("now()", ""),
  // What `current_setting` of a name that is not written out becomes.
  setting_of: always("given[list_position(names, name)]", "names, given, name", "names, given, name, missing"),
  quote_ident: [
    ["t", `CASE WHEN regexp_full_match(t, '[a-z_][a-z0-9_$]*') THEN t ELSE '"' || replace(t, '"', '""') || '"' END`],
  ],
  quote_literal: [["t", `'''' || replace(t::VARCHAR, '''', '''''') || ''''`]],
  quote_nullable: [["t", `CASE WHEN t IS NULL THEN 'NULL' ELSE '''' || replace(t::VARCHAR, '''', '''''') || '''' END`]],
  format_type: [
    [
      "t, m",
      `CASE WHEN t IS NULL THEN NULL WHEN t = 1700 AND m > 4 THEN 'numeric(' || ((m - 4) >> 16) || ',' || ((m - 4) & 65535) || ')'
       ELSE ${s}.type_label(t) END`,
    ],
  ],
  pg_typeof: [
    [
      "x",
      `coalesce(MAP {${typeLabels}}[regexp_extract(typeof(x), '^[^(\\[]+')], 'json')
       || CASE WHEN ends_with(typeof(x), ']') THEN '[]' ELSE '' END`,
    ],
  ],
  to_regclass: [
    [
      "path, name",
      `coalesce(${catalogName}, (SELECT c.oid FROM ${s}.pg_class c JOIN ${s}.pg_namespace n ON n.oid = c.relnamespace
       WHERE replace(name, '"', '') = n.nspname || '.' || c.relname OR (replace(name, '"', '') = c.relname AND list_contains(path, n.nspname))
       ORDER BY list_position(path, n.nspname) LIMIT 1), try_cast(name AS UINTEGER))`,
    ],
  ],
  regclass_oid: [["path, name", foundOr("relation", `${s}.to_regclass(path, name)`)]],
  regclass_name: [
    [
      "path, o",
      `coalesce((SELECT map(list(c.oid), list(CASE WHEN n.nspname = 'pg_catalog' OR list_contains(path, n.nspname) THEN ${s}.quoted_name(c.relname)
       ELSE n.nspname || '.' || ${s}.quoted_name(c.relname) END))
       FROM ${s}.pg_class c JOIN ${s}.pg_namespace n ON n.oid = c.relnamespace)[try_cast(o AS UINTEGER)],
       CASE WHEN o::VARCHAR = '0' THEN '-' ELSE o::VARCHAR END)`,
    ],
  ],
  // Of what is known without a look at a table, so that lists can be looked up too.
  to_regtype: [["name", `coalesce(${typeNumbers}, try_cast(name AS UINTEGER))`]],
  regtype_oid: [["name", foundOr("type", `${s}.to_regtype(name)`)]],
  regtype_name: [["o", `CASE WHEN o::VARCHAR = '0' THEN '-' ELSE ${s}.type_label(try_cast(o AS UINTEGER)) END`]],
  to_regnamespace: [["name", `${s}.namespace_oid(replace(name, '"', ''))::UINTEGER`]],
  // Clients take it for granted; it has no tables here.
  regnamespace_oid: [
    ["name", `CASE WHEN name <> 'public' THEN ${foundOr("schema", `${s}.to_regnamespace(name)`)} END`],
  ],
  regnamespace_name: [
    [
      "o",
      `coalesce((SELECT map(list(n.oid), list(n.nspname)) FROM ${s}.pg_namespace n)[try_cast(o AS UINTEGER)], o::VARCHAR)`,
    ],
  ],
  // A function is shown by its name, also in columns that hold one.
  regproc_oid: [["name", "regexp_replace(name, '^pg_catalog\\.', '')"]],
  regproc_name: [["o", "CASE WHEN o::VARCHAR = '0' THEN '-' ELSE o::VARCHAR END"]],
  regrole_oid: [["name", `${fixedOids.owner}::UINTEGER`]],
  regrole_name: [["o", "'engine'"]],
  to_regproc: always("NULL::VARCHAR", "name"),
  _pg_expandarray: [["a", "unnest(list_transform(a, lambda e, i: {'x': e, 'n': i::INTEGER}))"]],
};

/** All that are the dialect's own, by their names in lower case. */
export const functionNames: ReadonlySet<string> = new Set([
  ...Object.keys(functions),
  ...Object.keys(sqlFunctions),
  ...tableFunctionNames,
]);

/** Those that look into what tables there are. */
export const catalogMacros: ReadonlySet<string> = new Set([
  "to_regclass",
  "regclass_oid",
  "regclass_oids",
  "regclass_name",
  "regclass_names",
  "pg_table_is_visible_in",
  "pg_get_indexdef",
]);

/** Each after those that it uses. */
export function functionSetUp(): string[] {
  return Object.entries({ ...functions, ...sqlFunctions }).map(
    ([name, forms]) => `CREATE MACRO ${s}.${name}${forms.map(([list, result]) => `(${list}) AS ${result}`).join(", ")}`,
  );
}
