import type { Principal } from "../../engine/auth/principal.ts";
import { isTableSchema } from "../../engine/sql/columns.ts";
import type { WireConnection } from "../wire/connection.ts";
import { type Catalog, type CatalogTable, isKey } from "./catalog.ts";
import { isName, isOperator, isWord, type MysqlToken } from "./dialect/lexer.ts";
import { mysqlError } from "./error.ts";
import type { ProcessList } from "./process-list.ts";
import { type Cell, type Table, tableColumns, textColumns } from "./rows.ts";
import { mysqlType } from "./type.ts";
import { collation, type Variables } from "./variables.ts";
import { filterShown } from "./where.ts";

/** What a SHOW is asked by. */
export interface ShowContext {
  readonly catalog: Catalog;
  readonly processes: ProcessList;
  readonly variables: Variables;
  readonly principal: Principal;
  readonly user: string;
  readonly database: string | undefined;
  readonly connection: Pick<WireConnection, "cipher">;
}

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

/** Reads a statement from its left. */
class Cursor {
  readonly #tokens: readonly MysqlToken[];
  #at = 0;

  constructor(tokens: readonly MysqlToken[]) {
    this.#tokens = tokens;
  }

  word(...words: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (!isWord(token, ...words)) return undefined;
    this.#at++;
    return token!.value.toUpperCase();
  }

  need(word: string): void {
    if (this.word(word) === undefined) throw this.wrong();
  }

  next(): MysqlToken | undefined {
    return this.#tokens[this.#at++];
  }

  comma(): boolean {
    const isComma = isOperator(this.#tokens[this.#at], ",");
    if (isComma) this.#at++;
    return isComma;
  }

  /** `LIKE …` or `WHERE …` to the end. */
  filter(table: Table): Table {
    return filterShown(table, this.#tokens.slice(this.#at));
  }

  name(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined || !(isName(token) || token.kind === "doubled")) throw this.wrong();
    this.#at++;
    return token.value;
  }

  /** `name`, `a.name`, and `FROM database` after it. */
  names(): string[] {
    const names = [this.name()];
    while (isOperator(this.#tokens[this.#at], ".")) {
      this.#at++;
      names.push(this.name());
    }
    return names;
  }

  database(context: ShowContext): string {
    const named = this.word("FROM", "IN") === undefined ? undefined : this.name();
    return openDatabase(context, named);
  }

  async table(context: ShowContext): Promise<CatalogTable> {
    const names = this.names();
    const after = this.word("FROM", "IN") === undefined ? undefined : this.name();
    if (after !== undefined) return context.catalog.table(openDatabase(context, after), names.join("."));
    const isSchema = names.length === 2 && isTableSchema(names[0]!);
    if (names.length === 1 || isSchema) return context.catalog.table(openDatabase(context, undefined), names.join("."));
    const [database, ...rest] = names;
    return context.catalog.table(openDatabase(context, database), rest.join("."));
  }

  wrong() {
    const near = this.#tokens[this.#at]?.value ?? "the end";
    return mysqlError("syntax", `You have an error in your SQL syntax near '${near}'`);
  }
}

function openDatabase({ catalog, principal, user, database }: ShowContext, named: string | undefined): string {
  const wanted = named ?? database;
  if (wanted === undefined) throw mysqlError("noDatabase", "No database selected");
  catalog.open(principal, user, wanted);
  return wanted;
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

/** What is the same for everybody, or always empty here. */
const fixedTables: Readonly<Record<string, Table>> = {
  WARNINGS: { columns: tableColumns("Level", "Code#", "Message"), rows: [] },
  ERRORS: { columns: tableColumns("Level", "Code#", "Message"), rows: [] },
  "COUNT ( * ) WARNINGS": { columns: tableColumns("@@session.warning_count#"), rows: [[0]] },
  "COUNT ( * ) ERRORS": { columns: tableColumns("@@session.error_count#"), rows: [[0]] },
  ENGINES: {
    columns: textColumns("Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"),
    rows: [["NATIVE", "DEFAULT", "Collections, streams and links", "NO", "NO", "NO"]],
  },
  COLLATION: {
    columns: tableColumns("Collation", "Charset", "Id#", "Default", "Compiled", "Sortlen#", "Pad_attribute"),
    rows: [
      [collation, "utf8mb4", 46, "Yes", "Yes", 1, "NO PAD"],
      ["binary", "binary", 63, "Yes", "Yes", 1, "NO PAD"],
    ],
  },
  "CHARACTER SET": {
    columns: tableColumns("Charset", "Description", "Default collation", "Maxlen#"),
    rows: [
      ["utf8mb4", "UTF-8 Unicode", collation, 4],
      ["binary", "Binary pseudo charset", "binary", 1],
    ],
  },
  PLUGINS: { columns: textColumns("Name", "Status", "Type", "Library", "License"), rows: [] },
  PRIVILEGES: {
    columns: textColumns("Privilege", "Context", "Comment"),
    rows: [["Select", "Tables", "To retrieve rows from table"]],
  },
  TRIGGERS: {
    columns: textColumns("Trigger", "Event", "Table", "Statement", "Timing", "Created", "sql_mode", "Definer"),
    rows: [],
  },
  EVENTS: { columns: textColumns("Db", "Name", "Definer", "Time zone", "Type", "Status"), rows: [] },
  "PROCEDURE STATUS": { columns: textColumns("Db", "Name", "Type", "Definer", "Modified", "Created"), rows: [] },
  "FUNCTION STATUS": { columns: textColumns("Db", "Name", "Type", "Definer", "Modified", "Created"), rows: [] },
  "OPEN TABLES": { columns: tableColumns("Database", "Table", "In_use#", "Name_locked#"), rows: [] },
  "MASTER STATUS": { columns: textColumns("File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB"), rows: [] },
  "BINARY LOGS": { columns: textColumns("Log_name", "File_size", "Encrypted"), rows: [] },
  "SLAVE STATUS": { columns: textColumns("Slave_IO_State"), rows: [] },
  "REPLICA STATUS": { columns: textColumns("Replica_IO_State"), rows: [] },
  PROFILES: { columns: textColumns("Query_ID", "Duration", "Query"), rows: [] },
};
const fixedNames: Readonly<Record<string, string>> = { CHARSET: "CHARACTER SET", "STORAGE ENGINES": "ENGINES" };

function showFixed(cursor: Cursor): Table {
  const words: string[] = [];
  for (let token = cursor.next(); token !== undefined; token = cursor.next()) {
    words.push(token.value.toUpperCase());
    const name = words.join(" ");
    const table = fixedTables[fixedNames[name] ?? name];
    // Nothing of a table that is empty has to be left out.
    if (table !== undefined) return table.rows.length === 0 ? table : cursor.filter(table);
    if (words.length > 6) break;
  }
  throw mysqlError("syntax", `You have an error in your SQL syntax: SHOW ${words.join(" ")} is not known here`);
}
