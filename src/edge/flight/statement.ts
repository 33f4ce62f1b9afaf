import { EngineError } from "../../engine/errors.ts";
import type { Sql, SqlParameter, SqlResult, SqlStatement } from "../../engine/sql/sql.ts";
import type { SqlColumnInfo } from "../../engine/sql/type.ts";
import type { ConsistencyToken } from "../../engine/token.ts";
import { type ArrowMessage, recordBatches } from "./arrow/batch.ts";
import { schemaMessage } from "./arrow/schema.ts";
import { fieldOf } from "./arrow/type.ts";
import { flightLimits } from "./limits.ts";

type Statement = Omit<SqlStatement, "params">;
type Rows = readonly (readonly SqlParameter[])[];

const noRows: Rows = [[]];

/** Runs a statement once for each row of parameters and gives the messages of all its rows. */
export async function* statementMessages(
  sql: Sql,
  statement: Statement,
  rows: Rows,
  signal: AbortSignal,
  onToken: (token: ConsistencyToken) => void,
): AsyncGenerator<ArrowMessage> {
  let columns: readonly SqlColumnInfo[] | undefined;
  for (const params of rows.length === 0 ? noRows : rows) {
    await using result = await sql.run({ ...statement, params }, signal);
    if (columns === undefined) {
      columns = result.columns;
      onToken(result.token);
      yield { metadata: schemaMessage(columns.map(fieldOf)), body: [], bodyBytes: 0 };
    } else if (JSON.stringify(columns) !== JSON.stringify(result.columns)) {
      throw new EngineError("invalid_argument", "parameters: the rows give results of different types", {
        metadata: { field: "parameters" },
      });
    }
    yield* resultMessages(result);
  }
}

async function* resultMessages(result: SqlResult): AsyncGenerator<ArrowMessage> {
  const fields = result.columns.map(fieldOf);
  const types = result.columns.map((column) => column.type);
  for (;;) {
    const batch = await result.next();
    if (batch === undefined) return;
    yield* recordBatches(fields, types, batch, flightLimits.batchBytesMax);
  }
}

/** Statements whose rows are being sent, by the id in their ticket, so that another call can stop them. */
export class RunningStatements {
  readonly #running = new Map<string, Set<AbortController>>();

  /** Until it is disposed of, the statement can be stopped; a ticket may be used more than once at a time. */
  begin(owner: string, id: string): { readonly signal: AbortSignal } & Disposable {
    const key = `${owner}\n${id}`;
    const controller = new AbortController();
    const all = this.#running.get(key) ?? new Set();
    this.#running.set(key, all.add(controller));
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        all.delete(controller);
        if (all.size === 0 && this.#running.get(key) === all) this.#running.delete(key);
      },
    };
  }

  /** Whether there was anything to stop. */
  cancel(owner: string, id: string, reason: Error): boolean {
    const all = this.#running.get(`${owner}\n${id}`);
    for (const controller of all ?? []) controller.abort(reason);
    return all !== undefined;
  }
}
