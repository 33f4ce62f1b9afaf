import { authorize, needs } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import { SessionBytes } from "../wire/byte-budget.ts";
import type { WireConnection } from "../wire/connection.ts";
import { capability, has, status } from "./capability.ts";
import { writeColumn, writeListedColumn } from "./column-definition.ts";
import type { Command } from "./command.ts";
import type { Statement } from "./dialect/lexer.ts";
import { type MysqlError, mysqlError } from "./error.ts";
import { type HandshakeResponse, readChangeUser } from "./handshake.ts";
import { mysqlLimits } from "./limits.ts";
import type { PacketWriter } from "./packet-writer.ts";
import { readParameters } from "./parameter.ts";
import { type Cursor, type Prepared, PreparedStatements } from "./prepared-statements.ts";
import { writeEnd, writeEof, writeOk } from "./reply.ts";
import { type ResultOptions, ResultWriter, type RowFormat } from "./result-writer.ts";
import { rowsOf } from "./rows.ts";
import type { SessionState } from "./statement-runner.ts";
import { type Outcome, type RunnerDeps, StatementRunner } from "./statement-runner.ts";
import { likePattern } from "./where.ts";

/** What a session knows once its client has signed in. */
export interface SignedIn extends SessionState {
  principal: Principal;
  user: string;
  readonly capabilities: number;
  /** Looks at the credential again; undefined where there is none to look at. */
  recheck: (() => Promise<Principal>) | undefined;
  checkedMs: number;
}

export interface CommandDeps extends RunnerDeps {
  readonly connection: WireConnection;
  readonly packet: PacketWriter;
  readonly state: SignedIn;
  readonly multiStatements: boolean;
  readonly keptBytes: ByteBudget;
  readonly clock: { steadyMs(): number };
  changeUser(response: HandshakeResponse): Promise<void>;
  errorOf(error: unknown): MysqlError;
  /** Throws where the credential holds no more. */
  recheck(): Promise<void>;
}

const parameterColumn = { name: "?", type: { kind: "text" } } as const;
const readOnlyCursor = 1;

/** Answers the commands of one signed-in client. What it writes is sent by the session, rows as they come. */
export class CommandHandler {
  readonly #deps: CommandDeps;
  readonly #runner: StatementRunner;
  readonly #writer: ResultWriter;
  readonly #prepared: PreparedStatements;
  #multiStatements: boolean;
  #running: { readonly text: string; readonly sinceMs: number; readonly stop: AbortController } | undefined;

  constructor(deps: CommandDeps) {
    const { connection, packet, state, keptBytes } = deps;
    const statementBytes = new SessionBytes(keptBytes.account(), mysqlLimits.statementBytesMax);
    this.#deps = deps;
    this.#runner = new StatementRunner(deps, state, statementBytes);
    this.#prepared = new PreparedStatements(statementBytes, keptBytes);
    this.#writer = new ResultWriter(connection, packet, state.capabilities);
    this.#multiStatements = deps.multiStatements;
  }

  get running(): { readonly text: string; readonly sinceMs: number } | undefined {
    return this.#running;
  }

  get status(): number {
    const { inTransaction, variables } = this.#deps.state;
    return (
      (variables.get("autocommit") === 0 ? 0 : status.autocommit) |
      (inTransaction ? status.inTransaction : 0) |
      (variables.noBackslashEscapes ? status.noBackslashEscapes : 0)
    );
  }

  /** Stops the statement under way, if there is one. */
  interrupt(): void {
    this.#running?.stop.abort();
  }

  async close(): Promise<void> {
    this.interrupt();
    this.#runner.reset();
    await this.#prepared.clear();
  }

  async handle(command: Exclude<Command, { kind: "quit" }>): Promise<void> {
    const { packet, state, processes } = this.#deps;
    switch (command.kind) {
      case "query":
        return this.#query(command.text);
      case "prepare":
        return this.#prepare(command.text);
      case "execute":
        return this.#execute(command);
      case "fetch":
        return this.#fetch(command.statementId, command.rows);
      case "longData": {
        // This command has no answer, whatever happens.
        const prepared = this.#prepared.find(command.statementId);
        if (prepared !== undefined) this.#prepared.addLongData(prepared, command.parameter, command.data);
        return;
      }
      case "closeStatement":
        return this.#prepared.remove(command.statementId);
      case "resetStatement": {
        const prepared = this.#prepared.get(command.statementId);
        this.#prepared.dropLongData(prepared);
        await this.#prepared.closeCursor(prepared);
        return this.#ok();
      }
      case "initDb":
        this.#runner.use(command.database);
        return this.#ok();
      case "fieldList":
        return this.#fieldList(command.table, command.pattern);
      case "statistics":
        packet
          .begin()
          .text(statistics(processes.uptimeSeconds, processes.size, processes.questions))
          .end();
        return;
      case "processInfo":
        return this.#writer.write(rowsOf(processes.table(state.principal, true)), this.#options("text"));
      case "processKill":
        processes.kill(state.principal, command.connectionId, true);
        return this.#ok();
      case "ping":
        return this.#ok();
      case "debug":
        authorize(state.principal, needs.adminInstance);
        writeEof(packet, this.status);
        return;
      case "setOption":
        if (command.option > 1) throw mysqlError("unknownCommand", "Unknown option");
        this.#multiStatements = command.option === 0;
        writeEnd(packet, state.capabilities, this.status);
        return;
      case "resetConnection":
        await this.#reset();
        return this.#ok();
      case "changeUser": {
        const response = readChangeUser(command.payload, state.capabilities);
        await this.#reset();
        await this.#deps.changeUser(response);
        return this.#ok();
      }
    }
  }

  async #reset(): Promise<void> {
    const { state } = this.#deps;
    await this.#prepared.clear();
    this.#runner.reset();
    state.variables.reset();
    state.inTransaction = false;
    this.#multiStatements = this.#deps.multiStatements;
  }

  #ok(more = 0): void {
    writeOk(this.#deps.packet, this.status | more);
  }

  #options(format: RowFormat, more = 0): ResultOptions {
    return { format, offsetMicros: this.#deps.state.variables.offsetMicros, status: this.status | more };
  }

  async #query(text: string): Promise<void> {
    const statements = this.#runner.parse(text);
    if (statements.length > 1 && !this.#multiStatements) {
      throw mysqlError("syntax", "You have an error in your SQL syntax: more than one statement, which is not enabled");
    }
    if (statements.length > mysqlLimits.multiStatementsMax) {
      throw mysqlError("syntax", `More than ${mysqlLimits.multiStatementsMax} statements at once`);
    }
    for (const [i, statement] of statements.entries()) {
      // Those before it may have taken long.
      if (i > 0) await this.#deps.recheck();
      const more = i + 1 < statements.length ? status.moreResults : 0;
      await this.#stoppable(text, async (signal) => {
        await using outcome = await disposable(this.#runner.run(statement, [], signal));
        if (outcome.rows === undefined) this.#ok(more);
        else await this.#writer.write(outcome.rows, this.#options("text", more));
      });
    }
  }

  /**
   *   COM_STMT_PREPARE_OK := u8 0, u32 statement, u16 columns, u16 parameters, u8 0, u16 warnings,
   *                          then the parameters and the columns as definitions, each list with its EOF
   */
  async #prepare(text: string): Promise<void> {
    const { packet, state } = this.#deps;
    this.#prepared.checkRoom();
    const statements = this.#runner.parse(text);
    if (statements.length > 1) throw mysqlError("syntax", "A prepared statement is one statement");
    const statement = statements[0]!;
    const { columns, parameters } = await this.#stoppable(text, (signal) => this.#runner.describe(statement, signal));
    if (columns.length > 0xffff || parameters.length > 0xffff) {
      throw mysqlError("wrongArguments", "A prepared statement has at most 65535 columns and parameters");
    }
    const { id } = this.#prepared.add({ statement, columns, parameters });
    packet.begin().u8(0).u32(id).u16(columns.length).u16(parameters.length).u8(0).u16(0).end();
    const withEof = !has(state.capabilities, capability.deprecateEof);
    for (const type of parameters) writeColumn(packet, type === undefined ? parameterColumn : { name: "?", type });
    if (withEof && parameters.length > 0) writeEof(packet, this.status);
    for (const column of columns) writeColumn(packet, column);
    if (withEof && columns.length > 0) writeEof(packet, this.status);
  }

  async #execute(command: Extract<Command, { kind: "execute" }>): Promise<void> {
    const prepared = this.#prepared.get(command.statementId);
    await this.#prepared.closeCursor(prepared);
    const { fault, longData } = prepared;
    if (fault !== undefined) {
      this.#prepared.dropLongData(prepared);
      throw fault;
    }
    let params: Parameters<StatementRunner["run"]>[1];
    try {
      ({ params, types: prepared.types } = readParameters(
        command.values,
        prepared.parameters,
        prepared.types,
        longData,
      ));
    } finally {
      this.#prepared.dropLongData(prepared);
    }
    const { statement } = prepared;
    if ((command.cursor & readOnlyCursor) !== 0) return this.#openCursor(prepared, statement, params);
    await this.#stoppable(statement.source, async (signal) => {
      await using outcome = await disposable(this.#runner.run(statement, params, signal));
      if (outcome.rows === undefined) this.#ok();
      else await this.#writer.write(outcome.rows, this.#options("binary"));
    });
  }

  async #openCursor(
    prepared: Prepared,
    statement: Statement,
    params: Parameters<StatementRunner["run"]>[1],
  ): Promise<void> {
    if (this.#prepared.openCursors() >= mysqlLimits.cursorsMax) {
      throw mysqlError("limitReached", `At most ${mysqlLimits.cursorsMax} cursors are open at a time`);
    }
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#deps.connection.signal, stop.signal]);
    const rows = await this.#stoppable(statement.source, (each) => {
      each.addEventListener("abort", () => stop.abort(), { once: true });
      return this.#runner.run(statement, params, signal);
    });
    if (rows === undefined) return this.#ok();
    prepared.cursor = { rows, batch: undefined, row: 0, close: () => stop.abort() };
    this.#writer.openCursor(rows, this.status);
  }

  async #fetch(statementId: number, count: number): Promise<void> {
    const prepared = this.#prepared.get(statementId);
    const { cursor } = prepared;
    if (cursor === undefined) throw mysqlError("noCursor", `The statement (${statementId}) has no open cursor.`);
    await this.#stoppable(prepared.statement.source, async (signal) => {
      signal.addEventListener("abort", cursor.close, { once: true });
      const ended = await this.#fetchRows(cursor, count).catch(async (error: unknown) => {
        await this.#prepared.closeCursor(prepared);
        throw error;
      });
      if (ended) await this.#prepared.closeCursor(prepared);
      this.#writer.end(this.status | (ended ? status.lastRowSent : status.cursorExists));
    });
  }

  /** True once there are no more rows. */
  async #fetchRows(cursor: Cursor, count: number): Promise<boolean> {
    const options = this.#options("binary");
    for (let left = count; ; ) {
      if (cursor.batch === undefined || cursor.row === cursor.batch.rows) {
        cursor.batch = await cursor.rows.next();
        cursor.row = 0;
        if (cursor.batch === undefined) return true;
      }
      if (left <= 0) return false;
      const to = Math.min(cursor.batch.rows, cursor.row + left);
      await this.#writer.rows(cursor.batch, cursor.row, to, options);
      left -= to - cursor.row;
      cursor.row = to;
    }
  }

  async #fieldList(table: string, pattern: string): Promise<void> {
    const { packet, state, catalog } = this.#deps;
    const { database } = state;
    if (database === undefined) throw mysqlError("noDatabase", "No database selected");
    catalog.open(state.principal, state.user, database);
    const found = await catalog.table(database, table);
    const matches = likePattern(pattern === "" ? "%" : pattern);
    for (const column of found.table.columns) {
      if (matches(column.name)) writeListedColumn(packet, column, { database, table: found.name });
    }
    writeEnd(packet, state.capabilities, this.status);
  }

  /** Runs something that KILL QUERY, the end of the connection and `max_execution_time` stop. */
  async #stoppable<T>(text: string, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { connection, clock, state } = this.#deps;
    const stop = new AbortController();
    const timeMs = executionMs(state);
    const timeout = timeMs > 0 ? AbortSignal.timeout(timeMs) : undefined;
    this.#running = { text, sinceMs: clock.steadyMs(), stop };
    try {
      return await run(AbortSignal.any([connection.signal, stop.signal, ...(timeout === undefined ? [] : [timeout])]));
    } catch (error) {
      if (stop.signal.aborted) throw mysqlError("interrupted", "Query execution was interrupted");
      if (timeout?.aborted) {
        throw mysqlError("timeout", "Query execution was interrupted, maximum statement execution time exceeded");
      }
      throw error;
    } finally {
      this.#running = undefined;
    }
  }
}

/** `max_execution_time` is MySQL's, in milliseconds; `max_statement_time` MariaDB's, in seconds. 0 is none. */
function executionMs({ variables }: SignedIn): number {
  const ms = Number(variables.get("max_execution_time")) || Number(variables.get("max_statement_time")) * 1000;
  return Number.isFinite(ms) && ms > 0 ? Math.min(Math.ceil(ms), 2 ** 31 - 1) : 0;
}

async function disposable(running: Promise<Outcome>): Promise<AsyncDisposable & { readonly rows: Outcome }> {
  const rows = await running;
  return { rows, [Symbol.asyncDispose]: async () => rows?.[Symbol.asyncDispose]() };
}

function statistics(uptime: number, threads: number, questions: number): string {
  return `Uptime: ${uptime}  Threads: ${threads}  Questions: ${questions}  Slow queries: 0  Opens: 0  Flush tables: 0  Open tables: 0`;
}
