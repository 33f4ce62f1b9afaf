import { constants } from "node:http2";
import { createContextValues } from "@connectrpc/connect";
import { EngineError, invalid, reasons } from "../../engine/errors.ts";
import { buildVariant, isAbsent, type Port } from "../../engine/instance/catalogue.ts";
import { admit, callerOf, type Entrance } from "../auth/entrance.ts";
import { isPreflight } from "../front/cors.ts";
import { authorizeCall, isAdministrative, needsCredential, subjectOf } from "./access.ts";
import { Call, callKey } from "./call.ts";
import { cutDeadline, deadlineMs, within } from "./deadline.ts";
import { sentJson } from "./fault-path.ts";
import { HouseProxy, isHousePath } from "./house.ts";
import { rpcLimits } from "./limits.ts";
import { type AnyNodeResponse, header, type NodeRequest, type NodeResponse, pathOf, universalRequest } from "./node.ts";
import type { RpcOptions } from "./options.ts";
import { jwksPath } from "./paths.ts";
import { type ExtraHeaders, type Protocol, protocolOf, writeError, writeReply } from "./respond.ts";
import { createPaths, type Paths } from "./router.ts";
import { UnaryLane } from "./unary-lane.ts";

export interface RpcHandler {
  handle(request: NodeRequest, response: AnyNodeResponse): void;
  /** Ends what is kept open to the house service. */
  close(): void;
}

/** Why a call that nothing answers is refused. */
function refusal(path: string, house: boolean, port: Port): EngineError {
  const service = path.slice(1, path.indexOf("/", 1));
  if (isAbsent(service, house, port)) {
    const metadata = { variant: buildVariant };
    return new EngineError("feature_not_in_variant", "this port does not serve the package", { metadata });
  }
  return new EngineError("not_implemented", "no such method");
}

function checkVersion(request: NodeRequest): void {
  const version = header(request, "connect-protocol-version");
  if (version !== undefined && version !== "1") throw invalid("Connect-Protocol-Version", "the only version is 1");
}

class Handler implements RpcHandler {
  readonly #deps: RpcOptions;
  readonly #paths: Paths["handlers"];
  readonly #lanes: Paths["lanes"];
  readonly #authorizations: Paths["authorizations"];
  readonly #house: HouseProxy | undefined;
  readonly #entrance: Entrance;
  /** The last one found good, so that the calls of one client cost a comparison each. */
  #knownAuthority = "";

  constructor(deps: RpcOptions) {
    this.#deps = deps;
    const { handlers, lanes, authorizations } = createPaths(deps);
    this.#paths = handlers;
    this.#lanes = lanes;
    this.#authorizations = authorizations;
    const { authenticator, health } = deps;
    this.#entrance = {
      screen: (caller) => authenticator.screen(caller) ?? this.#authorityFault(caller.host),
      authenticate: (caller) => authenticator.authenticate(caller),
      isDraining: () => health.draining.aborted,
    };
    this.#house = deps.houseUrl === undefined ? undefined : new HouseProxy(deps.houseUrl);
  }

  handle(request: NodeRequest, response: AnyNodeResponse): void {
    // A caller that leaves is no error of ours; without a listener it would end the process.
    request.on("error", ignore);
    response.on("error", ignore);
    const path = pathOf(request);
    const requestId = this.#deps.requestId(request);
    const extra: ExtraHeaders = { "x-request-id": requestId, ...this.#deps.cors.headersFor(request) };
    if (path === jwksPath) {
      this.#writeKeySet(request, response, extra);
    } else if (isPreflight(request)) {
      this.#deps.cors.preflight(request, response);
    } else if (request.method === "OPTIONS") {
      request.resume();
      writeAllowed(response, extra);
    } else {
      const call = new Call(requestId, path, request, this.#deps.log, this.#deps.admitRequest);
      this.#answer(call, request, response, extra).catch((error: unknown) => void call.report(error));
    }
  }

  close(): void {
    this.#house?.close();
  }

  async #answer(call: Call, request: NodeRequest, response: AnyNodeResponse, extra: ExtraHeaders): Promise<void> {
    const protocol = protocolOf(header(request, "content-type"));
    try {
      const admitted = this.#admit(call, request);
      if (admitted !== undefined) await admitted;
      if (this.#house !== undefined && isHousePath(call.path)) {
        await this.#house.forward(request, response, call.path, extra);
      } else {
        await this.#serve(call, request, response, protocol, extra);
      }
    } catch (error) {
      const explained = call.explain(error);
      if (!response.headersSent) writeError(explained, request, response, protocol, extra);
      else this.#breakOff(request);
    } finally {
      call.isAnswered = true;
      this.#observe(call);
    }
  }

  async #serve(
    call: Call,
    request: NodeRequest,
    response: AnyNodeResponse,
    protocol: Protocol,
    extra: ExtraHeaders,
  ): Promise<void> {
    checkVersion(request);
    const handler = this.#paths.get(call.path);
    if (handler === undefined) throw refusal(call.path, this.#house !== undefined, this.#deps.port ?? "native");
    const account = this.#deps.bytes.account();
    response.once("close", () => {
      account.release();
      call.left();
    });
    call.input = handler.method.input;
    const isUnary = handler.method.methodKind === "unary" || handler.method.methodKind === "server_streaming";
    const meter = {
      account,
      countedBytesMax: isUnary ? Number.POSITIVE_INFINITY : rpcLimits.readBytesMax,
      bytesMax: needsCredential(call.path) ? Number.POSITIVE_INFINITY : rpcLimits.openBytesMax,
    };
    const lane = UnaryLane.takes(request) ? this.#lanes.get(call.path) : undefined;
    if (lane !== undefined) {
      await lane.serve(call, request, response, meter, extra);
      return;
    }
    const values = createContextValues().set(callKey, call);
    const deadline = deadlineMs(request);
    const universal = universalRequest(request, call.signal, values, meter);
    cutDeadline(universal.header, deadline);
    const reply = await within(
      sentJson.run(call.sent, () => handler(universal)),
      deadline === undefined ? undefined : deadline + rpcLimits.timeoutGraceMs,
    );
    await writeReply(reply, request, response, protocol, extra, call.explain);
  }

  /** Throws, or returns a promise that may reject, unless the caller may make this call. */
  #admit(call: Call, request: NodeRequest): Promise<void> | undefined {
    const signIn = this.#authorizations.get(call.path);
    const sent = callerOf(request);
    const caller = signIn === undefined ? sent : { ...sent, authorization: signIn(sent.authorization) };
    if (!needsCredential(call.path)) return admit(this.#entrance, caller, undefined);
    return admit(this.#entrance, caller, (principal) => {
      call.principal = principal;
      // What this port does not serve it refuses to everybody alike.
      if (this.#paths.has(call.path) || isHousePath(call.path)) authorizeCall(principal, call.path);
    });
  }

  /** It becomes part of the addresses that GetInstance tells. */
  #authorityFault(host: string | undefined): EngineError | undefined {
    if (host !== undefined && host === this.#knownAuthority) return undefined;
    const plain = host !== undefined && !/[@/?#\\]/.test(host) && URL.canParse(`http://${host}`);
    if (!plain) return invalid("Host", "must name the server");
    this.#knownAuthority = host;
    return undefined;
  }

  /** A reply that has begun can't become an error any more: the caller must see that it is not whole. */
  #breakOff(request: NodeRequest): void {
    if ("stream" in request) request.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else request.socket.destroy();
  }

  #observe(call: Call): void {
    const { onCall, audit, log } = this.#deps;
    const ms = performance.now() - call.startedMs;
    // Paths that nothing answers are the caller's words and would make a metric each.
    const method = this.#paths.has(call.path) ? call.path.slice(1) : isHousePath(call.path) ? "house" : "unknown";
    onCall?.(method, call.code, ms);
    const action = call.act ?? (isAdministrative(call.path) ? method : undefined);
    if (audit !== undefined && call.principal !== undefined && action !== undefined) {
      const subject = subjectOf(call.path, call.message);
      const address = call.peer.remoteAddress;
      audit({ action, principal: call.principal.id, address, ...subject, outcome: call.code });
    }
    log.debug({ reqId: call.requestId, method, code: call.code, ms }, "answered");
  }

  #writeKeySet(request: NodeRequest, response: NodeResponse, extra: ExtraHeaders): void {
    request.resume();
    const { method } = request;
    // It needs no credential, but no page of a name that is not the server's may read it either.
    const refused = this.#deps.authenticator.screen(callerOf(request));
    if (refused !== undefined) {
      const { http, rest } = reasons[refused.reason];
      writeJson(method, response, http, { error: rest, message: refused.message, ...refused.details }, extra);
    } else if (method === "GET" || method === "HEAD") {
      writeJson(method, response, 200, this.#deps.instance.keySet, {
        ...extra,
        "content-type": "application/jwk-set+json",
        "cache-control": `public, max-age=${rpcLimits.keySetAgeSMax}`,
      });
    } else {
      const wrong = { error: "invalid_argument", message: "method: use GET or HEAD" };
      writeJson(method, response, 405, wrong, { ...extra, allow: "GET, HEAD" });
    }
  }
}

function ignore(): void {}

/** The answer to OPTIONS of a call. */
function writeAllowed(response: NodeResponse, headers: ExtraHeaders): void {
  response.writeHead(204, { ...headers, allow: "POST, OPTIONS" });
  response.end();
}

/** An answer that is no reply to a call. */
function writeJson(
  method: string | undefined,
  response: NodeResponse,
  status: number,
  value: object,
  headers: ExtraHeaders,
): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { "content-type": "application/json", ...headers, "content-length": body.byteLength });
  if (method === "HEAD") response.end();
  else response.end(body);
}

export function createRpcHandler(deps: RpcOptions): RpcHandler {
  return new Handler(deps);
}
