import type { ConsistencyToken } from "../token.ts";
import type { Delta } from "./change-tracker.ts";
import type { LiveRead, NamedTable, TableDefinition } from "./messages.ts";
import { type Condition, type Constant, rowsOf } from "./retrieval.ts";
import type { SqlParameter } from "./sql.ts";

/** How tables are to be read. */
export interface ReadRequest {
  readonly token: ConsistencyToken;
  readonly consistency: "strong" | "eventual";
  readonly params: readonly SqlParameter[];
}

export interface Found {
  readonly table: TableDefinition;
  readonly token?: ConsistencyToken;
  readonly delta?: () => Delta;
}

/** Two reads of one table. */
export function joined(a: Found, b: Found): Found {
  if (a.table.schema === "streams" && b.table.schema === "streams") {
    return { ...b, table: { ...b.table, reads: [...a.table.reads, ...b.table.reads] } };
  }
  if (a.table.schema === "live" && b.table.schema === "live") {
    return { ...b, table: { ...b.table, reads: [...a.table.reads, ...b.table.reads] } };
  }
  return b;
}

/** Each read of these has bounds of its own. */
export function isReadByParts({ schema }: NamedTable): boolean {
  return schema === "streams" || schema === "live";
}

/** Documents that are asked for by their ids alone are read by them. */
export function liveRead({ ref, conditions, limit }: NamedTable, params: readonly SqlParameter[]): LiveRead {
  const textOf = (constant: Constant) => (constant.kind === "value" ? constant.value : params[constant.index]?.value);
  for (const condition of conditions) {
    const ids = idsOf(condition)?.map(textOf);
    if (ids?.every((id) => typeof id === "string")) return { ref, ids, rowsMax: undefined };
  }
  return { ref, ids: undefined, rowsMax: conditions.length === 0 ? rowsOf(limit, params) : undefined };
}

function idsOf(condition: Condition): readonly Constant[] | undefined {
  if (condition.op === "in" && condition.column === "_id") return condition.values;
  return condition.op === "compare" && condition.by === "=" && condition.column === "_id"
    ? [condition.value]
    : undefined;
}
