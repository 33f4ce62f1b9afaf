import { parseTimeout as parseConnectTimeout } from "@connectrpc/connect/protocol-connect";
import { parseTimeout as parseGrpcTimeout } from "@connectrpc/connect/protocol-grpc";
import { EngineError } from "../../engine/errors.ts";
import { rpcLimits } from "./limits.ts";
import { header, type NodeRequest } from "./node.ts";

/** How long the caller is ready to wait; undefined where it does not say, or says it wrongly. */
export function deadlineMs(request: NodeRequest): number | undefined {
  const max = rpcLimits.timeoutMsMax;
  const grpc = header(request, "grpc-timeout");
  if (grpc !== undefined) return parseGrpcTimeout(grpc, max).timeoutMs;
  const connect = header(request, "connect-timeout-ms");
  return connect === undefined ? undefined : parseConnectTimeout(connect, max).timeoutMs;
}

export function deadlineError(): EngineError {
  return new EngineError("deadline_exceeded", "the caller's deadline passed");
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
