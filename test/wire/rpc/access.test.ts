import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, createClient } from "@connectrpc/connect";
import { NodeClock } from "../../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../../src/adapter/node/random.ts";
import { served } from "../../../src/edge/rpc/router.ts";
import type { Principal } from "../../../src/engine/auth/principal.ts";
import { setUp } from "../../../src/engine/instance/setup.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { NamespaceService } from "../../../src/gen/service/collection/v1/namespace_pb.ts";
import { QueryService } from "../../../src/gen/service/collection/v1/query_pb.ts";
import { InstanceService, PrincipalKind } from "../../../src/gen/service/instance/v1/instance_pb.ts";
import { LiveService } from "../../../src/gen/service/live/v1/live_pb.ts";
import { failureOf, infoOf, post, transports } from "./clients.ts";
import { bearerJson, startServer } from "./server.ts";

const ada: Principal = {
  id: "sub-1",
  kind: "user",
  displayName: "Ada",
  email: "ada@example.com",
  role: "reader",
  method: "oidc",
};

function as(principal: Principal): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${JSON.stringify(principal)}` } };
}

test("only GetInstance and health are open", async () => {
  await using server = await startServer({ rpc: { authenticator: bearerJson } });
  for (const [name, transport] of transports(server.url)) {
    const instance = createClient(InstanceService, transport);
    assert.equal((await instance.getInstance({})).instanceId, server.instance.id);
    assert.equal((await createClient(Health, transport).check({})).status, Status.SERVING);
    const closed = [
      () => instance.whoAmI({}),
      () => createClient(NamespaceService, transport).createNamespace({ name: "x" }),
      () => createClient(LiveService, transport).query({}),
    ];
    for (const call of closed) {
      const error = await failureOf(call);
      assert.deepEqual([error.code, infoOf(error).reason], [Code.Unauthenticated, "unauthenticated"], name);
    }
    const expired = await failureOf(() => instance.whoAmI({}, { headers: { authorization: "Bearer expired" } }));
    assert.equal(expired.code, Code.Unauthenticated);
    const info = infoOf(expired);
    assert.deepEqual([info.reason, info.metadata], ["token_expired", { hint: info.hint }], name);
  }
});

test("WhoAmI tells who calls", async () => {
  await using server = await startServer({ rpc: { authenticator: bearerJson } });
  const given = { org: "Acme", owner: "ada@example.com" };
  const { org } = await setUp(server.store, new NodeClock(), new NodeRandom(), given);
  const kinds = [
    ["user", PrincipalKind.USER],
    ["service_account", PrincipalKind.SERVICE_ACCOUNT],
    ["agent", PrincipalKind.AGENT],
  ] as const;
  for (const [, transport] of transports(server.url)) {
    for (const [kind, wanted] of kinds) {
      const reply = await createClient(InstanceService, transport).whoAmI({}, as({ ...ada, kind }));
      const { $typeName: _p, ...principal } = reply.principal!;
      assert.deepEqual(principal, { id: "sub-1", kind: wanted, displayName: "Ada", email: "ada@example.com" });
      assert.deepEqual([reply.org?.id, reply.org?.name], [org.id, "Acme"]);
      assert.deepEqual([reply.environments, reply.device], [[], undefined]);
    }
  }
});

test("with authentication off everybody is the loopback developer", async () => {
  await using server = await startServer();
  const { json } = await post(`${server.url}/service.instance.v1.InstanceService/WhoAmI`, "{}");
  assert.deepEqual(json, {
    principal: { id: "dev-loopback", kind: "PRINCIPAL_KIND_SERVICE_ACCOUNT", displayName: "dev-loopback" },
    environments: [],
  });
});

test("roles and namespaces bound what a credential may do", async () => {
  const found = served(QueryService, { search: () => ({}) });
  await using server = await startServer({ rpc: { authenticator: bearerJson, services: [found] } });
  const [, transport] = transports(server.url)[0]!;
  const create = async (principal: Principal, name: string) =>
    await createClient(NamespaceService, transport).createNamespace({ name }, as(principal));
  for (const role of ["reader", "writer"] as const) {
    const error = await failureOf(() => create({ ...ada, role }, "a"));
    assert.deepEqual([error.code, infoOf(error).reason], [Code.PermissionDenied, "permission_denied"]);
  }
  const scoped = await failureOf(() => create({ ...ada, role: "admin", namespaces: ["mine"] }, "mine"));
  assert.equal(infoOf(scoped).reason, "permission_denied");
  await create({ ...ada, role: "admin" }, "other");

  const search = async (principal: Principal, namespace: string) =>
    await createClient(QueryService, transport).search({ namespace }, as(principal));
  await search(ada, "any");
  await search({ ...ada, namespaces: ["mine"] }, "mine");
  const elsewhere = await failureOf(() => search({ ...ada, namespaces: ["mine"] }, "other"));
  assert.equal(infoOf(elsewhere).reason, "permission_denied");
});

test("pages of configured origins may call, others learn nothing", async () => {
  const path = "/service.instance.v1.InstanceService/GetInstance";
  const preflight = async (url: string, origin: string) =>
    await fetch(url + path, { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } });
  await using open = await startServer({ origins: ["https://app.example.com"], rpc: { authenticator: bearerJson } });
  const allowed = await preflight(open.url, "https://app.example.com");
  assert.equal(allowed.status, 204);
  assert.equal(allowed.headers.get("access-control-allow-origin"), "https://app.example.com");
  assert.match(allowed.headers.get("access-control-allow-headers") ?? "", /Connect-Protocol-Version.*Authorization/i);
  assert.match(allowed.headers.get("access-control-allow-methods") ?? "", /POST/);

  for (const [call, status] of [
    [path, 200],
    ["/service.instance.v1.InstanceService/WhoAmI", 401],
  ] as const) {
    const reply = await post(open.url + call, "{}", { origin: "https://app.example.com" });
    assert.equal(reply.status, status);
    assert.equal(reply.headers.get("access-control-allow-origin"), "https://app.example.com");
    assert.match(reply.headers.get("access-control-expose-headers") ?? "", /grpc-status/i);
    assert.equal(reply.headers.get("vary"), "Origin");
  }

  const other = await preflight(open.url, "https://evil.example.com");
  assert.deepEqual([other.status, other.headers.get("access-control-allow-origin")], [403, null]);
  await using closed = await startServer();
  const none = await preflight(closed.url, "https://app.example.com");
  assert.deepEqual([none.status, none.headers.get("access-control-allow-origin")], [403, null]);
  const reply = await post(closed.url + path, "{}", { origin: "https://app.example.com" });
  assert.equal(reply.headers.get("access-control-allow-origin"), null);
});
