import { parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc";
import { rpcLimits } from "./limits.ts";
import { header, type NodeRequest } from "./node.ts";
import { deadlineError } from "./request.ts";

const unlimited = Number.MAX_SAFE_INTEGER;

/** How long the caller is ready to wait; undefined where it does not say, or says it wrongly. */
export function deadlineMs(request: NodeRequest): number | undefined {
  const grpc = header(request, "grpc-timeout");
  const connect = header(request, "connect-timeout-ms");
  if (grpc === undefined && connect === undefined) return undefined;
  const { timeoutMs } =
    grpc === undefined ? parseConnectTimeout(connect ?? null, unlimited) : parseGrpcTimeout(grpc, unlimited);
  return timeoutMs === undefined ? undefined : Math.min(timeoutMs, rpcLimits.timeoutMsMax);
}

/** Callers without a deadline of their own send a very long one, which the library would refuse: it is cut instead. */
export function cutDeadline(headers: Headers, deadline: number | undefined): void {
  if (deadline !== rpcLimits.timeoutMsMax) return;
  if (headers.has("grpc-timeout")) headers.set("grpc-timeout", `${Math.floor(deadline / 1000)}S`);
  if (headers.has("connect-timeout-ms")) headers.set("connect-timeout-ms", String(deadline));
}

/** Settles as the promise does, or fails when the time is up. */
export async function within<T>(promise: Promise<T>, ms: number | undefined): Promise<T> {
  if (ms === undefined) return await promise;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(deadlineError()), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
