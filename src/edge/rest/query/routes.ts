import type { Engine } from "../../../engine/engine.ts";
import { invalid, unavailable } from "../../../engine/errors.ts";
import type { Queries } from "../../../engine/query/queries.ts";
import { queryLimits } from "../../../engine/retrieval/limits.ts";
import { holdsQueries, parseQueries, parseQuery } from "../../../engine/retrieval/parse.ts";
import type { QueryPlan } from "../../../engine/retrieval/plan.ts";
import { RowRoom } from "../../../engine/retrieval/result.ts";
import { findVector } from "../../../engine/schema/schema.ts";
import type { ConsistencyToken } from "../../../engine/token.ts";
import type { ByteAccount, ByteBudget } from "../../wire/byte-budget.ts";
import { filterField, queryBody } from "../body-shapes.ts";
import { type CollectionParams, collectionPath } from "../collections/routes.ts";
import { parseFilterField } from "../documents/json.ts";
import { DecodedBody, parseJson, withoutMark } from "../http/body.ts";
import { sendParts } from "../http/long-answer.ts";
import { clientSignal, type Route, readToken, sendToken } from "../route.ts";
import {
  answer,
  array,
  described,
  namespacePath,
  object,
  optional,
  optionalConsistency,
  type Schema,
  text,
  token,
  tokenHeader,
} from "../schemas.ts";
import { seemingFrom } from "./format.ts";
import { answerParts, isLong, type QueryAnswer } from "./text.ts";

const number: Schema = { type: "number" };
const anyObject: Schema = { type: "object" };

/** The route as it is named in metrics. */
export const queryRoute = "/v1/namespaces/:ns/query";

/** An answer as it is to be sent, text of one byte a character or bytes, or one to be written. */
type QueryReply = { readonly body: string | Buffer } | { readonly result: QueryAnswer };
/** Several queries have a token each, in the answer alone. */
type WithToken<T> = T & { readonly token: ConsistencyToken | undefined };

/** Answers the query of a body, or its several queries: in a thread that searches where that can be, else here. */
export async function answerQuery(
  queries: Queries,
  ns: string,
  body: Buffer,
  required: ConsistencyToken,
  signal: AbortSignal,
): Promise<WithToken<QueryReply>> {
  const from = seemingFrom(body);
  const answered =
    from && (await queries.answer(ns, { format: "rest", from, body: body.latin1Slice(), token: required }, signal));
  if (!answered) return runQuery(queries, ns, body.length === 0 ? {} : parseJson(body), required, signal);
  const { body: answer, token } = answered;
  return { body: typeof answer === "string" ? answer : Buffer.from(answer.buffer), token };
}

async function runQuery(
  queries: Queries,
  ns: string,
  body: unknown,
  required: ConsistencyToken,
  signal: AbortSignal,
): Promise<WithToken<{ readonly result: QueryAnswer }>> {
  const schemaOf = (collection: string) => queries.schemaOf(ns, collection);
  if (!holdsQueries(body)) {
    const result = await queries.run(ns, parseQuery(body, schemaOf), required, signal);
    return { result, token: result.token };
  }
  const plans = parseQueries(body, schemaOf);
  const room = new RowRoom();
  const run = (plan: QueryPlan, i: number) => queries.run(ns, plan, required, signal, room.as(`queries[${i}].limit`));
  const results = await Promise.all(plans.map(run));
  return { result: { results }, token: undefined };
}

/** Room for an answer until its reader has taken it, which may be slow. */
export function roomFor(answers: ByteBudget, bytes: number): ByteAccount {
  const room = answers.account();
  if (!room.hold(bytes)) throw unavailable("too many bytes of answers wait for their readers; retry");
  return room;
}

export function queryRoutes(engine: Engine, answers: ByteBudget): Route[] {
  return [retrieveRoute(engine, answers), recallRoute(engine)];
}

function retrieveRoute({ queries }: Engine, answers: ByteBudget): Route {
  return {
    method: "POST",
    url: queryRoute,
    access: "read",
    tag: "query",
    schema: {
      summary: "Retrieve documents by vectors, text and filters, and fuse the rankings",
      params: namespacePath,
      headers: tokenHeader,
      body: queryBody,
      response: { 200: answer("The rows", { rows: array(anyObject), token, took_ms: { type: "number" } }) },
    },
    // A second byte order mark is no JSON.
    decode: (body) => (withoutMark(body) === body ? body : undefined),
    handler: async (request, reply) => {
      const { ns } = request.params as { ns: string };
      const { body } = request;
      const [required, signal] = [readToken(request), clientSignal(reply)];
      const answered =
        body instanceof DecodedBody
          ? await answerQuery(queries, ns, body.value as Buffer, required, signal)
          : await runQuery(queries, ns, body, required, signal);
      if (answered.token !== undefined) sendToken(reply, answered.token);
      if ("result" in answered) {
        return isLong(answered.result) ? sendParts(reply, answerParts(answered.result)) : answered.result;
      }
      const room = roomFor(answers, Buffer.byteLength(answered.body));
      reply.raw.once("close", () => room.release());
      reply.type("application/json; charset=utf-8");
      return answered.body;
    },
  };
}

function recallRoute({ queries }: Engine): Route {
  return {
    method: "POST",
    url: "/v1/namespaces/:ns/collections/:c/recall",
    access: "read",
    tag: "query",
    schema: {
      summary: "Measure the recall of the vector index",
      params: collectionPath,
      headers: tokenHeader,
      body: object(
        {
          field: described(text, { minLength: 1 }),
          num: optional({ type: "integer", minimum: 1, maximum: 1_000 }),
          k: optional({ type: "integer", minimum: 1, maximum: queryLimits.resultsMax }),
          filter: filterField,
          consistency: optionalConsistency,
        },
        ["field"],
      ),
      response: { 200: answer("The measurement", { recall: number, ann_ms: number, exact_ms: number }) },
    },
    handler: async (request, reply) => {
      const { ns, c } = request.params as CollectionParams;
      const body = request.body as {
        field: string;
        num?: number | null;
        k?: number | null;
        filter?: unknown;
        consistency?: string | null;
      };
      const schema = queries.schemaOf(ns, c);
      if (findVector(schema, body.field) === undefined) throw invalid("field", "is no vector of the collection");
      const filter = parseFilterField("filter", body.filter, schema);
      const question = { field: body.field, num: body.num ?? 100, k: body.k ?? 10, filter };
      const options = { token: readToken(request), eventual: body.consistency === "eventual" };
      const found = await queries.recall({ namespace: ns, collection: c }, question, options, clientSignal(reply));
      return { recall: found.recall, ann_ms: found.annMs, exact_ms: found.exactMs };
    },
  };
}
