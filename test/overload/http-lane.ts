import { connect, type Socket } from "node:net";

export interface HttpAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
}

interface Asked {
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: Error) => void;
}

const headEnd = Buffer.from("\r\n\r\n");
/** Connections of one lane that are being opened; a client that calls in more often only adds calls. */
const connectingMax = 100;
const lastChunk = Buffer.from("0\r\n\r\n");

/** One keep-alive connection with at most one request in flight. */
class LaneConnection {
  /** Resolves once it stands or has failed. */
  readonly settled: Promise<unknown>;
  readonly #socket: Socket;
  readonly #onFree: (connection: LaneConnection) => void;
  #asked: Asked | undefined;
  #parts: Buffer[] = [];
  #held = 0;
  /** Bytes of the whole answer, once its head is known; -1 for one in chunks. */
  #wanted = 0;

  constructor(port: number, onFree: (connection: LaneConnection) => void, onClosed: (c: LaneConnection) => void) {
    this.#onFree = onFree;
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.settled = new Promise((resolve) => {
      this.#socket.once("connect", resolve);
      this.#socket.once("close", resolve);
    });
    this.#socket.on("data", (data) => this.#onData(data));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => {
      this.#fail(new Error("closed without an answer"));
      onClosed(this);
    });
  }

  ask(request: string): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      this.#asked = { resolve, reject };
      this.#socket.write(request);
    });
  }

  destroy(): void {
    this.#asked = undefined;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    const asked = this.#asked;
    this.#asked = undefined;
    asked?.reject(error);
  }

  #onData(data: Buffer): void {
    this.#parts.push(data);
    this.#held += data.length;
    if (this.#wanted > 0 && this.#held < this.#wanted) return;
    if (this.#wanted < 0 && !data.subarray(-lastChunk.length).equals(lastChunk) && data.length >= lastChunk.length)
      return;
    const all = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.#parts = [all];
    const end = all.indexOf(headEnd);
    if (end < 0) return;
    const head = all.latin1Slice(0, end);
    const length = /content-length: (\d+)/i.exec(head);
    const chunked = length === null && /transfer-encoding: chunked/i.test(head);
    this.#wanted = chunked ? -1 : end + 4 + Number(length?.[1] ?? 0);
    if (chunked ? !all.subarray(-lastChunk.length).equals(lastChunk) : all.length < this.#wanted) return;
    const body = all.subarray(end + 4);
    this.#parts = [];
    this.#held = 0;
    this.#wanted = 0;
    const asked = this.#asked;
    this.#asked = undefined;
    const isLast = /connection: close/i.test(head);
    if (isLast) this.#socket.destroy();
    else this.#onFree(this);
    asked?.resolve({ status: Number(head.slice(9, 12)), head, body: chunked ? unchunked(body) : body });
  }
}

function unchunked(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf("\r\n", at);
    const bytes = Number.parseInt(body.latin1Slice(at, end), 16);
    if (!(bytes > 0)) return Buffer.concat(parts);
    parts.push(body.subarray(end + 2, end + 2 + bytes));
    at = end + 4 + bytes;
  }
}

/**
 * HTTP/1.1 over as many connections as are needed at once, up to a bound. Written on bare sockets, since the generator
 * shares the machine with what it loads.
 */
export class HttpLane {
  readonly #port: number;
  readonly #connectionsMax: number;
  readonly #free: LaneConnection[] = [];
  readonly #all = new Set<LaneConnection>();
  #connecting = 0;

  constructor(port: number, connectionsMax: number) {
    this.#port = port;
    this.#connectionsMax = connectionsMax;
  }

  get isFull(): boolean {
    if (this.#free.length > 0) return false;
    return this.#all.size >= this.#connectionsMax || this.#connecting >= connectingMax;
  }

  get(path: string): Promise<HttpAnswer> {
    return this.#ask(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
  }

  post(path: string, body: string, type = "application/json"): Promise<HttpAnswer> {
    const length = Buffer.byteLength(body);
    const head = `host: 127.0.0.1\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n`;
    return this.#ask(`POST ${path} HTTP/1.1\r\n${head}\r\n${body}`);
  }

  close(): void {
    for (const connection of this.#all) connection.destroy();
    this.#free.length = 0;
  }

  #ask(request: string): Promise<HttpAnswer> {
    const connection = this.#free.pop() ?? this.#open();
    return connection.ask(request);
  }

  #open(): LaneConnection {
    const connection = new LaneConnection(
      this.#port,
      (free) => this.#free.push(free),
      (closed) => {
        this.#all.delete(closed);
        const at = this.#free.indexOf(closed);
        if (at >= 0) this.#free.splice(at, 1);
      },
    );
    this.#all.add(connection);
    this.#connecting++;
    connection.settled.then(() => {
      this.#connecting--;
    });
    return connection;
  }
}
