import type { Principal } from "../auth/principal.ts";
import type { FunctionFault } from "./fault.ts";
import type { ReadSet } from "./read-set.ts";
import type { LiveObject, LiveValue } from "./value.ts";

export interface LiveCall {
  readonly function: string;
  readonly args: LiveObject;
  readonly principal: Principal;
  /** Calls with the same function, arguments and key have the same result. */
  readonly shareKey: string;
}

export type Outcome =
  | { readonly kind: "value"; readonly value: LiveValue }
  | { readonly kind: "error"; readonly fault: FunctionFault };

/** One run of a function. */
export interface Ran {
  readonly outcome: Outcome;
  readonly logs: readonly string[];
  readonly read: ReadSet;
}
