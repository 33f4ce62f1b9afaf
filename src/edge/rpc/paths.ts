export const jwksPath = "/.well-known/jwks.json";

const letters = { s: 0x73, g: 0x67, a: 0x61, dot: 0x2e } as const;

/** Whether a request target, a path and perhaps a query, is this edge's to answer. */
export function isRpcTarget(target: string): boolean {
  // Hot path: the first letter tells most requests of the REST edge (`/v1/…`) apart.
  const first = target.charCodeAt(1);
  if (first !== letters.s && first !== letters.g && first !== letters.a && first !== letters.dot) return false;
  return (
    target.startsWith("/service.") ||
    target.startsWith("/grpc.") ||
    target.startsWith("/arrow.flight.") ||
    target === jwksPath ||
    target.startsWith(`${jwksPath}?`)
  );
}
