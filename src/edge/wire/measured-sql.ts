import type { SqlBatch } from "../../engine/sql/batch.ts";
import type { SqlFaultKind } from "../../engine/sql/fault.ts";
import { faultOf } from "../../engine/sql/fault.ts";
import type { Sql, SqlDescription, SqlResult, SqlStatement, SqlTable } from "../../engine/sql/sql.ts";

/** What came of a statement: its rows, its fault, or an error that is not the statement's. */
export type StatementOutcome = "ok" | SqlFaultKind | "error";

export type OnStatement = (outcome: StatementOutcome, ms: number) => void;

/** The engine's SQL as one wire uses it: statements have to be admitted, and are counted when their last row was taken or they failed. */
export class MeasuredSql implements Sql {
  readonly #sql: Sql;
  readonly #admit: (namespace: string) => void;
  readonly #onStatement: OnStatement;

  constructor(sql: Sql, admit: (namespace: string) => void, onStatement: OnStatement) {
    this.#sql = sql;
    this.#admit = admit;
    this.#onStatement = onStatement;
  }

  describe(statement: Omit<SqlStatement, "token" | "consistency">, signal?: AbortSignal): Promise<SqlDescription> {
    return this.#sql.describe(statement, signal);
  }

  tables(namespace: string): Promise<readonly SqlTable[]> {
    return this.#sql.tables(namespace);
  }

  columnsOf(...[namespace, schema, name]: Parameters<Sql["columnsOf"]>): ReturnType<Sql["columnsOf"]> {
    return this.#sql.columnsOf(namespace, schema, name);
  }

  async run(statement: SqlStatement, signal?: AbortSignal): Promise<SqlResult> {
    const startedMs = performance.now();
    let isOver = false;
    const end = (outcome: StatementOutcome) => {
      if (isOver) return;
      isOver = true;
      this.#onStatement(outcome, performance.now() - startedMs);
    };
    try {
      this.#admit(statement.namespace);
      return new MeasuredResult(await this.#sql.run(statement, signal), end);
    } catch (error) {
      end(faultOf(error)?.kind ?? "error");
      throw error;
    }
  }
}

class MeasuredResult implements SqlResult {
  readonly #result: SqlResult;
  readonly #end: (outcome: StatementOutcome) => void;

  constructor(result: SqlResult, end: (outcome: StatementOutcome) => void) {
    this.#result = result;
    this.#end = end;
  }

  get kind() {
    return this.#result.kind;
  }

  get columns() {
    return this.#result.columns;
  }

  get token() {
    return this.#result.token;
  }

  async next(): Promise<SqlBatch | undefined> {
    try {
      const batch = await this.#result.next();
      if (batch === undefined) this.#end("ok");
      return batch;
    } catch (error) {
      this.#end(faultOf(error)?.kind ?? "error");
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end("ok");
    await this.#result[Symbol.asyncDispose]();
  }
}
