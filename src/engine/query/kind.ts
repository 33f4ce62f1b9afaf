import type { SearchPlan } from "./plan.ts";

/** What a query looks by. */
export type QueryKind = "vector" | "text" | "sparse" | "hybrid" | "filter";

export function kindOf({ retrievers }: SearchPlan): QueryKind {
  const [first, ...others] = retrievers;
  if (first === undefined) return "filter";
  return others.every(({ kind }) => kind === first.kind) ? first.kind : "hybrid";
}
