import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { Engine } from "../../../engine/engine.ts";
import { checkFinite } from "../../../engine/search/document.ts";
import type { SqlResult, SqlValue } from "../../../engine/sql/sql.ts";
import { typeName } from "../../../engine/sql/value.ts";
import { formatToken } from "../../../engine/token.ts";
import { nextTurn } from "../../../port/next-turn.ts";
import { clientSignal, type Route, readToken, sendToken } from "../route.ts";
import { answer, array, namespacePath, object, text, token, tokenHeader } from "../schemas.ts";
import { memberNames, rowTexts } from "./json.ts";

interface SqlBody {
  readonly query: string;
  readonly params?: readonly SqlValue[] | null;
  readonly consistency?: "strong" | "eventual" | null;
}

/** Text that is gathered before it goes out; an answer up to this is sent as one. */
const pieceLength = 64 * 1024;

export function sqlRoutes(engine: Engine): Route[] {
  return [
    {
      method: "POST",
      url: "/v1/namespaces/:ns/sql",
      access: "read",
      tag: "query",
      schema: {
        summary: "Run a SQL statement over collections, streams and links",
        params: namespacePath,
        headers: tokenHeader,
        body: object(
          {
            query: { type: "string", minLength: 1, description: "One SELECT, WITH, EXPLAIN, DESCRIBE or SHOW" },
            params: { type: ["array", "null"], items: {}, description: "Values for ? or $1" },
            consistency: { type: ["string", "null"], enum: ["strong", "eventual", null] },
          },
          ["query"],
        ),
        response: {
          200: answer("The rows", {
            columns: array(object({ name: text, type: text })),
            rows: array({ type: "object" }),
            row_count: { type: "integer" },
            token,
          }),
        },
      },
      handler: async (request, reply) => {
        const { ns } = request.params as { ns: string };
        const { query, params, consistency } = request.body as SqlBody;
        checkFinite(params, "params");
        const statement = {
          namespace: ns,
          query,
          params: (params ?? []).map((value) => ({ value })),
          token: readToken(request),
          consistency: consistency ?? "strong",
        };
        const result = await engine.sql.run(statement, clientSignal(reply));
        return sendResult(reply, result);
      },
    },
  ];
}

/** A short result is sent as one; a long one as it comes, as fast as the client reads it. */
async function sendResult(reply: FastifyReply, result: SqlResult): Promise<FastifyReply> {
  sendToken(reply, result.token);
  reply.header("content-type", "application/json; charset=utf-8");
  const pieces = resultTexts(result);
  try {
    const first = await pieces.next();
    const second = first.done ? first : await pieces.next();
    if (second.done) return reply.send(first.value ?? "");
    return reply.send(
      Readable.from(encoded(first.value!, second.value, pieces), { objectMode: false, highWaterMark: 1 }),
    );
  } catch (error) {
    await result[Symbol.asyncDispose]();
    throw error;
  }
}

async function* resultTexts(result: SqlResult): AsyncGenerator<string, undefined, undefined> {
  const names = memberNames(result.columns);
  const columns = result.columns.map(({ type }, i) => ({ name: names[i], type: typeName(type) }));
  let text = `{"columns":${JSON.stringify(columns)},"rows":[`;
  let rows = 0;
  try {
    for (let batch = await result.next(); batch !== undefined; batch = await result.next()) {
      const isFirst = rows === 0;
      rows += batch.rows;
      for (const part of rowTexts(names, batch, isFirst)) {
        text += part;
        if (part === "") await nextTurn();
        if (text.length < pieceLength) continue;
        yield text;
        text = "";
      }
    }
    yield `${text}],"row_count":${rows},"token":${formatToken(result.token)}}`;
  } finally {
    await result[Symbol.asyncDispose]();
  }
}

/** A fast client would take all pieces in one turn, so that each waits for everything else that is ready. */
async function* encoded(first: string, second: string, rest: AsyncIterable<string>): AsyncIterable<Buffer> {
  yield Buffer.from(first);
  yield Buffer.from(second);
  for await (const piece of rest) {
    await nextTurn();
    yield Buffer.from(piece);
  }
}
