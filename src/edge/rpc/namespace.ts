import type { ServiceImpl } from "@connectrpc/connect";
import type { NamespaceService } from "../../gen/service/collection/v1/namespace_pb.ts";

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
