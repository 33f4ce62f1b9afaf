import { sqlFault } from "./fault.ts";
import type { SqlParameter, SqlValue } from "./sql.ts";

/** What the text of a statement may have, on every edge: it is read on the listener's thread too. */
export const sqlTextLimits = {
  charactersMax: 4 * 1024 * 1024,
  /** Words, numbers, strings and signs. */
  tokensMax: 200_000,
  /** The same on the wires, whose dialects are rewritten on the listener's thread: a few microseconds a token. */
  wireTokensMax: 50_000,
  /** Brackets in one another. */
  depthMax: 500,
} as const;

export function checkLength(query: string): void {
  const { charactersMax } = sqlTextLimits;
  if (query.length > charactersMax) throw sqlFault("unsupported", `has more than ${charactersMax} characters`);
}

export function checkTokens(tokens: number, position: number, tokensMax: number = sqlTextLimits.tokensMax): void {
  if (tokens > tokensMax) throw sqlFault("unsupported", `has more than ${tokensMax} words and signs`, { position });
}

export function checkDepth(depth: number, position: number): void {
  const { depthMax } = sqlTextLimits;
  if (depth > depthMax) throw sqlFault("unsupported", `has brackets more than ${depthMax} levels deep`, { position });
}

/** Levels of lists and objects in one another in a parameter. */
const parameterLevelsMax = 64;

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
