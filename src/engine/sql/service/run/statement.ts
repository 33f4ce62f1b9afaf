import { batchBytes, type SqlBatch } from "../../batch.ts";
import { sqlFault } from "../../fault.ts";
import type { NextReply } from "../../messages.ts";
import type { SqlColumnInfo } from "../../type.ts";
import { kindOf } from "../duck-fault.ts";
import { type ColumnType, columnType } from "../duck-type.ts";
import { type Chunk, type Connection, DuckError, EndedEarly, type Prepared, type Result } from "../duckdb.ts";
import { joinBatches, slicesOf } from "../result/batches.ts";
import { readChunk } from "../result/read-chunk.ts";

/** Rows of a batch, and the bytes after which it is full anyway. */
const batchRows = 65_536;
const batchBytesMax = 2 * 1024 * 1024;

export type StopReason = "cancelled" | "timeout";

/** A statement while it lives in the process. */
export class Statement {
  connection: Connection | undefined;
  #stopped: StopReason | undefined;
  #result: Result | undefined;
  #running: Prepared | undefined;
  #types: readonly ColumnType[] = [];
  #rows = 0;
  #first = true;
  /** The rest of a batch that is too long for one. */
  #slices: Iterator<SqlBatch, undefined> | undefined;
  /** Nothing is open on the connection. */
  isDone = false;
  /** Ends with the statement. */
  prepared: Prepared | undefined;
  /** Tables of the statement alone. */
  readonly tables: string[] = [];

  /** It has a transaction of its own. */
  #hasBegun = false;

  /** What DuckDB does on the connection now; it must not be closed under it. */
  #working: Promise<unknown> = Promise.resolve();

  busy<T>(work: Promise<T>): Promise<T> {
    this.#working = work.catch(() => {});
    return work;
  }

  /**
   * From here on it sees the tables as they are: DuckDB plans with what it knows of a table's values, and a plan that was made
   * before they changed gives wrong ones.
   */
  async begin(): Promise<void> {
    this.check();
    await this.busy(this.#begin());
  }

  async #begin(): Promise<void> {
    await this.#end();
    this.#hasBegun = true;
    await this.connection!.runOften("BEGIN");
  }

  async #end(): Promise<void> {
    if (!this.#hasBegun) return;
    this.#hasBegun = false;
    await this.connection!.runOften("ROLLBACK");
  }

  /** Waits for what is under way; whether the connection can serve another statement then. */
  async cleaned(): Promise<boolean> {
    await this.#working;
    this.prepared?.close();
    if (!this.isDone) return false;
    try {
      await this.#end();
      for (const table of this.tables) await this.connection!.run(`DROP TABLE IF EXISTS temp.main.${table}`);
      return true;
    } catch {
      return false;
    }
  }

  stop(why: StopReason): void {
    this.#stopped ??= why;
    this.connection?.interrupt();
  }

  /** Throws when the statement has been stopped. */
  readonly check = (): void => {
    if (this.#stopped === "timeout")
      throw sqlFault("timeout", "the statement took longer than SERVICE_SQL_TIME allows");
    if (this.#stopped === "cancelled") throw sqlFault("cancelled", "the statement was cancelled");
  };

  /** An error as it is; one that comes of being stopped says so. */
  faultOf(error: unknown): unknown {
    if (this.#stopped === undefined || !(error instanceof DuckError)) return error;
    try {
      this.check();
    } catch (stopped) {
      return stopped;
    }
    return error;
  }

  async start(prepared: Prepared, isSmall: boolean): Promise<readonly SqlColumnInfo[]> {
    this.check();
    this.#running = prepared;
    this.#result = await this.busy(isSmall ? prepared.run() : prepared.stream());
    const { columns } = this.#result;
    this.#types = columns.map(({ type }) => columnType(type));
    return columns.map(({ name }, i) => ({ name, type: this.#types[i]!.type }));
  }

  /** The next rows of a result. Where it ended early, the statement is run once more, to tell why. */
  async chunkOf(result: Result, prepared: Prepared): Promise<Chunk | undefined> {
    try {
      return await this.busy(result.next());
    } catch (error) {
      if (!(error instanceof EndedEarly)) throw error;
      this.check();
      throw await this.#failureOf(prepared);
    }
  }

  async #failureOf(prepared: Prepared): Promise<unknown> {
    try {
      await this.busy(this.#end());
      await this.busy(prepared.run());
    } catch (error) {
      this.check();
      // This run keeps its rows, so that it may need memory which the first did not.
      if (!(error instanceof DuckError && kindOf(error) === "memory")) return error;
    }
    return sqlFault("invalid_value", "the statement failed after its first rows; it could not be found out why");
  }

  /** The next rows. The first batch comes as soon as there is any, later ones are gathered. */
  async next(rowsMax: number): Promise<NextReply> {
    const left = this.#slices?.next();
    if (left !== undefined && !left.done) return { batch: left.value, done: false };
    this.#slices = undefined;
    const batches: SqlBatch[] = [];
    let rows = 0;
    let bytes = 0;
    while (!this.isDone) {
      this.check();
      const chunk = await this.chunkOf(this.#result!, this.#running!);
      if (chunk === undefined) {
        this.isDone = true;
        break;
      }
      const batch = readChunk(this.#types, chunk);
      batches.push(batch);
      rows += batch.rows;
      bytes += batchBytes(batch);
      if (this.#rows + rows > rowsMax) {
        throw sqlFault("too_many_rows", `the result has more than ${rowsMax} rows (SERVICE_SQL_ROWS_MAX)`);
      }
      if (rows >= batchRows || bytes >= batchBytesMax || (this.#first && chunk.rows === 2048)) break;
    }
    this.#first = false;
    this.#rows += rows;
    if (batches.length === 0) return { batch: undefined, done: this.isDone };
    const batch = joinBatches(batches);
    if (bytes < 2 * batchBytesMax) return { batch, done: this.isDone };
    this.#slices = slicesOf(batch, batchBytesMax)[Symbol.iterator]();
    return { batch: this.#slices.next().value, done: false };
  }
}
