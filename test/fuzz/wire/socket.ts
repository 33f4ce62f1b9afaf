import { connect } from "node:net";
import { serverLimits } from "./server.ts";

export interface Exchange {
  /** The start of the answer to what was said first. */
  readonly greeting: string;
  readonly received: Buffer;
  /** The server never closed the connection. */
  readonly hung: boolean;
}

export interface ExchangeOptions {
  /** Said and answered before all else. */
  readonly first?: Uint8Array;
  /** Keeps its half open, and leaves once the server has been silent for so long. */
  readonly quietMs?: number;
  /** After which the server is taken for one that will not close. */
  readonly waitMs?: number | undefined;
}

/**
 * Sends parts one after another, each as its own packet as far as one can tell, then closes its half and takes what
 * comes back until the server closes too.
 */
export function exchange(port: number, parts: readonly Uint8Array[], options: ExchangeOptions = {}): Promise<Exchange> {
  const { first, quietMs, waitMs = serverLimits.answerMs } = options;
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.setNoDelay(true);
    const chunks: Buffer[] = [];
    let greeting = "";
    let said = first === undefined;
    const finish = (hung: boolean) => {
      clearTimeout(timer);
      clearTimeout(quiet);
      socket.destroy();
      resolve({ greeting, received: Buffer.concat(chunks), hung });
    };
    const timer = setTimeout(() => finish(true), waitMs);
    let quiet: NodeJS.Timeout | undefined;
    const wait = () => {
      clearTimeout(quiet);
      if (quietMs !== undefined) quiet = setTimeout(() => finish(false), quietMs);
    };
    const sendNext = (i: number) => {
      if (socket.destroyed) return;
      const part = parts[i];
      if (part === undefined) {
        if (quietMs === undefined) socket.end();
        else wait();
        return;
      }
      socket.write(part, () => setImmediate(() => sendNext(i + 1)));
    };
    socket.on("connect", () => {
      if (first === undefined) sendNext(0);
      else socket.write(first);
    });
    socket.on("data", (chunk: Buffer) => {
      if (said) {
        chunks.push(chunk);
        if (quiet !== undefined) wait();
        return;
      }
      said = true;
      greeting = chunk.latin1Slice();
      sendNext(0);
    });
    socket.on("end", () => finish(false));
    // A reset is one of the ways to be cut off.
    socket.on("error", () => finish(false));
    socket.on("close", () => finish(false));
  });
}

/** The bytes cut at these places. */
export function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [...new Set(places)].filter((at) => at > 0 && at < bytes.length).sort((x, y) => x - y);
  return [...sorted, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : sorted[i - 1], end));
}
