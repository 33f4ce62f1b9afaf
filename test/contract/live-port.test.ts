import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { json } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { ConnectError } from "@connectrpc/connect";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { ask } from "../support/http.ts";
import { IdentityProvider } from "../support/identity-provider.ts";
import { liveClient } from "../support/live.ts";
import { MeshDaemon, user } from "../support/mesh-daemon.ts";
import { ServerProcess } from "../support/process.ts";
import { infoOf, infoOfJson, type JsonError, post } from "../wire/rpc/clients.ts";

const service = "/service.live.v1.LiveService";
const whoAmI = "/service.instance.v1.InstanceService/WhoAmI";

/** The reason why a call fails; ok where it does not. */
async function outcome(url: string, call: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const { status, json: answer } = await post(`${url}${service}/${call}`, JSON.stringify(body), headers);
  return status === 200 ? "ok" : infoOfJson(answer as JsonError).reason;
}

async function get(url: string, path: string, headers: Record<string, string> = {}, method = "GET"): Promise<number> {
  const asked = request(new URL(path, url), { method, headers: { connection: "close", ...headers } }).end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  answer.resume();
  return answer.statusCode ?? 0;
}

test("the Live port answers probes, refuses other paths and methods, and keeps pages and strange names out", async () => {
  await using server = await ServerProcess.start();
  for (const port of [server.url, server.live]) {
    assert.equal(await get(port, "/health"), 200);
    assert.equal(await get(port, "/ready", {}, "HEAD"), 200);
    assert.equal(await get(port, "/health", {}, "POST"), 405);
    for (const path of ["/health", "/ready", "/nothing"]) {
      assert.equal(await get(port, path, { host: "evil.example" }), 403, `${port}${path}`);
    }
    assert.equal(await get(port, "/.well-known/jwks.json"), 200);
  }
  assert.equal(await get(server.live, "/v1/namespaces"), 404);
  const query = { namespace: "n", call: { function: "_tables:list" } };
  assert.equal(await outcome(server.live, "Query", query, { origin: "https://evil.example" }), "permission_denied");
  assert.equal(await outcome(server.live, "Query", query), "not_found");
  assert.equal(await outcome(server.url, "Query", query), "feature_not_in_variant");
});

describe("callers", () => {
  const key = "a-key-of-the-settings-0123456789";
  let provider: IdentityProvider;
  let daemon: MeshDaemon;
  let server: ServerProcess;

  before(async () => {
    provider = await IdentityProvider.start(new NodeClock());
    daemon = await MeshDaemon.start();
    server = await ServerProcess.start({
      env: {
        SERVICE_AUTH_MODE: "apikey,oidc,mesh",
        SERVICE_API_KEYS: `fixed:admin:${key}`,
        SERVICE_OIDC_ISSUER: provider.issuer,
        SERVICE_OIDC_AUDIENCE: provider.audience,
        SERVICE_OIDC_ALLOWED_DOMAINS: "example.com",
        SERVICE_OIDC_DEFAULT_ROLE: "reader",
        SERVICE_MESH_SOCKET: daemon.socketPath,
      },
    });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await daemon[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
  });

  test("the Live port knows callers in every mode", async () => {
    const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
    await ask(`${server.url}/v1/namespaces`, { method: "POST", headers: bearer(key), body: { name: "n" } });
    const create = { namespace: "n", call: { function: "_tables:create", args: { table: "t" } } };
    assert.equal(await outcome(server.live, "Mutate", create, bearer(key)), "ok");
    const token = await provider.token();
    const expired = await provider.token({ lifetimeSeconds: -600 });
    const outsider = await provider.token({ claims: { email: "eve@evil.example" } });
    const query = { namespace: "n", call: { function: "_tables:list" } };
    const insert = { namespace: "n", call: { function: "_tables:insert", args: { table: "t", document: {} } } };
    const rows: [headers: Record<string, string>, query: string, mutate: string][] = [
      [bearer(key), "ok", "ok"],
      [bearer(token), "ok", "permission_denied"],
      [bearer(expired), "token_expired", "token_expired"],
      [bearer(outsider), "permission_denied", "permission_denied"],
      [bearer("nonsense"), "unauthenticated", "unauthenticated"],
      [{}, "unauthenticated", "unauthenticated"],
    ];
    for (const [headers, queried, mutated] of rows) {
      const found = [
        await outcome(server.live, "Query", query, headers),
        await outcome(server.live, "Mutate", insert, headers),
      ];
      assert.deepEqual(found, [queried, mutated]);
    }
    const { port } = new URL(server.live);
    const socket = connect(Number(port), "127.0.0.1");
    await once(socket, "connect");
    daemon.peers.set(`127.0.0.1:${socket.localPort}`, user("grace@example.com", 7));
    const headers = { "content-type": "application/json", connection: "close" };
    const call = request(server.live + whoAmI, { createConnection: () => socket, method: "POST", headers }).end("{}");
    const [answer] = (await once(call, "response")) as [IncomingMessage];
    const { principal } = (await json(answer)) as { principal: { email: string } };
    assert.equal(principal.email, "grace@example.com");
    assert.equal(await get(server.live, "/health"), 200);
    const open = await post(`${server.live}/service.instance.v1.InstanceService/GetInstance`, "{}");
    assert.equal(open.status, 200);
  });

  test("a key for one namespace is of no use in another", async () => {
    const headers = { authorization: `Bearer ${key}` };
    for (const name of ["mine", "other"]) {
      await ask(`${server.url}/v1/namespaces`, { method: "POST", headers, body: { name } });
    }
    const made = await ask(`${server.url}/v1/instance/keys`, {
      method: "POST",
      headers,
      body: { name: "narrow", role: "admin", namespace: "mine" },
    });
    const narrow = { authorization: `Bearer ${made.json.key}` };
    const client = liveClient(server.live, narrow);
    const reasonOf = async (call: Promise<unknown>) =>
      await call.then(
        () => "ok",
        (thrown: unknown) => infoOf(ConnectError.from(thrown)).reason,
      );
    for (const [namespace, wanted] of [
      ["mine", "ok"],
      ["other", "permission_denied"],
    ] as const) {
      const create = { function: "_tables:create", args: { table: "t" } };
      const watch = client.watch({ namespace })[Symbol.asyncIterator]();
      const found = [
        await reasonOf(client.query({ namespace, call: { function: "_tables:list" } })),
        await reasonOf(client.mutate({ namespace, call: create })),
        await reasonOf(client.deploy({ namespace, dryRun: true })),
        await reasonOf(watch.next()),
      ];
      assert.deepEqual(
        found,
        Array.from({ length: 4 }, () => wanted),
      );
      await watch.return?.().catch(() => undefined);
    }
  });
});
