import type { SqlDescription, SqlResult } from "../../engine/sql/sql.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { WireConnection } from "../wire/connection.ts";
import { fieldsOf } from "./column-name.ts";
import type { Command, DeclareCommand } from "./command.ts";
import { configure, resetAll, showSetting } from "./configure.ts";
import type { CopyCommand } from "./copy/command.ts";
import { CopyEncoder } from "./copy/encoder.ts";
import type { StatementText } from "./dialect/lexer.ts";
import { PostgresError } from "./error.ts";
import { planColumns, planResult } from "./explain.ts";
import { postgresLimits } from "./limits.ts";
import {
  commandComplete,
  copyOut,
  emptyMessage,
  type Field,
  noticeResponse,
  rowDescription,
  type TransactionStatus,
} from "./message/backend.ts";
import type { Format } from "./message/frontend.ts";
import type { MessageWriter } from "./message/writer.ts";
import { Portal, type RowEncoder } from "./portal.ts";
import { Portals } from "./portals.ts";
import type { PrepareCommand } from "./prepare-command.ts";
import {
  countParameters,
  innerQuery,
  type PreparedStatement,
  type PreparedStatements,
  preparedBytes,
} from "./prepared-statements.ts";
import type { Settings } from "./settings.ts";
import { type ReadStatement, StatementReader } from "./statement-reader.ts";
import type { StatementRunner } from "./statement-runner.ts";
import { Transaction } from "./transaction.ts";
import { rowWriter } from "./value/row.ts";

export interface ExecutorInit {
  readonly runner: StatementRunner;
  readonly connection: WireConnection;
  readonly out: MessageWriter;
  readonly settings: Settings;
  readonly statements: PreparedStatements;
  readonly keptBytes: ByteBudget;
  /** Throws when the session's credential is no longer good; undefined for one that can't be taken back. */
  readonly recheck: (() => Promise<void>) | undefined;
}

const noRows: readonly Field[] | undefined = undefined;

/** What statements do to a signed-in session, and what they answer. */
export class Executor {
  readonly recheck: (() => Promise<void>) | undefined;
  readonly #runner: StatementRunner;
  readonly #connection: WireConnection;
  readonly #out: MessageWriter;
  readonly #settings: Settings;
  readonly #statements: PreparedStatements;
  readonly #transaction = new Transaction();
  readonly #portals: Portals;
  readonly #reader: StatementReader;

  constructor({ runner, connection, out, settings, statements, keptBytes, recheck }: ExecutorInit) {
    this.recheck = recheck;
    this.#runner = runner;
    this.#connection = connection;
    this.#out = out;
    this.#settings = settings;
    this.#statements = statements;
    this.#portals = new Portals(keptBytes.account());
    this.#reader = new StatementReader(settings, statements);
  }

  get status(): TransactionStatus {
    return this.#transaction.status;
  }

  get hasFailed(): boolean {
    return this.#transaction.hasFailed;
  }

  get hasPortals(): boolean {
    return this.#portals.size > 0;
  }

  read(source: string, statement: StatementText): ReadStatement {
    return this.#reader.read(source, statement);
  }

  /** A failed transaction takes nothing but its end. */
  checkUsable({ command }: PreparedStatement): void {
    if (!this.#transaction.hasFailed || ["commit", "rollback", "rollback_to"].includes(command.kind)) return;
    throw new PostgresError("25P02", "current transaction is aborted, commands ignored until end of transaction block");
  }

  fail(): void {
    this.#transaction.fail();
  }

  /** The end of a query or batch: outside of a transaction, its portals end with it. */
  async settle(): Promise<void> {
    if (!this.#transaction.isOpen) await this.#portals.closeUnheld();
  }

  /** Stops what runs for a client that has gone. */
  abandon(): void {
    this.#runner.cancel("gone");
  }

  async close(): Promise<void> {
    this.abandon();
    await this.#portals.closeAll();
  }

  cancel(): void {
    this.#runner.cancel("request");
  }

  /** What the engine says of a query; undefined for a command. */
  async description(prepared: PreparedStatement): Promise<SqlDescription | undefined> {
    if (prepared.command.kind !== "query" || prepared.statement === undefined) return undefined;
    if (prepared.description !== undefined) return prepared.description;
    const { explain } = prepared.command;
    const found = await this.#runner.describe(prepared);
    prepared.description = explain === undefined ? found : { ...found, columns: planColumns(explain) };
    return prepared.description;
  }

  /** The columns of a statement that `description` was asked of. */
  describedFields(prepared: PreparedStatement): readonly Field[] | undefined {
    const { command, description } = prepared;
    if (command.kind === "show") return fieldsOf(prepared, showSetting(command.name, this.#settings).columns);
    if (command.kind === "fetch" && !command.isMove) return this.#portals.cursor(command.name).fields;
    return description === undefined
      ? undefined
      : fieldsOf(prepared, description.columns, this.#runner.sources(prepared));
  }

  portal(name: string): Portal {
    return this.#portals.portal(name);
  }

  async addPortal(name: string, portal: Portal): Promise<void> {
    await this.#portals.add(name, portal, "portal");
  }

  async closePortal(name: string): Promise<void> {
    await this.#portals.close(name);
  }

  /** The columns of a portal, which is run to find them: its rows are what is asked for next. */
  async fieldsOf(portal: Portal): Promise<readonly Field[] | undefined> {
    const { command, statement } = portal.statement;
    if (portal.fields !== undefined) return this.#withSources(portal);
    if (command.kind === "show") portal.start(showSetting(command.name, this.#settings), true);
    else if (command.kind === "fetch" && !command.isMove) return this.#cursorFields(command.name);
    else if (command.kind === "query" && statement !== undefined) await this.#start(portal);
    else return noRows;
    return this.#withSources(portal);
  }

  /** The tables of columns are sent only to clients that ask for the columns. */
  #withSources({ statement, fields }: Portal): readonly Field[] | undefined {
    const sources = this.#runner.sources(statement);
    return sources.length === fields?.length ? fields.map((field, i) => ({ ...field, source: sources[i] })) : fields;
  }

  async #cursorFields(name: string): Promise<readonly Field[] | undefined> {
    return this.fieldsOf(this.#portals.cursor(name));
  }

  async #start(portal: Portal): Promise<void> {
    if (this.#portals.running >= postgresLimits.runningPortalsMax) {
      const max = postgresLimits.runningPortalsMax;
      throw new PostgresError("53000", `a session has at most ${max} portals and cursors with rows left`);
    }
    const constant = this.#runner.constant(portal);
    if (constant !== undefined) portal.start(constant, true);
    else portal.start(await this.#run(portal));
    const { announced } = portal.statement;
    if (announced === undefined || announced.every((oid, i) => portal.fields?.[i]?.type.oid === oid)) return;
    // The client would read the new columns as the old ones. Drivers know this message and prepare again.
    throw new PostgresError("0A000", "cached plan must not change result type");
  }

  async #run(portal: Portal): Promise<SqlResult> {
    const { command } = portal.statement;
    const result = await this.#runner.run(portal);
    if (command.kind !== "query" || command.explain === undefined) return result;
    const { explain } = command;
    return this.#runner.guard(portal, () => planResult(result, explain));
  }

  async execute(name: string, rowsMax: number): Promise<void> {
    const portal = this.#portals.portal(name);
    this.checkUsable(portal.statement);
    await this.#execute(portal, rowsMax === 0 ? Number.POSITIVE_INFINITY : rowsMax);
  }

  /** A statement of a simple query: its columns, all its rows, and its tag. Whether it was literals alone. */
  async runWhole(prepared: PreparedStatement): Promise<boolean> {
    this.checkUsable(prepared);
    await using portal = new Portal({ statement: prepared, parameters: [], resultFormats: [], isHeld: false });
    const fields = await this.fieldsOf(portal);
    if (fields !== undefined) rowDescription(this.#out, fields, () => 0);
    await this.#execute(portal, Number.POSITIVE_INFINITY);
    return portal.isLocal && prepared.command.kind === "query";
  }

  async #execute(portal: Portal, rowsMax: number): Promise<void> {
    const { command, statement } = portal.statement;
    if (statement === undefined) return emptyMessage(this.#out, "emptyQuery");
    if (command.kind === "query" || command.kind === "show") {
      await this.fieldsOf(portal);
      const send = () => portal.send(this.#out, this.#connection, rowsMax, this.#rows(portal.resultFormats));
      const { rows, isDone } = await (portal.isLocal ? send() : this.#runner.guard(portal, send));
      if (isDone) commandComplete(this.#out, command.kind === "show" ? "SHOW" : tagOf(portal.result, rows));
      else emptyMessage(this.#out, "portalSuspended");
      return;
    }
    if (command.kind === "copy") return this.#copy(command, portal);
    // A command that was run has nothing more to give.
    if (portal.isDone) return commandComplete(this.#out, command.kind === "fetch" ? "FETCH 0" : "");
    portal.finish();
    commandComplete(this.#out, await this.#command(command, portal));
  }

  #rows(formats: readonly Format[]): RowEncoder {
    const { textStyle } = this.#settings;
    return (batch) => rowWriter(batch, formats, textStyle);
  }

  async #copy({ query, options }: CopyCommand, { statement, parameters }: Portal): Promise<void> {
    if (parameters.length > 0) throw new PostgresError("42P02", "COPY takes no parameters");
    const prepared = innerQuery(statement.source, query);
    await using portal = new Portal({ statement: prepared, parameters: [], resultFormats: [], isHeld: false });
    await this.#start(portal);
    const names = portal.fields!.map(({ name }) => name);
    const encoder = new CopyEncoder(options, names, this.#settings.textStyle);
    copyOut(this.#out, options.format === "binary" ? 1 : 0, names.length);
    encoder.begin(this.#out);
    const send = () => portal.send(this.#out, this.#connection, Number.POSITIVE_INFINITY, encoder.encode);
    const { rows } = await (portal.isLocal ? send() : this.#runner.guard(portal, send));
    encoder.finish(this.#out);
    emptyMessage(this.#out, "copyDone");
    commandComplete(this.#out, `COPY ${rows}`);
  }

  async #command(command: Command, portal: Portal): Promise<string> {
    switch (command.kind) {
      case "begin":
        if (this.#transaction.isOpen) this.#warn("25001", "there is already a transaction in progress");
        else this.#transaction.begin();
        this.#settings.begin();
        return command.tag;
      case "commit":
        return this.#end(!this.#transaction.hasFailed);
      case "rollback":
        return this.#end(false);
      case "savepoint":
        this.#transaction.savepoint(command.name);
        return "SAVEPOINT";
      case "release":
        this.#transaction.release(command.name);
        return "RELEASE";
      case "rollback_to":
        this.#transaction.rollbackTo(command.name);
        return "ROLLBACK";
      case "prepare":
        this.#statements.checkNew(command.name);
        return this.#prepare(command, portal.statement);
      case "declare":
        return this.#declare(command, portal.statement);
      case "fetch":
        return this.#fetch(command, portal);
      case "close":
        if (command.name === undefined) await this.#portals.closeCursors();
        else await this.#portals.closeCursor(command.name);
        return command.name === undefined ? "CLOSE CURSOR ALL" : "CLOSE CURSOR";
      case "deallocate":
        return this.#deallocate(command.name);
      case "discard":
        return this.#discard(command.what);
      case "accepted":
        return command.tag;
      default:
        return configure(command, this.#settings, this.#out);
    }
  }

  async #end(isCommitted: boolean): Promise<string> {
    if (!this.#transaction.isOpen) this.#warn("25P01", "there is no transaction in progress");
    this.#transaction.end();
    this.#settings.end(isCommitted);
    await this.#portals.closeUnheld();
    return isCommitted ? "COMMIT" : "ROLLBACK";
  }

  async #prepare({ name, types, query }: PrepareCommand, { source }: PreparedStatement): Promise<string> {
    const parameterCount = countParameters(query, types);
    const read = this.read(source, query);
    if (read.command.kind !== "query") {
      const word = query.tokens[0]?.text.toUpperCase() ?? "";
      throw new PostgresError("42601", `${word} can't be prepared: PREPARE takes a query`);
    }
    const statement = { types, parameterCount, description: undefined, announced: undefined, isFromSql: true };
    const prepared: PreparedStatement = { ...read, ...statement };
    await this.description(prepared);
    this.#statements.set(name, prepared);
    return "PREPARE";
  }

  async #declare(command: DeclareCommand, { source }: PreparedStatement) {
    if (!command.isHeld && !this.#transaction.isOpen) {
      throw new PostgresError("25P01", "DECLARE CURSOR can only be used in transaction blocks");
    }
    const prepared = innerQuery(source, command.query);
    const cursor = new Portal({
      statement: prepared,
      parameters: [],
      resultFormats: [],
      isHeld: command.isHeld,
      onGrown: command.isScroll ? () => this.#portals.count() : undefined,
      bytes: preparedBytes(prepared),
    });
    // Run now, so that its faults are reported where Postgres reports them.
    await this.#start(cursor);
    await this.#portals.add(command.name, cursor, "cursor");
    return "DECLARE CURSOR";
  }

  async #fetch(command: Extract<Command, { kind: "fetch" }>, portal: Portal): Promise<string> {
    const cursor = this.#portals.cursor(command.name);
    await this.fieldsOf(cursor);
    const encode = command.isMove ? undefined : this.#rows(portal.resultFormats);
    const rows = await this.#runner.guard(cursor, () =>
      cursor.fetch(this.#out, this.#connection, command.move, encode),
    );
    return `${command.isMove ? "MOVE" : "FETCH"} ${rows}`;
  }

  #deallocate(name: string | undefined): string {
    if (name === undefined) {
      this.#statements.clear();
      return "DEALLOCATE ALL";
    }
    this.#statements.get(name);
    this.#statements.delete(name);
    return "DEALLOCATE";
  }

  async #discard(what: string): Promise<string> {
    if (what !== "ALL") return `DISCARD ${what}`;
    if (this.#transaction.isOpen) {
      throw new PostgresError("25001", "DISCARD ALL cannot run inside a transaction block");
    }
    resetAll(this.#settings, this.#out);
    this.#statements.clear();
    await this.#portals.closeAll();
    return "DISCARD ALL";
  }

  #warn(code: string, message: string): void {
    noticeResponse(this.#out, new PostgresError(code, message));
  }
}

function tagOf(result: SqlResult | undefined, rows: number): string {
  if (result?.kind === "explain") return "EXPLAIN";
  return result?.kind === "show" || result?.kind === "describe" ? "SHOW" : `SELECT ${rows}`;
}
