import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { createSecureContext, connect as tlsConnect } from "node:tls";
import { selfSigned } from "../../../test/listener/certificate.ts";
import { eventually } from "../../../test/listener/harness.ts";
import { ByteBudget } from "./byte-budget.ts";
import type { WireConnection } from "./connection.ts";
import type { WireLimits } from "./limits.ts";
import { WireListener, type WireSession } from "./listener.ts";
import { WireTls } from "./tls.ts";

/** Short enough to wait for in a test. */
const short: Partial<WireLimits> = {
  sweepIntervalMs: 10,
  lingerMs: 50,
  handshakeTimeoutMs: 100,
  messageTimeoutMs: 100,
};
const pair = selfSigned("wire");
const quiet = { info() {}, warn() {}, error() {} };

/** A protocol of our own: a byte that tells the length, then as much text, which is sent back; `t` asks for TLS. */
class Echo implements WireSession {
  readonly #connection: WireConnection;

  constructor(connection: WireConnection) {
    this.#connection = connection;
  }

  async run(): Promise<void> {
    const connection = this.#connection;
    if (connection.overLimit) return connection.end(Buffer.from("full"));
    while (await connection.fill(1)) {
      const length = connection.peek(1)[0]!;
      if (!(await connection.fill(1 + length))) return;
      const text = connection.take(1 + length).subarray(1);
      connection.phase = "busy";
      connection.touched();
      if (text.toString() === "t") await connection.startTls(createSecureContext(pair));
      else if (text.toString() === "big") for (let i = 0; i < 200; i++) await this.#large(i);
      else connection.write(text);
      connection.phase = "idle";
    }
  }

  async #large(mark: number): Promise<void> {
    this.#connection.write(Buffer.alloc(64 * 1024, mark));
    await this.#connection.drained();
  }

  drain(): void {
    this.#connection.end(Buffer.from("bye"));
  }

  expire(): void {
    this.#connection.end(Buffer.from("late"));
  }
}

async function start(
  t: TestContext,
  limits: Partial<WireLimits> = {},
  bytes = new ByteBudget(1_000_000),
): Promise<WireListener> {
  const listener = await WireListener.start({
    name: "echo",
    host: "127.0.0.1",
    port: 0,
    limits,
    log: quiet,
    bytes,
    open: (connection) => new Echo(connection),
  });
  t.after(() => listener.close());
  return listener;
}

function client(t: TestContext, listener: WireListener, allowHalfOpen = false): Socket & { heard: string } {
  const socket = Object.assign(connect({ port: listener.address.port, host: "127.0.0.1", allowHalfOpen }), {
    heard: "",
  });
  socket.on("data", (chunk) => {
    socket.heard += chunk.toString("latin1");
  });
  socket.on("error", () => {});
  t.after(() => socket.destroy());
  return socket;
}

const say = (text: string) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);

test("messages are put together from pieces and told apart in one piece", async (t) => {
  const socket = client(t, await start(t));
  for (const byte of say("hello")) socket.write(Buffer.from([byte]));
  await eventually(() => socket.heard === "hello");
  socket.write(Buffer.concat([say("a"), say("b"), say("c")]));
  await eventually(() => socket.heard === "helloabc");
});

test("a peer that stays in its handshake, or within a message, is cut off", async (t) => {
  const listener = await start(t, short);
  const silent = client(t, listener);
  const stuck = client(t, listener);
  stuck.write(say("x"));
  await eventually(() => stuck.heard === "x");
  stuck.write(Buffer.from([5, 1]));
  await Promise.all([once(silent, "close"), once(stuck, "close")]);
  assert.equal(listener.counters.timedOut, 2);
  await eventually(() => listener.connections === 0);
});

test("one that idles is told so, and each request begins the time anew", async (t) => {
  const listener = await start(t, { ...short, idleTimeoutMs: 100 });
  const socket = client(t, listener);
  socket.write(say("x"));
  await once(socket, "end");
  assert.equal(socket.heard, "xlate");
});

test("connections over the limit are told so, more than that are dropped, and the others go on", async (t) => {
  const listener = await start(t, { connectionsMax: 2, refusalsMax: 1, lingerMs: 10_000 });
  const kept = [client(t, listener), client(t, listener)];
  for (const socket of kept) socket.write(say("x"));
  await eventually(() => kept.every(({ heard }) => heard === "x"));
  // It keeps its half open, so that it is still being refused when the next one comes.
  const refused = client(t, listener, true);
  await eventually(() => refused.heard === "full");
  const dropped = client(t, listener);
  dropped.write("x");
  await once(dropped, "close");
  assert.equal(dropped.heard, "");
  assert.equal(listener.counters.refused, 2);
  kept[0]!.write(say("y"));
  await eventually(() => kept[0]!.heard === "xy");
});

test("a peer that closes its half is let go", async (t) => {
  const listener = await start(t);
  const socket = client(t, listener);
  socket.end(Buffer.from([9, 1]));
  await once(socket, "close");
  await eventually(() => listener.connections === 0);
});

test("TLS goes on from bytes that came together with the wish for it", async (t) => {
  const listener = await start(t);
  const plain = connect(listener.address.port, "127.0.0.1");
  t.after(() => plain.destroy());
  await once(plain, "connect");
  plain.write(say("t"));
  const secured = tlsConnect({ socket: plain, ca: pair.cert, servername: "localhost" });
  await once(secured, "secureConnect");
  secured.write(say("over TLS"));
  const [heard] = (await once(secured, "data")) as [Buffer];
  assert.equal(heard.toString(), "over TLS");
});

test("a handshake that fails closes the connection and nothing else", async (t) => {
  const listener = await start(t);
  const broken = client(t, listener);
  broken.write(Buffer.concat([say("t"), Buffer.alloc(100, 0x55)]));
  await once(broken, "close");
  const next = client(t, listener);
  next.write(say("x"));
  await eventually(() => next.heard === "x");
});

test("a slow reader holds up only itself", async (t) => {
  const listener = await start(t);
  const slow = connect(listener.address.port, "127.0.0.1");
  t.after(() => slow.destroy());
  slow.pause();
  slow.write(say("big"));
  const other = client(t, listener);
  other.write(say("x"));
  await eventually(() => other.heard === "x");
  let bytes = 0;
  let last = 0;
  slow.on("data", (chunk) => {
    bytes += chunk.length;
    last = chunk.at(-1)!;
  });
  slow.resume();
  await eventually(() => bytes === 200 * 64 * 1024);
  assert.equal(last, 199);
});

test("a reader that takes nothing is cut off", async (t) => {
  const listener = await start(t, { ...short, writeStallTimeoutMs: 100 });
  const slow = connect(listener.address.port, "127.0.0.1");
  t.after(() => slow.destroy());
  slow.on("error", () => {});
  slow.pause();
  slow.write(say("big"));
  await eventually(() => listener.counters.stalled === 1 && listener.connections === 0);
});

test("drain says goodbye and closes", async (t) => {
  const listener = await start(t);
  const socket = client(t, listener);
  socket.write(say("x"));
  await eventually(() => socket.heard === "x");
  await Promise.all([listener.drain(5_000), once(socket, "close")]);
  assert.equal(socket.heard, "xbye");
});

test("one that is refused for its bytes leaves them to the others, while it stays connected too", async (t) => {
  const bytesMax = 10_000_000;
  const wanted = bytesMax * 0.6;
  const budget = new ByteBudget(bytesMax);
  const whole: WireConnection[] = [];
  const listener = await WireListener.start({
    name: "long",
    host: "127.0.0.1",
    port: 0,
    limits: { inboundBytesMax: bytesMax, lingerMs: 3_600_000 },
    log: quiet,
    bytes: budget,
    open: (connection) => ({
      async run() {
        connection.phase = "idle";
        try {
          if (await connection.fill(wanted)) whole.push(connection);
          await once(connection.signal, "abort");
        } catch {
          connection.end(Buffer.from("full"));
        }
      },
      drain() {},
      expire() {},
    }),
  });
  t.after(() => listener.close());
  // Half open, so that the refused one stays.
  const [first, second] = [client(t, listener), client(t, listener, true)];
  const most = Buffer.alloc(wanted - 500_000);
  first.write(most);
  await eventually(() => budget.held >= most.length);
  second.write(most);
  await eventually(() => second.heard === "full");
  await eventually(() => budget.held === most.length);
  first.write(Buffer.alloc(500_000));
  await eventually(() => whole.length === 1);
});

test("a context is made once for each certificate", () => {
  let current = { cert: Buffer.from(pair.cert), key: Buffer.from(pair.key) };
  const tls = new WireTls(() => current);
  const first = tls.context;
  assert.equal(tls.context, first);
  const next = selfSigned("next");
  current = { cert: Buffer.from(next.cert), key: Buffer.from(next.key) };
  assert.notEqual(tls.context, first);
  assert.equal(new WireTls(() => undefined).context, undefined);
});
