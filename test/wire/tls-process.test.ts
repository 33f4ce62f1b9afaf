import assert from "node:assert/strict";
import { once } from "node:events";
import { rename, rm, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect } from "node:tls";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from "jose";
import { spkiHash } from "../../src/engine/instance/instance.ts";
import { InstanceService } from "../../src/gen/service/instance/v1/instance_pb.ts";
import { selfSigned } from "../listener/certificate.ts";
import { eventually } from "../listener/harness.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";

const first = selfSigned("first");
const second = selfSigned("second");
let folder: string;
let server: ServerProcess;

async function put(file: string, text: string): Promise<void> {
  await writeFile(join(folder, `${file}.new`), text);
  await rename(join(folder, `${file}.new`), join(folder, file));
}

before(async () => {
  folder = await temporaryFolder();
  await put("cert.pem", first.cert);
  await put("key.pem", first.key);
  server = await ServerProcess.start({
    env: {
      SERVICE_TLS_CERT_FILE: join(folder, "cert.pem"),
      SERVICE_TLS_KEY_FILE: join(folder, "key.pem"),
      SERVICE_TLS_NEXT_CERT_FILE: join(folder, "next.pem"),
      SERVICE_TLS_CHECK_INTERVAL: "20ms",
    },
  });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

function transports(ca: string) {
  const common = { baseUrl: server.url, nodeOptions: { ca } };
  return [
    ["connect h1", createConnectTransport({ ...common, httpVersion: "1.1", useBinaryFormat: false })],
    ["connect h2", createConnectTransport({ ...common, httpVersion: "2" })],
    ["grpc-web h1", createGrpcWebTransport({ ...common, httpVersion: "1.1" })],
    ["grpc h2", createGrpcTransport(common)],
  ] as const;
}

async function fetchJson(path: string, ca: string): Promise<unknown> {
  const request = get(server.url + path, { ca, agent: false });
  const [response] = await once(request, "response");
  const chunks = (await Array.fromAsync(response as AsyncIterable<Buffer>)) as Buffer[];
  return JSON.parse(Buffer.concat(chunks).toString());
}

async function handshake(): Promise<{ name: string; protocol: string | false | null }> {
  const { hostname, port } = new URL(server.url);
  const socket = connect({
    host: hostname,
    port: Number(port),
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1", "h2"],
  });
  await once(socket, "secureConnect");
  const name = String(socket.getPeerCertificate().subject.CN);
  socket.destroy();
  return { name, protocol: socket.alpnProtocol };
}

async function pins(ca: string): Promise<{ current: string[]; next: string[] }> {
  const { tlsPins, jwksUri } = await createClient(InstanceService, transports(ca)[0][1]).getInstance({});
  assert.equal(jwksUri, `${server.url}/.well-known/jwks.json`);
  const keySet = (await fetchJson("/.well-known/jwks.json", ca)) as JSONWebKeySet;
  const { payload } = await compactVerify(tlsPins, createLocalJWKSet(keySet));
  const { current, next } = JSON.parse(new TextDecoder().decode(payload)) as { current: string[]; next: string[] };
  return { current, next };
}

test("both edges over TLS, HTTP/2 by ALPN", async () => {
  assert.match(server.url, /^https:/);
  assert.deepEqual(await handshake(), { name: "first", protocol: "h2" });
  for (const [name, transport] of transports(first.cert)) {
    const { features } = await createClient(InstanceService, transport).getInstance({});
    assert.equal(features["tls"], true, name);
  }
  assert.deepEqual(await fetchJson("/v1/namespaces", first.cert), { namespaces: [] });
});

test("a renewed certificate is served without a restart, and clients can know of it ahead", async () => {
  const [one, two] = [spkiHash(first.cert), spkiHash(second.cert)];
  assert.deepEqual(await pins(first.cert), { current: [one], next: [] });
  const reloads = () => server.logs.filter((line) => line.includes("certificate reloaded")).length;
  await put("next.pem", second.cert);
  // By the main listener and that of the Live engine.
  await eventually(() => reloads() === 2);
  assert.deepEqual(await pins(first.cert), { current: [one], next: [two] });

  await put("cert.pem", second.cert);
  await eventually(() => server.logs.some((line) => line.includes("certificate not reloaded")));
  assert.equal((await handshake()).name, "first", "a certificate without its key");
  await put("key.pem", second.key);
  await rm(join(folder, "next.pem"));
  await eventually(() => reloads() >= 4);
  assert.equal((await handshake()).name, "second");
  assert.deepEqual((await pins(second.cert)).current, [two]);
  for (const [name, transport] of transports(second.cert)) {
    assert.equal((await createClient(InstanceService, transport).getInstance({})).name, "native-engine", name);
  }
  assert.ok(!server.logs.join("\n").includes("PRIVATE KEY"));
});
