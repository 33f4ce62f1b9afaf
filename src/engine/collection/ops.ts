import type { Filter } from "../search/filter/filter.ts";

/** What an operation writes, as the caller gave it; it is checked against the schema when it is applied. */
export interface DocumentContent {
  readonly source: Readonly<Record<string, unknown>>;
  readonly vectors: Readonly<Record<string, unknown>> | undefined;
  readonly sparseVectors: Readonly<Record<string, unknown>> | undefined;
}

/** Which state of the document an operation is for; in any other it does nothing. */
export interface OpCondition {
  readonly condition: Filter | undefined;
  /** 0: there is no such document. */
  readonly ifVersion: number | undefined;
}

export type WriteOp =
  | ({ readonly kind: "upsert" | "insert" | "patch"; readonly id: number } & DocumentContent & OpCondition)
  | ({ readonly kind: "delete"; readonly id: number } & OpCondition);

export type OpStatus = "created" | "updated" | "deleted" | "noop" | "condition_failed";

export interface OpResult {
  readonly id: number;
  readonly status: OpStatus;
  /** The document's version after the operation; 0 when there is none. */
  readonly version: number;
}
