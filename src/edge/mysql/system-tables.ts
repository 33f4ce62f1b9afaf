/**
 * Tables that clients read and that have no rows here: of information_schema, and of the database `mysql` with its name
 * before theirs. Columns as `tableColumns` has them.
 */
const empty: Readonly<Record<string, string>> = {
  FILES: `FILE_ID# FILE_NAME FILE_TYPE TABLESPACE_NAME TABLE_CATALOG TABLE_SCHEMA TABLE_NAME LOGFILE_GROUP_NAME
    LOGFILE_GROUP_NUMBER# ENGINE FULLTEXT_KEYS DELETED_ROWS# UPDATE_COUNT# FREE_EXTENTS# TOTAL_EXTENTS# EXTENT_SIZE#
    INITIAL_SIZE# MAXIMUM_SIZE# AUTOEXTEND_SIZE# CREATION_TIME LAST_UPDATE_TIME LAST_ACCESS_TIME RECOVER_TIME#
    TRANSACTION_COUNTER# VERSION# ROW_FORMAT TABLE_ROWS# AVG_ROW_LENGTH# DATA_LENGTH# MAX_DATA_LENGTH# INDEX_LENGTH#
    DATA_FREE# CREATE_TIME UPDATE_TIME CHECK_TIME CHECKSUM# STATUS EXTRA`,
  "MYSQL.COLUMNS_PRIV": "Host Db User Table_name Column_name Timestamp Column_priv",
  "MYSQL.TABLES_PRIV": "Host Db User Table_name Grantor Timestamp Table_priv Column_priv",
  "MYSQL.DB": "Host Db User Select_priv Insert_priv Update_priv Delete_priv Create_priv Drop_priv Grant_priv",
  "MYSQL.USER": "Host User Select_priv Insert_priv Update_priv Delete_priv Create_priv Drop_priv plugin",
  "MYSQL.PROCS_PRIV": "Host Db User Routine_name Routine_type Grantor Proc_priv Timestamp",
  "MYSQL.FUNC": "name ret# dl type",
};

export const systemTables: Readonly<Record<string, { readonly columns: readonly string[] }>> = Object.fromEntries(
  Object.entries(empty).map(([name, columns]) => [name, { columns: columns.split(/\s+/) }]),
);
