import type { DescMethodUnary, DescService } from "@bufbuild/protobuf";
import { type ConnectRouter, createConnectRouter, type MethodImpl, type ServiceImpl } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { file_service_collection_v1_collection } from "../../gen/service/collection/v1/collection_pb.ts";
import { file_service_collection_v1_document } from "../../gen/service/collection/v1/document_pb.ts";
import { NamespaceService } from "../../gen/service/collection/v1/namespace_pb.ts";
import { file_service_collection_v1_query } from "../../gen/service/collection/v1/query_pb.ts";
import { file_service_errors_v1_errors } from "../../gen/service/errors/v1/errors_pb.ts";
import { InstanceService } from "../../gen/service/instance/v1/instance_pb.ts";
import { file_service_live_v1_live } from "../../gen/service/live/v1/live_pb.ts";
import { needsCredential } from "./access.ts";
import { compressions } from "./compressions.ts";
import { healthService } from "./health.ts";
import { instanceService, namespaceService } from "./instance.ts";
import { guard } from "./interceptor.ts";
import { rpcLimits } from "./limits.ts";
import { binaryOptions, jsonOptions } from "./message-parts.ts";
import type { RpcOptions, ServedService } from "./options.ts";
import { addReflection, Reflection, reflectionServices } from "./reflection.ts";
import { UnaryLane } from "./unary-lane.ts";

export function served<S extends DescService>(descriptor: S, implementation: Partial<ServiceImpl<S>>): ServedService {
  const lanes = new Map<string, UnaryLane>();
  for (const method of descriptor.methods) {
    const path = `/${descriptor.typeName}/${method.name}`;
    const answer = implementation[method.localName as keyof typeof implementation];
    if (method.methodKind !== "unary" || typeof answer !== "function" || !needsCredential(path)) continue;
    const unary = answer.bind(implementation) as MethodImpl<DescMethodUnary>;
    lanes.set(path, new UnaryLane(method as DescMethodUnary, unary));
  }
  return { descriptor, lanes, addTo: (router) => void router.service(descriptor, implementation) };
}

const definitions = [
  file_service_collection_v1_collection,
  file_service_collection_v1_document,
  file_service_collection_v1_query,
  file_service_errors_v1_errors,
  file_service_live_v1_live,
];

function landedServices(deps: RpcOptions): ServedService[] {
  return [
    served(InstanceService, instanceService(deps)),
    ...(deps.engine === undefined ? [] : [served(NamespaceService, namespaceService(deps.engine.namespaces))]),
    served(Health, healthService(deps.health)),
    ...(deps.services ?? []),
  ];
}

export interface Paths {
  readonly handlers: ReadonlyMap<string, UniversalHandler>;
  readonly lanes: ReadonlyMap<string, UnaryLane>;
  /** Of services whose clients sign in in a way of their own. */
  readonly authorizations: ReadonlyMap<string, NonNullable<ServedService["authorization"]>>;
}

function createRouter(readMaxBytes: number): ConnectRouter {
  return createConnectRouter({
    acceptCompression: compressions,
    readMaxBytes,
    writeMaxBytes: rpcLimits.writeBytesMax,
    compressMinBytes: rpcLimits.compressBytesMin,
    maxTimeoutMs: rpcLimits.timeoutMsMax,
    binaryOptions,
    jsonOptions,
    interceptors: [guard],
  });
}

export function createPaths(deps: RpcOptions): Paths {
  const router = createRouter(rpcLimits.readBytesMax);
  // What anybody may call reads little, also of what is compressed.
  const openRouter = createRouter(rpcLimits.openBytesMax);
  const services = landedServices(deps);
  const authorizations = new Map<string, NonNullable<ServedService["authorization"]>>();
  for (const service of services) {
    service.addTo(router);
    service.addTo(openRouter);
    const { descriptor, authorization } = service;
    if (authorization !== undefined) {
      for (const { name } of descriptor.methods) authorizations.set(`/${descriptor.typeName}/${name}`, authorization);
    }
    deps.health.add(service.descriptor.typeName);
  }
  if (deps.houseUrl !== undefined) deps.health.add("service.house.v1.HouseService");
  if (deps.development) {
    const listed = [...services.map((service) => service.descriptor), ...reflectionServices];
    addReflection(router, new Reflection(listed, definitions), deps.health.draining);
    for (const service of reflectionServices) deps.health.add(service.typeName);
  }
  const around = new Map(services.map((service) => [service.descriptor.typeName, service.around]));
  const served = [
    ...router.handlers.filter(({ requestPath }) => needsCredential(requestPath)),
    ...openRouter.handlers.filter(({ requestPath }) => !needsCredential(requestPath)),
  ];
  const handlers = new Map(
    served.map((handler) => [handler.requestPath, around.get(handler.service.typeName)?.(handler) ?? handler]),
  );
  const lanes = new Map(services.flatMap((service) => [...(service.lanes ?? [])]));
  return { handlers, lanes, authorizations };
}
