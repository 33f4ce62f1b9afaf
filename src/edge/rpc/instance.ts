import type { ServiceImpl } from "@connectrpc/connect";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError } from "../../engine/errors.ts";
import type { Port } from "../../engine/instance/catalogue.ts";
import type { Instance, SignInMethod } from "../../engine/instance/instance.ts";
import type { NamespaceService } from "../../gen/service/collection/v1/namespace_pb.ts";
import { Edition, type InstanceService, PrincipalKind, SignInKind } from "../../gen/service/instance/v1/instance_pb.ts";
import { principalOf } from "./call.ts";
import { jwksPath } from "./paths.ts";

const signInKinds: Record<SignInMethod["kind"], SignInKind> = {
  none: SignInKind.NONE,
  identity_provider: SignInKind.IDENTITY_PROVIDER,
  identity_provider_device_code: SignInKind.IDENTITY_PROVIDER_DEVICE_CODE,
  pairing: SignInKind.PAIRING,
};

const principalKinds: Record<Principal["kind"], PrincipalKind> = {
  user: PrincipalKind.USER,
  service_account: PrincipalKind.SERVICE_ACCOUNT,
  agent: PrincipalKind.AGENT,
};

export interface InstanceServiceDeps {
  readonly instance: Instance;
  readonly port?: Port;
  /** The address clients reach; without it, the one that the caller used. */
  readonly publicUrl?: string;
}

export function instanceService({
  instance,
  publicUrl,
  port,
}: InstanceServiceDeps): ServiceImpl<typeof InstanceService> {
  return {
    async getInstance(_request, context) {
      const { version, signInMethods, push, services, apiVersions, ...same } = await instance.describe(port);
      return {
        ...same,
        edition: Edition.OSS,
        serverVersion: version,
        apiVersions: [...apiVersions],
        jwksUri: new URL(jwksPath, publicUrl ?? context.url).href,
        signInMethods: signInMethods.map(({ kind, displayName }) => ({ kind: signInKinds[kind], displayName })),
        services: services.map((status) => ({ ...status, services: [...status.services] })),
        ...(push === undefined ? {} : { push }),
      };
    },

    whoAmI(_request, context) {
      const principal = principalOf(context.values);
      if (principal === undefined) throw new EngineError("unauthenticated", "no credential");
      const org = instance.setup?.org;
      const { id, kind, displayName, email } = principal;
      return {
        principal: { id, kind: principalKinds[kind], displayName, ...(email === undefined ? {} : { email }) },
        ...(org === undefined ? {} : { org }),
        environments: [],
      };
    },
  };
}

/** The part of the engine that creates namespaces. */
export interface Namespaces {
  create(name: string): Promise<{ readonly id: number }>;
}

export function namespaceService(namespaces: Namespaces): ServiceImpl<typeof NamespaceService> {
  return {
    async createNamespace(request) {
      const { id } = await namespaces.create(request.name);
      return { id: BigInt(id) };
    },
  };
}
