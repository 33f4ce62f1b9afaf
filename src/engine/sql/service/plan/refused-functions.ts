/**
 * Functions of DuckDB that statements may not call, by why. Every other one that it has stands in allowed-functions.ts; what neither knows does
 * not run, so that a newer DuckDB's functions are looked at before they are let in.
 */
export const refusedFunctions: Readonly<Record<string, string>> = {
  "can crash the process on deep or damaged values":
    "json_structure json_group_structure json_contains json_merge_patch json_deserialize_sql json_serialize_sql json_serialize_plan " +
    "json_execute_serialized_sql combine finalize variant_bytes_to_variant variant_extract variant_normalize variant_to_parquet_variant " +
    "variant_typeof st_asbinary st_astext st_aswkb st_aswkt st_crs st_geomfromwkb st_intersects_extent st_setcrs",
  "reveals the process, its settings or other sessions":
    "current_setting current_query current_query_id current_connection_id current_transaction_id txid_current getvariable stats vector_type " +
    "parse_duckdb_log_message in_search_path get_block_size",
  "has side effects, or holds up others": "nextval currval setseed write_log sleep_ms pg_sleep",
  "is internal to DuckDB":
    "create_sort_key constant_or_null remap_struct cast_to_type can_cast_implicitly get_type make_type replace_type " +
    "timetz_byte_comparable icu_sort_key switch map_to_pg_oid format_pg_type",
};

/** The rest of what is the database's own. */
export const refusedPrefixes: readonly string[] = ["__internal_", "icu_collate_"];
