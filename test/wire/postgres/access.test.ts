import assert from "node:assert/strict";
import { once } from "node:events";
import { rename, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect as connectTls } from "node:tls";
import pg from "pg";
import postgres from "postgres";
import { selfSigned } from "../../listener/certificate.ts";
import { ServerProcess, temporaryFolder } from "../../support/process.ts";
import { errorFields, int32, query, RawPostgres, startup } from "./raw-client.ts";

const [first, second] = [selfSigned("first"), selfSigned("second")];
const adminKey = "admin-key-of-the-test-0123456789";
const readerKey = "reader-key-of-the-test-0123456789";
let folder: string;
let server: ServerProcess;

async function put(pair: { cert: string; key: string }): Promise<void> {
  for (const [file, text] of Object.entries({ "cert.pem": pair.cert, "key.pem": pair.key })) {
    await writeFile(join(folder, `${file}.new`), text);
    await rename(join(folder, `${file}.new`), join(folder, file));
  }
}

before(async () => {
  folder = await temporaryFolder();
  await put(first);
  server = await ServerProcess.start({
    env: {
      SERVICE_AUTH_MODE: "apikey",
      SERVICE_API_KEYS: `boss:admin:${adminKey},eve:reader:${readerKey}`,
      SERVICE_TLS_CERT_FILE: join(folder, "cert.pem"),
      SERVICE_TLS_KEY_FILE: join(folder, "key.pem"),
      SERVICE_TLS_CHECK_INTERVAL: "20ms",
    },
  });
  const made = await askInsecure("/v1/namespaces", { name: "shop" });
  assert.equal(made, 201);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function askInsecure(path: string, body: object): Promise<number> {
  const sent = request(server.url + path, {
    method: "POST",
    ca: [first.cert, second.cert],
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
  });
  sent.end(JSON.stringify(body));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode!;
}

function clientOf(password: string, ssl: boolean | { ca: string } = false, database = "shop"): pg.Client {
  return new pg.Client({ ...server.postgres, user: "any", database, password, ssl });
}

for (const [what, ssl] of [
  ["in clear text on loopback", false],
  ["over TLS", { ca: first.cert }],
] as const) {
  test(`an API key is the password, ${what}`, async () => {
    const client = clientOf(readerKey, ssl);
    await client.connect();
    assert.deepEqual((await client.query("select 1 as x")).rows, [{ x: 1 }]);
    await client.end();
  });
}

test("a wrong key, an empty one and none are refused with 28P01", async () => {
  for (const password of ["wrong", " "]) await assert.rejects(clientOf(password).connect(), { code: "28P01" });
  const raw = new RawPostgres(server.postgres).send(startup({ user: "u", database: "shop" }));
  assert.equal((await raw.until("R"))[0]!.body.readInt32BE(0), 3);
  raw.send(query("select 1"));
  await raw.closed();
  assert.equal(errorFields(raw.heard[0]!)["C"], "08P01");
});

test("a namespace that is not there is told only to who may read it", async () => {
  await assert.rejects(clientOf(readerKey, false, "nowhere").connect(), { code: "3D000" });
  await assert.rejects(clientOf("wrong", false, "nowhere").connect(), { code: "28P01" });
});

test("postgres.js signs in over TLS", async () => {
  const sql = postgres({
    ...server.postgres,
    user: "u",
    database: "shop",
    password: readerKey,
    ssl: { ca: first.cert },
  });
  assert.deepEqual([...(await sql`select 1 as x`)], [{ x: 1 }]);
  await sql.end();
});

test("TLS may begin without asking", async () => {
  const socket = connectTls({ ...server.postgres, ca: first.cert, ALPNProtocols: ["postgresql"] });
  await once(socket, "secureConnect");
  assert.equal(socket.alpnProtocol, "postgresql");
  socket.write(startup({ user: "u", database: "shop" }));
  const [heard] = (await once(socket, "data")) as [Buffer];
  assert.equal(heard.subarray(0, 1).toString(), "R");
  socket.destroy();
});

test("bytes that come in clear text with the wish for TLS are not taken for its own", async () => {
  const socket = connectTcp(server.postgres);
  socket.write(Buffer.concat([int32(8), int32(80_877_103), startup({ user: "u", database: "shop" })]));
  const [heard] = (await once(socket, "data")) as [Buffer];
  assert.equal(heard.subarray(0, 1).toString(), "E");
  await once(socket, "close");
});

test("GSS encryption is declined, and the client goes on", async () => {
  const socket = connectTcp(server.postgres);
  socket.write(Buffer.concat([int32(8), int32(80_877_104)]));
  const [heard] = (await once(socket, "data")) as [Buffer];
  assert.equal(heard.toString(), "N");
  socket.write(startup({ user: "u", database: "shop" }));
  const [next] = (await once(socket, "data")) as [Buffer];
  assert.equal(next.subarray(0, 1).toString(), "R");
  socket.destroy();
});

test("a renewed certificate is served to the next connection", async () => {
  await put(second);
  for (let tries = 0; ; tries++) {
    const client = clientOf(readerKey, { ca: second.cert });
    const isServed = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => {});
    if (isServed) break;
    assert.ok(tries < 500, "the new certificate was never served");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});
