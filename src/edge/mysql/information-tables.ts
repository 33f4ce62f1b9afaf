import { type CatalogTable, isKey } from "./catalog.ts";
import type { Cell } from "./rows.ts";
import { systemTables } from "./system-tables.ts";
import { fieldType, mysqlType } from "./type.ts";
import { collation } from "./variable-defaults.ts";

export interface Definition {
  /** As `tableColumns` has them. */
  readonly columns: readonly string[];
  rows?(tables: readonly CatalogTable[], databases: readonly string[]): readonly (readonly Cell[])[];
}

export const definitions: Readonly<Record<string, Definition>> = {
  ...systemTables,
  SCHEMATA: {
    columns: [
      "CATALOG_NAME",
      "SCHEMA_NAME",
      "DEFAULT_CHARACTER_SET_NAME",
      "DEFAULT_COLLATION_NAME",
      "SQL_PATH",
      "DEFAULT_ENCRYPTION",
    ],
    rows: (_, databases) => databases.map((name) => ["def", name, "utf8mb4", collation, null, "NO"]),
  },
  TABLES: {
    columns: [
      "TABLE_CATALOG",
      "TABLE_SCHEMA",
      "TABLE_NAME",
      "TABLE_TYPE",
      "ENGINE",
      "VERSION#",
      "ROW_FORMAT",
      "TABLE_ROWS#",
      "AVG_ROW_LENGTH#",
      "DATA_LENGTH#",
      "MAX_DATA_LENGTH#",
      "INDEX_LENGTH#",
      "DATA_FREE#",
      "AUTO_INCREMENT#",
      "CREATE_TIME",
      "UPDATE_TIME",
      "CHECK_TIME",
      "TABLE_COLLATION",
      "CHECKSUM#",
      "CREATE_OPTIONS",
      "TABLE_COMMENT",
    ],
    rows: (tables) =>
      tables.map(({ database, name }) => [
        ...["def", database, name, "BASE TABLE", "NATIVE", 10, "Dynamic"],
        ...[null, null, null, null, null, null, null, null, null, null],
        ...[collation, null, "", ""],
      ]),
  },
  COLUMNS: {
    columns: [
      "TABLE_CATALOG",
      "TABLE_SCHEMA",
      "TABLE_NAME",
      "COLUMN_NAME",
      "ORDINAL_POSITION#",
      "COLUMN_DEFAULT",
      "IS_NULLABLE",
      "DATA_TYPE",
      "CHARACTER_MAXIMUM_LENGTH#",
      "CHARACTER_OCTET_LENGTH#",
      "NUMERIC_PRECISION#",
      "NUMERIC_SCALE#",
      "DATETIME_PRECISION#",
      "CHARACTER_SET_NAME",
      "COLLATION_NAME",
      "COLUMN_TYPE",
      "COLUMN_KEY",
      "EXTRA",
      "PRIVILEGES",
      "COLUMN_COMMENT",
      "GENERATION_EXPRESSION",
      "SRS_ID#",
    ],
    rows: (tables) => tables.flatMap(columnRows),
  },
  STATISTICS: {
    columns: [
      "TABLE_CATALOG",
      "TABLE_SCHEMA",
      "TABLE_NAME",
      "NON_UNIQUE#",
      "INDEX_SCHEMA",
      "INDEX_NAME",
      "SEQ_IN_INDEX#",
      "COLUMN_NAME",
      "COLLATION",
      "CARDINALITY#",
      "SUB_PART#",
      "PACKED",
      "NULLABLE",
      "INDEX_TYPE",
      "COMMENT",
      "INDEX_COMMENT",
      "IS_VISIBLE",
      "EXPRESSION",
    ],
    rows: (tables) =>
      tables.flatMap(({ database, name, table }) =>
        keysOf(table).map((column, i) => [
          ...["def", database, name, 0, database, "PRIMARY", i + 1, column],
          ...["A", null, null, null, "", "BTREE", "", "", "YES", null],
        ]),
      ),
  },
  KEY_COLUMN_USAGE: {
    columns: [
      "CONSTRAINT_CATALOG",
      "CONSTRAINT_SCHEMA",
      "CONSTRAINT_NAME",
      "TABLE_CATALOG",
      "TABLE_SCHEMA",
      "TABLE_NAME",
      "COLUMN_NAME",
      "ORDINAL_POSITION#",
      "POSITION_IN_UNIQUE_CONSTRAINT#",
      "REFERENCED_TABLE_SCHEMA",
      "REFERENCED_TABLE_NAME",
      "REFERENCED_COLUMN_NAME",
    ],
    rows: (tables) =>
      tables.flatMap(({ database, name, table }) =>
        keysOf(table).map((column, i) => [
          ...["def", database, "PRIMARY", "def", database, name, column, i + 1],
          ...[null, null, null, null],
        ]),
      ),
  },
  TABLE_CONSTRAINTS: {
    columns: [
      "CONSTRAINT_CATALOG",
      "CONSTRAINT_SCHEMA",
      "CONSTRAINT_NAME",
      "TABLE_SCHEMA",
      "TABLE_NAME",
      "CONSTRAINT_TYPE",
      "ENFORCED",
    ],
    rows: (tables) =>
      tables
        .filter(({ table }) => keysOf(table).length > 0)
        .map(({ database, name }) => ["def", database, "PRIMARY", database, name, "PRIMARY KEY", "YES"]),
  },
  REFERENTIAL_CONSTRAINTS: {
    columns: [
      "CONSTRAINT_CATALOG",
      "CONSTRAINT_SCHEMA",
      "CONSTRAINT_NAME",
      "UNIQUE_CONSTRAINT_CATALOG",
      "UNIQUE_CONSTRAINT_SCHEMA",
      "UNIQUE_CONSTRAINT_NAME",
      "MATCH_OPTION",
      "UPDATE_RULE",
      "DELETE_RULE",
      "TABLE_NAME",
      "REFERENCED_TABLE_NAME",
    ],
  },
  CHECK_CONSTRAINTS: { columns: ["CONSTRAINT_CATALOG", "CONSTRAINT_SCHEMA", "CONSTRAINT_NAME", "CHECK_CLAUSE"] },
  VIEWS: {
    columns: [
      "TABLE_CATALOG",
      "TABLE_SCHEMA",
      "TABLE_NAME",
      "VIEW_DEFINITION",
      "CHECK_OPTION",
      "IS_UPDATABLE",
      "DEFINER",
      "SECURITY_TYPE",
      "CHARACTER_SET_CLIENT",
      "COLLATION_CONNECTION",
    ],
  },
  ROUTINES: {
    columns: [
      "SPECIFIC_NAME",
      "ROUTINE_CATALOG",
      "ROUTINE_SCHEMA",
      "ROUTINE_NAME",
      "ROUTINE_TYPE",
      "DATA_TYPE",
      "DTD_IDENTIFIER",
      "ROUTINE_BODY",
      "ROUTINE_DEFINITION",
      "IS_DETERMINISTIC",
      "SQL_DATA_ACCESS",
      "SECURITY_TYPE",
      "CREATED",
      "LAST_ALTERED",
      "SQL_MODE",
      "ROUTINE_COMMENT",
      "DEFINER",
    ],
  },
  PARAMETERS: {
    columns: [
      "SPECIFIC_CATALOG",
      "SPECIFIC_SCHEMA",
      "SPECIFIC_NAME",
      "ORDINAL_POSITION#",
      "PARAMETER_MODE",
      "PARAMETER_NAME",
      "DATA_TYPE",
      "CHARACTER_MAXIMUM_LENGTH#",
      "CHARACTER_OCTET_LENGTH#",
      "NUMERIC_PRECISION#",
      "NUMERIC_SCALE#",
      "DATETIME_PRECISION#",
      "DTD_IDENTIFIER",
      "ROUTINE_TYPE",
    ],
  },
  TRIGGERS: {
    columns: [
      "TRIGGER_CATALOG",
      "TRIGGER_SCHEMA",
      "TRIGGER_NAME",
      "EVENT_MANIPULATION",
      "EVENT_OBJECT_SCHEMA",
      "EVENT_OBJECT_TABLE",
      "ACTION_STATEMENT",
      "ACTION_TIMING",
    ],
  },
  EVENTS: { columns: ["EVENT_CATALOG", "EVENT_SCHEMA", "EVENT_NAME", "DEFINER", "EVENT_DEFINITION", "STATUS"] },
  PARTITIONS: { columns: ["TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "PARTITION_NAME", "TABLE_ROWS#"] },
  ENGINES: {
    columns: ["ENGINE", "SUPPORT", "COMMENT", "TRANSACTIONS", "XA", "SAVEPOINTS"],
    rows: () => [["NATIVE", "DEFAULT", "Collections, streams and links", "NO", "NO", "NO"]],
  },
  CHARACTER_SETS: {
    columns: ["CHARACTER_SET_NAME", "DEFAULT_COLLATE_NAME", "DESCRIPTION", "MAXLEN#"],
    rows: () => [["utf8mb4", collation, "UTF-8 Unicode", 4]],
  },
  COLLATIONS: {
    columns: ["COLLATION_NAME", "CHARACTER_SET_NAME", "ID#", "IS_DEFAULT", "IS_COMPILED", "SORTLEN#", "PAD_ATTRIBUTE"],
    rows: () => [[collation, "utf8mb4", 46, "Yes", "Yes", 1, "NO PAD"]],
  },
  COLLATION_CHARACTER_SET_APPLICABILITY: {
    columns: ["COLLATION_NAME", "CHARACTER_SET_NAME"],
    rows: () => [[collation, "utf8mb4"]],
  },
  USER_PRIVILEGES: { columns: ["GRANTEE", "TABLE_CATALOG", "PRIVILEGE_TYPE", "IS_GRANTABLE"] },
  SCHEMA_PRIVILEGES: { columns: ["GRANTEE", "TABLE_CATALOG", "TABLE_SCHEMA", "PRIVILEGE_TYPE", "IS_GRANTABLE"] },
  TABLE_PRIVILEGES: {
    columns: ["GRANTEE", "TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "PRIVILEGE_TYPE", "IS_GRANTABLE"],
  },
  COLUMN_PRIVILEGES: {
    columns: [
      "GRANTEE",
      "TABLE_CATALOG",
      "TABLE_SCHEMA",
      "TABLE_NAME",
      "COLUMN_NAME",
      "PRIVILEGE_TYPE",
      "IS_GRANTABLE",
    ],
  },
  PLUGINS: { columns: ["PLUGIN_NAME", "PLUGIN_VERSION", "PLUGIN_STATUS", "PLUGIN_TYPE"] },
  KEYWORDS: { columns: ["WORD", "RESERVED#"] },
};

function keysOf(table: CatalogTable["table"]): string[] {
  return table.columns.map(({ name }) => name).filter((name) => isKey(table, name));
}

function columnRows({ database, name, table }: CatalogTable): Cell[][] {
  return table.columns.map((column, i): Cell[] => {
    const { code, length, decimals, name: typeName } = mysqlType(column.type);
    const isText = code === fieldType.varString;
    const isDecimal = code === fieldType.newDecimal;
    const isTemporal = code === fieldType.datetime || code === fieldType.timestamp || code === fieldType.time;
    const precision = numericPrecision[code] ?? (isDecimal ? length - 2 : null);
    const key = isKey(table, column.name);
    return [
      ...["def", database, name, column.name, i + 1, null, key ? "NO" : "YES"],
      typeName.replace(/\(.*\)/, "").replace(" unsigned", ""),
      isText ? length / 4 : null,
      isText ? length : null,
      precision,
      isDecimal ? decimals : precision !== null && decimals === 0 ? 0 : null,
      isTemporal ? 6 : null,
      isText ? "utf8mb4" : null,
      isText ? collation : null,
      ...[typeName, key ? "PRI" : "", "", "select", "", "", null],
    ];
  });
}

const numericPrecision: Readonly<Record<number, number>> = {
  [fieldType.tiny]: 3,
  [fieldType.short]: 5,
  [fieldType.long]: 10,
  [fieldType.longlong]: 19,
  [fieldType.float]: 12,
  [fieldType.double]: 22,
};
