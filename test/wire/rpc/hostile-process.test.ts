import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { WriteDocumentsRequestSchema } from "../../../src/gen/service/collection/v1/document_pb.ts";
import { ask } from "../../support/http.ts";
import { ServerProcess } from "../../support/process.ts";

/** What a client that is broken or means harm may send to the running server. */

const secret = "the-key-of-the-operator-0123456789";
const create = "/service.collection.v1.NamespaceService/CreateNamespace";
const whoAmI = "/service.instance.v1.InstanceService/WhoAmI";
const check = "/grpc.health.v1.Health/Check";
const MiB = 1024 * 1024;

let server: ServerProcess;
before(async () => {
  server = await ServerProcess.start({
    flags: ["--log-level", "trace"],
    env: { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `operator:admin:${secret}` },
  });
});
after(async () => await server[Symbol.asyncDispose]());

interface Http2Reply {
  readonly status: number | undefined;
  /** Of gRPC, from the head or the trailers. */
  readonly code: string | undefined;
  readonly body: string;
}

async function http2(headers: Record<string, string>, body?: string | Uint8Array): Promise<Http2Reply> {
  const session = connectHttp2(server.url);
  const stream = session.request(
    { ":method": "POST", authorization: `Bearer ${secret}`, ...headers },
    { endStream: body === undefined },
  );
  let all: IncomingHttpHeaders = {};
  stream.on("response", (head) => {
    all = { ...all, ...head };
  });
  stream.on("trailers", (trailers) => {
    all = { ...all, ...trailers };
  });
  if (body !== undefined) stream.end(body);
  const chunks = (await Array.fromAsync(stream as AsyncIterable<Buffer>)) as Buffer[];
  session.close();
  const code = all["grpc-status"];
  return {
    status: all[":status"] as unknown as number | undefined,
    code: typeof code === "string" ? code : undefined,
    body: Buffer.concat(chunks).toString(),
  };
}

async function raw(text: string): Promise<string> {
  const { port } = new URL(server.url);
  const socket = connect(Number(port), "127.0.0.1");
  let heard = "";
  socket.on("data", (chunk: Buffer) => {
    heard += chunk.toString();
  });
  socket.write(text);
  await once(socket, "close");
  return heard;
}

function envelope(flag: number, length: number, bytes: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, bytes]);
}

const [invalidArgument, deadlineExceeded, unimplemented] = ["3", "4", "12"];
const three = Buffer.from([1, 2, 3]);
const empty = envelope(0, 0);
const bomb = gzipSync(Buffer.alloc(64 * MiB));
const encoded = (name: string) => ({ "grpc-encoding": name });

const grpcCalls: [
  name: string,
  headers: Record<string, string>,
  body: Uint8Array | undefined,
  code: string | undefined,
][] = [
  ["a message that breaks off", {}, envelope(0, 100, three), invalidArgument],
  ["a head that breaks off", {}, Buffer.from([0, 0]), invalidArgument],
  ["a message of 4 GiB", {}, envelope(0, 0xffff_ffff, three), invalidArgument],
  ["a compressed message of no encoding", {}, envelope(1, 3, three), invalidArgument],
  ["unknown flags", {}, envelope(0xff, 3, three), invalidArgument],
  ["no message", {}, undefined, invalidArgument],
  ["two messages", {}, Buffer.concat([empty, empty]), invalidArgument],
  ["bytes that are no message", {}, envelope(0, 3, Buffer.from([0xff, 0xff, 0xff])), invalidArgument],
  ["an unknown encoding", encoded("zstd"), envelope(1, 3, three), unimplemented],
  ["what is no gzip", encoded("gzip"), envelope(1, 3, three), invalidArgument],
  ["a message that grows", encoded("gzip"), envelope(1, bomb.length, bomb), invalidArgument],
  ["no time", { "grpc-timeout": "0n" }, empty, deadlineExceeded],
  ["a time that is none", { "grpc-timeout": "soon" }, empty, invalidArgument],
];
for (const [name, headers, body, code] of grpcCalls) {
  test(`gRPC with ${name}`, async () => {
    const reply = await http2({ ":path": create, "content-type": "application/grpc", ...headers }, body);
    assert.deepEqual([reply.status, reply.code], [200, code]);
  });
}

test("a deadline longer than any call is cut, not refused", async () => {
  const grpc = { ":path": check, "content-type": "application/grpc", "grpc-timeout": "99999999H" };
  assert.equal((await http2(grpc, empty)).code, "0");
  const connectJson = { ":path": check, "content-type": "application/json", "connect-timeout-ms": "9999999999" };
  assert.equal((await http2(connectJson, "{}")).status, 200);
});

const json = { "content-type": "application/json" };
const proto = { "content-type": "application/proto" };
const write = "/service.collection.v1.DocumentService/WriteDocuments";
const { number: opsNumber } = WriteDocumentsRequestSchema.field["ops"]!;
const emptyOp = Buffer.from([(opsNumber << 3) | 2, 0]);
const connectCalls: [
  name: string,
  headers: Record<string, string>,
  body: string | Uint8Array,
  status: number,
  said: RegExp,
][] = [
  ["plain text", { "content-type": "text/plain" }, "{}", 415, /"field":"content-type"/],
  ["a form", { "content-type": "application/x-www-form-urlencoded" }, "a=b", 415, /"field":"content-type"/],
  ["another charset", { "content-type": "application/json; charset=utf-16" }, "{}", 415, /"field":"content-type"/],
  ["an envelope's type", { "content-type": "application/connect+json" }, "{}", 415, /"field":"content-type"/],
  ["gRPC of an unknown format", { "content-type": "application/grpc+xml" }, "{}", 415, /"field":"content-type"/],
  ["a key twice", json, '{"name":"a","name":"b"}', 400, /duplicate/],
  ["a prototype", json, '{"__proto__":{"name":"x"}}', 400, /"field":"__proto__"/],
  ["a negative time", { ...json, "connect-timeout-ms": "-1" }, "{}", 400, /"field":"Connect-Timeout-Ms"/],
  [
    "a body that grows",
    { ...json, "content-encoding": "br" },
    brotliCompressSync(Buffer.alloc(64 * MiB)),
    400,
    /larger/,
  ],
  ["a body too large", json, Buffer.alloc(17 * MiB, " "), 400, /larger/],
  ["millions of fields that nobody knows", proto, Buffer.alloc(3 * MiB, Buffer.from([15 << 3, 0])), 400, /parts/],
  ["millions of empty messages", { ...proto, ":path": write }, Buffer.alloc(3 * MiB, emptyOp), 400, /parts/],
  ["millions of empty objects", { ...json, ":path": write }, `{"ops":[${"{},".repeat(600_000)}{}]}`, 400, /objects/],
  ["millions of braces in a text", json, JSON.stringify({ name: "{".repeat(2 * MiB) }), 400, /"field":"name"/],
];
for (const [name, headers, body, status, said] of connectCalls) {
  test(`Connect with ${name}`, async () => {
    const reply = await http2({ ":path": create, ...headers }, body);
    assert.equal(reply.status, status, reply.body);
    assert.match(reply.body, said);
  });
}

test("a credential in the wrong place or form lets nobody in, and none is repeated", async () => {
  const basic = `Basic ${Buffer.from(`operator:${secret}`).toString("base64")}`;
  const tries: [path: string, headers: Record<string, string>][] = [
    [whoAmI, { authorization: secret }],
    [whoAmI, { authorization: basic }],
    [whoAmI, { authorization: "Bearer " }],
    [whoAmI, { authorization: `Bearer ${secret},${secret}` }],
    [whoAmI, { authorization: `Bearer ${"x".repeat(20_000)}` }],
    [`${whoAmI}?access_token=${secret}`, { authorization: "Bearer none" }],
    [`${whoAmI}/`, { authorization: "Bearer none" }],
    [whoAmI.replace("/WhoAmI", "%2FWhoAmI"), { authorization: "Bearer none" }],
    ["/service.", { authorization: "Bearer none" }],
    [`${check}/../../${whoAmI}`, { authorization: "Bearer none", cookie: `token=${secret}` }],
  ];
  for (const [path, headers] of tries) {
    const reply = await http2({ ":path": path, ...json, ...headers }, "{}");
    assert.equal(reply.status, 401, path);
    assert.ok(!reply.body.includes(secret), path);
  }
});

test("a method that nobody has heard of passes by no check", async () => {
  for (const path of ["/v1/namespaces", "/nowhere", whoAmI]) {
    const outside = await http2({ ":method": "BREW", ":path": path, authorization: "Bearer none" });
    assert.equal(outside.status, 401, path);
  }
  assert.equal((await http2({ ":method": "BREW", ":path": "/v1/namespaces" })).status, 405);
  assert.equal((await http2({ ":method": "BREW", ":path": "/nowhere" })).status, 404);
});

test("a Host that is more than a host is refused", async () => {
  for (const host of [`user:${secret}@127.0.0.1`, "a/b", "a?b", "a#b", "a b"]) {
    const heard = await raw(
      `POST /service.instance.v1.InstanceService/GetInstance HTTP/1.1\r\nHost: ${host}\r\n` +
        "Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    );
    assert.match(heard, /^HTTP\/1\.1 400 /, host);
    assert.ok(!heard.includes(secret));
  }
});

test("after all that the server serves, and has written nothing it should not", async () => {
  const headers = { authorization: `Bearer ${secret}` };
  const metrics = await ask(`${server.url}/metrics`, { headers });
  assert.equal(metrics.status, 200);
  assert.doesNotMatch(metrics.text, /BREW|nowhere/);
  await server.stop();
  const written = `${metrics.text}\n${server.logs.join("\n")}`;
  assert.ok(!written.includes(secret));
  assert.ok(!written.includes(Buffer.from(`operator:${secret}`).toString("base64")));
  const complaints = server.logs.filter((line) => /"level":[456]0/.test(line));
  assert.deepEqual(complaints, [], "faults of callers are no faults of the server");
});
