import { randomUUID } from "node:crypto";
import { constants } from "node:http2";
import type { DescService } from "@bufbuild/protobuf";
import { type ConnectRouter, createConnectRouter, createContextValues, type ServiceImpl } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip, universalRequestFromNodeRequest } from "@connectrpc/connect-node";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError, invalid } from "../../engine/errors.ts";
import { buildVariant, isAbsent } from "../../engine/instance/catalogue.ts";
import type { Instance } from "../../engine/instance/instance.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { file_service_collection_v1_collection } from "../../gen/service/collection/v1/collection_pb.ts";
import { file_service_collection_v1_document } from "../../gen/service/collection/v1/document_pb.ts";
import { NamespaceService } from "../../gen/service/collection/v1/namespace_pb.ts";
import { file_service_collection_v1_query } from "../../gen/service/collection/v1/query_pb.ts";
import { file_service_errors_v1_errors } from "../../gen/service/errors/v1/errors_pb.ts";
import { InstanceService } from "../../gen/service/instance/v1/instance_pb.ts";
import { file_service_live_v1_live } from "../../gen/service/live/v1/live_pb.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { authorizeCall, needsCredential, principalKey } from "./access.ts";
import { Cors } from "./cors.ts";
import { deadlineMs, within } from "./deadline.ts";
import { type ErrorContext, toConnectError } from "./error.ts";
import { type HealthState, healthService } from "./health.ts";
import { HouseProxy, isHousePath } from "./house.ts";
import { instanceService, jwksPath } from "./instance.ts";
import { createGuard } from "./interceptor.ts";
import { rpcLimits } from "./limits.ts";
import { type Namespaces, namespaceService } from "./namespace.ts";
import { type AnyNodeResponse, bodyOf, header, isGone, type NodeRequest, type NodeResponse, pathOf } from "./node.ts";
import { protocolOf } from "./protocol.ts";
import { addReflection, Reflection, reflectionServices } from "./reflection.ts";
import { writeError, writeReply } from "./respond.ts";

export interface RpcLog {
  error(fields: object, message: string): void;
}

/** A service and what answers its calls; a method left out answers `not_implemented`. */
export interface ServedService {
  readonly descriptor: DescService;
  addTo(router: ConnectRouter): void;
}

export function served<S extends DescService>(descriptor: S, implementation: Partial<ServiceImpl<S>>): ServedService {
  return { descriptor, addTo: (router) => void router.service(descriptor, implementation) };
}

export interface RpcDeps {
  readonly instance: Instance;
  readonly engine: { readonly namespaces: Namespaces };
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly health: HealthState;
  readonly log: RpcLog;
  /** Reflection is mounted in development only. */
  readonly development: boolean;
  /** Origins whose pages may call. */
  readonly origins?: readonly string[];
  readonly houseUrl?: string;
  readonly publicUrl?: string;
  /** Services beside those that this edge brings. */
  readonly services?: readonly ServedService[];
}

export interface RpcHandler {
  /** Whether a path is this edge's to answer. */
  handles(path: string): boolean;
  handle(request: NodeRequest, response: AnyNodeResponse): void;
  /** Ends what is kept open to the house service. */
  close(): void;
}

const definitions = [
  file_service_collection_v1_collection,
  file_service_collection_v1_document,
  file_service_collection_v1_query,
  file_service_errors_v1_errors,
  file_service_live_v1_live,
];

function landedServices(deps: RpcDeps): ServedService[] {
  return [
    served(InstanceService, instanceService(deps)),
    served(NamespaceService, namespaceService(deps.engine.namespaces)),
    served(Health, healthService(deps.health)),
    ...(deps.services ?? []),
  ];
}

function createPaths(deps: RpcDeps, report: ErrorContext["report"]): Map<string, UniversalHandler> {
  const router = createConnectRouter({
    acceptCompression: [compressionGzip, compressionBrotli],
    readMaxBytes: rpcLimits.readBytesMax,
    writeMaxBytes: rpcLimits.writeBytesMax,
    compressMinBytes: rpcLimits.compressBytesMin,
    maxTimeoutMs: rpcLimits.timeoutMsMax,
    // A misspelt option must not be ignored.
    jsonOptions: { ignoreUnknownFields: false },
    interceptors: [createGuard(report)],
  });
  const services = landedServices(deps);
  for (const service of services) {
    service.addTo(router);
    deps.health.add(service.descriptor.typeName);
  }
  if (deps.houseUrl !== undefined) deps.health.add("service.house.v1.HouseService");
  if (deps.development) {
    const listed = [...services.map((service) => service.descriptor), ...reflectionServices];
    addReflection(router, new Reflection(listed, definitions));
    for (const service of reflectionServices) deps.health.add(service.typeName);
  }
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

/** Why a call that nothing answers is refused. */
function refusal(path: string, house: boolean): EngineError {
  const service = path.slice(1, path.indexOf("/", 1));
  if (isAbsent(service, house)) {
    const metadata = { variant: buildVariant };
    return new EngineError("feature_not_in_variant", "this build does not hold the package", { metadata });
  }
  return new EngineError("not_implemented", "no such method");
}

function checkHeaders(request: NodeRequest): void {
  const host = "authority" in request ? request.authority : request.headers.host;
  if (!URL.canParse(`http://${host ?? ""}`)) throw invalid("Host", "must name the server");
  const version = header(request, "connect-protocol-version");
  if (version !== undefined && version !== "1") throw invalid("Connect-Protocol-Version", "the only version is 1");
}

class Handler implements RpcHandler {
  readonly #deps: RpcDeps;
  readonly #paths: ReadonlyMap<string, UniversalHandler>;
  readonly #cors: Cors;
  readonly #house: HouseProxy | undefined;

  constructor(deps: RpcDeps) {
    this.#deps = deps;
    this.#paths = createPaths(deps, this.#report);
    this.#cors = new Cors(deps.origins ?? []);
    this.#house = deps.houseUrl === undefined ? undefined : new HouseProxy(deps.houseUrl);
  }

  handles(path: string): boolean {
    return this.#paths.has(path) || path.startsWith("/service.") || path.startsWith("/grpc.") || path === jwksPath;
  }

  handle(request: NodeRequest, response: AnyNodeResponse): void {
    // A caller that leaves is no error of ours; without a listener it would end the process.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    const path = pathOf(request);
    if (request.method === "OPTIONS") this.#cors.preflight(request, response);
    else if (path === jwksPath) this.#writeKeySet(request, response);
    else this.#answer(request, response, path).catch(this.#report);
  }

  close(): void {
    this.#house?.close();
  }

  async #answer(request: NodeRequest, response: AnyNodeResponse, path: string): Promise<void> {
    const protocol = protocolOf(header(request, "content-type"));
    const extra = this.#cors.headersFor(request);
    const context: ErrorContext = {
      acceptLanguage: header(request, "accept-language"),
      // A caller that has left is answered for the form of it; that is not worth a line in the log.
      report: (error) => (isGone(request) ? "" : this.#report(error)),
    };
    try {
      const principal = needsCredential(path) ? await this.#admit(request, path) : undefined;
      if (this.#house !== undefined && isHousePath(path)) {
        await this.#house.forward(request, response, path, extra);
        return;
      }
      checkHeaders(request);
      const handler = this.#paths.get(path);
      if (handler === undefined) throw refusal(path, this.#house !== undefined);
      const values = createContextValues();
      if (principal !== undefined) values.set(principalKey, principal);
      const call = universalRequestFromNodeRequest(request, response, undefined, values);
      const deadline = deadlineMs(request);
      const reply = await within(
        handler({ ...call, body: bodyOf(request) }),
        deadline === undefined ? undefined : deadline + rpcLimits.timeoutGraceMs,
      );
      await writeReply(reply, request, response, protocol, extra, (error) => toConnectError(error, context));
    } catch (error) {
      if (!response.headersSent) writeError(toConnectError(error, context), request, response, protocol, extra);
      else this.#breakOff(request);
    }
  }

  async #admit(request: NodeRequest, path: string): Promise<Principal> {
    const { remoteAddress, remotePort } = request.socket;
    const { authorization } = request.headers;
    const principal = await this.#deps.authenticator.authenticate({ authorization, remoteAddress, remotePort });
    authorizeCall(principal, path);
    return principal;
  }

  /** A reply that has begun can't become an error any more: the caller must see that it is not whole. */
  #breakOff(request: NodeRequest): void {
    if ("stream" in request) request.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else request.socket.destroy();
  }

  #writeKeySet(request: NodeRequest, response: NodeResponse): void {
    const known = request.method === "GET" || request.method === "HEAD";
    const body = Buffer.from(JSON.stringify(known ? this.#deps.instance.keySet : {}));
    response.writeHead(known ? 200 : 405, {
      "content-type": "application/jwk-set+json",
      "content-length": body.byteLength,
      "cache-control": `public, max-age=${rpcLimits.keySetAgeSMax}`,
      ...Object.fromEntries(this.#cors.headersFor(request)),
    });
    if (request.method === "HEAD") response.end();
    else response.end(body);
  }

  readonly #report = (error: unknown): string => {
    const requestId = randomUUID();
    this.#deps.log.error({ requestId, err: error }, "RPC failed");
    return requestId;
  };
}

export function createRpcHandler(deps: RpcDeps): RpcHandler {
  return new Handler(deps);
}
