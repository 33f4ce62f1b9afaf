import { mysqlError } from "./error.ts";
import { type Table, tableColumns, textColumns } from "./rows.ts";
import type { Cursor } from "./show-cursor.ts";
import { collation } from "./variable-defaults.ts";

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

export function showFixed(cursor: Cursor): Table {
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
