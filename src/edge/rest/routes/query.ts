import type { Engine } from "../../../engine/engine.ts";
import { holdsQueries, parseQueries, parseQuery } from "../../../engine/query/parse.ts";
import { clientSignal, type Route, readToken, sendToken } from "../route.ts";
import { answer, array, namespacePath, type Schema, token, tokenHeader } from "../schemas.ts";

const anyObject: Schema = { type: "object" };

/** The body is checked by the query's own parser, against the collection's schema. */
const queryBody: Schema = {
  type: "object",
  required: [],
  description:
    "from, retrieve, filter, fuse, limit, offset, sort, select, exclude, include_vectors, highlight, group_by, facets, min_score, consistency, explain; or queries: several of these",
};

export function queryRoutes(engine: Engine): Route[] {
  const { queries } = engine;
  return [
    {
      method: "POST",
      url: "/v1/namespaces/:ns/query",
      access: "read",
      tag: "query",
      schema: {
        summary: "Retrieve documents by vectors, text and filters, and fuse the rankings",
        params: namespacePath,
        headers: tokenHeader,
        body: queryBody,
        response: { 200: answer("The rows", { rows: array(anyObject), token, took_ms: { type: "number" } }) },
      },
      handler: async (request, reply) => {
        const { ns } = request.params as { ns: string };
        const schemaOf = (collection: string) => queries.schemaOf(ns, collection);
        const given = readToken(request);
        const signal = clientSignal(reply);
        if (!holdsQueries(request.body)) {
          const result = await queries.run(ns, parseQuery(request.body, schemaOf), given, signal);
          sendToken(reply, result.token);
          return result;
        }
        const plans = parseQueries(request.body, schemaOf);
        return { results: await Promise.all(plans.map((plan) => queries.run(ns, plan, given, signal))) };
      },
    },
  ];
}
