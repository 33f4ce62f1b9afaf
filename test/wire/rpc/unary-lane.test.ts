import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:http2";
import type { Socket } from "node:net";
import { after, before, test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { devLoopback } from "../../../src/engine/auth/principal.ts";
import { GetDocumentsRequestSchema } from "../../../src/gen/service/collection/v1/document_pb.ts";
import { ask } from "../../support/http.ts";
import { type CollectionServer, startCollections } from "./collection-server.ts";
import { startServer } from "./server.ts";

let server: CollectionServer;
before(async () => {
  server = await startCollections();
  const schema = { fields: [{ name: "a", kind: "i64" }] };
  await ask(`${server.restUrl}/v1/namespaces/n/collections`, { body: { name: "docs", schema } });
  const ops = [{ upsert: { id: 1, source: { a: 1, text: "x".repeat(5_000) } } }];
  const written = await ask(`${server.restUrl}/v1/namespaces/n/collections/docs/documents`, { body: { ops } });
  assert.equal(written.status, 200, written.text);
});
after(async () => await server[Symbol.asyncDispose]());

interface Sent {
  readonly path: string;
  readonly body: Uint8Array | string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Told {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

function overHttp1({ path, body, headers }: Sent): Promise<Told> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(body);
    const sent = request(`${server.rpc.url}/service.collection.v1.${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "content-length": bytes.length, ...headers },
    });
    sent.on("error", reject);
    sent.on("response", async (answer) => {
      const chunks = await answer.toArray();
      resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) });
    });
    sent.end(bytes);
  });
}

function overHttp2({ path, body, headers }: Sent): Promise<Told> {
  const session = connect(server.rpc.url);
  return new Promise<Told>((resolve, reject) => {
    const bytes = Buffer.from(body);
    const stream = session.request({
      ":method": "POST",
      ":path": `/service.collection.v1.${path}`,
      "content-type": "application/json",
      "content-length": bytes.length,
      ...headers,
    });
    stream.on("error", reject);
    stream.on("response", async (head) => {
      const { ":status": status, ...rest } = head;
      resolve({ status, headers: rest, body: Buffer.concat(await stream.toArray()) });
    });
    stream.end(bytes);
  }).finally(() => session.close());
}

function comparable({ status, headers, body }: Told) {
  const { date, "x-request-id": id, ...rest } = headers;
  const encoding = rest["content-encoding"];
  const plain = encoding === "gzip" ? gunzipSync(body) : encoding === "br" ? brotliDecompressSync(body) : body;
  return { status, headers: { ...rest }, body: plain.toString("latin1"), hasId: id !== undefined };
}

const get = { namespace: "n", collection: "docs", ids: [1] };
const binary = toBinary(
  GetDocumentsRequestSchema,
  create(GetDocumentsRequestSchema, { namespace: "n", collection: "docs", ids: [1n] }),
);
const proto = { "content-type": "application/proto" };
const other = { ...get, collection: "none" };
const calls: Readonly<Record<string, Partial<Sent>>> = {
  "a document": {},
  "a document in binary": { body: binary, headers: proto },
  "an answer in gzip": { headers: { "accept-encoding": "gzip" } },
  "an answer in Brotli": { headers: { "accept-encoding": "br" } },
  "an encoding that nobody has": { headers: { "accept-encoding": "zstd" } },
  "a token": { headers: { "service-consistency-token": "[]" } },
  "a token that is none": { headers: { "service-consistency-token": "nope" } },
  "no such collection": { body: JSON.stringify(other) },
  "no namespace": { body: "{}" },
  "an empty body": { body: "" },
  "no JSON": { body: "{" },
  "a field that is not known": { body: JSON.stringify({ ...get, colection: "docs" }) },
  "a field of another type": { body: JSON.stringify({ ...get, ids: [{}] }) },
  "damaged UTF-8": { body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) },
  "damaged binary": { body: Buffer.from([0x0a, 0x7f]), headers: proto },
  "another version of the protocol": { headers: { "connect-protocol-version": "2" } },
  "another language": { body: JSON.stringify(other), headers: { "accept-language": "de" } },
};

for (const [name, call] of Object.entries(calls)) {
  const sent: Sent = { path: "DocumentService/GetDocuments", body: JSON.stringify(get), ...call };
  for (const [version, send] of Object.entries({ "HTTP/1": overHttp1, "HTTP/2": overHttp2 })) {
    test(`a unary call is answered as the library answers it over ${version}: ${name}`, async () => {
      const lane = await send(sent);
      // A call with a deadline is the library's.
      const library = await send({ ...sent, headers: { ...sent.headers, "connect-timeout-ms": "60000" } });
      assert.deepEqual(comparable(lane), comparable(library));
    });
  }
}

test("a call whose caller leaves while its credential is checked ends", async () => {
  const checked = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  await using own = await startServer({
    rpc: {
      engine: { namespaces: { create: () => assert.fail("was made") } },
      authenticator: { screen: () => undefined, authenticate: () => checked.promise.then(() => devLoopback) },
      onCall: (_, code) => ended.resolve(code),
    },
  });
  const part = '{"name":';
  const sent = request(`${own.url}/service.collection.v1.NamespaceService/CreateNamespace`, {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": 100 },
  });
  sent.on("error", () => {});
  sent.write(part);
  const [socket] = (await once(sent, "socket")) as [Socket];
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 100));
  checked.resolve();
  assert.equal(await ended.promise, "canceled");
});
