import type { SqlBatch } from "../../engine/sql/batch.ts";
import type { SqlParameter, SqlResult } from "../../engine/sql/sql.ts";
import { checkWeight } from "../../engine/sql/value.ts";
import { nextTurn } from "../../port/next-turn.ts";
import type { WireConnection } from "../wire/connection.ts";
import { fieldsOf } from "./column-name.ts";
import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";
import type { Field } from "./message/backend.ts";
import type { Format } from "./message/frontend.ts";
import type { MessageWriter } from "./message/writer.ts";
import type { PreparedStatement } from "./prepared-statements.ts";
import { type Move, ScrollRows } from "./scroll.ts";
import type { RowWriter } from "./value/row.ts";

export interface PortalInit {
  readonly statement: PreparedStatement;
  readonly parameters: readonly SqlParameter[];
  readonly resultFormats: readonly Format[];
  /** A cursor that outlives its transaction. */
  readonly isHeld: boolean;
  /** Called after a cursor that goes back has kept more rows; undefined for one that does not. */
  readonly onGrown?: (() => void) | undefined;
  /** What it takes with its statement and parameters. */
  readonly bytes?: number;
}

/** How the rows of a batch are written: it differs from one FETCH of a cursor to the next. */
export type RowEncoder = (batch: SqlBatch) => RowWriter;

export interface Sent {
  readonly rows: number;
  /** Whether there is nothing more. */
  readonly isDone: boolean;
}

/** A statement with its parameters, which gives its rows in as many portions as are asked for. */
export class Portal implements AsyncDisposable {
  readonly statement: PreparedStatement;
  readonly parameters: readonly SqlParameter[];
  readonly resultFormats: readonly Format[];
  readonly isHeld: boolean;
  /** Whether its rows are the session's own, of which the engine knows nothing. */
  isLocal = false;
  #abort: AbortController | undefined;
  #result: SqlResult | undefined;
  #fields: readonly Field[] | undefined;
  #batch: SqlBatch | undefined;
  #row = 0;
  #isDone = false;
  readonly #scroll: ScrollRows | undefined;
  readonly #ownBytes: number;

  constructor({ statement, parameters, resultFormats, isHeld, onGrown, bytes = 0 }: PortalInit) {
    this.statement = statement;
    this.parameters = parameters;
    this.resultFormats = resultFormats;
    this.isHeld = isHeld;
    this.#ownBytes = bytes;
    const next = async () => ((await this.#next()) ? this.#batch : undefined);
    this.#scroll = onGrown === undefined ? undefined : new ScrollRows(next, onGrown);
  }

  /** Stops the statement, also while its rows are read. */
  get abort(): AbortController {
    this.#abort ??= new AbortController();
    return this.#abort;
  }

  get bytes(): number {
    return this.#ownBytes + (this.#scroll?.bytes ?? 0);
  }

  get result(): SqlResult | undefined {
    return this.#result;
  }

  /** Whether it holds a statement of the engine that has more rows. */
  get isRunning(): boolean {
    return this.#result !== undefined && !this.#isDone;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  start(result: SqlResult, isLocal = false): void {
    this.#result = result;
    this.isLocal = isLocal;
    this.#fields = fieldsOf(this.statement, result.columns);
  }

  get fields(): readonly Field[] | undefined {
    return this.#fields;
  }

  /** Ends it without rows: a command that gives none was run. */
  finish(): void {
    this.#isDone = true;
  }

  /**
   * Writes up to so many rows. Nothing is encoded beyond a chunk before the peer has taken what came before and others
   * have had their turn.
   */
  async send(out: MessageWriter, connection: WireConnection, rowsMax: number, encode: RowEncoder): Promise<Sent> {
    let rows = 0;
    let write: RowWriter | undefined;
    while (rows < rowsMax && !this.#isDone) {
      if (this.#batch === undefined && !(await this.#next())) break;
      const { rows: count } = this.#batch!;
      write ??= encode(this.#batch!);
      while (this.#row < count && rows < rowsMax) {
        write(out, this.#row++);
        rows++;
        if (out.size >= postgresLimits.chunkBytes) await flush(out, connection, this.#abort?.signal);
      }
      if (this.#row < count) continue;
      this.#batch = undefined;
      write = undefined;
    }
    return { rows, isDone: this.#isDone };
  }

  /** Goes somewhere among the rows of a cursor, and writes those on the way; gives how many they are. */
  async fetch(
    out: MessageWriter,
    connection: WireConnection,
    move: Move,
    encode: RowEncoder | undefined,
  ): Promise<number> {
    if (this.#scroll === undefined) return this.#forward(out, connection, move, encode);
    let batch: SqlBatch | undefined;
    let write: RowWriter | undefined;
    const rows = await this.#scroll.go(move);
    for (const each of encode === undefined ? [] : rows) {
      if (each.batch !== batch) write = encode!(each.batch);
      batch = each.batch;
      write!(out, each.row);
      if (out.size >= postgresLimits.chunkBytes) await flush(out, connection, this.#abort?.signal);
    }
    return rows.length;
  }

  async #forward(out: MessageWriter, connection: WireConnection, move: Move, encode: RowEncoder | undefined) {
    const count = move.kind === "rows" ? move.count : move.kind === "relative" ? move.rows : -1;
    if (count < 0 || (count === 0 && move.kind === "rows")) {
      throw new PostgresError("55000", "cursor can only scan forward", {
        hint: "Declare it with SCROLL option to enable backward scan.",
      });
    }
    if (move.kind === "relative" && count > 1) await this.skip(count - 1);
    const wanted = move.kind === "relative" ? Math.min(count, 1) : count;
    const sent = encode === undefined ? this.skip(wanted) : this.send(out, connection, wanted, encode);
    return (await sent).rows;
  }

  /** Passes rows over, for MOVE. */
  async skip(rowsMax: number): Promise<Sent> {
    let rows = 0;
    while (rows < rowsMax && !this.#isDone) {
      if (this.#batch === undefined && !(await this.#next())) break;
      const passed = Math.min(this.#batch!.rows - this.#row, rowsMax - rows);
      this.#row += passed;
      rows += passed;
      if (this.#row === this.#batch!.rows) this.#batch = undefined;
    }
    return { rows, isDone: this.#isDone };
  }

  async #next(): Promise<boolean> {
    const batch = await this.#result?.next();
    this.#row = 0;
    if (batch === undefined) {
      this.#isDone = true;
      await this.#result?.[Symbol.asyncDispose]();
      return false;
    }
    checkWeight(batch);
    this.#batch = batch;
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const wasRunning = this.isRunning;
    this.#isDone = true;
    this.#batch = undefined;
    if (wasRunning) await this.#result?.[Symbol.asyncDispose]();
  }
}

async function flush(out: MessageWriter, connection: WireConnection, signal: AbortSignal | undefined): Promise<void> {
  connection.write(out.take());
  await connection.drained();
  await nextTurn();
  signal?.throwIfAborted();
  connection.signal.throwIfAborted();
}
