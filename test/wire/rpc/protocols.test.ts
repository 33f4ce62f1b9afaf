import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { test } from "node:test";
import { Code, type ConnectRouter, createClient } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip, createConnectTransport } from "@connectrpc/connect-node";
import { served } from "../../../src/edge/rpc/router.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { CollectionService } from "../../../src/gen/service/collection/v1/collection_pb.ts";
import { DocumentService } from "../../../src/gen/service/collection/v1/document_pb.ts";
import { NamespaceService } from "../../../src/gen/service/collection/v1/namespace_pb.ts";
import { QueryService } from "../../../src/gen/service/collection/v1/query_pb.ts";
import { InstanceService } from "../../../src/gen/service/instance/v1/instance_pb.ts";
import { LiveService } from "../../../src/gen/service/live/v1/live_pb.ts";
import { failureOf, infoOf, infoOfJson, type JsonError, post, transports } from "./clients.ts";
import { startServer } from "./server.ts";

test("every protocol makes unary and streaming calls", async () => {
  await using server = await startServer();
  for (const [name, transport] of transports(server.url)) {
    const instance = await createClient(InstanceService, transport).getInstance({});
    assert.equal(instance.instanceId, server.instance.id, name);

    const namespaces = createClient(NamespaceService, transport);
    const label = name.replaceAll(" ", "-");
    assert.equal(typeof (await namespaces.createNamespace({ name: label })).id, "bigint");
    const taken = await failureOf(() => namespaces.createNamespace({ name: label }));
    assert.equal(taken.code, Code.AlreadyExists, name);
    assert.equal(infoOf(taken).reason, "already_exists", name);
    const bad = infoOf(await failureOf(() => namespaces.createNamespace({ name: "-" })));
    assert.deepEqual([bad.reason, bad.metadata], ["invalid_argument", { field: "name" }], name);

    const stop = new AbortController();
    const seen: Status[] = [];
    for await (const { status } of createClient(Health, transport).watch({}, { signal: stop.signal })) {
      seen.push(status);
      break;
    }
    stop.abort();
    assert.deepEqual(seen, [Status.SERVING], name);
  }
});

test("calls that nothing answers are refused in the caller's protocol", async () => {
  await using server = await startServer();
  for (const [name, transport] of transports(server.url)) {
    const later = [
      () => createClient(CollectionService, transport).getCollection({ namespace: "n", collection: "c" }),
      () => createClient(DocumentService, transport).countDocuments({ namespace: "n", collection: "c" }),
      () => createClient(QueryService, transport).search({ namespace: "n", from: "collections.c" }),
    ];
    for (const call of later) {
      const error = await failureOf(call);
      assert.equal(error.code, Code.Unimplemented, name);
      assert.deepEqual([infoOf(error).reason, infoOf(error).metadata], ["not_implemented", {}], name);
    }
    const live = createClient(LiveService, transport);
    const absent = [
      () => live.query({}),
      () => live.mutate({}),
      () => live.deploy({}),
      () => live.modifyQuerySet({}),
      () => Array.fromAsync(live.watch({})),
    ];
    for (const call of absent) {
      const error = await failureOf(call);
      assert.equal(error.code, Code.Unimplemented, name);
      const info = infoOf(error);
      assert.deepEqual([info.reason, info.metadata], ["feature_not_in_variant", { variant: "oss" }], name);
      assert.notEqual(info.hint, "");
    }
  }
});

test("the deadline ends the call and the handler's work", async () => {
  let working = 0;
  let begun = 0;
  const slow = served(QueryService, {
    // Never answers: the edge must not wait for it. On a busy machine the time can be over before it begins.
    search: (_request, { signal }) => {
      begun++;
      if (!signal.aborted) {
        working++;
        signal.addEventListener("abort", () => working--);
      }
      return new Promise(() => {});
    },
  });
  await using server = await startServer({ rpc: { services: [slow] } });
  for (const [name, transport] of transports(server.url)) {
    // The client's own clock must not be what ends the call.
    const header = name.startsWith("connect") ? { "connect-timeout-ms": "30" } : { "grpc-timeout": "30m" };
    const error = await failureOf(() => createClient(QueryService, transport).search({}, { headers: header }));
    assert.equal(error.code, Code.DeadlineExceeded, name);
    assert.equal(infoOf(error).reason, "deadline_exceeded", name);
    assert.equal(working, 0, name);
  }
  assert.ok(begun > 0);
});

test("what breaks inside is logged under the id that the caller gets", async () => {
  const secret = "the password is swordfish";
  const broken = served(QueryService, {
    search() {
      throw new TypeError(secret);
    },
  });
  await using server = await startServer({ rpc: { services: [broken] } });
  for (const [name, transport] of transports(server.url)) {
    const error = await failureOf(() => createClient(QueryService, transport).search({}));
    assert.equal(error.code, Code.Internal, name);
    assert.equal(infoOf(error).reason, "internal");
    assert.deepEqual(infoOf(error).metadata, {});
    assert.doesNotMatch(JSON.stringify(error, null, 1) + error.message, /swordfish/);
    const id = /request id (\S+)$/.exec(error.rawMessage)?.[1];
    const logged = server.logged.at(-1) as { reqId: string; err: Error };
    assert.ok(id !== undefined, name);
    assert.deepEqual([logged.reqId, error.metadata.get("x-request-id")], [id, id], name);
    assert.match(String(logged.err.cause), /swordfish/);
  }
});

test("compression both ways", async () => {
  const analyzer = "a".repeat(5000);
  const echo = served(CollectionService, { createCollection: (request) => ({ name: request.name }) });
  await using server = await startServer({ rpc: { services: [echo] } });
  for (const compression of [compressionGzip, compressionBrotli]) {
    for (const httpVersion of ["1.1", "2"] as const) {
      const transport = createConnectTransport({
        baseUrl: server.url,
        httpVersion,
        sendCompression: compression,
        acceptCompression: [compression],
        compressMinBytes: 0,
        interceptors: [
          (next) => async (request) => {
            const response = await next(request);
            assert.equal(response.header.get("content-encoding"), compression.name);
            return response;
          },
        ],
      });
      const reply = await createClient(CollectionService, transport).createCollection({ name: analyzer });
      assert.equal(reply.name, analyzer);
    }
  }
});

test("messages over the limit are refused, compressed ones too", async () => {
  await using server = await startServer();
  const tooLarge = "x".repeat(16 * 1024 * 1024 + 1);
  for (const [name, transport] of transports(server.url)) {
    const error = await failureOf(() => createClient(NamespaceService, transport).createNamespace({ name: tooLarge }));
    assert.equal(error.code, Code.InvalidArgument, name);
    assert.deepEqual([infoOf(error).reason, infoOf(error).metadata], ["invalid_argument", { field: "body" }], name);
  }
  const squeezed = createConnectTransport({
    baseUrl: server.url,
    httpVersion: "1.1",
    sendCompression: compressionGzip,
  });
  const error = await failureOf(() => createClient(NamespaceService, squeezed).createNamespace({ name: tooLarge }));
  assert.equal(error.code, Code.InvalidArgument);
  assert.equal(infoOf(error).reason, "invalid_argument");
});

test("a partly written service refuses the rest", async () => {
  const part = {
    descriptor: CollectionService,
    addTo: (router: ConnectRouter) => void router.service(CollectionService, {}),
  };
  await using server = await startServer({ rpc: { services: [part] } });
  for (const [name, transport] of transports(server.url)) {
    const error = await failureOf(() => createClient(CollectionService, transport).scan({}));
    assert.deepEqual([error.code, infoOf(error).reason], [Code.Unimplemented, "not_implemented"], name);
  }
});

test("callers that leave stop the work and leave no line in the log", async () => {
  for (const kind of ["during the call", "during the upload"] as const) {
    let started = Promise.withResolvers<void>();
    let ended = Promise.withResolvers<void>();
    const slow = served(QueryService, {
      search(_request, context) {
        started.resolve();
        return new Promise((_, reject) => {
          context.signal.addEventListener("abort", () => {
            ended.resolve();
            reject(new Error("stopped"));
          });
        });
      },
    });
    await using server = await startServer({ rpc: { services: [slow] } });
    for (const [name, transport] of transports(server.url)) {
      if (kind === "during the call") {
        started = Promise.withResolvers<void>();
        ended = Promise.withResolvers<void>();
        const stop = new AbortController();
        const call = failureOf(() => createClient(QueryService, transport).search({}, { signal: stop.signal }));
        await started.promise;
        stop.abort();
        assert.equal((await call).code, Code.Canceled, name);
        await ended.promise;
      } else {
        const contentType = name.includes("grpc") ? "application/grpc-web+proto" : "application/json";
        await brokenUpload(server.port, contentType);
      }
    }
    assert.deepEqual(server.logged, []);
    // The server goes on.
    const [, transport] = transports(server.url)[0]!;
    assert.equal((await createClient(InstanceService, transport).getInstance({})).name, "native-engine");
  }
});

test("the deadline counts while the message is still on its way", async () => {
  await using server = await startServer();
  const session = connect(server.url);
  const table = [
    [{ "content-type": "application/json", "connect-timeout-ms": "30" }, 504],
    [{ "content-type": "application/grpc", "grpc-timeout": "30m" }, "4"],
    [{ "content-type": "application/grpc-web", "grpc-timeout": "30m" }, "4"],
  ] as const;
  for (const [headers, want] of table) {
    const path = "/service.collection.v1.NamespaceService/CreateNamespace";
    const call = session.request({ ":method": "POST", ":path": path, ...headers });
    call.write("{");
    const [reply] = (await once(call, "response")) as [IncomingHttpHeaders];
    assert.equal(reply["grpc-status"] ?? reply[":status"], want);
    call.close();
  }
  session.close();
});

test("what nests too deep is refused", async () => {
  const part = served(QueryService, { search: () => ({}) });
  await using server = await startServer({ rpc: { services: [part] } });
  const deep = (open: string, close: string) => `${open.repeat(200_000)}{}${close.repeat(200_000)}`;
  for (const body of [`{"filter":${deep('{"not":', "}")}}`, `{"filter":{"term":{"a":${deep("[", "]")}}}}`]) {
    const { status, json } = await post(`${server.url}/service.collection.v1.QueryService/Search`, body);
    assert.equal(status, 400);
    assert.equal(infoOfJson(json as JsonError).reason, "invalid_argument");
  }
});

/** Promises a body, sends its beginning and hangs up. */
async function brokenUpload(port: number, contentType: string): Promise<void> {
  const path = "/service.collection.v1.QueryService/Search";
  const headers = { "content-type": contentType, "content-length": 1000 };
  const call = request({ port, host: "127.0.0.1", method: "POST", path, headers });
  await new Promise<void>((resolve) => {
    call.on("error", () => undefined);
    call.on("close", resolve);
    call.write("{", () => call.destroy());
  });
}
