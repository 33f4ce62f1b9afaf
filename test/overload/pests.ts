// What a server meets besides honest load: thousands of idle connections, readers and writers that dawdle, queries that
// ask for too much. In a process of its own, for its file descriptors.
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { HttpLane } from "./http-lane.ts";
import type { ClassCounts } from "./messages.ts";
import { judge } from "./operations.ts";
import { type Outcome, Tally } from "./tally.ts";

export interface PestOrder {
  readonly url: string;
  readonly namespace: string;
  readonly connections: number;
}

export interface PestReport {
  /** Idle connections that stood at once. */
  readonly idleMax: number;
  /** Those that the server closed for idling and that were opened anew. */
  readonly reopened: number;
  readonly slowReaders: number;
  readonly slowWriters: number;
  readonly counts: Readonly<Record<string, ClassCounts>>;
}

const openedAtOnce = 200;
const slowEach = 10;
const sipMs = 200;
const sipBytes = 64;

class Pests {
  readonly #port: number;
  readonly #order: PestOrder;
  readonly #tally = new Tally();
  readonly #idle = new Set<Socket>();
  readonly #slow = new Set<Socket>();
  readonly #lane: HttpLane;
  #stopped = false;
  #idleMax = 0;
  #opened = 0;

  constructor(order: PestOrder) {
    this.#order = order;
    this.#port = Number(new URL(order.url).port);
    this.#lane = new HttpLane(this.#port, 4);
  }

  async run(): Promise<void> {
    await Promise.all([this.#keepIdle(), this.#dawdle(), this.#askTooMuch("huge sql"), this.#askTooMuch("huge query")]);
  }

  stop(): PestReport {
    this.#stopped = true;
    const report = {
      idleMax: this.#idleMax,
      reopened: this.#opened - this.#idle.size,
      slowReaders: slowEach,
      slowWriters: slowEach,
      counts: this.#tally.finished(),
    };
    for (const socket of [...this.#idle, ...this.#slow]) socket.destroy();
    this.#lane.close();
    return report;
  }

  /** Connections that asked once and stay. The server closes those that idle; they come again. */
  async #keepIdle(): Promise<void> {
    while (!this.#stopped) {
      const missing = Math.min(openedAtOnce - this.#connecting(), this.#order.connections - this.#idle.size);
      for (let i = 0; i < missing; i++) {
        const socket = this.#connect();
        this.#opened++;
        this.#idle.add(socket);
        socket.once("close", () => this.#idle.delete(socket));
        socket.resume();
        socket.write("GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
      }
      await delay(50);
      this.#idleMax = Math.max(this.#idleMax, this.#idle.size - this.#connecting());
    }
  }

  /** Those that no one has accepted yet: more of them than the system queues would have to call again and again. */
  #connecting(): number {
    let connecting = 0;
    for (const socket of this.#idle) if (socket.connecting) connecting++;
    return connecting;
  }

  /** Readers that ask for the largest page and hardly read it, and writers whose body hardly comes. */
  async #dawdle(): Promise<void> {
    const { namespace } = this.#order;
    const records = `/v1/namespaces/${namespace}/streams/s/partitions/0/records`;
    const page = `GET ${records}?offset=0&max_bytes=16777216 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
    const post = `POST ${records} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 8000000\r\n\r\n`;
    const readers = new Set<Socket>();
    const writers = new Set<Socket>();
    while (!this.#stopped) {
      for (let i = readers.size; i < slowEach; i++) {
        const socket = this.#dawdler(readers);
        // Without a listener for data the socket is read by hand only.
        socket.on("readable", () => {});
        socket.write(page.repeat(4));
      }
      for (let i = writers.size; i < slowEach; i++) this.#dawdler(writers).resume().write(post);
      for (const reader of readers) reader.read(sipBytes);
      for (const writer of writers) writer.write(" ");
      await delay(sipMs);
    }
  }

  #dawdler(kind: Set<Socket>): Socket {
    const socket = this.#connect();
    kind.add(socket);
    this.#slow.add(socket);
    socket.once("close", () => {
      kind.delete(socket);
      this.#slow.delete(socket);
    });
    return socket;
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: "127.0.0.1" });
    socket.on("error", () => {});
    return socket;
  }

  async #askTooMuch(what: "huge sql" | "huge query"): Promise<void> {
    const root = `/v1/namespaces/${this.#order.namespace}`;
    const sql = {
      query:
        "SELECT count(*) FROM collections.c a, collections.c b, collections.c d WHERE a.title || b.title < d.title",
    };
    const query = {
      from: "collections.c",
      retrieve: Array.from({ length: 16 }, (_, i) => ({
        text: { field: "title", query: `log index query engine ${i}`, k: 10_000 },
      })),
      filter: { or: Array.from({ length: 200 }, (_, i) => ({ wildcard: { tag: `*t*${i % 7}*` } })) },
      limit: 10_000,
    };
    const [path, body] = what === "huge sql" ? [`${root}/sql`, sql] : [`${root}/query`, query];
    const text = JSON.stringify(body);
    while (!this.#stopped) {
      const startMs = performance.now();
      const tally = this.#tally.of(what);
      tally.counts.sent++;
      let outcome: Outcome;
      try {
        outcome = judge(await this.#lane.post(path, text));
      } catch (error) {
        if (this.#stopped) return;
        outcome = { kind: "wrong", detail: (error as Error).message };
      }
      tally.add(outcome, performance.now() - startMs);
      await delay(500);
    }
  }
}

let pests: Pests | undefined;

process.on("message", (order: PestOrder | "stop") => {
  if (order === "stop") {
    process.send!(pests!.stop() satisfies PestReport, () => process.exit(0));
    return;
  }
  pests = new Pests(order);
  pests.run().catch((error: unknown) => {
    process.stderr.write(`pests: ${(error as Error).stack}\n`);
    process.exit(1);
  });
});
