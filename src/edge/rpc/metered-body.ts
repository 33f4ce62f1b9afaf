import { Code, ConnectError } from "@connectrpc/connect";
import type { ByteAccount } from "../wire/byte-budget.ts";

export interface BodyMeter {
  readonly account: ByteAccount;
  /** What of the body counts at most: a stream's messages go one after another. */
  readonly countedBytesMax: number;
  /** What it may be at most. */
  readonly bytesMax: number;
}

/** Counts what has come of a body; throws where it is too long or there is no room for it. */
export function countBytes({ account, countedBytesMax, bytesMax }: BodyMeter, bytes: number): void {
  if (bytes > bytesMax) {
    throw new ConnectError(`the call is larger than ${bytesMax} bytes`, Code.ResourceExhausted);
  }
  if (!account.hold(Math.min(bytes, countedBytesMax))) {
    throw new ConnectError("too many bytes of requests are under way; retry", Code.Unavailable);
  }
}

/** A body that is counted as it comes. */
export async function* meteredBody(body: AsyncIterable<Uint8Array>, meter: BodyMeter): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    countBytes(meter, bytes);
    yield chunk;
  }
}
