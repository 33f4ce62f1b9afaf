import type { Engine } from "../../../engine/engine.ts";
import { notFound } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import { formatToken } from "../../../engine/token.ts";
import { parseJson } from "../body.ts";
import { cachedPage } from "../cached-page.ts";
import { parseFilterField } from "../collection-json.ts";
import { DocumentTexts } from "../document-texts.ts";
import { bytesInTurns } from "../in-turns.ts";
import { PageBuffers } from "../page-buffers.ts";
import { PageCache } from "../page-cache.ts";
import { seemingFrom } from "../query-format.ts";
import { answerParts, isLong } from "../query-text.ts";
import { tokenHeaderName, tokenHeaders, tokenOf } from "../route.ts";
import { countBody, type Readable } from "../routes/documents.ts";
import { answerQuery, queryRoute } from "../routes/query.ts";
import { compileSchema } from "../validation.ts";
import { type Asked, bodyFault, type HotRoute, namePattern } from "./route.ts";

/** What a node of a cluster has looked at by now. */
const consistency = "consistency=(?:eventual|strong)";
const fetchPath = new RegExp(
  `^/v1/namespaces/${namePattern}/streams/${namePattern}/partitions/(0|[1-9]\\d{0,4})/records` +
    "\\?offset=(0|[1-9]\\d{0,14})(?:&max_bytes=([1-9]\\d{0,6}))?" +
    `(?:&${consistency})?$`,
);
const documentPath = new RegExp(
  `^/v1/namespaces/${namePattern}/collections/${namePattern}/documents/(0|[1-9]\\d{0,14})(?:\\?${consistency})?$`,
);
const countPath = new RegExp(`^/v1/namespaces/${namePattern}/collections/${namePattern}/documents/count$`);
const queryPath = new RegExp(`^/v1/namespaces/${namePattern}/query$`);

/** A read with a token may have to wait, and an event stream never ends: neither is in a hurry. */
function isPlain(headers: Asked["headers"]): boolean {
  const { accept, "service-consistency-token": token } = headers;
  return token === undefined && (accept === undefined || !/text\/(?:event-stream|\*)/i.test(String(accept)));
}

/** Fetches that do not wait. */
export function fetchRoute({ streams }: Engine): HotRoute {
  const buffers = new PageBuffers();
  const cache = new PageCache();
  return {
    method: "GET",
    url: "/v1/namespaces/:ns/streams/:stream/partitions/:partition/records",
    access: "read",
    isShort: true,
    match: (target, headers) => {
      const match = isPlain(headers) ? fetchPath.exec(target) : null;
      if (match === null) return undefined;
      const bytesMax = match[5] === undefined ? limits.fetchBytesDefault : Number(match[5]);
      // A longer page is sent in pieces, as fast as its client reads.
      if (bytesMax > limits.fetchBytesDefault) return undefined;
      const place = { namespace: match[1]!, stream: match[2]!, partition: Number(match[3]) };
      return {
        namespace: place.namespace,
        run: async () => {
          const from = { offset: Number(match[4]) };
          const result = await streams.fetch({ ...place, from, waitMs: 0, token: [] });
          const buffer = buffers.take();
          const body = cachedPage(result, bytesMax, buffer, cache);
          return { headers: [], body, onSent: () => buffers.give(buffer) };
        },
      };
    },
  };
}

/** Documents by id. */
export function documentRoute({ documents }: Engine): HotRoute {
  const texts = new DocumentTexts();
  return {
    method: "GET",
    url: "/v1/namespaces/:ns/collections/:c/documents/:id",
    access: "read",
    isShort: true,
    match: (target, headers) => {
      const match = isPlain(headers) ? documentPath.exec(target) : null;
      if (match === null) return undefined;
      const place = { namespace: match[1]!, collection: match[2]! };
      return {
        namespace: place.namespace,
        run: async () => {
          const id = Number(match[3]);
          const found = documents.stored(place, id);
          if (found === undefined) throw notFound(`there is no document with the id ${id}`);
          return { headers: [], body: texts.of(id, found) };
        },
      };
    },
  };
}

/** Counts of documents. */
export function countRoute({ documents }: Engine): HotRoute {
  const url = "/v1/namespaces/:ns/collections/:c/documents/count";
  const validate = compileSchema({ schema: countBody, httpPart: "body", method: "POST", url });
  return {
    method: "POST",
    url,
    access: "read",
    isShort: false,
    match: (target, headers) => {
      const { "content-type": type, "content-length": length = "0" } = headers;
      const match = type === "application/json" && length !== "0" ? countPath.exec(target) : null;
      if (match === null) return undefined;
      const place = { namespace: match[1]!, collection: match[2]! };
      return {
        namespace: place.namespace,
        run: async (asked, body, signal) => {
          const given = parseJson(body);
          const checked = validate(given);
          if (checked !== true) throw bodyFault(checked);
          const { filter, consistency } = given as { filter?: unknown } & Readable;
          const token = tokenOf(asked.headers[tokenHeaderName]);
          const parsed = parseFilterField("filter", filter, documents.find(place).schema);
          const options = { token, eventual: consistency === "eventual" };
          const done = await documents.count(place, parsed, options, token.length > 0 ? signal() : undefined);
          const text = formatToken(done.token);
          return { headers: [tokenHeaderName, text], body: `{"count":${done.count},"token":${text}}` };
        },
      };
    },
  };
}

/** Queries, one or several in a request. */
export function queryHotRoute({ queries }: Engine): HotRoute {
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
        run: async (asked, body, signal) => {
          const given = tokenOf(asked.headers[tokenHeaderName]);
          const gone = signal();
          const from = seemingFrom(body);
          if (from !== undefined) {
            const handed = { from, body: body.latin1Slice(), token: given };
            const answered = await queries.answer(namespace, handed, gone);
            if (answered !== undefined) {
              const { body, token } = answered;
              const headers = tokenHeaders(formatToken(token));
              return { headers, body: typeof body === "string" ? body : Buffer.from(body.buffer) };
            }
          }
          const parsed = body.length === 0 ? {} : parseJson(body);
          const { result, token } = await answerQuery(queries, namespace, parsed, given, gone);
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
