import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { EngineError } from "../../engine/errors.ts";
import { authorizeMessage } from "./access.ts";
import { type Call, callKey } from "./call.ts";

/** Settles as the promise does, or fails as soon as the signal is aborted. Leaves no listener behind. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    const fail = () => reject(abortError(signal));
    if (signal.aborted) fail();
    signal.addEventListener("abort", fail, { once: true });
    stop = () => signal.removeEventListener("abort", fail);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    stop?.();
  }
}

function abortError(signal: AbortSignal): unknown {
  const reason: unknown = signal.reason;
  if (reason instanceof ConnectError && reason.code === Code.DeadlineExceeded) {
    return new EngineError("deadline_exceeded", "the caller's deadline passed", { cause: reason });
  }
  return reason instanceof ConnectError ? reason : new ConnectError("the caller is gone", Code.Canceled);
}

async function* guarded<T>(
  messages: AsyncIterable<T>,
  signal: AbortSignal,
  explain: (error: unknown) => ConnectError,
): AsyncGenerator<T> {
  const iterator = messages[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const next = await orAborted(iterator.next(), signal);
      if (next.done === true) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } catch (error) {
    throw explain(error);
  } finally {
    // Not awaited: a handler that ignores its signal must not hold the answer back.
    if (!ended) iterator.return?.(undefined)?.catch(() => undefined);
  }
}

function hasDeadline(header: Headers): boolean {
  return header.has("connect-timeout-ms") || header.has("grpc-timeout");
}

/** Checks the namespace of the credential and its quota. */
export function admitMessage(call: Call, message: object): void {
  if (call.principal === undefined) return;
  call.message = message;
  const namespace = authorizeMessage(call.principal, call.path, message);
  if (namespace !== undefined) call.admitRequest(namespace);
}

/** What a handler throws once its call is over is no bug. */
export function endError(signal: AbortSignal, error: unknown): unknown {
  const known = error instanceof EngineError || error instanceof ConnectError;
  return signal.aborted && !known ? abortError(signal) : error;
}

/**
 * Around every handler: admits the message, ends the wait when the deadline passes even where the handler does not listen
 * to its signal, and turns what is thrown into an error for the wire.
 */
export const guard: Interceptor = (next) => async (request) => {
  const call = request.contextValues.get(callKey);
  if (call === undefined) throw new Error("a call without its context");
  const explain = (error: unknown) => call.explain(endError(request.signal, error));
  try {
    if (!request.stream) admitMessage(call, request.message);
    const reply = next(request);
    const response = hasDeadline(request.header) ? await orAborted(reply, request.signal) : await reply;
    if (!response.stream) return response;
    return { ...response, message: guarded(response.message, request.signal, explain) };
  } catch (error) {
    throw explain(error);
  }
};
