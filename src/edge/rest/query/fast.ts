import type { Engine } from "../../../engine/engine.ts";
import { formatToken } from "../../../engine/token.ts";
import { type FastRoute, namePattern } from "../fast-route.ts";
import { parseJson } from "../http/body.ts";
import { bytesInTurns } from "../http/in-turns.ts";
import { tokenHeaderName, tokenHeaders, tokenOf } from "../route.ts";
import { seemingFrom } from "./format.ts";
import { answerQuery, queryRoute } from "./routes.ts";
import { answerParts, isLong } from "./text.ts";

const queryPath = new RegExp(`^/v1/namespaces/${namePattern}/query$`);

/** Queries, one or several in a request. */
export function queryFastRoute({ queries }: Engine): FastRoute {
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
          const gone = signal();
          const from = seemingFrom(body);
          if (from !== undefined) {
            const handed = { from, body: body.latin1Slice(), token: required };
            const answered = await queries.answer(namespace, handed, gone);
            if (answered !== undefined) {
              const { body, token } = answered;
              const headers = tokenHeaders(formatToken(token));
              return { headers, body: typeof body === "string" ? body : Buffer.from(body.buffer) };
            }
          }
          const parsed = body.length === 0 ? {} : parseJson(body);
          const { result, token } = await answerQuery(queries, namespace, parsed, required, gone);
          const headers = token === undefined ? [] : tokenHeaders(formatToken(token));
          if (isLong(result)) return { headers, body: await bytesInTurns(answerParts(result)) };
          const json = JSON.stringify(result);
          // Text of one byte a character goes out with its head in one piece.
          const isAscii = Buffer.byteLength(json) === json.length;
          return { headers, body: isAscii ? json : Buffer.from(json) };
        },
      };
    },
  };
}
