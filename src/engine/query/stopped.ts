import { EngineError } from "../errors.ts";

/** What a query ends with that nobody waits for any more. */
export function queryStopped(): EngineError {
  return new EngineError("deadline_exceeded", "the query was stopped by its deadline");
}
