import type { Engine } from "../../../engine/engine.ts";
import { formatToken } from "../../../engine/token.ts";
import { bodyLength } from "../../../listener/fast-lane.ts";
import type { ByteBudget } from "../../wire/byte-budget.ts";
import { type Answer, type FastRoute, namePattern } from "../fast-route.ts";
import { bytesInTurns } from "../http/in-turns.ts";
import { tokenHeaderName, tokenHeaders, tokenOf } from "../route.ts";
import { answerQuery, queryRoute, roomFor } from "./routes.ts";
import { answerParts, isLong } from "./text.ts";

const queryPath = new RegExp(`^/v1/namespaces/${namePattern}/query$`);

/** Queries, one or several in a request. */
export function queryFastRoute({ queries }: Engine, answers: ByteBudget): FastRoute {
  const held = (headers: readonly string[], body: Answer["body"]): Answer => {
    const room = roomFor(answers, bodyLength(body));
    return { headers, body, onSent: () => room.release() };
  };
  return {
    method: "POST",
    url: queryRoute,
    access: "read",
    isShort: false,
    match: (target, headers) => {
      if (headers["content-type"] !== "application/json") return undefined;
      const namespace = queryPath.exec(target)?.[1];
      if (namespace === undefined) return undefined;
      return {
        namespace,
        run: async (request, body, signal) => {
          const required = tokenOf(request.headers[tokenHeaderName]);
          const answered = await answerQuery(queries, namespace, body, required, signal());
          const headers = answered.token === undefined ? [] : tokenHeaders(formatToken(answered.token));
          if ("body" in answered) return held(headers, answered.body);
          const { result } = answered;
          if (isLong(result)) return held(headers, await bytesInTurns(answerParts(result)));
          const json = JSON.stringify(result);
          // Text of one byte a character goes out with its head in one piece.
          const isAscii = Buffer.byteLength(json) === json.length;
          return held(headers, isAscii ? json : Buffer.from(json));
        },
      };
    },
  };
}
