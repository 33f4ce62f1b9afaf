import type { LiveValue } from "./value.ts";

/** `thrown` by the function, a `limit` it passed, or `redacted`: hidden from callers. */
export type FaultKind = "thrown" | "limit" | "redacted";

/** What ended a run. It is an outcome of the call and no error of the service. */
export class FunctionFault extends Error {
  readonly kind: FaultKind;
  readonly data: LiveValue | undefined;

  constructor(kind: FaultKind, message: string, data?: LiveValue) {
    super(message);
    this.name = "FunctionFault";
    this.kind = kind;
    this.data = data;
  }
}

export function overLimit(message: string): FunctionFault {
  return new FunctionFault("limit", message);
}
