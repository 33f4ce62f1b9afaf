import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { SeededRandom } from "../fault/random.ts";

/** Stands before a server and now and then answers a read without a token with what the same read was answered before. */
export class StaleProxy implements AsyncDisposable {
  readonly #server = createServer((incoming, outgoing) => {
    void this.#forward(incoming, outgoing);
  });
  readonly #target: number;
  readonly #random: SeededRandom;
  readonly #answers = new Map<string, { status: number; body: Buffer }>();

  private constructor(target: number, random: SeededRandom) {
    this.#target = target;
    this.#random = random;
  }

  static async start(target: number, random: SeededRandom): Promise<StaleProxy> {
    const proxy = new StaleProxy(target, random);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async #forward(
    incoming: import("node:http").IncomingMessage,
    outgoing: import("node:http").ServerResponse,
  ): Promise<void> {
    try {
      const body = await buffer(incoming);
      const { method = "GET", url = "/", headers } = incoming;
      // Old counters would be found out by their client, before the search sees anything.
      const isState = method === "GET" || url.endsWith("/get") || (url.endsWith("/sql") && !body.includes("links."));
      const isRead = isState && headers["service-consistency-token"] === undefined;
      const key = `${method} ${url} ${body}`;
      const old = this.#answers.get(key);
      if (isRead && old !== undefined && this.#random.chance(0.1)) {
        outgoing.writeHead(old.status, { "content-type": "application/json" }).end(old.body);
        return;
      }
      const answer = await new Promise<{ status: number; body: Buffer }>((resolve, reject) => {
        const sent = request({ host: "127.0.0.1", port: this.#target, method, path: url, headers }, (reply) => {
          buffer(reply).then((bytes) => resolve({ status: reply.statusCode ?? 500, body: bytes }), reject);
        });
        sent.on("error", reject);
        sent.end(body);
      });
      // The first answer is kept for a while, so that it gets old.
      if (isRead && (old === undefined || this.#random.chance(0.1))) this.#answers.set(key, answer);
      outgoing.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body);
    } catch {
      outgoing.destroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
