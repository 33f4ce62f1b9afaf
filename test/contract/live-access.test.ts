import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../src/gen/grpc/health/v1/health_pb.ts";
import { QueryService } from "../../src/gen/service/collection/v1/query_pb.ts";
import { InstanceService } from "../../src/gen/service/instance/v1/instance_pb.ts";
import { LiveService } from "../../src/gen/service/live/v1/live_pb.ts";
import { ask } from "../support/http.ts";
import { liveClient } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";
import { infoOf } from "../wire/rpc/clients.ts";

const roles = ["admin", "writer", "reader"] as const;
const keyOf = (role: string) => `a-key-of-the-tests-for-${role}-0123456789`;
const bearer = (role: string) => ({ authorization: `Bearer ${keyOf(role)}` });

async function outcome(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => "ok",
    (thrown: unknown) => infoOf(ConnectError.from(thrown)).reason,
  );
}

test("readers query and watch, writers also mutate, admins also make tables and deploy", async () => {
  const SERVICE_API_KEYS = roles.map((role) => `${role}:${role}:${keyOf(role)}`).join();
  await using server = await ServerProcess.start({ env: { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS } });
  const headers = bearer("admin");
  await ask(`${server.url}/v1/namespaces`, { method: "POST", headers, body: { name: "n" } });
  const callers = [undefined, "reader", "writer", "admin"] as const;
  const clientOf = (role: string | undefined) => liveClient(server.live, role === undefined ? {} : bearer(role));
  const create = { function: "_tables:create", args: { table: "t" } };
  await clientOf("admin").mutate({ namespace: "n", call: create });
  const insert = { function: "_tables:insert", args: { table: "t", document: {} } };
  const silence = { function: "_tables:events", args: { table: "t", stream: null } };
  const watched = async (role: string | undefined) => {
    const stop = new AbortController();
    for await (const _ of clientOf(role).watch({ namespace: "n" }, { signal: stop.signal })) break;
    stop.abort();
  };
  const rows: [string, (role: string | undefined) => Promise<unknown>, string][] = [
    ["Query", (role) => clientOf(role).query({ namespace: "n", call: { function: "_tables:list" } }), "401 ok ok ok"],
    ["Watch", watched, "401 ok ok ok"],
    ["Mutate", (role) => clientOf(role).mutate({ namespace: "n", call: insert }), "401 403 ok ok"],
    ["_tables:create", (role) => clientOf(role).mutate({ namespace: "n", call: create }), "401 403 403 ok"],
    ["_tables:events", (role) => clientOf(role).mutate({ namespace: "n", call: silence }), "401 403 403 ok"],
    ["Deploy", (role) => clientOf(role).deploy({ namespace: "n", dryRun: true }), "401 403 403 ok"],
  ];
  const shown: Record<string, string> = { unauthenticated: "401", permission_denied: "403" };
  for (const [name, call, wanted] of rows) {
    const found = [];
    for (const role of callers) found.push(await outcome(call(role)));
    assert.equal(found.map((each) => shown[each] ?? each).join(" "), wanted, name);
  }
});

test("the port of the Live engine tells what it serves, over every protocol, and refuses the rest", async () => {
  await using server = await ServerProcess.start({ env: { SERVICE_CORS_ORIGINS: "https://app.example" } });
  await ask(`${server.url}/v1/namespaces`, { method: "POST", body: { name: "n" } });
  const options = { baseUrl: server.live, httpVersion: "2" } as const;
  for (const transport of [createGrpcTransport({ baseUrl: server.live }), createGrpcWebTransport(options)]) {
    const { apiVersions, services } = await createClient(InstanceService, transport).getInstance({});
    assert.deepEqual(apiVersions, ["service.instance.v1", "service.live.v1"]);
    const live = services.find((each) => each.package === "service.live.v1")!;
    assert.deepEqual([live.available, live.unstable], [true, true]);
    const health = createClient(Health, transport);
    for (const service of ["", "service.live.v1.LiveService"]) {
      assert.equal((await health.check({ service })).status, Status.SERVING);
    }
    const reply = await createClient(LiveService, transport).query({
      namespace: "n",
      call: { function: "_tables:list" },
    });
    assert.equal(reply.outcome.case, "value");
    const search = createClient(QueryService, transport).search({ namespace: "n" });
    const refused = ConnectError.from(
      await search.then(
        () => assert.fail(),
        (thrown: unknown) => thrown,
      ),
    );
    assert.deepEqual([refused.code, infoOf(refused).reason], [Code.Unimplemented, "feature_not_in_variant"]);
  }
  const query = `${server.live}/service.live.v1.LiveService/Query`;
  const strange = await fetch(query, { method: "POST", body: "{}", headers: { origin: "https://evil.example" } });
  assert.equal(strange.status, 403);
  const asked = { origin: "https://app.example", "access-control-request-method": "POST" };
  const preflight = await fetch(query, { method: "OPTIONS", headers: asked });
  assert.equal(preflight.headers.get("access-control-allow-origin"), "https://app.example");
});
