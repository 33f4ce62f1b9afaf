import { type IncomingMessage, METHODS, type ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { authorize } from "../../engine/auth/access.ts";
import type { AuditLog } from "../../engine/auth/audit.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { type EngineError, invalid } from "../../engine/errors.ts";
import { limits } from "../../engine/limits.ts";
import { tablePathIn } from "../../engine/live/builtins.ts";
import { unknownFields } from "../../engine/unknown-fields.ts";
import type { FastHandler } from "../../listener/fast-lane.ts";
import { admit, callerOf, type Entrance } from "../auth/entrance.ts";
import { ByteBudget } from "../wire/byte-budget.ts";
import { collectionRoutes } from "./collections/routes.ts";
import { docsRoutes } from "./docs/routes.ts";
import { documentRoutes } from "./documents/routes.ts";
import { errorReply, toEngineError } from "./error.ts";
import { eventRoutes } from "./events/routes.ts";
import { createFastLane } from "./fast-lane.ts";
import { registerBodyParser } from "./http/body.ts";
import { compileSchema } from "./http/validation.ts";
import { backupRoutes } from "./instance/backup.ts";
import { clusterRoutes } from "./instance/cluster.ts";
import { namespaceRoutes } from "./instance/namespaces.ts";
import { operationRoutes } from "./instance/operations.ts";
import { instanceRoutes } from "./instance/routes.ts";
import { liveRoutes } from "./live/routes.ts";
import type { RestOptions } from "./options.ts";
import { queryRoutes } from "./query/routes.ts";
import { recordRoutes } from "./records/routes.ts";
import { type Access, checkAccess, isRead, needOf, type Route, readToken, wholeSchema } from "./route.ts";
import { RouteTable } from "./route-table.ts";
import type { Schema } from "./schemas.ts";
import { sqlRoutes } from "./sql/routes.ts";
import { linkRoutes } from "./streams/links.ts";
import { streamRoutes } from "./streams/routes.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    readonly access?: Access;
  }
  interface FastifyRequest {
    /** Who the request acts as. */
    principal: Principal;
    /** What it changes beside data, where its route alone does not tell. */
    act: string | undefined;
  }
}

/** HTTP/1 requests, or HTTP/2 ones in Node's compatible form. */
export type RequestHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

/**
 * HTTP/2 lets any word through as a method. One that the router has never heard of would pass by the hooks, and with
 * them by the check of the credential, so it is taken for one that no route serves.
 */
const knownMethods: ReadonlySet<string> = new Set(METHODS);
const unknownMethod = "TRACE";
/** What such a request said, for its answer. */
const saidMethods = new WeakMap<object, string>();
const saidMethodLengthMax = 64;

/** HTTP/2 tells by its frames that a body comes. The router looks for a header, and would take it for absent. */
function fitRouter(request: Http2ServerRequest): void {
  const { method, headers, stream } = request;
  if (!knownMethods.has(method)) {
    saidMethods.set(request, method.slice(0, saidMethodLengthMax));
    headers[":method"] = unknownMethod;
  }
  if (!stream.endAfterHeaders && headers["content-length"] === undefined) headers["transfer-encoding"] = "chunked";
}

export interface Rest {
  readonly handle: RequestHandler;
  /** For requests that the listener has read itself; see the fast lane. */
  readonly fast: FastHandler;
}

/** Given at the start, so that the router does not load its own, whose types these have not. */
const compilersFactory: object = {
  buildValidator: () => compileSchema,
  buildSerializer: () => () => (data: unknown) => JSON.stringify(data),
};

/** The REST edge: JSON over HTTP, from one table of routes. */
export async function createRest(options: RestOptions): Promise<Rest> {
  const { engine, metrics, log, version, requestId, authenticator } = options;
  const entrance: Entrance = {
    screen: (caller) => authenticator.screen(caller),
    authenticate: (caller) => authenticator.authenticate(caller),
    isDraining: () => engine.isDraining,
  };
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: requestId,
    routerOptions: { maxParamLength: 4096 },
    exposeHeadRoutes: true,
    schemaController: { compilersFactory },
    return503OnClosing: false,
    // A path that the router can't read never reaches the hooks and the error handler below.
    frameworkErrors: (_error, request, reply) => void refusePath(entrance, request, reply),
  });
  registerBodyParser(app, options.bytes);
  const answers = new ByteBudget(limits.answerBytesMax);
  app.decorateRequest("principal", undefined as unknown as Principal);
  app.decorateRequest("act", undefined);
  const routes: Route[] = [
    ...operationRoutes(engine, metrics),
    ...namespaceRoutes(engine),
    ...streamRoutes(engine),
    ...recordRoutes(engine),
    ...eventRoutes(engine),
    ...linkRoutes(engine),
    ...collectionRoutes(engine),
    ...documentRoutes(engine),
    ...queryRoutes(engine, answers),
    ...sqlRoutes(engine),
    ...liveRoutes(engine),
    ...(options.backups === undefined ? [] : backupRoutes(options.backups)),
    ...(options.instance === undefined ? [] : instanceRoutes(options.instance.keys, options.instance.audit)),
    ...(options.cluster === undefined ? [] : clusterRoutes(options.cluster)),
    ...docsRoutes(version, () => routes),
  ];
  registerHooks(app, options, entrance, new RouteTable(routes));
  await app.register(async (scope) => registerRoutes(scope, routes));
  await app.ready();
  const fastLane = createFastLane(options, entrance, answers);
  const handle: RequestHandler = (request, response) => {
    if (!("stream" in request) && fastLane.plain(request, response as ServerResponse)) return;
    if ("stream" in request) fitRouter(request);
    // The router takes both forms; its type names the first.
    app.routing(request as IncomingMessage, response as ServerResponse);
  };
  return { handle, fast: fastLane.fast };
}

function isGone({ raw }: FastifyReply): boolean {
  return raw.destroyed || raw.socket?.destroyed === true;
}

function sendError(error: EngineError, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, body } = errorReply(error);
  // A client that has left is why its request was stopped; that is not worth a line.
  if (status === 500 || (status === 503 && !isGone(reply))) {
    const level = status === 500 ? "error" : "warn";
    request.log[level]({ err: error.cause ?? error, route: request.routeOptions.url }, error.message);
  }
  const sent = status === 500 ? { ...body, request_id: request.id } : body;
  // Fastify would close the connection after a refused body, under a client that still sends and then can't read the
  // answer. The listener discards what still comes. One that asked before sending (Expect) is told that it ends.
  if (request.headers.expect === undefined) reply.removeHeader("connection");
  reply
    .code(status)
    .headers(headers)
    .header("content-type", "application/json; charset=utf-8")
    .send(JSON.stringify(sent));
}

/** Who asks is decided first here too. */
async function refusePath(entrance: Entrance, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  let refused = invalid("path", "is not a valid URL path, or a part of it is too long");
  try {
    await admit(entrance, callerOf(request.raw), () => {});
  } catch (error) {
    refused = toEngineError(error);
  }
  reply.header("x-request-id", request.id);
  sendError(refused, request, reply);
}

/**
 * Who asks is decided first, for what is no route too, so that an outsider learns nothing of which routes there are;
 * then the path and the method; the body is read only after that.
 */
function registerHooks(
  app: FastifyInstance,
  { engine, metrics, instance }: RestOptions,
  entrance: Entrance,
  table: RouteTable,
): void {
  const checkRoute = (request: FastifyRequest, reply: FastifyReply) => {
    const { method, url, routeOptions } = request;
    const said = saidMethods.get(request.raw) ?? method;
    const refused = request.is404 ? table.refuse(said, url) : table.mistaken(method, url, routeOptions.url ?? "");
    if (refused === undefined) return;
    if (refused.allow !== undefined) reply.header("allow", refused.allow);
    if (method !== "OPTIONS" || refused.allow === undefined) throw refused.error;
    reply.header("allow", `${refused.allow}, OPTIONS`);
    admitWebhook(request, reply);
  };
  // Only an OPTIONS of a path that is served gets here.
  app.setNotFoundHandler((_request, reply) => reply.code(204).send());
  app.setErrorHandler((error: FastifyError, request, reply) => {
    reply.header("x-request-id", request.id);
    sendError(toEngineError(error), request, reply);
  });
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    request.response = reply.raw;
    const { access = "signed-in" } = request.routeOptions.config;
    const decide =
      access === "open"
        ? undefined
        : (principal: Principal) => {
            request.principal = principal;
            checkRoute(request, reply);
            checkAccess(principal, access, (request.params as { ns?: string }).ns ?? "", engine.quotas);
            // A malformed token is refused even on reads that do not use it, such as lists.
            if (isRead(access)) readToken(request);
          };
    let admitted: Promise<void> | undefined;
    try {
      admitted = admit(entrance, callerOf(request.raw), decide);
    } catch (error) {
      return done(error as Error);
    }
    if (admitted === undefined) done();
    else admitted.then(() => done(), done);
  });
  app.addHook("onResponse", (request, reply, done) => {
    const route = request.routeOptions.url ?? "unknown";
    metrics.onRequest(route, request.method, reply.statusCode, reply.elapsedTime);
    if (instance !== undefined) auditAct(instance.audit, request, reply.statusCode);
    request.log.debug({ method: request.method, route, status: reply.statusCode, ms: reply.elapsedTime }, "answered");
    done();
  });
}

/** Of a name that is noted. */
const nameLengthMax = 128;

/** Notes what somebody changed, or was not allowed to change. */
function auditAct(audit: AuditLog, request: FastifyRequest, status: number): void {
  const { url = "", config } = request.routeOptions;
  const isAct = request.act !== undefined || config.access === "admin" || config.access === "instance-admin";
  if (!isAct || request.method === "GET" || request.method === "HEAD" || request.principal === undefined) return;
  const { ns } = request.params as { readonly ns?: string };
  audit.record({
    action: request.act ?? `${request.method} ${url}`,
    principal: request.principal.id,
    address: request.socket.remoteAddress,
    namespace: ns,
    target: targetOf(request, ns),
    outcome: status < 400 ? "ok" : String(status),
  });
}

function targetOf(request: FastifyRequest, ns: string | undefined): string {
  const [path = ""] = request.url.split("?", 1);
  const body = request.body as { readonly name?: unknown; readonly args?: unknown } | null | undefined;
  if (request.act !== undefined) return `/v1/namespaces/${ns}/live${tablePathIn(body?.args)}`;
  // What is made has its name in the body.
  const name = request.method === "POST" ? body?.name : undefined;
  return typeof name === "string" ? `${path}/${name.slice(0, nameLengthMax)}` : path;
}

const eventsPath = /^\/v1\/namespaces\/([^/?]+)\/streams\/[^/?]+\/events(?:\?|$)/;

/** The handshake of the HTTP webhooks that deliver CloudEvents: who may write here may have its sender deliver, at any rate. */
function admitWebhook({ url, headers, principal }: FastifyRequest, reply: FastifyReply): void {
  const namespace = eventsPath.exec(url)?.[1];
  const origin = headers["webhook-request-origin"];
  if (namespace === undefined || typeof origin !== "string") return;
  authorize(principal, needOf("write", decodeURIComponent(namespace)));
  reply.header("webhook-allowed-origin", origin);
  if (headers["webhook-request-rate"] !== undefined) reply.header("webhook-allowed-rate", "*");
}

function registerRoutes(app: FastifyInstance, routes: readonly Route[]): void {
  for (const route of routes) {
    const { method, url, access, schema, rawBody = false, decode, prepare, handler } = route;
    app.route({
      method,
      url,
      config: { access, rawBody, decode },
      ...bodyHook(method, schema.body, rawBody),
      ...(prepare === undefined ? {} : { preValidation: prepare }),
      schema: wholeSchema(route),
      handler: async (request, reply) => handler(request, reply),
    });
  }
}

type BodyHook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

/** A body whose every field is optional may be left out; a body schema without fields accepts no field. */
function bodyHook(method: Route["method"], body: Schema | undefined, rawBody: boolean): { preValidation?: BodyHook } {
  if (rawBody) return {};
  if (body === undefined) return method === "GET" ? {} : { preValidation: refuseFields };
  return (body["required"] as readonly string[]).length === 0 ? { preValidation: fillEmptyBody } : {};
}

function refuseFields({ body }: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
  const unknown = isObject ? Object.keys(body) : [];
  if (unknown.length > 0) done(unknownFields("", unknown));
  else done(isObject || body === undefined ? undefined : invalid("body", "must be object"));
}

function fillEmptyBody(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (request.body === undefined) request.body = {};
  done();
}
