import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Client, credentials } from "@grpc/grpc-js";
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from "jose";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import { NamespaceService } from "../../../src/gen/service/collection/v1/namespace_pb.ts";
import { InstanceService } from "../../../src/gen/service/instance/v1/instance_pb.ts";
import { LiveService } from "../../../src/gen/service/live/v1/live_pb.ts";
import { ask } from "../../support/http.ts";
import { runCommand, ServerProcess } from "../../support/process.ts";
import { failureOf, infoOf, infoOfJson, type JsonError, post, transports } from "./clients.ts";

/** The server as a user runs it; the edge alone is tested in the files beside this one. */

const root = fileURLToPath(new URL("../../..", import.meta.url));
const run = promisify(execFile);
const origin = "https://app.example.com";
const getInstance = "/service.instance.v1.InstanceService/GetInstance";
const whoAmI = "/service.instance.v1.InstanceService/WhoAmI";
const createNamespace = "/service.collection.v1.NamespaceService/CreateNamespace";

interface InstanceReply {
  readonly instanceId: string;
  readonly name: string;
  readonly setupRequired: boolean;
  readonly keyRotation: string;
  readonly jwksUri: string;
  readonly [field: string]: unknown;
}

let server: ServerProcess;
before(async () => {
  server = await ServerProcess.start({
    flags: ["--mode", "development", "--instance-name", "Lab", "--min-app-versions", '{"ios":"3.1.0"}'],
    env: {
      SERVICE_CORS_ORIGINS: origin,
      SERVICE_PUSH: '{"gatewayUrl":"https://push.example.com","appIds":{"ios":"com.example.app"}}',
    },
  });
});
after(async () => await server[Symbol.asyncDispose]());

async function describe(at = server): Promise<InstanceReply> {
  const { json } = await post(at.url + getInstance, "{}");
  return json as InstanceReply;
}

test("every protocol over every HTTP version", async () => {
  const { instanceId } = await describe();
  for (const [name, transport] of transports(server.url)) {
    const reply = await createClient(InstanceService, transport).getInstance({});
    assert.equal(reply.instanceId, instanceId, name);
    const namespaces = createClient(NamespaceService, transport);
    const label = name.replaceAll(" ", "-");
    const { id } = await namespaces.createNamespace({ name: label });
    assert.deepEqual((await ask(`${server.url}/v1/namespaces/${label}`)).json, { name: label, id: Number(id) });
    const taken = await failureOf(() => namespaces.createNamespace({ name: label }));
    assert.deepEqual([taken.code, infoOf(taken).reason], [Code.AlreadyExists, "already_exists"], name);
    const absent = await failureOf(() => createClient(LiveService, transport).query({}));
    assert.deepEqual(infoOf(absent).metadata, { variant: "oss" }, name);
    assert.equal((await createClient(Health, transport).check({})).status, Status.SERVING, name);
  }
});

test("buf curl by reflection, and grpc-js", async () => {
  const options = ["curl", "--http2-prior-knowledge", "--protocol", "grpc", "--data", "{}"];
  const { stdout } = await run(join(root, "node_modules/.bin/buf"), [...options, server.url + getInstance], {
    cwd: root,
  });
  assert.equal((JSON.parse(stdout) as InstanceReply).name, "Lab");

  const { check } = Health.method;
  const client = new Client(new URL(server.url).host, credentials.createInsecure());
  const status = await new Promise<Status>((resolve, reject) => {
    client.makeUnaryRequest(
      "/grpc.health.v1.Health/Check",
      (message) => Buffer.from(toBinary(check.input, message)),
      (bytes) => fromBinary(check.output, bytes),
      create(check.input),
      (error, reply) => (reply === undefined ? reject(error) : resolve(reply.status)),
    );
  });
  client.close();
  assert.equal(status, Status.SERVING);
});

test("GetInstance tells what is configured", async () => {
  const { instanceId, services, jwksUri, ...rest } = await describe();
  assert.match(instanceId, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  assert.deepEqual(rest, {
    name: "Lab",
    edition: "EDITION_OSS",
    serverVersion: "0.1.0",
    apiVersions: ["service.instance.v1", "service.collection.v1"],
    features: {
      streams: true,
      events: true,
      links: true,
      collections: true,
      search: true,
      apikey: false,
      oidc: false,
      mesh: false,
      tls: false,
      reflection: true,
      house: false,
      push: true,
      sql: true,
      live: true,
      flight_sql: true,
    },
    issuer: "",
    signInMethods: [{ kind: "SIGN_IN_KIND_NONE", displayName: "No sign-in" }],
    tlsPins: "",
    push: { gatewayUrl: "https://push.example.com", appIds: { ios: "com.example.app" }, unifiedpush: false },
    minAppVersions: { ios: "3.1.0" },
    setupRequired: true,
    keyRotation: "",
  });
  assert.equal(jwksUri, `${server.url}/.well-known/jwks.json`);
  const statuses = services as { package: string; available: boolean; unstable: boolean }[];
  assert.deepEqual(
    statuses.map((status) => [status.package, status.available, status.unstable]),
    [
      ["service.instance.v1", true, false],
      ["service.collection.v1", true, false],
      ["service.live.v1", false, true],
      ["service.graph.v1", false, false],
      ["service.house.v1", false, false],
    ],
  );
});

test("every service of an available package is there, and no other", async () => {
  const { services } = await describe();
  const statuses = services as { package: string; available?: boolean; services: string[] }[];
  const client = createClient(Health, createGrpcTransport({ baseUrl: server.url }));
  const served: string[] = [];
  for (const { available, services: names } of statuses) {
    for (const service of names) {
      if (available === true) {
        assert.equal((await client.check({ service })).status, Status.SERVING, service);
        served.push(service);
      } else {
        const error = await failureOf(() => client.check({ service }));
        assert.equal(error.code, Code.NotFound, service);
      }
    }
  }
  assert.deepEqual(served, [
    "service.instance.v1.InstanceService",
    "service.collection.v1.NamespaceService",
    "service.collection.v1.CollectionService",
    "service.collection.v1.DocumentService",
    "service.collection.v1.QueryService",
  ]);
});

test("setup and key rotation by the command line while the server runs", async () => {
  const data = ["--data-dir", server.dataDir];
  const usage = await runCommand(["setup", ...data, "--org", "Acme"]);
  assert.deepEqual([usage.code, usage.stdout], [2, ""]);
  assert.match(usage.stderr, /--owner is missing\nSee native-engine setup --help/);
  assert.equal((await runCommand(["setup", "--help"])).code, 0);
  const done = await runCommand(["setup", ...data, "--org", "Acme", "--owner", "ada@example.com", "--json"]);
  assert.equal(done.code, 0, done.stderr);
  const { org } = JSON.parse(done.stdout) as { org: { id: string } };
  assert.equal((await describe()).setupRequired, false);
  assert.deepEqual(((await post(server.url + whoAmI, "{}")).json as { org: object }).org, { id: org.id, name: "Acme" });
  const other = await runCommand(["setup", ...data, "--org", "Other", "--owner", "ada@example.com"]);
  assert.deepEqual([other.code, other.stdout], [1, ""]);

  const before = await describe();
  const started = await runCommand(["signing-key", "rotate", ...data, "--json"]);
  assert.equal(started.code, 0, started.stderr);
  const { current, next } = JSON.parse(started.stdout) as { current: string; next: string };
  const { keyRotation } = await describe();
  const keySet = (await ask(before.jwksUri)).json as JSONWebKeySet;
  assert.deepEqual(
    keySet.keys.map((key) => key.kid),
    [current, next],
  );
  const { payload, protectedHeader } = await compactVerify(keyRotation, createLocalJWKSet(keySet));
  assert.equal(protectedHeader.kid, current);
  const proof = JSON.parse(new TextDecoder().decode(payload)) as { iss: string; thumbprint: string };
  assert.deepEqual([proof.iss, proof.thumbprint], [before.instanceId, next]);
  assert.equal((await runCommand(["signing-key", "rotate", ...data])).code, 1);
  assert.equal((await runCommand(["signing-key", "finish", ...data])).code, 0);
  const after = (await ask(before.jwksUri)).json as JSONWebKeySet;
  assert.deepEqual([after.keys[0]?.kid, (await describe()).keyRotation], [next, ""]);
});

test("the id of a request is the caller's or ours, on both edges and for every outcome", async () => {
  for (const path of [getInstance, createNamespace, "/service.live.v1.LiveService/Query", "/v1/nothing"]) {
    const given = await post(server.url + path, "{}", { "x-request-id": "mine-1" });
    assert.equal(given.headers.get("x-request-id"), "mine-1", path);
    const bad = await post(server.url + path, "{}", { "x-request-id": "two words" });
    assert.match(bad.headers.get("x-request-id") ?? "", /^[0-9a-f]{12}-\w+$/, path);
  }
});

test("metrics count calls by method and code, and callers can't add names to them", async () => {
  const before = (await ask(`${server.url}/metrics`)).text;
  const count = (text: string, method: string, code: string) => {
    const wanted = [`method="${method}"`, `code="${code}"`];
    const line = text
      .split("\n")
      .find((each) => each.startsWith("service_rpc_requests_total{") && wanted.every((label) => each.includes(label)));
    return Number(line?.split(" ").at(-1) ?? 0);
  };
  await post(server.url + createNamespace, '{"name":"?"}');
  await post(`${server.url}/service.made.up.v1.Service/Method`, "{}");
  const client = createClient(NamespaceService, createGrpcTransport({ baseUrl: server.url }));
  await failureOf(() => client.createNamespace({ name: "?" }));
  await failureOf(() => client.createNamespace({ name: "x".repeat(17 * 1024 * 1024) }));
  const { text } = await ask(`${server.url}/metrics`);
  const method = createNamespace.slice(1);
  const grown = (name: string, code: string) => count(text, name, code) - count(before, name, code);
  assert.equal(grown(method, "invalid_argument"), 3);
  assert.equal(grown("unknown", "unimplemented"), 1);
  assert.match(text, new RegExp(`service_rpc_request_seconds_count\\{method="${method.replaceAll(".", "\\.")}"\\}`));
  assert.doesNotMatch(text, /made\.up/);
});

test("pages of other origins, and names that are not this machine's, are kept out", async () => {
  const { port } = new URL(server.url);
  const session = connect(server.url);
  const http2Status = async (authority: string, path: string) => {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      ":authority": authority,
      "content-type": "application/json",
    });
    stream.end("{}");
    const [headers] = (await once(stream, "response")) as [{ ":status": number }];
    stream.resume();
    return headers[":status"];
  };
  for (const host of ["localhost", "LOCALHOST", "app.localhost", "127.0.0.1", "127.9.9.9", "[::1]"]) {
    for (const authority of [host, `${host}:${port}`, `${host}:1`]) {
      assert.equal(await http2Status(authority, getInstance), 200, authority);
      assert.equal(await http2Status(authority, "/v1/namespaces"), 400, authority);
    }
  }
  for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0"]) {
    assert.equal(await http2Status(`${host}:${port}`, getInstance), 403, host);
    assert.equal(await http2Status(`${host}:${port}`, whoAmI), 403, host);
    assert.equal(await http2Status(`${host}:${port}`, "/v1/namespaces"), 403, host);
  }
  session.close();

  const origins: [string | undefined, number][] = [
    [undefined, 200],
    [origin, 200],
    [server.url, 200],
    ["http://localhost:1", 403],
    ["https://evil.example", 403],
    ["null", 403],
  ];
  for (const [given, status] of origins) {
    const headers: Record<string, string> = given === undefined ? {} : { origin: given };
    assert.equal((await post(server.url + whoAmI, "{}", headers)).status, status, given);
    const stream = await post(`${server.url}/v1/namespaces/nothing/streams`, '{"name":"s"}', headers);
    assert.equal(stream.status, status === 200 ? 404 : status, given);
    assert.equal(
      (await ask(`${server.url}/v1/namespaces`, { headers })).status,
      200,
      "reading is the browser's to stop",
    );
  }
});

test("pages of configured origins reach both edges", async () => {
  for (const path of [getInstance, "/v1/namespaces"]) {
    const preflight = await ask(server.url + path, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,ce-id",
      },
    });
    assert.equal(preflight.status, 204, path);
    assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /authorization,ce-id$/);
    const reply = await ask(server.url + path, { method: "POST", headers: { origin }, body: {} });
    assert.equal(reply.headers.get("access-control-allow-origin"), origin, path);
    const other = await ask(server.url + path, {
      method: "OPTIONS",
      headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    });
    assert.deepEqual([other.status, other.headers.get("access-control-allow-origin")], [403, null], path);
  }
});

test("the house front end gets its calls", async () => {
  const seen: string[] = [];
  const house = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}');
  });
  house.listen(0, "127.0.0.1");
  await once(house, "listening");
  const houseUrl = `http://127.0.0.1:${(house.address() as AddressInfo).port}`;
  await using with_ = await ServerProcess.start({ env: { SERVICE_HOUSE_URL: houseUrl } });
  const path = "/service.house.v1.HouseService/Do";
  const { json } = await post(with_.url + path, "{}", { authorization: "Bearer s3cret" });
  assert.deepEqual([json, seen], [{ ok: true }, [`POST ${path} undefined`]]);
  assert.ok(((await describe(with_)) as unknown as { apiVersions: string[] }).apiVersions.includes("service.house.v1"));
  house.closeAllConnections();
  house.close();
});

test("drain: watchers hear of it, open streams end, health says so, and the process leaves with 0", async () => {
  const watchers = transports(server.url).map(async ([name, transport]) => {
    const seen: Status[] = [];
    const started = Promise.withResolvers<void>();
    const run = (async () => {
      for await (const { status } of createClient(Health, transport).watch({})) {
        seen.push(status);
        started.resolve();
      }
    })();
    await started.promise;
    return { name, seen, run };
  });
  const watching = await Promise.all(watchers);
  // A reflection stream whose caller has said all it wants to, but does not close it.
  const { promise: open, resolve: close } = Promise.withResolvers<void>();
  async function* asking() {
    yield { messageRequest: { case: "listServices", value: "" } as const };
    await open;
  }
  const answered = Promise.withResolvers<void>();
  const reflecting = (async () => {
    const client = createClient(ServerReflection, createGrpcTransport({ baseUrl: server.url }));
    for await (const _ of client.serverReflectionInfo(asking())) answered.resolve();
  })();
  await answered.promise;
  const { instanceId } = await describe();
  const exit = once(server.child, "exit");
  server.child.kill("SIGTERM");
  for (const { name, seen, run } of watching) {
    await run;
    assert.deepEqual(seen, [Status.SERVING, Status.NOT_SERVING], name);
  }
  await reflecting;
  close();
  assert.equal((await exit)[0], 0);
  await using again = await ServerProcess.start({ dataDir: server.dataDir });
  assert.equal((await describe(again)).instanceId, instanceId, "over a restart");
  assert.equal((await describe(again)).setupRequired, false);
  // This one runs in production.
  const reflection = createClient(ServerReflection, createGrpcTransport({ baseUrl: again.url }));
  const refused = await failureOf(() => Array.fromAsync(reflection.serverReflectionInfo(createAsyncIterable([]))));
  assert.deepEqual([refused.code, infoOf(refused).reason], [Code.Unimplemented, "not_implemented"]);
  const { json } = await post(`${again.url}/grpc.reflection.v1.ServerReflection/ServerReflectionInfo`, "", {
    "content-type": "application/json",
  });
  assert.equal(infoOfJson(json as JsonError).reason, "not_implemented");
});
