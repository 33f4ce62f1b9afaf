import { EngineError } from "../errors.ts";

/** What a query ends with that nobody waits for any more. */
export function queryStopped(): EngineError {
  return new EngineError("deadline_exceeded", "the query was stopped by its deadline");
}

/** A query under way in another thread. */
export interface RunningQuery<T> {
  readonly outcome: Promise<T>;
  cancel(): void;
}

export function cancellable<T>({ outcome, cancel }: RunningQuery<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return outcome;
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  const end = () => signal.removeEventListener("abort", cancel);
  outcome.then(end, end);
  return outcome;
}
