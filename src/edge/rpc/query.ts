import type { ServiceImpl } from "@connectrpc/connect";
import { parseName } from "../../engine/ids.ts";
import { parseQuery } from "../../engine/query/parse.ts";
import type { Queries } from "../../engine/query/queries.ts";
import type { QueryService } from "../../gen/service/collection/v1/query_pb.ts";
import { queryJson, resultMessage } from "./query-message.ts";
import { readToken, sendToken } from "./request.ts";

/** A search is REST's query in the shape of messages: one parser knows the rules, one engine answers. */
export function queryService(queries: Queries): ServiceImpl<typeof QueryService> {
  return {
    async search(request, context) {
      const namespace = parseName("namespace", request.namespace);
      const plan = parseQuery(queryJson(request), (collection) => queries.schemaOf(namespace, collection));
      const result = await queries.run(namespace, plan, readToken(context), context.signal);
      return { ...resultMessage(plan, result), token: sendToken(context, result.token) };
    },
  };
}
