/** The type of a column of a catalog, by one letter; one that is not given is text. */
const types: Readonly<Record<string, string>> = {
  o: "UINTEGER",
  i: "INTEGER",
  l: "BIGINT",
  s: "SMALLINT",
  b: "BOOLEAN",
  f: "DOUBLE",
  t: "VARCHAR",
  z: "TIMESTAMPTZ",
  O: "UINTEGER[]",
  S: "SMALLINT[]",
  T: "VARCHAR[]",
};

/** A view without rows that has these columns. */
export function emptyRelation(columns: string): string {
  const list = columns
    .trim()
    .split(/\s+/)
    .map((column) => {
      const [name = "", letter = "t"] = column.split(":");
      return `NULL::${types[letter]} AS "${name}"`;
    });
  const hidden = ["tableoid", "xmin"].filter((name) => !new RegExp(`\\b${name}\\b`).test(columns));
  const system = hidden.map((name) => `0::UINTEGER AS ${name}`);
  return `SELECT ${[...list, ...system].join(", ")} WHERE false`;
}

/** Relations of pg_catalog of which there is nothing here: they have their columns, so that joins with them work. */
export const emptyCatalog: Readonly<Record<string, string>> = {
  pg_aggregate: `
    aggfnoid aggkind aggnumdirectargs:s aggtransfn aggfinalfn aggcombinefn aggserialfn aggdeserialfn
    aggmtransfn aggminvtransfn aggmfinalfn aggfinalextra:b aggmfinalextra:b aggfinalmodify aggmfinalmodify
    aggsortop:o aggtranstype:o aggtransspace:i aggmtranstype:o aggmtransspace:i agginitval aggminitval`,
  pg_amop: `
    oid:o amopfamily:o amoplefttype:o amoprighttype:o amopstrategy:s amoppurpose amopopr:o amopmethod:o
    amopsortfamily:o`,
  pg_amproc: "oid:o amprocfamily:o amproclefttype:o amprocrighttype:o amprocnum:s amproc",
  pg_attrdef: "oid:o adrelid:o adnum:s adbin",
  pg_auth_members: "roleid:o member:o grantor:o admin_option:b",
  pg_authid: `
    oid:o rolname rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b rolreplication:b
    rolbypassrls:b rolconnlimit:i rolpassword rolvaliduntil:z`,
  pg_available_extension_versions: `
    name version installed:b superuser:b trusted:b relocatable:b schema requires:T comment`,
  pg_cast: "oid:o castsource:o casttarget:o castfunc:o castcontext castmethod",
  pg_collation: `
    oid:o collname collnamespace:o collowner:o collprovider collisdeterministic:b collencoding:i collcollate
    collctype colliculocale collversion`,
  pg_conversion: "oid:o conname connamespace:o conowner:o conforencoding:i contoencoding:i conproc condefault:b",
  pg_cursors: "name statement is_holdable:b is_binary:b is_scrollable:b creation_time:z",
  pg_db_role_setting: "setdatabase:o setrole:o setconfig:T",
  pg_default_acl: "oid:o defaclrole:o defaclnamespace:o defaclobjtype defaclacl:T",
  pg_depend: "classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype",
  pg_description: "objoid:o classoid:o objsubid:i description",
  pg_enum: "oid:o enumtypid:o enumsortorder:f enumlabel",
  pg_event_trigger: "oid:o evtname evtevent evtowner:o evtfoid:o evtenabled evttags:T",
  pg_foreign_data_wrapper: "oid:o fdwname fdwowner:o fdwhandler:o fdwvalidator:o fdwacl:T fdwoptions:T",
  pg_foreign_server: "oid:o srvname srvowner:o srvfdw:o srvtype srvversion srvacl:T srvoptions:T",
  pg_foreign_table: "ftrelid:o ftserver:o ftoptions:T",
  pg_group: "groname grosysid:o grolist:O",
  pg_inherits: "inhrelid:o inhparent:o inhseqno:i inhdetachpending:b",
  pg_init_privs: "objoid:o classoid:o objsubid:i privtype initprivs:T",
  pg_largeobject_metadata: "oid:o lomowner:o lomacl:T",
  pg_locks: `
    locktype database:o relation:o page:i tuple:s virtualxid transactionid:i classid:o objid:o objsubid:s
    virtualtransaction pid:i mode granted:b fastpath:b waitstart:z`,
  pg_matviews: "schemaname matviewname matviewowner tablespace hasindexes:b ispopulated:b definition",
  pg_opclass: `
    oid:o opcmethod:o opcname opcnamespace:o opcowner:o opcfamily:o opcintype:o opcdefault:b opckeytype:o`,
  pg_operator: `
    oid:o oprname oprnamespace:o oprowner:o oprkind oprcanmerge:b oprcanhash:b oprleft:o oprright:o
    oprresult:o oprcom:o oprnegate:o oprcode oprrest oprjoin`,
  pg_opfamily: "oid:o opfmethod:o opfname opfnamespace:o opfowner:o",
  pg_parameter_acl: "oid:o parname paracl:T",
  pg_partitioned_table: `
    partrelid:o partstrat partnatts:s partdefid:o partattrs:S partclass:O partcollation:O partexprs`,
  pg_policies: "schemaname tablename policyname permissive roles:T cmd qual with_check",
  pg_policy: "oid:o polname polrelid:o polcmd polpermissive:b polroles:O polqual polwithcheck",
  pg_prepared_xacts: "transaction:i gid prepared:z owner database",
  pg_publication: `
    oid:o pubname pubowner:o puballtables:b pubinsert:b pubupdate:b pubdelete:b pubtruncate:b pubviaroot:b`,
  pg_publication_namespace: "oid:o pnpubid:o pnnspid:o",
  pg_publication_rel: "oid:o prpubid:o prrelid:o prqual prattrs:S",
  pg_publication_tables: "pubname schemaname tablename attnames:T rowfilter",
  pg_range: "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o rngsubopc:o rngcanonical rngsubdiff",
  pg_replication_slots: `
    slot_name plugin slot_type datoid:o database temporary:b active:b active_pid:i xmin:i catalog_xmin:i
    restart_lsn confirmed_flush_lsn wal_status safe_wal_size:l two_phase:b`,
  pg_rewrite: "oid:o rulename ev_class:o ev_type ev_enabled is_instead:b ev_qual ev_action",
  pg_rules: "schemaname tablename rulename definition",
  pg_seclabel: "objoid:o classoid:o objsubid:i provider label",
  pg_seclabels: "objoid:o classoid:o objsubid:i objtype objnamespace:o objname provider label",
  pg_sequence: "seqrelid:o seqtypid:o seqstart:l seqincrement:l seqmax:l seqmin:l seqcache:l seqcycle:b",
  pg_sequences: `
    schemaname sequencename sequenceowner data_type start_value:l min_value:l max_value:l increment_by:l
    cycle:b cache_size:l last_value:l`,
  pg_shadow: "usename usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd valuntil:z useconfig:T",
  pg_shdepend: "dbid:o classid:o objid:o objsubid:i refclassid:o refobjid:o deptype",
  pg_shdescription: "objoid:o classoid:o description",
  pg_stat_activity: `
    datid:o datname pid:i leader_pid:i usesysid:o usename application_name client_addr client_hostname
    client_port:i backend_start:z xact_start:z query_start:z state_change:z wait_event_type wait_event state
    backend_xid:i backend_xmin:i query_id:l query backend_type`,
  pg_stat_all_indexes: `
    relid:o indexrelid:o schemaname relname indexrelname idx_scan:l idx_tup_read:l idx_tup_fetch:l`,
  pg_stat_all_tables: `
    relid:o schemaname relname seq_scan:l seq_tup_read:l idx_scan:l idx_tup_fetch:l n_tup_ins:l n_tup_upd:l
    n_tup_del:l n_tup_hot_upd:l n_live_tup:l n_dead_tup:l n_mod_since_analyze:l n_ins_since_vacuum:l
    last_vacuum:z last_autovacuum:z last_analyze:z last_autoanalyze:z vacuum_count:l autovacuum_count:l
    analyze_count:l autoanalyze_count:l`,
  pg_stat_database: `
    datid:o datname numbackends:i xact_commit:l xact_rollback:l blks_read:l blks_hit:l tup_returned:l
    tup_fetched:l tup_inserted:l tup_updated:l tup_deleted:l conflicts:l temp_files:l temp_bytes:l
    deadlocks:l checksum_failures:l checksum_last_failure:z blk_read_time:f blk_write_time:f session_time:f
    active_time:f idle_in_transaction_time:f sessions:l sessions_abandoned:l sessions_fatal:l
    sessions_killed:l stats_reset:z`,
  pg_stat_replication: `
    pid:i usesysid:o usename application_name client_addr client_hostname client_port:i backend_start:z
    backend_xmin:i state sent_lsn write_lsn flush_lsn replay_lsn write_lag flush_lag replay_lag
    sync_priority:i sync_state reply_time:z`,
  pg_stat_ssl: "pid:i ssl:b version cipher bits:i client_dn client_serial issuer_dn",
  pg_stat_user_functions: "funcid:o schemaname funcname calls:l total_time:f self_time:f",
  pg_stat_user_indexes: `
    relid:o indexrelid:o schemaname relname indexrelname idx_scan:l idx_tup_read:l idx_tup_fetch:l`,
  pg_stat_user_tables: `
    relid:o schemaname relname seq_scan:l seq_tup_read:l idx_scan:l idx_tup_fetch:l n_tup_ins:l n_tup_upd:l
    n_tup_del:l n_tup_hot_upd:l n_live_tup:l n_dead_tup:l n_mod_since_analyze:l n_ins_since_vacuum:l
    last_vacuum:z last_autovacuum:z last_analyze:z last_autoanalyze:z vacuum_count:l autovacuum_count:l
    analyze_count:l autoanalyze_count:l`,
  pg_statio_all_tables: `
    relid:o schemaname relname heap_blks_read:l heap_blks_hit:l idx_blks_read:l idx_blks_hit:l
    toast_blks_read:l toast_blks_hit:l tidx_blks_read:l tidx_blks_hit:l`,
  pg_statio_user_tables: `
    relid:o schemaname relname heap_blks_read:l heap_blks_hit:l idx_blks_read:l idx_blks_hit:l
    toast_blks_read:l toast_blks_hit:l tidx_blks_read:l tidx_blks_hit:l`,
  pg_statistic: `
    starelid:o staattnum:s stainherit:b stanullfrac:f stawidth:i stadistinct:f stakind1:s stakind2:s
    stakind3:s stakind4:s stakind5:s staop1:o staop2:o staop3:o staop4:o staop5:o stacoll1:o stacoll2:o
    stacoll3:o stacoll4:o stacoll5:o stanumbers1:T stanumbers2:T stanumbers3:T stanumbers4:T stanumbers5:T
    stavalues1 stavalues2 stavalues3 stavalues4 stavalues5`,
  pg_statistic_ext: `
    oid:o stxrelid:o stxname stxnamespace:o stxowner:o stxstattarget:i stxkeys:S stxkind:T stxexprs`,
  pg_statistic_ext_data: "stxoid:o stxdinherit:b stxdndistinct stxddependencies stxdmcv stxdexpr:T",
  pg_stats: `
    schemaname tablename attname inherited:b null_frac:f avg_width:i n_distinct:f most_common_vals
    most_common_freqs:T histogram_bounds correlation:f most_common_elems most_common_elem_freqs:T
    elem_count_histogram:T`,
  pg_subscription: `
    oid:o subdbid:o subskiplsn subname subowner:o subenabled:b subbinary:b substream:b subtwophasestate
    subdisableonerr:b subconninfo subslotname subsynccommit subpublications:T`,
  pg_subscription_rel: "srsubid:o srrelid:o srsubstate srsublsn",
  pg_timezone_abbrevs: "abbrev utc_offset is_dst:b",
  pg_timezone_names: "name abbrev utc_offset is_dst:b",
  pg_transform: "oid:o trftype:o trflang:o trffromsql trftosql",
  pg_trigger: `
    oid:o tgrelid:o tgparentid:o tgname tgfoid:o tgtype:s tgenabled tgisinternal:b tgconstrrelid:o
    tgconstrindid:o tgconstraint:o tgdeferrable:b tginitdeferred:b tgnargs:s tgattr:S tgargs tgqual
    tgoldtable tgnewtable`,
  pg_ts_config: "oid:o cfgname cfgnamespace:o cfgowner:o cfgparser:o",
  pg_ts_config_map: "mapcfg:o maptokentype:i mapseqno:i mapdict:o",
  pg_ts_dict: "oid:o dictname dictnamespace:o dictowner:o dicttemplate:o dictinitoption",
  pg_ts_parser: "oid:o prsname prsnamespace:o prsstart prstoken prsend prsheadline prslextype",
  pg_ts_template: "oid:o tmplname tmplnamespace:o tmplinit tmpllexize",
  pg_user_mapping: "oid:o umuser:o umserver:o umoptions:T",
  pg_user_mappings: "umid:o srvid:o srvname umuser:o usename umoptions:T",
};

/** The same of information_schema. */
export const emptyInformation: Readonly<Record<string, string>> = {
  administrable_role_authorizations: "grantee role_name is_grantable",
  applicable_roles: "grantee role_name is_grantable",
  character_sets: `
    character_set_catalog character_set_schema character_set_name character_repertoire form_of_use
    default_collate_catalog default_collate_schema default_collate_name`,
  check_constraints: "constraint_catalog constraint_schema constraint_name check_clause",
  collations: "collation_catalog collation_schema collation_name pad_attribute",
  column_privileges: `
    grantor grantee table_catalog table_schema table_name column_name privilege_type is_grantable`,
  column_udt_usage: "udt_catalog udt_schema udt_name table_catalog table_schema table_name column_name",
  constraint_table_usage: `
    table_catalog table_schema table_name constraint_catalog constraint_schema constraint_name`,
  domain_constraints: `
    constraint_catalog constraint_schema constraint_name domain_catalog domain_schema domain_name
    is_deferrable initially_deferred`,
  domains: `
    domain_catalog domain_schema domain_name data_type character_maximum_length:i character_octet_length:i
    character_set_catalog character_set_schema character_set_name collation_catalog collation_schema
    collation_name numeric_precision:i numeric_precision_radix:i numeric_scale:i datetime_precision:i
    interval_type interval_precision:i domain_default udt_catalog udt_schema udt_name scope_catalog
    scope_schema scope_name maximum_cardinality:i dtd_identifier`,
  element_types: `
    object_catalog object_schema object_name object_type collection_type_identifier data_type
    character_maximum_length:i character_octet_length:i character_set_catalog character_set_schema
    character_set_name collation_catalog collation_schema collation_name numeric_precision:i
    numeric_precision_radix:i numeric_scale:i datetime_precision:i interval_type interval_precision:i
    domain_default udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name
    maximum_cardinality:i dtd_identifier`,
  enabled_roles: "role_name",
  foreign_servers: `
    foreign_server_catalog foreign_server_name foreign_data_wrapper_catalog foreign_data_wrapper_name
    foreign_server_type foreign_server_version authorization_identifier`,
  foreign_tables: `
    foreign_table_catalog foreign_table_schema foreign_table_name foreign_server_catalog foreign_server_name`,
  parameters: `
    specific_catalog specific_schema specific_name ordinal_position:i parameter_mode is_result as_locator
    parameter_name data_type character_maximum_length:i character_octet_length:i character_set_catalog
    character_set_schema character_set_name collation_catalog collation_schema collation_name
    numeric_precision:i numeric_precision_radix:i numeric_scale:i datetime_precision:i interval_type
    interval_precision:i udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name
    maximum_cardinality:i dtd_identifier parameter_default`,
  referential_constraints: `
    constraint_catalog constraint_schema constraint_name unique_constraint_catalog unique_constraint_schema
    unique_constraint_name match_option update_rule delete_rule`,
  role_column_grants: `
    grantor grantee table_catalog table_schema table_name column_name privilege_type is_grantable`,
  role_routine_grants: `
    grantor grantee specific_catalog specific_schema specific_name routine_catalog routine_schema
    routine_name privilege_type is_grantable`,
  role_table_grants: `
    grantor grantee table_catalog table_schema table_name privilege_type is_grantable with_hierarchy`,
  routine_privileges: `
    grantor grantee specific_catalog specific_schema specific_name routine_catalog routine_schema
    routine_name privilege_type is_grantable`,
  routines: `
    specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name routine_type
    module_catalog module_schema module_name udt_catalog udt_schema udt_name data_type
    character_maximum_length:i character_octet_length:i character_set_catalog character_set_schema
    character_set_name collation_catalog collation_schema collation_name numeric_precision:i
    numeric_precision_radix:i numeric_scale:i datetime_precision:i interval_type interval_precision:i
    type_udt_catalog type_udt_schema type_udt_name scope_catalog scope_schema scope_name
    maximum_cardinality:i dtd_identifier routine_body routine_definition external_name external_language
    parameter_style is_deterministic sql_data_access is_null_call sql_path schema_level_routine
    max_dynamic_result_sets:i is_user_defined_cast is_implicitly_invocable security_type
    to_sql_specific_catalog to_sql_specific_schema to_sql_specific_name as_locator created:z last_altered:z
    new_savepoint_level is_udt_dependent result_cast_from_data_type result_cast_as_locator
    result_cast_char_max_length:i result_cast_char_octet_length:i result_cast_char_set_catalog
    result_cast_char_set_schema result_cast_char_set_name result_cast_collation_catalog
    result_cast_collation_schema result_cast_collation_name result_cast_numeric_precision:i
    result_cast_numeric_precision_radix:i result_cast_numeric_scale:i result_cast_datetime_precision:i
    result_cast_interval_type result_cast_interval_precision:i result_cast_type_udt_catalog
    result_cast_type_udt_schema result_cast_type_udt_name result_cast_scope_catalog result_cast_scope_schema
    result_cast_scope_name result_cast_maximum_cardinality:i result_cast_dtd_identifier`,
  sequences: `
    sequence_catalog sequence_schema sequence_name data_type numeric_precision:i numeric_precision_radix:i
    numeric_scale:i start_value minimum_value maximum_value increment cycle_option`,
  table_privileges: `
    grantor grantee table_catalog table_schema table_name privilege_type is_grantable with_hierarchy`,
  triggers: `
    trigger_catalog trigger_schema trigger_name event_manipulation event_object_catalog event_object_schema
    event_object_table action_order:i action_condition action_statement action_orientation action_timing
    action_reference_old_table action_reference_new_table action_reference_old_row action_reference_new_row
    created:z`,
  usage_privileges: `
    grantor grantee object_catalog object_schema object_name object_type privilege_type is_grantable`,
  user_defined_types: `
    user_defined_type_catalog user_defined_type_schema user_defined_type_name user_defined_type_category
    is_instantiable is_final ordering_form ordering_category ordering_routine_catalog
    ordering_routine_schema ordering_routine_name reference_type data_type character_maximum_length:i
    character_octet_length:i character_set_catalog character_set_schema character_set_name collation_catalog
    collation_schema collation_name numeric_precision:i numeric_precision_radix:i numeric_scale:i
    datetime_precision:i interval_type interval_precision:i source_dtd_identifier ref_dtd_identifier`,
  view_column_usage: "view_catalog view_schema view_name table_catalog table_schema table_name column_name",
  view_table_usage: "view_catalog view_schema view_name table_catalog table_schema table_name",
};
