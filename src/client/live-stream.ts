import { ServiceError } from "./error.ts";

const endFlag = 2;
const headBytes = 5;

/** A message of the Connect protocol's streams: a flag, its length, JSON. */
export function enveloped(message: unknown): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(message));
  const bytes = new Uint8Array(headBytes + json.length);
  new DataView(bytes.buffer).setUint32(1, json.length);
  bytes.set(json, headBytes);
  return bytes;
}

/** The messages of an answer; throws where it ends with an error. */
export async function* messagesOf<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<T> {
  const reader = body.getReader();
  let received = new Uint8Array(0);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new ServiceError("unavailable", "the session was cut off");
      const joined = new Uint8Array(received.length + value.length);
      joined.set(received);
      joined.set(value, received.length);
      received = joined;
      for (let size = sizeOf(received); size !== undefined; size = sizeOf(received)) {
        const parsed = JSON.parse(new TextDecoder().decode(received.subarray(headBytes, size))) as unknown;
        if (received[0] === endFlag) {
          throwError(parsed);
          return;
        }
        received = received.slice(size);
        yield parsed as T;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Of the first message with its head; undefined while it is not there as a whole. */
function sizeOf(received: Uint8Array): number | undefined {
  if (received.length < headBytes) return undefined;
  const size = headBytes + new DataView(received.buffer, received.byteOffset).getUint32(1);
  return received.length < size ? undefined : size;
}

interface EndOfStream {
  readonly error?: {
    readonly code: string;
    readonly message?: string;
    readonly details?: readonly { readonly debug?: unknown }[];
  };
}

function throwError(end: unknown): void {
  const { error } = end as EndOfStream;
  if (error !== undefined) throw new ServiceError(error.code, error.message ?? error.code);
}
