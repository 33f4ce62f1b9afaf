import { sqlFault } from "./fault.ts";
import type { SqlParameter, SqlValue } from "./sql.ts";

/** Levels of lists and objects in one another in a parameter. */
export const parameterLevelsMax = 64;

/**
 * Refuses parameters that nest deeper than anything should have to follow: on their way to the thread and in the database
 * each level takes some of the stack. Level by level, so that depth can't exhaust it here.
 */
export function checkParameters(params: readonly SqlParameter[]): void {
  for (const [i, { value }] of params.entries()) {
    let level: readonly SqlValue[] = isNested(value) ? [value] : [];
    for (let depth = 1; level.length > 0; depth++) {
      if (depth > parameterLevelsMax) {
        const field = `params[${i}]`;
        throw sqlFault("unsupported", `is nested more than ${parameterLevelsMax} levels deep`, { field });
      }
      const next: SqlValue[] = [];
      for (const each of level)
        for (const inner of Object.values(each as object)) if (isNested(inner)) next.push(inner);
      level = next;
    }
  }
}

function isNested(value: SqlValue): boolean {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array);
}
