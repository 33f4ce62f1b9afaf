import { createFlightSqlClient } from "@lakehouse-rs/flight-sql-client";
import { DataType, type Field, type Table, tableFromIPC, type Vector } from "apache-arrow";
import { createConnection, type FieldPacket } from "mysql2/promise";
import pg from "pg";
import { FlightTestClient } from "../wire/flight/client.ts";
import { ask } from "./http.ts";
import type { ServerProcess } from "./process.ts";
import type { LogicWire, RunSql } from "./sqllogic.ts";

/** One wire with its client from npm; every value as the text that REST would show. */
export interface SqlWire extends AsyncDisposable, LogicWire {}

export const sqlWires: Readonly<Record<string, (server: ServerProcess, namespace: string) => Promise<SqlWire>>> = {
  rest,
  postgres,
  mysql,
  flight,
};

async function rest(server: ServerProcess, namespace: string): Promise<SqlWire> {
  const run: RunSql = async (query) => {
    const done = await ask(`${server.url}/v1/namespaces/${namespace}/sql`, { body: { query } });
    if (done.status !== 200) throw new Error(done.json?.message ?? done.text);
    const { columns, rows } = done.json as { columns: { name: string }[]; rows: Record<string, unknown>[] };
    return rows.map((row) => columns.map(({ name }) => textOf(row[name])));
  };
  return { run, async [Symbol.asyncDispose]() {} };
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Types of Postgres whose text is not what REST shows. */
const postgresJson = new Set([114, 3802]);
const isPostgresArray = (oid: number) =>
  (oid >= 1000 && oid <= 1041) || [199, 1115, 1182, 1185, 1231, 2951].includes(oid);

async function postgres(server: ServerProcess, namespace: string): Promise<SqlWire> {
  const client = new pg.Client({ ...server.postgres, user: "test", database: namespace });
  await client.connect();
  const getTypeParser = (oid: number) => {
    if (postgresJson.has(oid)) return (text: string) => textOf(JSON.parse(text));
    const parser = pg.types.getTypeParser(oid, "text") as (text: string) => unknown;
    return isPostgresArray(oid) ? (text: string) => textOf(parser(text)) : (text: string) => text;
  };
  const run: RunSql = async (text) => {
    const types = { getTypeParser: getTypeParser as typeof pg.types.getTypeParser };
    const { rows } = await client.query<(string | null)[]>({ text, rowMode: "array", types });
    return rows;
  };
  return { run, [Symbol.asyncDispose]: () => client.end() };
}

async function mysql(server: ServerProcess, namespace: string): Promise<SqlWire> {
  const connection = await createConnection({ ...server.mysql, user: "test", database: namespace, charset: "utf8mb4" });
  await connection.query("SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'");
  const run: RunSql = async (sql) => {
    const [rows] = (await connection.query({
      sql,
      rowsAsArray: true,
      typeCast: (field) => {
        const text = field.string("utf8");
        return field.type === "JSON" && text !== null ? textOf(JSON.parse(text)) : text;
      },
    })) as [(string | null)[][], FieldPacket[]];
    return rows;
  };
  return { run, [Symbol.asyncDispose]: () => connection.end() };
}

async function flight(server: ServerProcess, namespace: string): Promise<SqlWire> {
  const { hostname: host, port } = new URL(server.url);
  const headers = [{ key: "namespace", value: namespace }];
  const client = await createFlightSqlClient({ tls: false, host, port: Number(port), headers });
  const run: RunSql = async (query) => {
    return rowsOf(tableFromIPC(await client.query(query)));
  };
  // The client drops what an error says, and never comes back from one among the rows.
  const plain = new FlightTestClient(server.url, { namespace });
  const fail: RunSql = async (query) => rowsOf(await plain.query(query));
  return { run, fail, async [Symbol.asyncDispose]() {} };
}

function rowsOf(table: Table): (string | null)[][] {
  const columns = table.schema.fields.map((field, i) => arrowTexts(field, table.getChildAt(i)!));
  return Array.from({ length: table.numRows }, (_, row) => columns.map((column) => column[row]!));
}

function arrowTexts({ type, metadata }: Field, vector: Vector): (string | null)[] {
  const isJson = [...metadata.values()].some((value) => /json/i.test(value));
  return [...vector].map((value) => {
    if (value === null) return null;
    if (isJson) return textOf(JSON.parse(String(value)));
    return textOf(arrowValue(type, value));
  });
}

function arrowValue(type: DataType, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (DataType.isTimestamp(type)) return new Date(Number(value)).toISOString();
  if (DataType.isDate(type)) return new Date(Number(value)).toISOString().slice(0, 10);
  if (DataType.isDecimal(type)) return decimalText(value as Uint32Array, type.scale);
  if (DataType.isList(type) || DataType.isFixedSizeList(type)) {
    return [...(value as Iterable<unknown>)].map((item) => arrowValue(type.children[0]!.type, item));
  }
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return value;
}

/** The words of a decimal, the lowest first, as its digits. */
function decimalText(words: Uint32Array, scale: number): string {
  let value = 0n;
  for (let i = words.length - 1; i >= 0; i--) value = (value << 32n) | BigInt(words[i]!);
  value = BigInt.asIntN(words.length * 32, value);
  if (scale === 0) return String(value);
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, "0");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
