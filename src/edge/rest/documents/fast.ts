import type { DocumentRef } from "../../../engine/collection/documents.ts";
import type { Engine } from "../../../engine/engine.ts";
import { notFound } from "../../../engine/errors.ts";
import { formatToken } from "../../../engine/token.ts";
import { bodyFault, consistencyPattern, type FastRoute, isPlain, namePattern, remembered } from "../fast-route.ts";
import { parseJson } from "../http/body.ts";
import { compileSchema } from "../http/validation.ts";
import { bodyIdempotency, replayedHeader, tokenHeaderName, tokenHeaders, tokenOf } from "../route.ts";
import { parseFilterField, parseOps } from "./json.ts";
import { countBody, type Readable, type WriteBody, writeBody, writeReplyText } from "./routes.ts";
import { DocumentTexts } from "./texts.ts";

const documentsPath = new RegExp(`^/v1/namespaces/${namePattern}/collections/${namePattern}/documents$`);
const documentPath = new RegExp(
  `^/v1/namespaces/${namePattern}/collections/${namePattern}/documents/(0|[1-9]\\d{0,14})(?:\\?${consistencyPattern})?$`,
);
const countPath = new RegExp(`^/v1/namespaces/${namePattern}/collections/${namePattern}/documents/count$`);

/** Small batches of documents. */
export function documentsRoute({ documents }: Engine): FastRoute {
  const url = "/v1/namespaces/:ns/collections/:c/documents";
  const validate = compileSchema({ schema: writeBody, httpPart: "body", method: "POST", url });
  const placeOf = remembered<DocumentRef>((target) => {
    const match = documentsPath.exec(target);
    return match === null ? undefined : { namespace: match[1]!, collection: match[2]! };
  });
  return {
    method: "POST",
    url,
    access: "write",
    isShort: true,
    match: (target, headers) => {
      const { "content-type": type, "content-length": length = "0", "idempotency-key": key } = headers;
      if (key !== undefined || type !== "application/json" || length === "0") return undefined;
      const place = placeOf(target);
      if (place === undefined) return undefined;
      return {
        namespace: place.namespace,
        run: async (_asked, body) => {
          const json = parseJson(body);
          const checked = validate(json);
          if (checked !== true) throw bodyFault(checked);
          const write = json as WriteBody;
          const parsing = parseOps(write.ops, documents.find(place).schema);
          const ops = parsing instanceof Promise ? await parsing : parsing;
          const done = await documents.write(place, ops, body.length, bodyIdempotency("POST", target, write));
          const tokenText = formatToken(done.token);
          const headers = tokenHeaders(tokenText);
          return {
            headers: done.replayed ? [...headers, ...replayedHeader] : headers,
            body: writeReplyText(done, tokenText),
          };
        },
      };
    },
  };
}

/** Documents by id. */
export function documentRoute({ documents }: Engine): FastRoute {
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
export function countRoute({ documents }: Engine): FastRoute {
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
        run: async (request, body, signal) => {
          const json = parseJson(body);
          const checked = validate(json);
          if (checked !== true) throw bodyFault(checked);
          const { filter, consistency } = json as { filter?: unknown } & Readable;
          const token = tokenOf(request.headers[tokenHeaderName]);
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
