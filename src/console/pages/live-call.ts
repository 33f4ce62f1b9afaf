import { ApiError, call, nsPath } from "../lib/api.ts";

interface Reply {
  readonly value?: unknown;
  readonly error?: { readonly kind: string; readonly message: string };
}

/** Runs a live function; what it throws is a problem to show. */
export async function runLive(ns: string, how: "query" | "mutate", name: string, args: object): Promise<unknown> {
  const { value, error } = await call<Reply>(nsPath(ns, "live", how), { body: { function: name, args } });
  if (error === undefined) return value;
  throw new ApiError({ status: 200, reason: error.kind, message: error.message });
}
