import type { SqlBatch } from "../../engine/sql/batch.ts";
import type { SqlColumnInfo, SqlType } from "../../engine/sql/type.ts";
import { type ByteBudget, SessionBytes, statementBytes } from "../wire/byte-budget.ts";
import type { Statement } from "./dialect/lexer.ts";
import { type MysqlError, mysqlError } from "./error.ts";
import { mysqlLimits } from "./limits.ts";
import type { ParameterType } from "./parameter.ts";
import type { Rows } from "./rows.ts";

/** Rows that are fetched bit by bit: the batch in hand and the row that comes next. */
export interface Cursor {
  readonly rows: Rows;
  batch: SqlBatch | undefined;
  row: number;
  readonly close: () => void;
}

export interface Prepared {
  readonly id: number;
  readonly statement: Statement;
  readonly columns: readonly SqlColumnInfo[];
  readonly parameters: readonly (SqlType | undefined)[];
  types: readonly ParameterType[];
  readonly longData: Map<number, Buffer[]>;
  /** What went wrong with long data, which has no answer of its own. */
  fault: Error | undefined;
  cursor: Cursor | undefined;
}

/** The prepared statements of one session, and how much of them there may be. */
export class PreparedStatements {
  readonly #statements = new Map<number, Prepared>();
  readonly #bytes: SessionBytes;
  readonly #longDataBytes: SessionBytes;
  #lastId = 0;

  constructor(bytes: SessionBytes, keptBytes: ByteBudget) {
    this.#bytes = bytes;
    this.#longDataBytes = new SessionBytes(keptBytes.account(), mysqlLimits.longDataBytesMax);
  }

  /** Before the engine is asked about one more. */
  checkRoom(): void {
    if (this.#statements.size >= mysqlLimits.statementsMax) {
      throw mysqlError(
        "tooManyStatements",
        `Can't create more than max_prepared_stmt_count statements (current value: ${mysqlLimits.statementsMax})`,
      );
    }
  }

  add(input: Pick<Prepared, "statement" | "columns" | "parameters">): Prepared {
    this.checkRoom();
    if (!this.#bytes.grow(bytesOf(input.statement))) throw noRoom();
    const id = ++this.#lastId;
    const statement: Prepared = { id, ...input, types: [], longData: new Map(), fault: undefined, cursor: undefined };
    this.#statements.set(id, statement);
    return statement;
  }

  get(id: number): Prepared {
    const found = this.#statements.get(id);
    if (found === undefined) throw mysqlError("unknownStatement", `Unknown prepared statement handler (${id})`);
    return found;
  }

  find(id: number): Prepared | undefined {
    return this.#statements.get(id);
  }

  openCursors(): number {
    let count = 0;
    for (const { cursor } of this.#statements.values()) if (cursor !== undefined) count++;
    return count;
  }

  addLongData(prepared: Prepared, parameter: number, data: Buffer): void {
    if (parameter >= prepared.parameters.length) {
      prepared.fault = mysqlError("wrongArguments", "Incorrect arguments to mysqld_stmt_send_long_data");
      return;
    }
    if (!this.#longDataBytes.grow(data.length)) {
      prepared.fault = mysqlError("packetTooLarge", "Long data of the connection's parameters is over its limit");
      return;
    }
    // A copy, so that the packet's buffer is let go.
    const part = Buffer.from(data);
    const before = prepared.longData.get(parameter);
    if (before === undefined) prepared.longData.set(parameter, [part]);
    else before.push(part);
  }

  dropLongData(prepared: Prepared): void {
    for (const part of [...prepared.longData.values()].flat()) this.#longDataBytes.shrink(part.length);
    prepared.longData.clear();
    prepared.fault = undefined;
  }

  async closeCursor(prepared: Prepared): Promise<void> {
    const { cursor } = prepared;
    prepared.cursor = undefined;
    cursor?.close();
    await cursor?.rows[Symbol.asyncDispose]();
  }

  async remove(id: number): Promise<void> {
    const found = this.#statements.get(id);
    if (found === undefined) return;
    this.#statements.delete(id);
    this.#bytes.shrink(bytesOf(found.statement));
    this.dropLongData(found);
    await this.closeCursor(found);
  }

  async clear(): Promise<void> {
    await Promise.all([...this.#statements.keys()].map((id) => this.remove(id)));
  }
}

export function bytesOf({ source, tokens }: Statement): number {
  return statementBytes(source, tokens.length);
}

export function noRoom(): MysqlError {
  return mysqlError("tooManyStatements", "The prepared statements of this session, or of all, take too many bytes");
}
