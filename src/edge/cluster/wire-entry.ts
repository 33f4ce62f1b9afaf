import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { Address } from "../../listener/address.ts";
import { formatAddress } from "../../listener/address.ts";
import type { WireAddress } from "../wire/address.ts";

/** The port of a SQL wire on a node of a cluster: its connections go to the owner, wherever that is. */
export class WireEntry {
  readonly address: Address;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, take: (socket: Socket) => void) {
    this.#server = server;
    const { address: host, port } = server.address() as AddressInfo;
    this.address = { host, port };
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      take(socket);
    });
    server.on("error", () => undefined);
  }

  /** Undefined where the wire is off. */
  static async start(
    listen: WireAddress,
    setting: string,
    connectionsMax: number,
    take: (socket: Socket) => void,
  ): Promise<WireEntry | undefined> {
    if (listen === "off") return undefined;
    const server = createServer({ noDelay: true, keepAlive: true });
    server.maxConnections = connectionsMax;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen({ host: listen.host, port: listen.port }, resolve);
      });
    } catch (error) {
      const message = `${setting}: can't listen on ${formatAddress(listen)}: ${(error as Error).message}`;
      throw new Error(message, { cause: error });
    }
    server.removeAllListeners("error");
    return new WireEntry(server, take);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
