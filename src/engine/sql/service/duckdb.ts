import duckdb from "@duckdb/node-bindings";
import { LruMap } from "../../../port/lru-map.ts";

/**
 * The one file that calls DuckDB's library. It is used at the level of its C interface: chunks of a result are read
 * straight from their memory, without an object for each value.
 */
export type Vector = duckdb.Vector;
export type LogicalType = duckdb.LogicalType;
export type Value = duckdb.Value;
export const { Type } = duckdb;
export const lib = duckdb;

export interface DatabaseLimits {
  readonly memoryBytes: number;
  readonly threads: number;
}

/** What DuckDB said went wrong. */
export class DuckError extends Error {
  /** `Parser`, `Binder`, `Catalog`, `Conversion`, …. */
  readonly type: string;
  readonly subtype: string | undefined;
  /** In bytes of the query's UTF-8. */
  readonly position: number | undefined;
  /** What kind of thing is missing, for `MISSING_ENTRY`. */
  readonly entry: string | undefined;

  constructor(
    type: string,
    message: string,
    more: { subtype?: string | undefined; position?: number | undefined; entry?: string | undefined } = {},
  ) {
    super(message);
    this.name = "DuckError";
    this.type = type;
    this.subtype = more.subtype;
    this.position = more.position;
    this.entry = more.entry;
  }

  static from(error: unknown): DuckError {
    if (error instanceof DuckError) return error;
    const text = error instanceof Error ? error.message : String(error);
    const json = text.indexOf("{");
    if (json !== -1) {
      try {
        const report = JSON.parse(text.slice(json)) as Record<string, string | undefined>;
        const position = report["position"] === undefined ? undefined : Number(report["position"]);
        return new DuckError(report["exception_type"] ?? "Unknown", report["exception_message"] ?? text, {
          subtype: report["error_subtype"],
          position,
          entry: report["type"],
        });
      } catch {
        // Not in the form it was asked for: the text is all there is.
      }
    }
    const [, type = "Unknown", message = text] = /^([A-Za-z ]+) Error: (.*)$/s.exec(text) ?? [];
    return new DuckError(type === "INTERRUPT" ? "Interrupt" : type, message);
  }
}

/** A result ended early, after rows that were fine: DuckDB does not say why. */
export class EndedEarly extends Error {}

async function withFault<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw DuckError.from(error);
  }
}

function withFaultNow<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw DuckError.from(error);
  }
}

/** A database in memory, which can reach nothing outside itself. */
export class Database {
  readonly #database: duckdb.Database;

  private constructor(database: duckdb.Database) {
    this.#database = database;
  }

  static async open({ memoryBytes, threads }: DatabaseLimits): Promise<Database> {
    const config = duckdb.create_config();
    const options = {
      threads: String(threads),
      memory_limit: `${memoryBytes}B`,
      // Nothing is spilled to the disk: a statement that needs more memory fails.
      temp_directory: "",
      errors_as_json: "true",
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
      allow_community_extensions: "false",
    };
    for (const [name, value] of Object.entries(options)) withFaultNow(() => duckdb.set_config(config, name, value));
    return new Database(await withFault(duckdb.open(":memory:", config)));
  }

  async connect(): Promise<Connection> {
    return new Connection(await withFault(duckdb.connect(this.#database)));
  }

  close(): void {
    duckdb.close_sync(this.#database);
  }
}

/** Prepared statements that a connection keeps. */
const preparedMax = 32;

export class Connection {
  readonly #connection: duckdb.Connection;
  readonly #prepared = new LruMap<string, Prepared>(preparedMax);

  constructor(connection: duckdb.Connection) {
    this.#connection = connection;
  }

  /** Runs statements of ours for their effect. */
  async run(sql: string): Promise<void> {
    await withFault(duckdb.query(this.#connection, sql));
  }

  /** The same for one that comes often: in half of the time. */
  async runOften(sql: string): Promise<void> {
    await (await this.prepareOnce(sql)).run();
  }

  async prepare(sql: string): Promise<Prepared> {
    return new Prepared(await withFault(duckdb.prepare(this.#connection, sql)));
  }

  /** Kept for when it comes again; only for what reads no tables. */
  async prepareOnce(sql: string): Promise<Prepared> {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const statement = await this.prepare(sql);
    if (this.#prepared.size >= preparedMax) this.#prepared.shift()!.close();
    this.#prepared.set(sql, statement);
    return statement;
  }

  /** Stops what runs on this connection. */
  interrupt(): void {
    duckdb.interrupt(this.#connection);
  }

  appender(catalog: string | null, schema: string | null, table: string): Appender {
    return new Appender(withFaultNow(() => duckdb.appender_create_ext(this.#connection, catalog, schema, table)));
  }

  close(): void {
    while (this.#prepared.size > 0) this.#prepared.shift()!.close();
    duckdb.disconnect_sync(this.#connection);
  }
}

export interface NamedType {
  readonly name: string;
  readonly type: LogicalType;
}

export class Prepared {
  readonly #statement: duckdb.PreparedStatement;

  constructor(statement: duckdb.PreparedStatement) {
    this.#statement = statement;
  }

  /** Their names: numbers from 1 for `?` and `$1`. */
  get parameters(): string[] {
    const names: string[] = [];
    for (let i = 1; i <= duckdb.nparams(this.#statement); i++) names.push(duckdb.parameter_name(this.#statement, i));
    return names;
  }

  /** Whether it reads and nothing else. */
  get isRead(): boolean {
    const type = duckdb.prepared_statement_type(this.#statement);
    return type === duckdb.StatementType.SELECT || type === duckdb.StatementType.EXPLAIN;
  }

  /** Undefined where nothing in the statement determines it. */
  parameterType(index: number): LogicalType | undefined {
    try {
      return duckdb.param_logical_type(this.#statement, index);
    } catch {
      return undefined;
    }
  }

  get columns(): NamedType[] {
    const columns: NamedType[] = [];
    for (let i = 0; i < duckdb.prepared_statement_column_count(this.#statement); i++) {
      columns.push({
        name: duckdb.prepared_statement_column_name(this.#statement, i),
        type: duckdb.prepared_statement_column_logical_type(this.#statement, i),
      });
    }
    return columns;
  }

  /** Numbered from 1. */
  bind(index: number, value: Value): void {
    withFaultNow(() => duckdb.bind_value(this.#statement, index, value));
  }

  /** Runs it; the rows are made as they are fetched. */
  async stream(): Promise<Result> {
    return new Result(await withFault(duckdb.execute_prepared_streaming(this.#statement)));
  }

  /** Runs it to its end: for few rows, which then are here without a wait for each chunk. */
  async run(): Promise<Result> {
    return new Result(await withFault(duckdb.execute_prepared(this.#statement)));
  }

  close(): void {
    duckdb.destroy_prepare_sync(this.#statement);
  }
}

export interface Chunk {
  readonly rows: number;
  vector(column: number): Vector;
}

export class Result {
  readonly #result: duckdb.Result;
  #nextChunk = 0;

  constructor(result: duckdb.Result) {
    this.#result = result;
  }

  get columns(): NamedType[] {
    const columns: NamedType[] = [];
    for (let i = 0; i < duckdb.column_count(this.#result); i++) {
      columns.push({
        name: duckdb.column_name(this.#result, i),
        type: duckdb.column_logical_type(this.#result, i),
      });
    }
    return columns;
  }

  async next(): Promise<Chunk | undefined> {
    const chunk = duckdb.result_is_streaming(this.#result)
      ? await withFault(duckdb.fetch_chunk(this.#result))
      : this.#nextMaterialised();
    const rows = chunk === null ? 0 : duckdb.data_chunk_get_size(chunk);
    if (chunk === null || rows === 0) {
      // The end of all rows and a failure look the same, but for this.
      if (duckdb.result_return_type(this.#result) === duckdb.ResultType.INVALID) throw new EndedEarly();
      return undefined;
    }
    return { rows, vector: (column) => duckdb.data_chunk_get_vector(chunk, column) };
  }

  #nextMaterialised(): duckdb.DataChunk | null {
    if (this.#nextChunk >= duckdb.result_chunk_count(this.#result)) return null;
    return duckdb.result_get_chunk(this.#result, this.#nextChunk++);
  }
}

/** Adds rows to a table, a chunk at a time. */
export class Appender {
  readonly #appender: duckdb.Appender;

  constructor(appender: duckdb.Appender) {
    this.#appender = appender;
  }

  get types(): LogicalType[] {
    const types: LogicalType[] = [];
    for (let i = 0; i < duckdb.appender_column_count(this.#appender); i++) {
      types.push(duckdb.appender_column_type(this.#appender, i));
    }
    return types;
  }

  append(chunk: duckdb.DataChunk): void {
    withFaultNow(() => duckdb.append_data_chunk(this.#appender, chunk));
  }

  close(): void {
    withFaultNow(() => duckdb.appender_close_sync(this.#appender));
  }
}

/** Rows of a chunk at most. */
export const chunkRowsMax = duckdb.vector_size();
