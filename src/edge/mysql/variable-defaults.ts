import { mysqlLimits } from "./limits.ts";

/** System variables: what clients ask for when they connect, and what they may set for their session. */

export type Value = string | number | null;

export interface ServerFacts {
  readonly version: string;
  readonly port: number;
  readonly tls: boolean;
  readonly instanceId: string;
}

const defaultSqlMode = "PIPES_AS_CONCAT,ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES";

export const collation = "utf8mb4_bin";

const fixed: Readonly<Record<string, Value>> = {
  auto_increment_increment: 1,
  auto_increment_offset: 1,
  autocommit: 1,
  big_tables: 0,
  character_set_client: "utf8mb4",
  character_set_connection: "utf8mb4",
  character_set_database: "utf8mb4",
  character_set_filesystem: "binary",
  character_set_results: "utf8mb4",
  character_set_server: "utf8mb4",
  character_set_system: "utf8mb4",
  collation_connection: collation,
  collation_database: collation,
  collation_server: collation,
  datadir: "",
  default_storage_engine: "NATIVE",
  default_week_format: 0,
  div_precision_increment: 4,
  error_count: 0,
  event_scheduler: "OFF",
  explicit_defaults_for_timestamp: 1,
  foreign_key_checks: 1,
  group_concat_max_len: 1_048_576,
  hostname: "localhost",
  identity: 0,
  init_connect: "",
  interactive_timeout: mysqlLimits.idleMsMax / 1000,
  language: "english",
  last_insert_id: 0,
  lc_messages: "en_US",
  lc_time_names: "en_US",
  license: "Apache-2.0",
  lock_wait_timeout: 50,
  lower_case_file_system: "OFF",
  lower_case_table_names: 0,
  max_allowed_packet: mysqlLimits.packetBytesMax,
  max_connections: mysqlLimits.connectionsMax,
  max_execution_time: 0,
  max_prepared_stmt_count: mysqlLimits.statementsMax,
  max_statement_time: 0,
  net_buffer_length: 16_384,
  net_read_timeout: 60,
  net_write_timeout: mysqlLimits.writeStallMsMax / 1000,
  optimizer_switch: "",
  performance_schema: 0,
  profiling: 0,
  protocol_version: 10,
  query_cache_size: 0,
  query_cache_type: "OFF",
  read_only: 1,
  server_id: 1,
  session_track_gtids: "OFF",
  session_track_schema: 0,
  session_track_state_change: 0,
  session_track_system_variables: "",
  session_track_transaction_info: "OFF",
  socket: "",
  sql_auto_is_null: 0,
  sql_mode: defaultSqlMode,
  sql_notes: 1,
  sql_quote_show_create: 1,
  sql_safe_updates: 0,
  sql_select_limit: "18446744073709551615",
  sql_warnings: 0,
  storage_engine: "NATIVE",
  super_read_only: 1,
  system_time_zone: "UTC",
  time_zone: "SYSTEM",
  transaction_isolation: "REPEATABLE-READ",
  transaction_read_only: 0,
  tx_isolation: "REPEATABLE-READ",
  tx_read_only: 0,
  unique_checks: 1,
  version_comment: "native-engine: SQL over collections, streams and links",
  version_compile_machine: process.arch,
  version_compile_os: process.platform,
  wait_timeout: mysqlLimits.idleMsMax / 1000,
  warning_count: 0,
};

export function defaults({ version, port, tls, instanceId }: ServerFacts): Record<string, Value> {
  const secure = tls ? "YES" : "DISABLED";
  return {
    ...fixed,
    have_openssl: secure,
    have_ssl: secure,
    innodb_version: version,
    port,
    server_uuid: instanceId,
    version,
  };
}
