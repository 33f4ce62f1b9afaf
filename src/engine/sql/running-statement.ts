import { EngineError } from "../errors.ts";
import type { ConsistencyToken } from "../token.ts";
import type { SqlBatch } from "./batch.ts";
import type { NextReply, RunReply } from "./messages.ts";
import type { SqlFaultKind, SqlResult, SqlStatementKind } from "./sql.ts";
import type { StatementWork } from "./statement-work.ts";
import type { SqlColumnInfo } from "./type.ts";

export type SqlOutcome = "ok" | SqlFaultKind | "error";

export interface Started extends RunReply {
  readonly kind: SqlStatementKind;
  readonly token: ConsistencyToken;
}

export function outcomeOf(error: unknown): SqlOutcome {
  const fault = error instanceof EngineError ? (error.details["sql"] as { kind: SqlFaultKind } | undefined) : undefined;
  return fault?.kind ?? "error";
}

/** Runs a step of the statement when it is its turn. */
export type StatementTurn = <T>(step: () => Promise<T>) => Promise<T>;

/** A statement whose rows are taken one batch after another. */
export class RunningStatement implements SqlResult {
  readonly kind: SqlStatementKind;
  readonly columns: readonly SqlColumnInfo[];
  readonly token: ConsistencyToken;
  readonly #work: StatementWork;
  readonly #goOn: StatementTurn;
  readonly #end: (outcome: SqlOutcome) => void;
  #ready: SqlBatch | undefined;
  #isDone: boolean;
  #isOver = false;

  constructor(work: StatementWork, goOn: StatementTurn, started: Started, end: (outcome: SqlOutcome) => void) {
    this.kind = started.kind;
    this.columns = started.columns;
    this.token = started.token;
    this.#work = work;
    this.#goOn = goOn;
    this.#end = end;
    this.#ready = started.batch;
    this.#isDone = started.done;
    if (this.#isDone && this.#ready === undefined) this.#finish("ok");
  }

  async next(): Promise<SqlBatch | undefined> {
    if (this.#ready !== undefined) {
      const batch = this.#ready;
      this.#ready = undefined;
      if (this.#isDone) this.#finish("ok");
      return batch;
    }
    if (this.#isDone || this.#isOver) return undefined;
    try {
      const { batch, done } = await this.#goOn(() =>
        this.#work.request<NextReply>({ kind: "next", statement: this.#work.id }),
      );
      this.#isDone = done;
      if (done) this.#finish("ok");
      return batch;
    } catch (error) {
      if (!this.#isOver) this.#work.close();
      this.#finish(outcomeOf(error));
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return;
    if (!this.#isDone) this.#work.close();
    this.#ready = undefined;
    this.#isDone = true;
    this.#finish("ok");
  }

  #finish(outcome: SqlOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end(outcome);
  }
}
