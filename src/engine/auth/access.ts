import { EngineError } from "../errors.ts";
import type { Principal, Role } from "./principal.ts";

/** Readers read, writers also write data, admins also create and drop. */
export type Action = "read" | "write" | "admin";

/**
 * What an operation needs. `namespace`: the operation acts inside that one. `instance`: it acts on the whole
 * instance, the set of namespaces included. `self`: any admitted principal may ask, and the answer is cut down to
 * what it may see.
 */
export type Need =
  | { readonly scope: "namespace"; readonly action: Action; readonly namespace: string }
  | { readonly scope: "instance"; readonly action: Action }
  | { readonly scope: "self" };

export const needs = {
  /** WhoAmI, the list of namespaces (see `visibleNamespaces`), the API's description. */
  signedIn: { scope: "self" },
  /** Metrics and the like: they tell about every namespace. */
  readInstance: { scope: "instance", action: "read" },
  /** Creating and deleting namespaces. */
  adminInstance: { scope: "instance", action: "admin" },
  /** Fetch, query, list and describe. */
  readIn: (namespace: string): Need => ({ scope: "namespace", action: "read", namespace }),
  /** Append, and write or delete documents. */
  writeIn: (namespace: string): Need => ({ scope: "namespace", action: "write", namespace }),
  /** Create, change and drop streams, links, collections and aliases. */
  adminIn: (namespace: string): Need => ({ scope: "namespace", action: "admin", namespace }),
} as const satisfies Record<string, Need | ((namespace: string) => Need)>;

const rank: Readonly<Record<Role | Action, number>> = { reader: 0, read: 0, writer: 1, write: 1, admin: 2 };

/** Throws `permission_denied` when the principal may not do it; whether the thing exists is not given away. */
export function authorize(principal: Principal, need: Need): void {
  if (need.scope === "self") return;
  if (rank[principal.role] < rank[need.action]) {
    throw new EngineError("permission_denied", `the role ${principal.role} may not do this; it needs ${need.action}`);
  }
  if (principal.namespaces === undefined) return;
  if (need.scope === "instance") {
    throw new EngineError(
      "permission_denied",
      "a credential that is limited to namespaces may not act on the whole instance",
    );
  }
  if (!principal.namespaces.includes(need.namespace)) {
    throw new EngineError("permission_denied", "this credential is for another namespace");
  }
}

/** Whether the principal may know of this namespace. */
export function seesNamespace(principal: Principal, namespace: string): boolean {
  return principal.namespaces?.includes(namespace) ?? true;
}

/** The part of a list of namespaces that the principal may see. */
export function visibleNamespaces<T>(principal: Principal, list: readonly T[], nameOf: (item: T) => string): T[] {
  return list.filter((item) => seesNamespace(principal, nameOf(item)));
}
