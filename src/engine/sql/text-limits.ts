import { sqlFault } from "./fault.ts";

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
