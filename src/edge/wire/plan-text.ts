import type { SqlBatch } from "../../engine/sql/batch.ts";
import { readValue } from "../../engine/sql/value.ts";

/** The text of a plan that the engine tells as rows, of which it is the last column. */
export async function planText(plan: { next(): Promise<SqlBatch | undefined> }): Promise<string> {
  let text = "";
  for (let batch = await plan.next(); batch !== undefined; batch = await plan.next()) {
    for (let row = 0; row < batch.rows; row++) text += String(readValue(batch.columns.at(-1)!, row));
  }
  return text;
}
