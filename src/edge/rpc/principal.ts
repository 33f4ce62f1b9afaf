import type { DescMethod } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import { EngineError } from "../../engine/errors.ts";

export type Role = "admin" | "writer" | "reader";

/** Who makes a call: the part of it that this edge needs. */
export interface RpcPrincipal {
  readonly id: string;
  readonly kind: "user" | "service_account" | "agent";
  readonly displayName: string;
  readonly email?: string;
  readonly role: Role;
  /** The one namespace that the credential is limited to. */
  readonly namespace?: string;
}

export interface Credentials {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly remoteAddress: string | undefined;
  readonly path: string;
}

/** Throws `unauthenticated`, `token_expired` or `permission_denied`. */
export type Authenticate = (credentials: Credentials) => Promise<RpcPrincipal>;

/** Calls that need no credential are made by nobody. */
export const principalKey = createContextKey<RpcPrincipal | undefined>(undefined, { description: "principal" });

/** Calls that anybody may make. */
const openPaths: ReadonlySet<string> = new Set([
  "/service.instance.v1.InstanceService/GetInstance",
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
]);

export function needsCredential(path: string): boolean {
  return !openPaths.has(path);
}

const ranks: Record<Role, number> = { reader: 0, writer: 1, admin: 2 };

/** What is not listed reads. Readers read, writers also write data, admins also create and drop. */
const roles: Readonly<Record<string, Role>> = {
  "/service.collection.v1.NamespaceService/CreateNamespace": "admin",
  "/service.collection.v1.CollectionService/CreateCollection": "admin",
  "/service.collection.v1.CollectionService/DropCollection": "admin",
  "/service.collection.v1.CollectionService/AddFields": "admin",
  "/service.collection.v1.CollectionService/UpdateAliases": "admin",
  "/service.collection.v1.CollectionService/SetHot": "admin",
  "/service.collection.v1.CollectionService/WarmCollection": "writer",
  "/service.collection.v1.DocumentService/WriteDocuments": "writer",
  "/service.collection.v1.DocumentService/DeleteByFilter": "writer",
  "/service.collection.v1.DocumentService/PatchByFilter": "writer",
};

export function authorizeRole(principal: RpcPrincipal, path: string): void {
  const needed = roles[path] ?? "reader";
  if (ranks[principal.role] < ranks[needed]) {
    throw new EngineError("permission_denied", `this call needs the role ${needed}`);
  }
}

/** A credential of one namespace may name no other; creating one names it in `name`. */
export function authorizeNamespace(principal: RpcPrincipal, method: DescMethod, message: object): void {
  if (principal.namespace === undefined) return;
  const field = method.name === "CreateNamespace" ? "name" : "namespace";
  const named = (message as Readonly<Record<string, unknown>>)[field];
  if (typeof named === "string" && named !== principal.namespace) {
    throw new EngineError("permission_denied", "the credential is limited to another namespace");
  }
}
