import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import type { ListenerLimits } from "../../src/listener/limits.ts";
import { Listener, type ListenerOptions } from "../../src/listener/listener.ts";
import type { Handler } from "../../src/listener/registry.ts";

/** Short enough to wait for in a test; a client that behaves is never near them. */
export const shortLimits: Partial<ListenerLimits> = {
  sniffTimeoutMs: 200,
  headersTimeoutMs: 200,
  requestTimeoutMs: 200,
  idleTimeoutMs: 200,
  writeStallTimeoutMs: 300,
  lingerMs: 100,
  sweepIntervalMs: 20,
  certificateCheckMs: 20,
};

export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
}

export interface Started {
  readonly listener: Listener;
  readonly port: number;
  readonly lines: LogLine[];
}

export async function start(
  t: TestContext,
  handler: Handler,
  limits: Partial<ListenerLimits> = {},
  more: Partial<ListenerOptions> = {},
): Promise<Started> {
  const lines: LogLine[] = [];
  const write = (level: LogLine["level"]) => (_fields: object, message: string) => {
    lines.push({ level, message });
  };
  const log = { info: write("info"), warn: write("warn"), error: write("error") };
  const listener = await Listener.start({ host: "127.0.0.1", port: 0, handler, log, limits, ...more });
  t.after(() => listener.close());
  return { listener, port: listener.address.port, lines };
}

/** Answers with what it got: method, path and body. */
export const echo: Handler = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = `${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`;
    (response as { end(text: string): void }).end(body);
  });
};

/** A client below HTTP: it says whatever it is told and remembers what it heard. */
export class RawClient {
  readonly socket: Socket;
  text = "";
  readonly closed: Promise<string>;

  constructor(port: number, socket: Socket = connect(port, "127.0.0.1")) {
    this.socket = socket;
    this.socket.setNoDelay(true);
    this.socket.on("data", (chunk: Buffer) => {
      this.text += chunk.toString("latin1");
    });
    // A reset is one of the ways to be cut off.
    this.socket.on("error", () => {});
    this.closed = new Promise((resolve) => this.socket.once("close", () => resolve(this.text)));
  }

  send(text: string | Uint8Array): this {
    this.socket.write(text);
    return this;
  }

  /** One byte at a time until all are sent or the server has had enough. */
  dribble(text: string | Uint8Array, everyMs = 20): this {
    const bytes = Buffer.from(text);
    let next = 0;
    const timer = setInterval(() => {
      if (next === bytes.length || this.socket.destroyed) clearInterval(timer);
      else this.socket.write(bytes.subarray(next, ++next));
    }, everyMs);
    this.socket.once("close", () => clearInterval(timer));
    return this;
  }

  async until(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) {
      if (this.socket.destroyed) throw new Error(`closed before ${pattern}: ${this.text}`);
      await Promise.race([once(this.socket, "data"), once(this.socket, "close")]);
    }
  }
}

export function http2Client(t: TestContext, url: string, options: { ca?: string } = {}): ClientHttp2Session {
  const session = connectHttp2(url, options);
  session.on("error", () => {});
  t.after(() => session.destroy());
  return session;
}

export interface Http2Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export async function http2Request(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body = "",
): Promise<Http2Answer> {
  const stream = session.request({ ":path": "/", ...headers }, { endStream: body === "" });
  if (body !== "") stream.end(body);
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
  });
  const answer = once(stream, "response") as Promise<[IncomingHttpHeaders & { ":status": number }]>;
  await Promise.all([answer, once(stream, "end")]);
  const [received] = await answer;
  return { status: received[":status"], headers: received, body: text };
}

/** Waits for something that the listener does by itself, and gives up long after it should have happened. */
export async function eventually(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries++) {
    if (tries === 2_000) throw new Error(`never came true: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A handler that holds its answers until they are released. */
export function holding(): { handler: Handler; held: (() => void)[] } {
  const held: (() => void)[] = [];
  return {
    held,
    handler: (_request, response) => {
      held.push(() => (response as { end(text: string): void }).end("held"));
    },
  };
}
