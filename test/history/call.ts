import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";

export interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the shape differs by route, and each caller reads what it asked for
  readonly json: any;
}

/** Nobody listened, so the request did not happen. */
export class NotSent extends Error {}

/**
 * One client's connection. A request is sent once and never again by itself: what was begun before the server's end must
 * not reach the server that comes after it.
 */
export class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #port: number;
  readonly #timeoutMs: number;

  constructor(port: number, timeoutMs: number) {
    this.#port = port;
    this.#timeoutMs = timeoutMs;
  }

  /** Undefined where no answer came: the connection was cut, or it took too long. */
  async call(path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<Reply | undefined> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const type = payload === undefined ? {} : { "content-type": "application/json" };
    const signal = AbortSignal.timeout(this.#timeoutMs);
    const options = { host: "127.0.0.1", port: this.#port, path, agent: this.#agent, signal };
    const method = payload === undefined ? "GET" : "POST";
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request({ ...options, method, headers: { ...type, ...headers } }, resolve);
        sent.on("error", reject);
        sent.end(payload);
      });
      const content = await text(response);
      return { status: response.statusCode!, json: content === "" ? undefined : JSON.parse(content) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ECONNREFUSED") throw new NotSent();
      return undefined;
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
