import { EngineError } from "../../src/engine/errors.ts";
import { StoreError } from "../../src/port/store.ts";

/**
 * How a call ended: with an answer, with an error, or with the process that was to answer it. The answer of a process that follows may hold a write
 * before the owner knows that it is done: who asks the owner next without a token need not find it.
 */
export type Outcome<T> =
  | { readonly kind: "answer"; readonly value: T; readonly isFollowers?: true }
  | { readonly kind: "error"; readonly error: unknown }
  | { readonly kind: "crash" };

/** A guarantee that did not hold. */
export class Violation extends Error {}

export function demand(holds: boolean, what: () => string): void {
  if (!holds) throw new Violation(what());
}

export function isDamage(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "damaged";
}

export function messageOf(error: unknown): string {
  const { reason, message } = error as EngineError;
  return `${reason ?? (error as Error).name}: ${message}`;
}

export function isUndecided(error: unknown): boolean {
  return error instanceof EngineError && /not known yet/.test(error.message);
}

/** A write that was refused since another process has the place. */
export function isFenced(error: unknown): boolean {
  return error instanceof EngineError && error.cause instanceof StoreError && error.cause.kind === "fenced";
}

/** Whether an error tells the caller to try again, and that nothing was done. */
export function isRetryable(error: unknown): boolean {
  return (
    error instanceof EngineError &&
    (error.reason === "unavailable" || error.reason === "deadline_exceeded" || error.reason === "resource_exhausted")
  );
}
