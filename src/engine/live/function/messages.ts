import type { SandboxFault } from "../../../port/sandbox.ts";
import type { Bound } from "../document.ts";
import type { LiveValue } from "../value.ts";

/** What a runner is asked to do. */
export interface RunRequest {
  readonly run: number;
  /** Of the bundle. */
  readonly bundle: string;
  readonly heapBytes: number;
  readonly cpuMs: number;
  /** It is thought to be short, and may hold the process while it computes. */
  readonly isBrief: boolean;
  /** As JSON: function, args, seed and nowMs, or describe. */
  readonly request: string;
}

export interface RunAnswer {
  /** As JSON: see `RunEnd`. */
  readonly end: string;
  readonly fault?: Pick<SandboxFault, "kind" | "message" | "isStuck">;
}

/** How a run ended, as the harness reports it. */
export interface RunEnd {
  readonly end: {
    readonly value?: LiveValue;
    readonly error?: {
      readonly name?: string;
      readonly message: string;
      readonly data?: LiveValue;
      readonly stack?: string;
    };
  };
  readonly logs: readonly string[];
}

/** What a runner asks of the server. */
export type RunnerQuestion =
  | { readonly kind: "bundle"; readonly bundle: string }
  | { readonly kind: "ops"; readonly run: number; readonly ops: string };

/** What a function asks of its tables. */
export type Operation =
  | { readonly op: "get"; readonly id: LiveValue }
  | ({ readonly op: "scan"; readonly cursor?: string; readonly limit: number } & OperationRange)
  | ({ readonly op: "count" } & OperationRange)
  | { readonly op: "insert"; readonly table: string; readonly document: LiveValue }
  | { readonly op: "patch"; readonly id: LiveValue; readonly patch: LiveValue; readonly unset: readonly string[] }
  | { readonly op: "replace"; readonly id: LiveValue; readonly document: LiveValue }
  | { readonly op: "delete"; readonly id: LiveValue }
  | { readonly op: "principal" };

interface OperationRange {
  readonly table: string;
  readonly index?: string;
  readonly equal?: readonly (readonly [string, LiveValue])[];
  readonly lower?: Bound;
  readonly upper?: Bound;
  readonly order?: "asc" | "desc";
}
