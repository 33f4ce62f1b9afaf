import type { SqlParameter, SqlValue } from "../sql.ts";
import { readValue } from "../value.ts";
import { columnType } from "./duck-type.ts";
import { type Connection, Database, lib, type Prepared, type Value } from "./duckdb.ts";
import type { TreeNode } from "./plan/syntax-tree.ts";
import { readChunk } from "./result/read-chunk.ts";
import { parameterValue } from "./run/parameters.ts";

const limits = { memoryBytes: 128 * 1024 * 1024, threads: 1 };
const deserialize = "SELECT json_deserialize_sql($1::JSON)";
const serialize = "SELECT json_serialize_sql($1::VARCHAR, skip_null := true, skip_default := true)::VARCHAR";

interface Opened {
  readonly database: Database;
  readonly connection: Connection;
  readonly serialize: Prepared;
  readonly deserialize: Prepared;
}

/** A database that holds nothing: it parses statements and works out constants. One thing after another. */
export class Parser {
  #opened: Promise<Opened> | undefined;
  #working: Promise<unknown> = Promise.resolve();

  serialize(query: string): Promise<SqlValue> {
    return this.#next(async ({ serialize }) => firstValue(serialize, [lib.create_varchar(query)]));
  }

  /** The text of an expression of a statement's tree. */
  async expression(node: TreeNode): Promise<string> {
    const { alias: _, ...bare } = node;
    const select = {
      type: "SELECT_NODE",
      cte_map: {},
      select_list: [bare],
      from_table: { type: "EMPTY" },
      aggregate_handling: "STANDARD_HANDLING",
    };
    const json = JSON.stringify({ error: false, statements: [{ node: select }] });
    const text = await this.#next(({ deserialize }) => firstValue(deserialize, [lib.create_varchar(json)]));
    return String(text).replace(/^SELECT /, "");
  }

  evaluate(query: string, params: readonly SqlParameter[]): Promise<SqlValue> {
    return this.#next(async ({ connection }) => {
      const prepared = await connection.prepare(query);
      try {
        const values = prepared.parameters.map((name) => {
          const at = Number(name) - 1;
          return parameterValue(params[at] ?? { value: null }, `params[${at}]`);
        });
        return await firstValue(prepared, values);
      } finally {
        prepared.close();
      }
    });
  }

  async close(): Promise<void> {
    await this.#working;
    const opened = await this.#opened;
    this.#opened = undefined;
    opened?.serialize.close();
    opened?.deserialize.close();
    opened?.connection.close();
    opened?.database.close();
  }

  #next<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    const done = this.#working.then(async () => {
      this.#opened ??= open();
      return work(await this.#opened);
    });
    this.#working = done.catch(() => {});
    return done;
  }
}

async function open(): Promise<Opened> {
  const database = await Database.open(limits);
  const connection = await database.connect();
  await connection.run("SET GLOBAL enable_external_access = false; SET GLOBAL lock_configuration = true");
  return {
    database,
    connection,
    serialize: await connection.prepare(serialize),
    deserialize: await connection.prepare(deserialize),
  };
}

/** The one value of a statement, read to its end so that the connection is free again. */
async function firstValue(prepared: Prepared, values: readonly Value[]): Promise<SqlValue> {
  values.forEach((value, i) => {
    prepared.bind(i + 1, value);
  });
  const result = await prepared.stream();
  const types = result.columns.map(({ type }) => columnType(type));
  const chunk = await result.next();
  if (chunk === undefined) return null;
  const { columns } = readChunk(types, chunk);
  const value = readValue(columns[0]!, 0);
  while ((await result.next()) !== undefined);
  return value;
}
