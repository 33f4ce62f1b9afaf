import type { LiveTable } from "./table.ts";
import type { Fields, Validator } from "./validator.ts";

export interface DeployedFunction {
  readonly name: string;
  readonly kind: "query" | "mutation";
  /** Undefined: any. */
  readonly args?: Fields;
  readonly returns?: Validator;
}

export interface LiveMeta {
  /** Of the deployment; 0 before the first. */
  readonly version: number;
  /** Numbers of tables and indexes are never used twice. */
  readonly nextNumber: number;
  readonly tables: readonly LiveTable[];
  readonly functions: readonly DeployedFunction[];
}
