import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { capability } from "../../../src/edge/mysql/capability.ts";

export const usual =
  capability.protocol41 |
  capability.secureConnection |
  capability.pluginAuth |
  capability.transactions |
  capability.connectWithDb |
  capability.multiResults;

/** A client that says exactly what a test wants it to say. */
export class RawClient {
  readonly socket: Socket;
  #held = Buffer.alloc(0);
  #wake: (() => void) | undefined;
  closed = false;

  constructor(port: number, options: { readonly allowHalfOpen?: boolean } = {}) {
    this.socket = connect({ port, host: "127.0.0.1", ...options });
    this.socket.on("data", (chunk) => {
      this.#held = Buffer.concat([this.#held, chunk]);
      this.#wake?.();
    });
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.closed = true;
      this.#wake?.();
    });
  }

  /** The next packet; undefined when the server has closed. */
  async read(): Promise<{ sequence: number; payload: Buffer } | undefined> {
    for (;;) {
      if (this.#held.length >= 4 && this.#held.length >= 4 + this.#held.readUIntLE(0, 3)) {
        const end = 4 + this.#held.readUIntLE(0, 3);
        const packet = { sequence: this.#held[3]!, payload: this.#held.subarray(4, end) };
        this.#held = this.#held.subarray(end);
        return packet;
      }
      if (this.closed) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  send(sequence: number, payload: Uint8Array | string): void {
    const bytes = typeof payload === "string" ? Buffer.from(payload, "latin1") : payload;
    const header = Buffer.alloc(4);
    header.writeUIntLE(bytes.length, 0, 3);
    header[3] = sequence;
    this.socket.write(Buffer.concat([header, bytes]));
  }

  /** Signs in where authentication is off. */
  async signIn(database = "", capabilities: number = usual): Promise<void> {
    await this.read();
    this.send(1, handshakeResponse(database, capabilities));
    const answer = await this.read();
    if (answer?.payload[0] !== 0) throw new Error(`not signed in: ${errorOf(answer?.payload)?.errno}`);
  }

  /** A command and the first packet of its answer. */
  async command(code: number, rest: Uint8Array | string = ""): Promise<Buffer> {
    this.send(0, Buffer.concat([Buffer.from([code]), Buffer.from(rest as string, "latin1")]));
    const answer = await this.read();
    if (answer === undefined) throw new Error("the server has closed");
    return answer.payload;
  }

  async ended(): Promise<void> {
    if (!this.closed) await once(this.socket, "close");
  }
}

export function handshakeResponse(database = "", capabilities: number = usual): Buffer {
  const head = Buffer.alloc(32);
  head.writeUInt32LE(capabilities >>> 0, 0);
  head[8] = 46;
  return Buffer.concat([head, Buffer.from(`raw\0\0${database}\0mysql_native_password\0`, "latin1")]);
}

export function errorOf(payload: Buffer | undefined): { errno: number; message: string } | undefined {
  if (payload?.[0] !== 0xff) return undefined;
  const withState = payload[3] === 0x23;
  return { errno: payload.readUInt16LE(1), message: payload.toString("utf8", withState ? 9 : 3) };
}

/** A session of the namespace `shop`, with its id. */
export async function signedIn(port: number): Promise<{ client: RawClient; id: number }> {
  const client = new RawClient(port, { allowHalfOpen: true });
  const greeting = (await client.read())!.payload;
  client.send(1, handshakeResponse("shop"));
  await client.read();
  return { client, id: greeting.readUInt32LE(greeting.indexOf(0) + 1) };
}
