import { invalid } from "../../engine/errors.ts";
import { tableSchemas } from "../../engine/sql/columns.ts";
import type { Sql, SqlTable } from "../../engine/sql/sql.ts";
import type {
  CommandGetDbSchemas,
  CommandGetPrimaryKeys,
  CommandGetTables,
} from "../../gen/arrow/flight/protocol/FlightSql_pb.ts";
import type { Cell } from "./arrow/rows.ts";
import { encapsulated, schemaMessage } from "./arrow/schema.ts";
import { type ArrowField, arrowField, fieldOf } from "./arrow/type.ts";
import { flightLimits } from "./limits.ts";

/** The tables of Flight SQL's metadata: namespaces are catalogs, each with the same schemas. */

const text = { kind: "utf8" } as const;
const int = { kind: "int", bits: 32, signed: true } as const;
const byte = { kind: "int", bits: 8, signed: false } as const;
const required = { nullable: false };

export const dbSchemas = [...tableSchemas, "information_schema"].toSorted();
export const tableType = "TABLE";

const tableFields = [
  arrowField("catalog_name", text),
  arrowField("db_schema_name", text),
  arrowField("table_name", text, required),
  arrowField("table_type", text, required),
];

const keyFields = [
  arrowField("pk_catalog_name", text),
  arrowField("pk_db_schema_name", text),
  arrowField("pk_table_name", text, required),
  arrowField("pk_column_name", text, required),
  arrowField("fk_catalog_name", text),
  arrowField("fk_db_schema_name", text),
  arrowField("fk_table_name", text, required),
  arrowField("fk_column_name", text, required),
  arrowField("key_sequence", int, required),
  arrowField("fk_key_name", text),
  arrowField("pk_key_name", text),
  arrowField("update_rule", byte, required),
  arrowField("delete_rule", byte, required),
];

export const catalogFields = {
  catalogs: [arrowField("catalog_name", text, required)],
  dbSchemas: [arrowField("catalog_name", text), arrowField("db_schema_name", text, required)],
  tables: tableFields,
  tablesWithSchema: [...tableFields, arrowField("table_schema", { kind: "binary" }, required)],
  tableTypes: [arrowField("table_type", text, required)],
  primaryKeys: [
    arrowField("catalog_name", text),
    arrowField("db_schema_name", text),
    arrowField("table_name", text, required),
    arrowField("column_name", text, required),
    arrowField("key_name", text),
    arrowField("key_sequence", int, required),
  ],
  foreignKeys: keyFields,
} as const satisfies Record<string, readonly ArrowField[]>;

/**
 * A pattern of LIKE: `%` for any characters, `_` for one, `\\` before one that stands for itself. Not by way of a regular
 * expression, which a pattern of many `%` would keep busy for long.
 */
export function likePattern(pattern: string | undefined): (name: string) => boolean {
  if (pattern === undefined) return () => true;
  const parts = [...pattern.matchAll(/\\([\s\S])|[\s\S]/gu)].map(([part, escaped]) =>
    escaped === undefined && (part === "%" || part === "_") ? { wild: part } : { character: escaped ?? part },
  );
  return (name) => isLike([...name], parts);
}

type LikePart = { readonly wild: string } | { readonly character: string };

function isLike(name: readonly string[], parts: readonly LikePart[]): boolean {
  let [at, part] = [0, 0];
  let retry: { at: number; readonly part: number } | undefined;
  while (at < name.length) {
    const wanted = parts[part];
    if (wanted !== undefined && "wild" in wanted && wanted.wild === "%") {
      part += 1;
      retry = { at, part };
    } else if (wanted !== undefined && ("wild" in wanted || wanted.character === name[at])) {
      at += 1;
      part += 1;
    } else if (retry !== undefined) {
      // The last `%` takes one character more.
      retry.at += 1;
      ({ at, part } = retry);
    } else return false;
  }
  return parts.slice(part).every((rest) => "wild" in rest && rest.wild === "%");
}

function ofCatalog(namespaces: readonly string[], catalog: string | undefined): readonly string[] {
  return catalog === undefined ? namespaces : namespaces.filter((each) => each === catalog);
}

export function dbSchemaRows(namespaces: readonly string[], command: CommandGetDbSchemas): Cell[][] {
  const matches = likePattern(command.dbSchemaFilterPattern);
  return ofCatalog(namespaces, command.catalog).flatMap((namespace) =>
    dbSchemas.filter(matches).map((schema) => [namespace, schema]),
  );
}

type Tables = Pick<Sql, "tables">;

async function* tablesOf(
  sql: Tables,
  namespaces: readonly string[],
): AsyncGenerator<{ readonly namespace: string; readonly table: SqlTable }> {
  if (namespaces.length > flightLimits.listedNamespacesMax) {
    throw invalid("catalog", `name one of the ${namespaces.length} namespaces, or send it as the header namespace`);
  }
  for (const namespace of namespaces) {
    const tables = [...(await sql.tables(namespace))];
    tables.sort((a, b) => compare(a.schema, b.schema) || compare(a.name, b.name));
    for (const table of tables) yield { namespace, table };
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export async function tableRows(
  sql: Tables,
  namespaces: readonly string[],
  command: CommandGetTables,
): Promise<Cell[][]> {
  const { tableTypes } = command;
  if (tableTypes.length > 0 && !tableTypes.includes(tableType)) return [];
  const inSchema = likePattern(command.dbSchemaFilterPattern);
  const named = likePattern(command.tableNameFilterPattern);
  const rows: Cell[][] = [];
  for await (const { namespace, table } of tablesOf(sql, ofCatalog(namespaces, command.catalog))) {
    if (!inSchema(table.schema) || !named(table.name)) continue;
    const row: Cell[] = [namespace, table.schema, table.name, tableType];
    if (command.includeSchema) row.push(encapsulated(schemaMessage(table.columns.map(fieldOf))));
    rows.push(row);
  }
  return rows;
}

/** Documents have their id; records and counters have no key that SQL would know of. */
export async function primaryKeyRows(
  sql: Tables,
  namespaces: readonly string[],
  command: CommandGetPrimaryKeys,
): Promise<Cell[][]> {
  const { catalog, dbSchema, table: name } = command;
  const rows: Cell[][] = [];
  for await (const { namespace, table } of tablesOf(sql, ofCatalog(namespaces, catalog))) {
    if (table.name !== name || (table.schema !== "collections" && table.schema !== "live")) continue;
    if (dbSchema !== undefined && dbSchema !== table.schema) continue;
    rows.push([namespace, table.schema, name, "_id", null, 1]);
  }
  return rows;
}
