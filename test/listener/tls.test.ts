import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { ListenerLimits } from "../../src/listener/limits.ts";
import { Listener } from "../../src/listener/listener.ts";
import { selfSigned } from "./certificate.ts";
import { greeting, headers } from "./frames.ts";
import { echo, eventually, http2Client, http2Request, RawClient, type Started, shortLimits, start } from "./harness.ts";

interface Secured extends Started {
  readonly ca: string;
  /** Replaces a file as a renewal does, in one step. */
  put(file: "cert" | "key", text: string): Promise<void>;
}

async function secured(t: TestContext, limits: Partial<ListenerLimits> = {}): Promise<Secured> {
  const folder = await mkdtemp(join(tmpdir(), "listener-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const put = async (file: "cert" | "key", text: string) => {
    await writeFile(join(folder, `${file}.new`), text);
    await rename(join(folder, `${file}.new`), join(folder, `${file}.pem`));
  };
  const first = selfSigned("first");
  await put("cert", first.cert);
  await put("key", first.key);
  const tls = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  const started = await start(t, echo, limits, { tls });
  return { ...started, ca: first.cert, put };
}

function dial(port: number, options: ConnectionOptions): RawClient & { readonly socket: TLSSocket } {
  const socket = connect({ host: "127.0.0.1", port, ...options });
  return new RawClient(port, socket) as RawClient & { readonly socket: TLSSocket };
}

async function servedName(port: number): Promise<string> {
  const { socket } = dial(port, { rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return String(name);
}

test("TLS serves HTTP/1.1 and HTTP/2 by ALPN", async (t) => {
  const { listener, port, ca } = await secured(t);
  assert.match(listener.address.url, /^https:\/\/127\.0\.0\.1:\d+$/);
  const session = http2Client(t, listener.address.url, { ca });
  assert.equal((await http2Request(session, { ":method": "POST" }, "two")).body, "POST / two");
  const status = await new Promise((resolve, reject) => {
    get(listener.address.url, { ca }, (response) => resolve(response.resume().statusCode)).on("error", reject);
  });
  assert.equal(status, 200);
  for (const [offered, chosen] of [
    [["http/1.1"], "http/1.1"],
    [["http/1.1", "h2"], "h2"],
  ] as const) {
    const { socket } = dial(port, { ca, ALPNProtocols: [...offered] });
    await once(socket, "secureConnect");
    assert.equal(socket.alpnProtocol, chosen);
    socket.destroy();
  }
});

test("without ALPN the first bytes decide", async (t) => {
  const { port, ca } = await secured(t);
  const one = dial(port, { ca }).send("GET /x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  assert.match(await one.closed, /200 OK[\s\S]*GET \/x /);
  const two = dial(port, { ca }).send(Buffer.concat([greeting, headers(1, "GET")]));
  await two.until(/GET \/ /);
  two.socket.destroy();
});

for (const [name, bytes] of [
  ["nothing", ""],
  ["half a handshake", Buffer.from([0x16, 3, 1, 2, 0])],
  ["plain HTTP", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"],
  ["garbage", Buffer.alloc(1_000, 0x41)],
] as const) {
  test(`a client that sends ${name} to the TLS port is cut off`, async (t) => {
    const { listener, port } = await secured(t, shortLimits);
    const client = new RawClient(port);
    if (bytes.length > 0) client.send(bytes);
    await client.closed;
    await eventually(() => listener.connections === 0);
    assert.equal(listener.counters.timedOut + listener.counters.handshakesFailed, 1);
  });
}

for (const [name, bytes, alpn] of [
  ["says nothing", "", undefined],
  ["says nothing after choosing HTTP/1.1", "", "http/1.1"],
  ["says nothing after choosing HTTP/2", "", "h2"],
  ["stops in the middle of its headers", "GET / HT", "http/1.1"],
] as const) {
  test(`a client that ${name} after the TLS handshake is cut off`, async (t) => {
    // The handshake itself, of a client on the same busy thread, gets more.
    const { listener, port, ca } = await secured(t, { ...shortLimits, sniffTimeoutMs: 1_000 });
    const client = dial(port, { ca, ...(alpn ? { ALPNProtocols: [alpn] } : {}) });
    await once(client.socket, "secureConnect");
    if (bytes !== "") client.send(bytes);
    await client.closed;
    await eventually(() => listener.connections === 0);
    assert.equal(listener.counters.timedOut, 1);
  });
}

test("a client that resets in the handshake or reads nothing harms nobody", async (t) => {
  const { listener, port, ca } = await secured(t, { writeStallTimeoutMs: 300, sweepIntervalMs: 20 });
  const client = new RawClient(port);
  await once(client.socket, "connect");
  client.send(Buffer.from([0x16, 3, 1]));
  client.socket.resetAndDestroy();
  await eventually(() => listener.counters.accepted === 1 && listener.connections === 0);
  const body = "x".repeat(30 * 1024 * 1024);
  const reader = dial(port, { ca }).send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  reader.socket.pause();
  await eventually(() => listener.counters.stalled === 1 && listener.connections === 0);
});

test("drain closes connections that are still in their handshake", async (t) => {
  const { listener, port } = await secured(t);
  const client = new RawClient(port);
  await eventually(() => listener.connections === 1);
  await listener.drain(60_000);
  await client.closed;
});

test("a renewed certificate is served, a bad one is not", async (t) => {
  const { port, lines, put } = await secured(t, { certificateCheckMs: 20 });
  const logged = (level: string) => lines.filter((line) => line.level === level).length;
  assert.equal(await servedName(port), "first");

  const second = selfSigned("second");
  await put("cert", second.cert);
  await eventually(() => logged("error") === 1);
  assert.equal(await servedName(port), "first", "a certificate without its key");
  await put("key", second.key);
  await eventually(() => logged("info") === 1);
  assert.equal(await servedName(port), "second");

  await put("cert", "not a certificate");
  await eventually(() => logged("error") === 2);
  assert.equal(await servedName(port), "second");
});

test("a bad pair at the start is an error that names the setting", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "listener-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [one, two] = [selfSigned("one"), selfSigned("two")];
  const files = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const attempt = () => Listener.start({ host: "127.0.0.1", port: 0, handler: echo, log, tls: files });
  await assert.rejects(attempt, /^EngineError: tls-cert-file: cannot read/);
  await writeFile(files.certFile, one.cert);
  await assert.rejects(attempt, /^EngineError: tls-key-file: cannot read/);
  await writeFile(files.keyFile, two.key);
  await assert.rejects(attempt, /^EngineError: tls-key-file: .* does not fit/);
  await writeFile(files.certFile, "nonsense");
  await assert.rejects(attempt, /^EngineError: tls-cert-file: .* holds no PEM certificate/);
});
