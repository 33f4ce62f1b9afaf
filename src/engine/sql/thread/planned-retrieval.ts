import { sqlFault } from "../fault.ts";
import { type PlannedRetrieval, rowsOf } from "../retrieval.ts";
import type { SqlParameter } from "../sql.ts";
import { type ArgumentSource, argumentValue, collectionOf, type Evaluate, retrieverArguments } from "./arguments.ts";
import type { RetrievalRef } from "./retrieval-refs.ts";

/** What a retriever of a statement is asked for; without values for the parameters only whom it asks. */
export async function plannedRetrieval(
  ref: RetrievalRef,
  source: ArgumentSource,
  params: readonly SqlParameter[] | undefined,
  evaluate: Evaluate,
): Promise<PlannedRetrieval> {
  const { call, start: position } = ref;
  const calls = call.kind === "rrf" ? call.retrievers : [call];
  const searches = calls.filter((each) => each.kind !== "rrf");
  const [collection, ...others] = searches.map((each) => collectionOf(each, source, params));
  if (others.some((other) => other !== collection)) {
    throw sqlFault("unsupported", "the retrievers of one rrf must search the same collection", { position });
  }
  const fused = call.kind === "rrf";
  const whose = { position, collection: collection!, fused };
  if (params === undefined) {
    return { ...whose, retrievers: [], rankConstant: undefined, terms: [], limit: undefined };
  }
  const rank = call.kind === "rrf" ? call.rankConstant : undefined;
  return {
    ...whose,
    retrievers: await Promise.all(searches.map((each) => retrieverArguments(each, source, params, evaluate))),
    rankConstant: rank && (await argumentValue(source, rank, params, evaluate)),
    terms: ref.terms.map(({ condition }) => condition),
    limit: rowsOf(ref.limit, params),
  };
}
