import { EngineError } from "../errors.ts";
import type { ConsistencyToken } from "../token.ts";
import { batchBytes, type SqlBatch } from "./batch.ts";
import type { SqlFaultKind } from "./fault.ts";
import { sqlFault } from "./fault.ts";
import type { NextReply, RunReply } from "./messages.ts";
import type { SqlResult, SqlStatementKind } from "./sql.ts";
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

/** Runs a step of the statement once the queue lets it. */
export type StatementStep = <T>(step: () => Promise<T>) => Promise<T>;

/** From this size on a batch counts: rows that are so long come alone. */
const largeBytesMin = 4 * 1024 * 1024;

/** The memory of long rows that are on their way out, of all statements together. */
export class LargeBatches {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Counts a batch; returns what to give back. */
  hold(batch: SqlBatch): number {
    const bytes = batchBytes(batch);
    if (bytes < largeBytesMin) return 0;
    if (this.#bytes > 0 && this.#bytes + bytes > this.#bytesMax) {
      throw sqlFault("busy", "too many bytes of long rows wait for their readers; retry");
    }
    this.#bytes += bytes;
    return bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** A statement whose rows are taken one batch after another. */
export class RunningStatement implements SqlResult {
  readonly kind: SqlStatementKind;
  readonly columns: readonly SqlColumnInfo[];
  readonly token: ConsistencyToken;
  readonly #work: StatementWork;
  readonly #goOn: StatementStep;
  readonly #end: (outcome: SqlOutcome) => void;
  #ready: SqlBatch | undefined;
  #isDone: boolean;
  #isOver = false;
  readonly #large: LargeBatches;
  /** Of the batch that was taken last. */
  #heldBytes = 0;

  constructor(
    work: StatementWork,
    goOn: StatementStep,
    started: Started,
    large: LargeBatches,
    end: (outcome: SqlOutcome) => void,
  ) {
    this.kind = started.kind;
    this.columns = started.columns;
    this.token = started.token;
    this.#work = work;
    this.#goOn = goOn;
    this.#end = end;
    this.#large = large;
    this.#ready = started.batch;
    this.#isDone = started.done;
    if (this.#isDone && this.#ready === undefined) this.#finish("ok");
  }

  async next(): Promise<SqlBatch | undefined> {
    this.#giveBack();
    if (this.#ready === undefined && (this.#isDone || this.#isOver)) return undefined;
    try {
      const batch = this.#ready ?? (await this.#take());
      this.#ready = undefined;
      if (batch !== undefined) this.#heldBytes = this.#large.hold(batch);
      if (this.#isDone) this.#finish("ok");
      return batch;
    } catch (error) {
      if (!this.#isOver) this.#work.close();
      this.#finish(outcomeOf(error));
      throw error;
    }
  }

  async #take(): Promise<SqlBatch | undefined> {
    const { batch, done } = await this.#goOn(() =>
      this.#work.request<NextReply>({ kind: "next", statement: this.#work.id }),
    );
    this.#isDone = done;
    return batch;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#giveBack();
    if (this.#isOver) return;
    if (!this.#isDone) this.#work.close();
    this.#ready = undefined;
    this.#isDone = true;
    this.#finish("ok");
  }

  #giveBack(): void {
    this.#large.release(this.#heldBytes);
    this.#heldBytes = 0;
  }

  #finish(outcome: SqlOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end(outcome);
  }
}
