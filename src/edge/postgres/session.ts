import { EngineError } from "../../engine/errors.ts";
import type { WireConnection } from "../wire/connection.ts";
import type { WireSession } from "../wire/listener.ts";
import { splitStatements } from "./dialect/lexer.ts";
import { PostgresError, postgresError } from "./error.ts";
import type { Executor } from "./executor.ts";
import { KnownAnswers } from "./known-answers.ts";
import { postgresLimits } from "./limits.ts";
import { emptyMessage, errorResponse, parameterDescription, readyForQuery, rowDescription } from "./message/backend.ts";
import {
  type BindMessage,
  decodeFrontend,
  type FrontendMessage,
  formatOf,
  isFrontendType,
  type Target,
} from "./message/frontend.ts";
import { oids, typeInfo } from "./message/oid.ts";
import { MessageWriter } from "./message/writer.ts";
import { openSession, type SessionDeps } from "./opening.ts";
import { decodeParameter } from "./parameter.ts";
import { Portal } from "./portal.ts";
import { countParameters, type PreparedStatement, PreparedStatements, preparedBytes } from "./prepared-statements.ts";

const queryType = "Q".charCodeAt(0);

/** One connection: its messages in their order, what they leave behind, and what is said of errors. */
export class PostgresSession implements WireSession {
  readonly #deps: SessionDeps;
  readonly #connection: WireConnection;
  readonly #out = new MessageWriter();
  readonly #statements: PreparedStatements;
  readonly #answers = new KnownAnswers();
  #executor: Executor | undefined;
  /** An error was answered; everything up to Sync is passed over. */
  #isSkipping = false;
  /** Between the first message of the extended protocol and its Sync. */
  #isInBatch = false;
  #isDraining = false;

  constructor(deps: SessionDeps, connection: WireConnection) {
    this.#deps = deps;
    this.#connection = connection;
    this.#statements = new PreparedStatements(deps.keptBytes.account());
  }

  async run(): Promise<void> {
    try {
      this.#executor = await openSession(this.#deps, this.#connection, this.#out, this.#statements);
      if (this.#executor !== undefined) await this.#serve(this.#executor);
    } catch (error) {
      // Reading failed: there is no room for the message. What its handling throws is answered there.
      if (!(error instanceof EngineError)) throw error;
      this.#fatal(postgresError(error));
    } finally {
      this.#statements.clear();
      await this.#executor?.close();
    }
  }

  drain(): void {
    this.#isDraining = true;
    if (this.#connection.phase === "idle" && !this.#isInBatch) this.#leave();
  }

  expire(): void {
    this.#fatal(new PostgresError("57P05", "terminating connection due to idle-session timeout"));
  }

  #leave(): void {
    this.#fatal(new PostgresError("57P01", "terminating connection due to administrator command"));
  }

  #fatal(error: PostgresError): void {
    this.#deps.onError?.(error.code);
    errorResponse(this.#out, error, "FATAL");
    this.#connection.end(this.#out.take());
  }

  async #serve(executor: Executor): Promise<void> {
    const connection = this.#connection;
    for (;;) {
      if (!connection.isOpen) return;
      if (this.#isDraining && !this.#isInBatch) return this.#leave();
      connection.phase = "idle";
      if (connection.held === 0) this.#flush();
      if (connection.held < 5 && !(await connection.fill(5))) return;
      const header = connection.peek(5);
      const [type, length] = [header[0]!, header.readInt32BE(1)];
      if (!isFrontendType(type) || length < 4) {
        return this.#fatal(new PostgresError("08P01", "protocol violation: these bytes open no message"));
      }
      if (length > postgresLimits.messageBytesMax) {
        const max = postgresLimits.messageBytesMax;
        return this.#fatal(new PostgresError("54000", `a message of ${length} bytes is longer than ${max}`));
      }
      if (connection.held <= length && !(await connection.fill(length + 1))) return;
      connection.phase = "busy";
      connection.touched();
      const body = connection.take(length + 1).subarray(5);
      if (this.#answersAtOnce(executor, type, body)) {
        const drained = connection.drained();
        if (drained !== undefined) await drained;
      } else if (!(await this.#onMessage(executor, type, body))) return;
    }
  }

  /** Whether it was a query whose answer is known: that waits in no queue. */
  #answersAtOnce(executor: Executor, type: number, body: Buffer): boolean {
    if (type !== queryType || this.#isSkipping || executor.hasPortals || executor.hasFailed) return false;
    if (executor.recheck !== undefined) return false;
    const answer = this.#answers.find(body);
    if (answer === undefined) return false;
    this.#statements.delete("");
    this.#out.raw(answer);
    readyForQuery(this.#out, executor.status);
    this.#flush();
    return true;
  }

  /** False when the connection is to end. */
  async #onMessage(executor: Executor, type: number, body: Buffer): Promise<boolean> {
    let message: FrontendMessage | undefined;
    try {
      message = decodeFrontend(type, body);
      if (message.type === "terminate") return false;
      if (message.type === "sync") await this.#sync(executor);
      else if (!this.#isSkipping) await this.#handle(executor, message);
    } catch (error) {
      if (!this.#connection.isOpen) return false;
      const reply = postgresError(error);
      if (reply.code === "XX000")
        this.#deps.log.error({ err: reply.cause ?? error, wire: "postgres" }, "statement failed");
      if (reply.code === "28P01") {
        this.#fatal(reply);
        return false;
      }
      this.#deps.onError?.(reply.code);
      errorResponse(this.#out, reply, "ERROR");
      executor.fail();
      if (message?.type === "query" || type === queryType) await this.#ready(executor);
      else this.#isSkipping = true;
    }
    return true;
  }

  async #handle(executor: Executor, message: FrontendMessage): Promise<void> {
    // Where a query or a batch begins, and before rows are given: a batch may go on for as long as the client likes.
    if (!this.#isInBatch || message.type === "execute") await executor.recheck?.();
    if (message.type === "query") return this.#query(executor, message.query);
    this.#isInBatch = true;
    switch (message.type) {
      case "parse":
        return this.#parse(executor, message.name, message.query, message.types);
      case "bind":
        return this.#bind(executor, message);
      case "describe":
        return this.#describe(executor, message.target, message.name);
      case "execute":
        return executor.execute(message.portal, message.rows);
      case "close":
        return this.#close(executor, message.target, message.name);
      case "flush":
        return this.#flush();
      case "copy":
        // As in Postgres: what is left of a copy that failed is passed over.
        this.#isInBatch = false;
        return;
      case "function_call":
        this.#isInBatch = false;
        throw new PostgresError("0A000", "function calls by message are not supported; call it in a SELECT");
    }
  }

  async #query(executor: Executor, query: string): Promise<void> {
    // The unnamed statement and portal end with every simple query.
    this.#statements.delete("");
    if (executor.hasPortals) await executor.closePortal("");
    const statements = splitStatements(query);
    if (statements.length > postgresLimits.statementsPerQueryMax) {
      throw new PostgresError("54000", `a query has at most ${postgresLimits.statementsPerQueryMax} statements`);
    }
    if (statements.length === 0) emptyMessage(this.#out, "emptyQuery");
    const begun = this.#out.size;
    for (const [i, statement] of statements.entries()) {
      // Those before it may have taken long.
      if (i > 0) await executor.recheck?.();
      const prepared = { ...executor.read(query, statement), types: [], parameterCount: 0 };
      const isConstant = await executor.runWhole({ ...prepared, description: undefined, announced: undefined });
      // What a name stands for may change.
      const isItself = prepared.source === query;
      if (isConstant && isItself && statements.length === 1) this.#answers.keep(query, this.#out.copyFrom(begun));
    }
    await this.#ready(executor);
  }

  async #sync(executor: Executor): Promise<void> {
    this.#isSkipping = false;
    this.#isInBatch = false;
    await this.#ready(executor);
  }

  async #ready(executor: Executor): Promise<void> {
    if (executor.hasPortals) await executor.settle();
    readyForQuery(this.#out, executor.status);
    this.#flush();
    const drained = this.#connection.drained();
    if (drained !== undefined) await drained;
  }

  async #parse(executor: Executor, name: string, query: string, types: readonly number[]): Promise<void> {
    this.#statements.checkNew(name);
    const [statement, more] = splitStatements(query);
    if (more !== undefined) {
      throw new PostgresError("42601", "cannot insert multiple commands into a prepared statement");
    }
    const parameterCount = countParameters(statement, types);
    if (parameterCount > postgresLimits.parametersMax) {
      throw new PostgresError("54000", `a statement has at most ${postgresLimits.parametersMax} parameters`);
    }
    const empty = { source: query, statement, command: { kind: "query" } } as const;
    const read = statement === undefined ? empty : executor.read(query, statement);
    const prepared = { ...read, types, parameterCount, description: undefined };
    const named: PreparedStatement = { ...prepared, announced: undefined };
    executor.checkUsable(named);
    // A named statement is stored, so its faults are reported now; the unnamed one runs at once and reports them then.
    if (name !== "") await executor.description(named);
    this.#statements.set(name, named);
    emptyMessage(this.#out, "parseComplete");
  }

  async #bind(executor: Executor, message: BindMessage): Promise<void> {
    const statement = this.#statements.get(message.statement);
    executor.checkUsable(statement);
    const { values, formats, resultFormats } = message;
    if (values.length !== statement.parameterCount) {
      throw new PostgresError(
        "08P01",
        `bind message supplies ${values.length} parameters, but prepared statement "${message.statement}" requires ${statement.parameterCount}`,
      );
    }
    if (formats.length > 1 && formats.length !== values.length) {
      throw new PostgresError("08P01", `bind message has ${formats.length} formats but ${values.length} parameters`);
    }
    const isOpen =
      statement.types.length < values.length ||
      statement.types.includes(oids.unknown.oid) ||
      statement.types.includes(0);
    const found = values.length > 0 && isOpen ? (await executor.description(statement))?.parameters : undefined;
    const parameters = values.map((value, i) =>
      decodeParameter(value, formatOf(formats, i), statement.types[i] ?? 0, found?.[i]),
    );
    const bytes = values.reduce((sum, value) => sum + 2 * (value?.length ?? 0), preparedBytes(statement));
    await executor.addPortal(
      message.portal,
      new Portal({ statement, parameters, resultFormats, isHeld: false, bytes }),
    );
    emptyMessage(this.#out, "bindComplete");
  }

  async #describe(executor: Executor, target: Target, name: string): Promise<void> {
    if (target === "portal") {
      const portal = executor.portal(name);
      const fields = await executor.fieldsOf(portal);
      if (fields === undefined) emptyMessage(this.#out, "noData");
      else rowDescription(this.#out, fields, (i) => formatOf(portal.resultFormats, i));
      return;
    }
    const statement = this.#statements.get(name);
    const description = await executor.description(statement);
    const types: number[] = [];
    for (let i = 0; i < statement.parameterCount; i++) {
      const found = description?.parameters[i];
      const oid = statement.types[i] ?? 0;
      types.push(oid !== 0 ? oid : found === undefined ? oids.text.oid : typeInfo(found).oid);
    }
    parameterDescription(this.#out, types);
    const fields = executor.describedFields(statement);
    statement.announced = fields?.map(({ type }) => type.oid);
    if (fields === undefined) emptyMessage(this.#out, "noData");
    else rowDescription(this.#out, fields, () => 0);
  }

  async #close(executor: Executor, target: Target, name: string): Promise<void> {
    if (target === "statement") this.#statements.delete(name);
    else await executor.closePortal(name);
    emptyMessage(this.#out, "closeComplete");
  }

  #flush(): void {
    if (this.#out.size > 0) this.#connection.write(this.#out.take());
  }
}
