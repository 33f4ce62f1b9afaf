import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, createClient } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { failureOf, infoOf, transports } from "./clients.ts";
import { startServer } from "./server.ts";

const servedNames = [
  "",
  "service.instance.v1.InstanceService",
  "service.collection.v1.NamespaceService",
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
];

test("Check tells of the process and of each service", async () => {
  await using server = await startServer();
  for (const [name, transport] of transports(server.url)) {
    const client = createClient(Health, transport);
    server.health.setReady(true);
    for (const service of servedNames) {
      assert.equal((await client.check({ service })).status, Status.SERVING, `${name} ${service}`);
    }
    for (const service of ["nothing", "service.live.v1.LiveService", "service.collection.v1.QueryService"]) {
      const error = await failureOf(() => client.check({ service }));
      assert.deepEqual([error.code, infoOf(error).reason], [Code.NotFound, "not_found"], name);
    }
    server.health.setReady(false);
    for (const service of servedNames) {
      assert.equal((await client.check({ service })).status, Status.NOT_SERVING, `${name} ${service}`);
    }
  }
});

test("Watch tells of every change and ends with the drain", async () => {
  await using server = await startServer();
  const watchers = transports(server.url).map(async ([name, transport]) => {
    const client = createClient(Health, transport);
    const seen: Status[] = [];
    const unknown: Status[] = [];
    const started = Promise.withResolvers<void>();
    const run = Promise.all([
      (async () => {
        for await (const { status } of client.watch({ service: "service.instance.v1.InstanceService" })) {
          seen.push(status);
          if (seen.length === 1) started.resolve();
        }
      })(),
      (async () => {
        for await (const { status } of client.watch({ service: "nothing" })) unknown.push(status);
      })(),
    ]);
    await started.promise;
    return { name, seen, unknown, run };
  });
  const ready = await Promise.all(watchers);
  server.health.drain();
  for (const { name, seen, unknown, run } of ready) {
    await run;
    assert.deepEqual(seen, [Status.SERVING, Status.NOT_SERVING], name);
    assert.deepEqual(unknown, [Status.SERVICE_UNKNOWN], name);
  }
  server.health.setReady(true);
  assert.equal(server.health.statusOf(""), "not-serving");
});

test("Watch hears of not ready and ready again", async () => {
  await using server = await startServer();
  const [, transport] = transports(server.url).at(-2)!;
  const stop = new AbortController();
  const seen: Status[] = [];
  const error = await failureOf(async () => {
    for await (const { status } of createClient(Health, transport).watch({}, { signal: stop.signal })) {
      seen.push(status);
      if (seen.length === 1) server.health.setReady(false);
      if (seen.length === 2) server.health.setReady(true);
      if (seen.length === 3) stop.abort();
    }
  });
  assert.equal(error.code, Code.Canceled);
  assert.deepEqual(seen, [Status.SERVING, Status.NOT_SERVING, Status.SERVING]);
});
