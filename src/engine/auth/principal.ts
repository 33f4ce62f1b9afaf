/** Who a request acts as, whatever way it proved it. */
export const roles = ["reader", "writer", "admin"] as const;
export type Role = (typeof roles)[number];

export interface Principal {
  readonly id: string;
  readonly kind: "user" | "service_account" | "agent";
  readonly displayName: string;
  readonly email?: string;
  readonly role: Role;
  /** Set when the principal may act only inside these namespaces; never empty. */
  readonly namespaces?: readonly string[];
  readonly method: "off" | "apikey" | "oidc" | "mesh";
}

/** Every caller, when authentication is off. */
export const devLoopback: Principal = Object.freeze({
  id: "dev-loopback",
  kind: "service_account",
  displayName: "dev-loopback",
  role: "admin",
  method: "off",
});

export function isRole(value: unknown): value is Role {
  return (roles as readonly unknown[]).includes(value);
}
