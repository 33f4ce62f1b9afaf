import { invalid } from "../../engine/errors.ts";
import { unimplemented } from "./command.ts";
import { flightLimits } from "./limits.ts";

export function checkQuery(query: string, transactionId: Uint8Array | undefined): void {
  if (query.length > flightLimits.queryCharactersMax) {
    throw invalid("query", `has more than ${flightLimits.queryCharactersMax} characters`);
  }
  if (transactionId !== undefined && transactionId.byteLength > 0) {
    throw unimplemented("transaction_id: there are no transactions");
  }
}

/** The handle of a prepared statement, as its table knows it. */
export function handleOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 64)).toString("latin1");
}
