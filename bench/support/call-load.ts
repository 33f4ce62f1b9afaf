// A load generator in a process of its own that sends one request over and over: HTTP/1.1 with one in flight a
// connection, or HTTP/2 with several. It writes bytes made beforehand, so that it costs little beside what it measures.
import { connect, type Socket } from "node:net";

export interface CallPlan {
  readonly protocol: "http1" | "http2";
  readonly port: number;
  readonly connections: number;
  /** Of one HTTP/2 connection. */
  readonly inFlight: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyHex: string;
  readonly warmUpMs: number;
  readonly durationMs: number;
}

export interface CallResult {
  readonly requests: number;
  readonly perSecond: number;
}

type Answered = () => boolean;

function http1(plan: CallPlan, socket: Socket, answered: Answered): void {
  const body = Buffer.from(plan.bodyHex, "hex");
  const lines = Object.entries({ ...plan.headers, host: "127.0.0.1", "content-length": body.length });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const request = Buffer.concat([Buffer.from(`POST ${plan.path} HTTP/1.1\r\n${head}\r\n`), body]);
  let received = Buffer.alloc(0);
  socket.on("data", (data) => {
    received = received.length === 0 ? data : Buffer.concat([received, data]);
    const end = received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const text = received.latin1Slice(0, end);
    if (!text.startsWith("HTTP/1.1 200")) throw new Error(`load: ${received.toString()}`);
    const chunked = /transfer-encoding: chunked/i.test(text);
    const length = /content-length: (\d+)/i.exec(text);
    const whole = chunked ? received.includes("\r\n0\r\n\r\n") : received.length >= end + 4 + Number(length?.[1]);
    if (!whole) return;
    received = Buffer.alloc(0);
    if (answered()) socket.write(request);
  });
  socket.write(request);
}

const frames = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const;
const flags = { endStream: 1, endHeaders: 4, ack: 1 } as const;
const windowMax = 2 ** 30;

function frame(type: number, flag: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flag, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header fields that neither side has to remember (RFC 7541, section 6.2.2), without Huffman coding. */
function headerBlock(fields: Readonly<Record<string, string>>): Buffer {
  const text = (value: string) => {
    if (value.length >= 127) throw new Error("load: a header is too long");
    return [value.length, ...Buffer.from(value)];
  };
  return Buffer.from(Object.entries(fields).flatMap(([name, value]) => [0, ...text(name), ...text(value)]));
}

function http2(plan: CallPlan, socket: Socket, answered: Answered): void {
  const block = headerBlock({
    ":method": "POST",
    ":scheme": "http",
    ":path": plan.path,
    ":authority": `127.0.0.1:${plan.port}`,
    ...plan.headers,
  });
  const call = Buffer.concat([
    frame(frames.headers, flags.endHeaders, 1, block),
    frame(frames.data, flags.endStream, 1, Buffer.from(plan.bodyHex, "hex")),
  ]);
  const dataAt = 9 + block.length;
  let stream = -1;
  const send = () => {
    stream += 2;
    const bytes = Buffer.from(call);
    bytes.writeUInt32BE(stream, 5);
    bytes.writeUInt32BE(stream, dataAt + 5);
    socket.write(bytes);
  };
  const window = Buffer.alloc(4);
  window.writeUInt32BE(windowMax);
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  socket.write(frame(frames.settings, 0, 0, Buffer.alloc(0)));
  socket.write(frame(frames.windowUpdate, 0, 0, window));
  let received = Buffer.alloc(0);
  socket.on("data", (data) => {
    received = received.length === 0 ? data : Buffer.concat([received, data]);
    let at = 0;
    while (received.length - at >= 9) {
      const length = received.readUIntBE(at, 3);
      if (received.length - at < 9 + length) break;
      const [type, flag] = [received[at + 3]!, received[at + 4]!];
      const payload = received.subarray(at + 9, at + 9 + length);
      at += 9 + length;
      if (type === frames.settings && (flag & flags.ack) === 0) {
        socket.write(frame(frames.settings, flags.ack, 0, Buffer.alloc(0)));
      } else if (type === frames.ping && (flag & flags.ack) === 0) {
        socket.write(frame(frames.ping, flags.ack, 0, payload));
      } else if (type === frames.reset || type === frames.goAway) {
        throw new Error(`load: frame ${type} ${payload.toString("hex")}`);
      } else if ((type === frames.data || type === frames.headers) && (flag & flags.endStream) !== 0) {
        if (answered()) send();
      }
    }
    received = received.subarray(at);
  });
  for (let i = 0; i < plan.inFlight; i++) send();
}

function run(plan: CallPlan): Promise<CallResult> {
  return new Promise((resolve) => {
    const startMs = performance.now() + plan.warmUpMs;
    const endMs = startMs + plan.durationMs;
    let counted = 0;
    let told = false;
    const answered = () => {
      const nowMs = performance.now();
      if (nowMs < endMs) {
        if (nowMs >= startMs) {
          if (!told) {
            told = true;
            process.send!("begun");
          }
          counted++;
        }
        return true;
      }
      resolve({ requests: counted, perSecond: (counted * 1000) / plan.durationMs });
      return false;
    };
    for (let i = 0; i < plan.connections; i++) {
      const socket = connect({ port: plan.port, host: "127.0.0.1", noDelay: true });
      socket.once("connect", () => (plan.protocol === "http1" ? http1 : http2)(plan, socket, answered));
      socket.on("error", (error) => {
        process.stderr.write(`load: ${error.message}\n`);
        process.exit(1);
      });
    }
  });
}

process.once("message", async (plan: CallPlan) => {
  process.send!(await run(plan), () => process.exit(0));
});
