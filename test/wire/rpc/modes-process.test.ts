import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { createClient } from "@connectrpc/connect";
import { NodeClock } from "../../../src/adapter/node/clock.ts";
import { InstanceService } from "../../../src/gen/service/instance/v1/instance_pb.ts";
import { ask } from "../../support/http.ts";
import { IdentityProvider } from "../../support/identity-provider.ts";
import { MeshDaemon, user } from "../../support/mesh-daemon.ts";
import { runCommand, ServerProcess } from "../../support/process.ts";
import { failureOf, infoOf, infoOfJson, type JsonError, post, transports } from "./clients.ts";

const whoAmI = "/service.instance.v1.InstanceService/WhoAmI";
const fixedKey = "fixed-key-of-the-settings-0123456789";

interface Who {
  readonly principal: object;
}

/** A call over a connection that the mesh daemon is told of before anything is sent on it. */
async function callFrom(
  server: ServerProcess,
  announce: (place: string) => void,
  headers: Record<string, string> = {},
): Promise<{ status: number; json: unknown }> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  announce(`127.0.0.1:${socket.localPort}`);
  const call: ClientRequest = request(server.url + whoAmI, {
    createConnection: () => socket,
    method: "POST",
    headers: { "content-type": "application/json", connection: "close", ...headers },
  });
  call.end("{}");
  const [response] = (await once(call, "response")) as [IncomingMessage];
  const chunks = (await Array.fromAsync(response)) as Buffer[];
  return { status: response.statusCode ?? 0, json: JSON.parse(Buffer.concat(chunks).toString()) };
}

test("WhoAmI in every mode of one server, and no credential anywhere in what it writes", async () => {
  await using provider = await IdentityProvider.start(new NodeClock());
  await using daemon = await MeshDaemon.start();
  await using server = await ServerProcess.start({
    flags: ["--log-level", "trace"],
    env: {
      SERVICE_AUTH_MODE: "apikey,oidc,mesh",
      SERVICE_API_KEYS: `fixed:reader:${fixedKey}`,
      SERVICE_OIDC_ISSUER: provider.issuer,
      SERVICE_OIDC_AUDIENCE: provider.audience,
      SERVICE_OIDC_ALLOWED_DOMAINS: "example.com",
      SERVICE_MESH_SOCKET: daemon.socketPath,
    },
  });
  const made = await runCommand(["keys", "create", "--name", "ci", "--role", "writer", "--data-dir", server.dataDir]);
  const key = made.stdout.trim();
  const token = await provider.token();
  const expired = await provider.token({ lifetimeSeconds: -600 });
  const outsider = await provider.token({ claims: { email: "eve@evil.example" } });
  const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });

  const table: [credential: string, principal: object][] = [
    [fixedKey, { id: "apikey:fixed", kind: "PRINCIPAL_KIND_SERVICE_ACCOUNT", displayName: "fixed" }],
    [key, { id: "apikey:ci", kind: "PRINCIPAL_KIND_SERVICE_ACCOUNT", displayName: "ci" }],
    [token, { id: "user-1", kind: "PRINCIPAL_KIND_USER", displayName: "Ada Example", email: "ada@example.com" }],
  ];
  for (const [credential, principal] of table) {
    const { status, json } = await post(server.url + whoAmI, "{}", bearer(credential));
    assert.deepEqual([status, (json as Who).principal], [200, principal]);
  }
  const mesh = await callFrom(server, (place) => daemon.peers.set(place, user("grace@example.com", 7)));
  assert.deepEqual(
    [mesh.status, (mesh.json as Who).principal],
    [200, { id: "7", kind: "PRINCIPAL_KIND_USER", displayName: "Ada Example", email: "grace@example.com" }],
  );
  // A page in the mesh user's browser shares the connection's identity and must not use it.
  const page = await callFrom(server, (place) => daemon.peers.set(place, user("grace@example.com", 7)), {
    origin: "https://evil.example",
  });
  assert.equal(page.status, 403);
  // Nor may it make the server its own origin by a name of its owner, not even to read.
  const rebound = await callFrom(server, (place) => daemon.peers.set(place, user("grace@example.com", 7)), {
    host: "evil.example",
  });
  assert.equal(rebound.status, 403);
  const { hostname, port } = new URL(server.url);
  for (const path of ["/v1/namespaces", "/health", "/", "/openapi.json", "/.well-known/jwks.json"]) {
    const read = request({ hostname, port, path, headers: { host: "evil.example", connection: "close" } }).end();
    const [answer] = (await once(read, "response")) as [IncomingMessage];
    answer.resume();
    assert.equal(answer.statusCode, 403, path);
  }

  const refusals: [headers: Record<string, string>, status: number, reason: string][] = [
    [{}, 401, "unauthenticated"],
    [bearer("nonsense"), 401, "unauthenticated"],
    [bearer(`${key}x`), 401, "unauthenticated"],
    [{ authorization: `Basic ${Buffer.from(`x:${key}`).toString("base64")}` }, 401, "unauthenticated"],
    [{ authorization: key }, 401, "unauthenticated"],
    [{ "x-api-key": key }, 401, "unauthenticated"],
    [{ cookie: `authorization=${key}` }, 401, "unauthenticated"],
    [{ "x-forwarded-for": "127.0.0.1" }, 401, "unauthenticated"],
    [bearer(expired), 401, "token_expired"],
    [bearer(outsider), 403, "permission_denied"],
  ];
  const answers: string[] = [];
  for (const [headers, status, reason] of refusals) {
    const rpc = await post(server.url + whoAmI, "{}", headers);
    assert.deepEqual([rpc.status, infoOfJson(rpc.json as JsonError).reason], [status, reason], JSON.stringify(headers));
    const rest = await ask(`${server.url}/v1/namespaces`, { headers });
    assert.equal(rest.status, status, JSON.stringify(headers));
    answers.push(JSON.stringify(rpc.json), rest.text, ...rpc.headers.values(), ...rest.headers.values());
  }
  const inQuery = await post(`${server.url}${whoAmI}?access_token=${key}&authorization=Bearer%20${key}`, "{}");
  assert.equal(inQuery.status, 401);
  const odd = await ask(`${server.url}/v1/namespaces/${key}?token=${key}`, { headers: { "x-api-key": key } });
  assert.equal(odd.status, 401);
  answers.push(odd.text, JSON.stringify(inQuery.json));
  for (const [name, transport] of transports(server.url)) {
    const client = createClient(InstanceService, transport);
    assert.equal((await client.whoAmI({}, { headers: bearer(key) })).principal?.id, "apikey:ci", name);
    const error = await failureOf(() => client.whoAmI({}, { headers: bearer(expired) }));
    assert.equal(infoOf(error).reason, "token_expired", name);
    answers.push(JSON.stringify([error.rawMessage, [...error.metadata]]));
  }
  const metrics = await ask(`${server.url}/metrics`, { headers: bearer(fixedKey) });
  assert.equal(metrics.status, 200);
  await server.stop();
  const written = [metrics.text, ...answers, ...server.logs].join("\n");
  assert.match(written, /"level":20/, "the log tells of every request");
  for (const secret of [key, key.slice(4, 40), key.slice(25), fixedKey, token, expired, outsider]) {
    assert.ok(!written.includes(secret), `${secret.slice(0, 8)}… was written down`);
  }
  for (const part of [token, expired, outsider].flatMap((each) => each.split(".").slice(1))) {
    assert.ok(!written.includes(part), "a part of a token was written down");
  }
});

test("GetInstance tells how to sign in", async () => {
  await using provider = await IdentityProvider.start(new NodeClock());
  provider.state = "down";
  await using server = await ServerProcess.start({
    env: {
      SERVICE_AUTH_MODE: "oidc",
      SERVICE_OIDC_ISSUER: provider.issuer,
      SERVICE_OIDC_AUDIENCE: provider.audience,
    },
  });
  const { json } = await post(`${server.url}/service.instance.v1.InstanceService/GetInstance`, "{}");
  const { issuer, signInMethods, features } = json as { issuer: string; signInMethods: object; features: object };
  assert.equal(issuer, provider.issuer);
  assert.deepEqual(signInMethods, [
    { kind: "SIGN_IN_KIND_IDENTITY_PROVIDER", displayName: new URL(provider.issuer).host },
  ]);
  assert.equal((features as { oidc: boolean }).oidc, true);
  const token = await provider.token();
  const headers = { authorization: `Bearer ${token}` };
  const down = await post(server.url + whoAmI, "{}", headers);
  assert.deepEqual([down.status, infoOfJson(down.json as JsonError).reason], [503, "unavailable"]);
  assert.equal((await ask(`${server.url}/v1/namespaces`, { headers })).status, 503);
});
