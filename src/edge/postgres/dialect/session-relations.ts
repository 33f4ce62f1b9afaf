import { fixedOids } from "./oids.ts";

const { owner } = fixedOids;

/** Relations whose rows are those of the session: the wire names them by a call that has the rows in it. */
export const sessionRelations: Readonly<Record<string, string>> = {
  session_databases: `(names) AS TABLE SELECT (row_number() OVER ())::UINTEGER + 90000 AS oid, datname, ${owner}::UINTEGER AS datdba, 6 AS encoding,
      'c' AS datlocprovider, false AS datistemplate, true AS datallowconn, -1 AS datconnlimit, 0 AS datfrozenxid, 0 AS datminmxid,
      ${fixedOids.tablespace}::UINTEGER AS dattablespace, 'C.UTF-8' AS datcollate, 'C.UTF-8' AS datctype, NULL::VARCHAR AS daticulocale,
      NULL::VARCHAR AS datcollversion, NULL::VARCHAR[] AS datacl, 1262::UINTEGER AS tableoid, 0::UINTEGER AS xmin FROM (SELECT unnest(names) AS datname)`,
  session_settings: `(names, given) AS TABLE SELECT name, setting, NULL::VARCHAR AS unit, 'Session' AS category, '' AS short_desc, '' AS extra_desc,
      'user' AS context, 'string' AS vartype, 'default' AS source, NULL::VARCHAR AS min_val, NULL::VARCHAR AS max_val,
      NULL::VARCHAR[] AS enumvals, setting AS boot_val, setting AS reset_val, NULL::VARCHAR AS sourcefile, NULL::INTEGER AS sourceline,
      false AS pending_restart FROM (SELECT unnest(names) AS name, unnest(given) AS setting)`,
  session_roles: `(names) AS TABLE SELECT rolname, false AS rolsuper, true AS rolinherit, false AS rolcreaterole, false AS rolcreatedb, true AS rolcanlogin,
      false AS rolreplication, -1 AS rolconnlimit, '********' AS rolpassword, NULL::TIMESTAMPTZ AS rolvaliduntil, false AS rolbypassrls,
      NULL::VARCHAR[] AS rolconfig, (row_number() OVER ())::UINTEGER + 9 AS oid FROM (SELECT unnest(names) AS rolname)`,
  session_statements: `(names, statements, types, kinds) AS TABLE SELECT name, statement, NULL::TIMESTAMPTZ AS prepare_time, parameter_types, from_sql,
      0::BIGINT AS generic_plans, 0::BIGINT AS custom_plans FROM (SELECT unnest(names) AS name, unnest(statements) AS statement,
      unnest(types) AS parameter_types, unnest(kinds) AS from_sql)`,
  session_users: `(names) AS TABLE SELECT usename, (row_number() OVER ())::UINTEGER + 9 AS usesysid, false AS usecreatedb, false AS usesuper, false AS userepl,
      false AS usebypassrls, '********' AS passwd, NULL::TIMESTAMPTZ AS valuntil, NULL::VARCHAR[] AS useconfig
      FROM (SELECT unnest(names) AS usename)`,
};

/** What a session is not asked for has no rows; its columns are listed as those of any other catalog. */
export const sessionRows: Readonly<Record<string, string>> = {
  pg_database: "session_databases([]::VARCHAR[])",
  pg_settings: "session_settings([]::VARCHAR[], []::VARCHAR[])",
  pg_roles: "session_roles([]::VARCHAR[])",
  pg_user: "session_users([]::VARCHAR[])",
  pg_prepared_statements: "session_statements([]::VARCHAR[], []::VARCHAR[], []::VARCHAR[][], []::BOOLEAN[])",
};

/** Functions that are read like tables. */
export const tableFunctions: Readonly<Record<string, string>> = {
  pg_get_keywords: `() AS TABLE SELECT keyword_name AS word, CASE keyword_category WHEN 'reserved' THEN 'R' WHEN 'unreserved' THEN 'U'
      WHEN 'column_name' THEN 'C' ELSE 'T' END AS catcode, true AS barelabel, keyword_category AS catdesc, '' AS baredesc FROM duckdb_keywords()`,
};
