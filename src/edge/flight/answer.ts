import type { ArrowMessage } from "./arrow/batch.ts";
import { recordBatch } from "./arrow/batch.ts";
import { type Cell, columnsOf } from "./arrow/rows.ts";
import { schemaMessage } from "./arrow/schema.ts";
import type { ArrowField } from "./arrow/type.ts";
import { type FlightCall, namespacesOf } from "./call.ts";
import { catalogFields, dbSchemaRows, primaryKeyRows, tableRows, tableType } from "./catalog.ts";
import type { Command } from "./command.ts";
import type { FlightDeps } from "./options.ts";
import { sqlInfo, sqlInfoFields } from "./sql-info.ts";
import { typeInfoFields, typeInfoRows } from "./type-info.ts";

/** Commands that are answered without a statement. */
export type CatalogCommand = Exclude<
  Command,
  {
    $typeName:
      | "arrow.flight.protocol.sql.CommandStatementQuery"
      | "arrow.flight.protocol.sql.CommandPreparedStatementQuery"
      | "arrow.flight.protocol.sql.TicketStatementQuery";
  }
>;

export function catalogSchema(command: CatalogCommand): readonly ArrowField[] {
  switch (command.$typeName) {
    case "arrow.flight.protocol.sql.CommandGetCatalogs":
      return catalogFields.catalogs;
    case "arrow.flight.protocol.sql.CommandGetDbSchemas":
      return catalogFields.dbSchemas;
    case "arrow.flight.protocol.sql.CommandGetTables":
      return command.includeSchema ? catalogFields.tablesWithSchema : catalogFields.tables;
    case "arrow.flight.protocol.sql.CommandGetTableTypes":
      return catalogFields.tableTypes;
    case "arrow.flight.protocol.sql.CommandGetSqlInfo":
      return sqlInfoFields;
    case "arrow.flight.protocol.sql.CommandGetXdbcTypeInfo":
      return typeInfoFields;
    case "arrow.flight.protocol.sql.CommandGetPrimaryKeys":
      return catalogFields.primaryKeys;
    case "arrow.flight.protocol.sql.CommandGetExportedKeys":
    case "arrow.flight.protocol.sql.CommandGetImportedKeys":
    case "arrow.flight.protocol.sql.CommandGetCrossReference":
      return catalogFields.foreignKeys;
  }
}

/** Rows of one message: with their schemas, tables are large. */
const rowsOfMessage = 500;

export async function* answerCatalog(
  deps: FlightDeps,
  call: FlightCall,
  command: CatalogCommand,
): AsyncGenerator<ArrowMessage> {
  const fields = catalogSchema(command);
  yield { metadata: schemaMessage(fields), body: [], bodyBytes: 0 };
  if (command.$typeName === "arrow.flight.protocol.sql.CommandGetSqlInfo") {
    const { rows, arrays } = sqlInfo(deps.version, command.info);
    yield recordBatch(rows, arrays);
    return;
  }
  const rows = await rowsOf(deps, call, command);
  for (let from = 0; from < rows.length; from += rowsOfMessage) {
    const part = rows.slice(from, from + rowsOfMessage);
    yield recordBatch(part.length, columnsOf(fields, part));
  }
}

type RowCommand = Exclude<CatalogCommand, { $typeName: "arrow.flight.protocol.sql.CommandGetSqlInfo" }>;

async function rowsOf({ sql, ...deps }: FlightDeps, call: FlightCall, command: RowCommand): Promise<Cell[][]> {
  const namespaces = namespacesOf(call, deps.namespaces());
  switch (command.$typeName) {
    case "arrow.flight.protocol.sql.CommandGetCatalogs":
      return namespaces.map((namespace) => [namespace]);
    case "arrow.flight.protocol.sql.CommandGetDbSchemas":
      return dbSchemaRows(namespaces, command);
    case "arrow.flight.protocol.sql.CommandGetTables":
      return await tableRows(sql, namespaces, command);
    case "arrow.flight.protocol.sql.CommandGetTableTypes":
      return [[tableType]];
    case "arrow.flight.protocol.sql.CommandGetXdbcTypeInfo":
      return typeInfoRows(command.dataType);
    case "arrow.flight.protocol.sql.CommandGetPrimaryKeys":
      return await primaryKeyRows(sql, namespaces, command);
    // Nothing refers to anything by a key that is declared.
    case "arrow.flight.protocol.sql.CommandGetExportedKeys":
    case "arrow.flight.protocol.sql.CommandGetImportedKeys":
    case "arrow.flight.protocol.sql.CommandGetCrossReference":
      return [];
  }
}
