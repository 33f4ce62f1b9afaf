// The load generator, in a process of its own: keep-alive HTTP/1.1 over raw sockets, one request in flight a
// connection, so that it costs the machine as little as possible beside what it measures.
import { connect, type Socket } from "node:net";
import { fresh, freshNumber, type LoadPlan, type LoadRequest, type LoadResult } from "./load-plan.ts";

const headEnd = Buffer.from("\r\n\r\n");

class Connection {
  readonly #socket: Socket;
  readonly #requests: readonly Encoded[];
  readonly #done: (ms: number, bytes: number) => boolean;
  readonly #own: (Buffer | undefined)[] = [];
  #next: number;
  #head: Buffer = Buffer.alloc(0);
  #left = -1;
  #bytes = 0;
  #startedMs = 0;

  constructor(port: number, requests: readonly Encoded[], first: number, done: (ms: number, bytes: number) => boolean) {
    this.#requests = requests;
    this.#next = first;
    this.#done = done;
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.once("connect", () => this.#send());
    this.#socket.on("data", (data) => this.#onData(data));
    this.#socket.on("error", (error) => {
      process.stderr.write(`load: ${error.message}\n`);
      process.exit(1);
    });
  }

  end(): void {
    this.#socket.destroy();
  }

  #send(): void {
    this.#startedMs = performance.now();
    this.#bytes = 0;
    const index = this.#next++ % this.#requests.length;
    const { bytes, places, numbers } = this.#requests[index]!;
    const isSame = places.length === 0 && numbers.length === 0;
    this.#socket.write(isSame ? bytes : this.#refresh(index, bytes, places, numbers));
  }

  /** One request is in flight a connection, so its own copy of the bytes can be written over in place. */
  #refresh(index: number, shared: Buffer, places: readonly number[], numbers: readonly number[]): Buffer {
    this.#own[index] ??= Buffer.from(shared);
    const bytes = this.#own[index];
    for (const place of places) writeCount(bytes, place + runText.length, freshCount++);
    for (const place of numbers) bytes.latin1Write(String(freshNumbers++), place);
    return bytes;
  }

  #onData(data: Buffer): void {
    let body = data.length;
    if (this.#left < 0) {
      const head = this.#head.length === 0 ? data : Buffer.concat([this.#head, data]);
      const end = head.indexOf(headEnd);
      if (end < 0) {
        this.#head = head;
        return;
      }
      const text = head.latin1Slice(0, end);
      if (!text.startsWith("HTTP/1.1 2")) throw new Error(`load: ${head.toString()}`);
      const length = /content-length: (\d+)/i.exec(text);
      if (length === null) throw new Error("load: an answer without a length");
      this.#left = Number(length[1]);
      body = head.length - end - 4;
      this.#head = Buffer.alloc(0);
    }
    this.#left -= body;
    this.#bytes += body;
    if (this.#left > 0) return;
    this.#left = -1;
    if (this.#done(performance.now() - this.#startedMs, this.#bytes)) this.#send();
  }
}

interface Encoded {
  readonly bytes: Buffer;
  /** Where the body has something fresh. */
  readonly places: readonly number[];
  readonly numbers: readonly number[];
}

const runText = (Date.now() % 36 ** 8).toString(36).padStart(8, "0");
let freshCount = 0;
/** Of 15 digits: a millisecond has room for more than can be sent in it. */
let freshNumbers = 100_000_000_000_000 + (Date.now() % 1e11) * 1e3;

/** Eight digits, written without text: the generator must cost next to nothing beside what it measures. */
function writeCount(bytes: Buffer, from: number, count: number): void {
  for (let at = from + 7, left = count; at >= from; at--, left >>>= 4) bytes[at] = 0x61 + (left & 15);
}

function encode({ method, path, body = "", contentType = "application/json" }: LoadRequest): Encoded {
  const length = body === "" ? "" : `content-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
  const bytes = Buffer.from(`${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${length}\r\n${body}`);
  const places = placesOf(bytes, fresh);
  for (const place of places) bytes.latin1Write(runText, place);
  return { bytes, places, numbers: placesOf(bytes, String(freshNumber)) };
}

function placesOf(bytes: Buffer, text: string): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length)) places.push(at);
  return places;
}

function quantile(sorted: Float64Array, q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

function runPlan(plan: LoadPlan): Promise<LoadResult> {
  return new Promise((resolve) => {
    const requests = plan.requests.map(encode);
    const times: number[] = [];
    const startMs = performance.now() + plan.warmUpMs;
    const endMs = startMs + plan.durationMs;
    let bytes = 0;
    let open = plan.connections;
    const connections = Array.from({ length: plan.connections }, (_, i) => {
      const first = Math.floor((i * requests.length) / plan.connections);
      return new Connection(plan.port, requests, first, (ms, size) => {
        const nowMs = performance.now();
        if (nowMs >= startMs && nowMs < endMs) {
          times.push(ms);
          bytes += size;
        }
        if (nowMs < endMs) return true;
        if (--open === 0) {
          for (const each of connections) each.end();
          const sorted = Float64Array.from(times).sort();
          resolve({
            requests: times.length,
            perSecond: (times.length * 1000) / plan.durationMs,
            p50Ms: quantile(sorted, 0.5),
            p99Ms: quantile(sorted, 0.99),
            bytes,
          });
        }
        return false;
      });
    });
  });
}

process.once("message", async (plan: LoadPlan) => {
  process.send!(await runPlan(plan), () => process.exit(0));
});
