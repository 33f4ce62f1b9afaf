import { type CatalogTable, isKey } from "./catalog.ts";
import { isName, isWord, type MysqlToken } from "./dialect/lexer.ts";
import { type Cell, type Table, tableColumns, textColumns } from "./rows.ts";
import { Cursor, openDatabase, type ShowContext } from "./show-cursor.ts";
import { showFixed } from "./show-fixed.ts";
import { mysqlType } from "./type.ts";
import { collation } from "./variable-defaults.ts";
import { filterShown } from "./where.ts";

/** SHOW and DESCRIBE, answered by the edge: they are MySQL's words for what the engine's catalogue tells. */
export async function show(tokens: readonly MysqlToken[], context: ShowContext): Promise<Table> {
  const cursor = new Cursor(tokens.slice(1));
  const scope = cursor.word("GLOBAL", "SESSION", "LOCAL");
  cursor.word("EXTENDED");
  const full = cursor.word("FULL") !== undefined;
  if (cursor.word("DATABASES", "SCHEMAS")) {
    const rows = context.catalog.databases(context.principal).map((name) => [name]);
    return cursor.filter({ columns: textColumns("Database"), rows });
  }
  if (cursor.word("TABLES")) return showTables(cursor, context, full);
  if (cursor.word("COLUMNS", "FIELDS")) return showColumns(cursor, context, full);
  if (cursor.word("INDEX", "INDEXES", "KEYS")) return showIndex(cursor, context);
  if (cursor.word("CREATE")) return showCreate(cursor, context);
  if (cursor.word("VARIABLES")) {
    return cursor.filter({ columns: textColumns("Variable_name", "Value"), rows: variableRows(context, scope) });
  }
  if (cursor.word("STATUS"))
    return cursor.filter({ columns: textColumns("Variable_name", "Value"), rows: statusRows(context) });
  if (cursor.word("PROCESSLIST")) return context.processes.table(context.principal, full);
  if (cursor.word("GRANTS")) return grants(context);
  if (cursor.word("TABLE")) {
    cursor.need("STATUS");
    return tableStatus(cursor, context);
  }
  return showFixed(cursor);
}

/** DESCRIBE table [column]; undefined when what follows is a statement to explain. */
export async function describe(tokens: readonly MysqlToken[], context: ShowContext): Promise<Table | undefined> {
  const first = tokens[1];
  if (first === undefined || !(isName(first) || first.kind === "doubled")) return undefined;
  if (isWord(first, "SELECT", "WITH", "FORMAT", "EXTENDED", "ANALYZE", "FOR", "TABLE", "VALUES", "INSERT", "UPDATE")) {
    return undefined;
  }
  if (isWord(first, "DELETE", "REPLACE", "PARTITIONS", "FROM", "SHOW")) return undefined;
  const cursor = new Cursor(tokens.slice(1));
  const table = await cursor.table(context);
  const shown = columnTable(table, false);
  const column = cursor.next();
  if (column === undefined) return shown;
  return filterShown(shown, [
    { ...column, kind: "word", value: "LIKE" },
    { ...column, kind: "string" },
  ]);
}

/** CHECK TABLE and ANALYZE TABLE: there is nothing to mend, so every table that is there is well. */
export async function checkTables(tokens: readonly MysqlToken[], context: ShowContext): Promise<Table> {
  const operation = tokens[0]!.value.toLowerCase();
  const cursor = new Cursor(tokens.slice(2));
  const rows: Cell[][] = [];
  do {
    const { database, name } = await cursor.table(context);
    rows.push([`${database}.${name}`, operation, "status", "OK"]);
  } while (cursor.comma());
  return { columns: textColumns("Table", "Op", "Msg_type", "Msg_text"), rows };
}

async function showTables(cursor: Cursor, context: ShowContext, full: boolean): Promise<Table> {
  const database = cursor.database(context);
  const tables = await context.catalog.tables(database);
  const name = `Tables_in_${database}`;
  return cursor.filter({
    columns: full ? textColumns(name, "Table_type") : textColumns(name),
    rows: tables.map((each) => (full ? [each.name, "BASE TABLE"] : [each.name])),
  });
}

async function showColumns(cursor: Cursor, context: ShowContext, full: boolean): Promise<Table> {
  cursor.word("FROM", "IN");
  return cursor.filter(columnTable(await cursor.table(context), full));
}

function columnTable({ table }: CatalogTable, full: boolean): Table {
  const rows = table.columns.map(({ name, type }): Cell[] => {
    const { name: typeName, code } = mysqlType(type);
    const key = isKey(table, name);
    const [nullable, keyText] = [key ? "NO" : "YES", key ? "PRI" : ""];
    if (!full) return [name, typeName, nullable, keyText, null, ""];
    return [name, typeName, code === 253 ? collation : null, nullable, keyText, null, "", "select", ""];
  });
  const columns = full
    ? textColumns("Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment")
    : textColumns("Field", "Type", "Null", "Key", "Default", "Extra");
  return { columns, rows };
}

const indexColumns = tableColumns(
  "Table",
  "Non_unique#",
  "Key_name",
  "Seq_in_index#",
  "Column_name",
  "Collation",
  "Cardinality#",
  "Sub_part#",
  "Packed",
  "Null",
  "Index_type",
  "Comment",
  "Index_comment",
  "Visible",
  "Expression",
);

async function showIndex(cursor: Cursor, context: ShowContext): Promise<Table> {
  cursor.word("FROM", "IN");
  const found = await cursor.table(context);
  const keys = found.table.columns.filter(({ name }) => isKey(found.table, name));
  const rows = keys.map(({ name }, i): Cell[] => [
    found.name,
    0,
    "PRIMARY",
    i + 1,
    name,
    "A",
    null,
    null,
    null,
    "",
    "BTREE",
    "",
    "",
    "YES",
    null,
  ]);
  return cursor.filter({ columns: indexColumns, rows });
}

async function showCreate(cursor: Cursor, context: ShowContext): Promise<Table> {
  if (cursor.word("DATABASE", "SCHEMA")) {
    const database = openDatabase(context, cursor.name());
    return {
      columns: textColumns("Database", "Create Database"),
      rows: [[database, `CREATE DATABASE ${quote(database)} /*!40100 DEFAULT CHARACTER SET utf8mb4 */`]],
    };
  }
  if (cursor.word("TABLE", "VIEW") === undefined) throw cursor.wrong();
  const found = await cursor.table(context);
  const lines = found.table.columns.map(({ name, type }) => {
    const notNull = isKey(found.table, name) ? " NOT NULL" : "";
    return `  ${quote(name)} ${mysqlType(type).name}${notNull}`;
  });
  const keys = found.table.columns.filter(({ name }) => isKey(found.table, name)).map(({ name }) => quote(name));
  if (keys.length > 0) lines.push(`  PRIMARY KEY (${keys.join(", ")})`);
  const text = `CREATE TABLE ${quote(found.name)} (\n${lines.join(",\n")}\n) ENGINE=NATIVE DEFAULT CHARSET=utf8mb4 COLLATE=${collation}`;
  return { columns: textColumns("Table", "Create Table"), rows: [[found.name, text]] };
}

function quote(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

function variableRows({ variables }: ShowContext, scope: string | undefined): Cell[][] {
  const listed = variables.list();
  if (scope !== "GLOBAL") return listed;
  return listed.filter(([name]) => !["error_count", "warning_count", "last_insert_id", "identity"].includes(name));
}

function statusRows({ processes, variables, connection: { cipher } }: ShowContext): Cell[][] {
  return [
    ["Compression", "OFF"],
    ["Questions", String(processes.questions)],
    ["Ssl_cipher", cipher?.name ?? ""],
    ["Ssl_version", cipher?.version ?? ""],
    ["Threads_connected", String(processes.size)],
    ["Uptime", String(processes.uptimeSeconds)],
    ["Version", variables.facts.version],
  ];
}

function grants({ principal, user }: ShowContext): Table {
  const on = principal.namespaces?.map((namespace) => `${quote(namespace)}.*`) ?? ["*.*"];
  const rows = on.map((each) => [`GRANT SELECT ON ${each} TO \`${user}\`@\`%\``]);
  return { columns: textColumns(`Grants for ${user}@%`), rows };
}

const statusColumns = tableColumns(
  "Name",
  "Engine",
  "Version#",
  "Row_format",
  "Rows#",
  "Avg_row_length#",
  "Data_length#",
  "Max_data_length#",
  "Index_length#",
  "Data_free#",
  "Auto_increment#",
  "Create_time",
  "Update_time",
  "Check_time",
  "Collation",
  "Checksum",
  "Create_options",
  "Comment",
);

async function tableStatus(cursor: Cursor, context: ShowContext): Promise<Table> {
  const tables = await context.catalog.tables(cursor.database(context));
  const unknown = Array.from({ length: 7 }, () => null);
  const rows = tables.map(({ name }): Cell[] => [
    name,
    "NATIVE",
    10,
    "Dynamic",
    ...unknown,
    null,
    null,
    null,
    collation,
    null,
    "",
    "",
  ]);
  return cursor.filter({ columns: statusColumns, rows });
}
