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
