import type { FastifyReply, FastifyRequest } from "fastify";
import { authorize, type Need, needs } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError } from "../../engine/errors.ts";
import type { Quotas } from "../../engine/quota/quotas.ts";
import { fingerprint, type Idempotency, parseIdempotencyKey } from "../../engine/stream/idempotency.ts";
import { type ConsistencyToken, emptyToken, formatToken, parseToken } from "../../engine/token.ts";
import type { Decode } from "./http/body.ts";
import { errorAnswer, type Schema } from "./schemas.ts";

export const tokenHeaderName = "service-consistency-token";

/**
 * What a caller must be allowed to do: `open` needs no credential, `signed-in` any; `read`, `write` and `admin` act in
 * the namespace of the path, the last two on the whole instance.
 */
export type Access = "open" | "signed-in" | "read" | "write" | "admin" | "instance-read" | "instance-admin";

export function needOf(access: Exclude<Access, "open">, namespace: string): Need {
  switch (access) {
    case "signed-in":
      return needs.signedIn;
    case "read":
      return needs.readIn(namespace);
    case "write":
      return needs.writeIn(namespace);
    case "admin":
      return needs.adminIn(namespace);
    case "instance-read":
      return needs.readInstance;
    case "instance-admin":
      return needs.adminInstance;
  }
}

export function isRead(access: Access): boolean {
  return access === "read" || access === "instance-read" || access === "signed-in";
}

/** Lets a caller use a route, or throws. What acts in the namespace of the path counts against its quota. */
export function checkAccess(
  principal: Principal,
  access: Exclude<Access, "open">,
  namespace: string,
  quotas: Quotas,
): void {
  authorize(principal, needOf(access, namespace));
  if (access === "read" || access === "write" || access === "admin") quotas.admitRequest(namespace);
}

export interface RouteSchema {
  readonly summary: string;
  readonly params?: Schema;
  readonly querystring?: Schema;
  readonly body?: Schema;
  readonly headers?: Schema;
  readonly response?: Readonly<Record<number, Schema>>;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a handler that streams its answer returns nothing
export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> | unknown | void;

/** One row of the API's table. The server registers it, documents it and answers 405 for its other methods. */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly access: Access;
  readonly tag: string;
  readonly schema: RouteSchema;
  readonly rawBody?: boolean;
  /** Reads a body of the plainest form instead of JSON and schema. */
  readonly decode?: Decode;
  /** Runs before the body is validated. */
  readonly prepare?: (request: FastifyRequest) => Promise<void>;
  readonly handler: Handler;
}

/** The token that a read carries. */
export function readToken(request: FastifyRequest): ConsistencyToken {
  return tokenOf(request.headers[tokenHeaderName]);
}

export function tokenOf(value: string | string[] | undefined): ConsistencyToken {
  if (value === undefined) return emptyToken;
  return parseToken("Service-Consistency-Token", Array.isArray(value) ? value.join(",") : value);
}

/** Clients refuse answers whose headers are larger than some bound, often 16 KiB; the body has the token anyway. */
const tokenHeaderBytesMax = 8 * 1024;

/** The header of a formatted token, as name and value; nothing for one that is too long. */
export function tokenHeaders(text: string): readonly string[] {
  return text.length <= tokenHeaderBytesMax ? [tokenHeaderName, text] : [];
}

export function sendToken(reply: FastifyReply, token: ConsistencyToken): void {
  const [name, text] = tokenHeaders(formatToken(token));
  if (name !== undefined) reply.header(name, text);
}

/** The idempotency of a write whose key stands in its body. */
export function bodyIdempotency(method: string, path: string, body: { readonly idempotency_key?: string | null }) {
  if (body.idempotency_key == null) return undefined;
  const key = parseIdempotencyKey("idempotency_key", body.idempotency_key);
  return { key, fingerprint: fingerprint(method, " ", path, "\n", Buffer.from(JSON.stringify(body))) };
}

/** The idempotency of a write: the key, and what the request asks for, by default its body. */
export function readIdempotency(
  request: FastifyRequest,
  content: () => readonly (string | Uint8Array)[] = () => [
    request.rawBody ?? Buffer.from(JSON.stringify(request.body)),
  ],
): Idempotency | undefined {
  const header = request.headers["idempotency-key"];
  if (header === undefined) return undefined;
  const key = parseIdempotencyKey("Idempotency-Key", String(header));
  return { key, fingerprint: fingerprint(request.method, " ", pathOf(request), "\n", ...content()) };
}

/** Tells that the answer is that of an earlier request. */
export const replayedHeader = ["idempotency-replayed", "true"] as const;

export function sendReplayed(reply: FastifyReply): void {
  reply.header(...replayedHeader);
}

/** As the router has read it: a name may be sent with some of its letters escaped. */
export function pathOf(request: FastifyRequest): string {
  const { url } = request;
  const query = url.indexOf("?");
  const path = query < 0 ? url : url.slice(0, query);
  return path.includes("%") ? decodeURIComponent(path) : path;
}

/** Made once: a reason of its own for each answer that is over would cost more than many answers themselves. */
export const clientGone = new EngineError("unavailable", "the client has gone");

/** Aborted when the client goes away before it has its answer. */
export function clientSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => controller.abort(clientGone));
  return controller.signal;
}

const noParameters = { type: "object", properties: {}, additionalProperties: false };

/** With what every route of its kind has. */
export function wholeSchema({ access, tag, schema }: Route) {
  // Probes may add parameters of their own to an open route; elsewhere a misspelt one must not be ignored.
  const querystring = schema.querystring ?? (access === "open" ? undefined : noParameters);
  return {
    ...schema,
    tags: [tag],
    ...(access === "open" ? { security: [] } : {}),
    ...(querystring === undefined ? {} : { querystring }),
    response: { ...schema.response, "4xx": errorAnswer, "5xx": errorAnswer },
  };
}
