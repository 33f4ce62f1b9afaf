import type { Problem } from "./api.ts";

/**
 * Where a query is at fault, as an index into its text: the position that the server gives, or the place that
 * the message points at with a line and a caret.
 */
export function faultPosition(problem: Pick<Problem, "position" | "message">, query: string): number | undefined {
  if (problem.position !== undefined) return problem.position;
  const pointed = /LINE (\d+): (.*)\n(\s*)\^/.exec(problem.message);
  if (pointed !== null) {
    const before = query.split("\n").slice(0, Number(pointed[1]) - 1);
    const start = before.reduce((sum, line) => sum + line.length + 1, 0);
    // The caret counts from the start of the message's line; long lines are shown by their part around the fault.
    const column = pointed[3]!.length - `LINE ${pointed[1]}: `.length;
    const shown = pointed[2]!.replace(/^\.{3}/, "").replace(/\.{3}$/, "");
    const cut = pointed[2]!.startsWith("...") ? 3 : 0;
    const at = query.indexOf(shown, start);
    return at === -1 ? start : at + Math.max(0, column - cut);
  }
  const near = /(?:at or near|near) "([^"]+)"/.exec(problem.message);
  const at = near === null ? -1 : query.indexOf(near[1]!);
  return at === -1 ? undefined : at;
}
