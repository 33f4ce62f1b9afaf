/** Variables of MySQL and MariaDB that a session may set. They change nothing here, but their names are no mistake. */
const names = new Set(
  `analyze_max_length analyze_sample_percentage binlog_format binlog_row_image bulk_insert_buffer_size cte_max_recursion_depth
   debug default_collation_for_utf8mb4 default_regex_flags default_tmp_storage_engine end_markers_in_json eq_range_index_dive_limit
   explain_format explain_json_format_version generated_random_password_length gtid_domain_id gtid_next gtid_seq_no histogram_size
   idle_readonly_transaction_timeout idle_transaction_timeout idle_write_transaction_timeout immediate_server_version
   in_predicate_conversion_threshold information_schema_stats_expiry insert_id internal_tmp_mem_storage_engine join_buffer_size
   join_cache_level keep_files_on_create local_infile log_slow_query log_slow_query_time log_slow_rate_limit log_slow_verbosity
   long_query_time low_priority_updates max_delayed_threads max_error_count max_heap_table_size max_insert_delayed_threads max_join_size
   max_length_for_sort_data max_points_in_geometry max_recursive_iterations max_seeks_for_key max_session_mem_used max_sort_length
   max_sp_recursion_depth max_tmp_tables max_user_connections min_examined_row_limit net_retry_count new old old_alter_table old_mode
   old_passwords original_commit_timestamp parser_max_mem_size preload_buffer_size print_identified_with_as_hex profiling_history_size
   progress_report_time pseudo_replica_mode pseudo_slave_mode pseudo_thread_id query_alloc_block_size query_cache_strip_comments
   query_cache_wlock_invalidate query_prealloc_size rand_seed1 rand_seed2 range_alloc_block_size range_optimizer_max_mem_size
   rbr_exec_mode read_buffer_size read_rnd_buffer_size require_row_format resultset_metadata secondary_engine_cost_threshold
   select_into_buffer_size select_into_disk_sync session_track_system_variables set_operations_buffer_size show_create_table_skip_secondary_engine
   show_create_table_verbosity show_gipk_in_create_table_and_information_schema show_old_temporals skip_replication slow_query_log
   sort_buffer_size sql_big_result sql_big_selects sql_buffer_result sql_generate_invisible_primary_key sql_if_exists sql_log_bin sql_log_off
   sql_require_primary_key standard_compliant_cte storage_engine system_versioning_alter_history system_versioning_asof
   terminology_use_previous timestamp tmp_disk_table_size tmp_memory_table_size tmp_table_size transaction_alloc_block_size
   transaction_allow_batching transaction_prealloc_size transaction_write_set_extraction updatable_views_with_limit use_invisible_indexes
   use_secondary_engine use_stat_tables windowing_use_high_precision xa_detach_on_prepare`.split(/\s+/),
);

/** Those of storage engines and of the optimizer, which are many and differ from version to version. */
const families = /^(?:innodb|myisam|aria|optimizer|session_track|wsrep)_\w+$/;

export function isKnownVariable(name: string): boolean {
  return names.has(name) || families.test(name);
}
