import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ServerReflection } from "../../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../src/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { failureOf, infoOf, infoOfJson, type JsonError, post } from "./clients.ts";
import { startServer } from "./server.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const run = promisify(execFile);

async function bufCurl(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return await run(join(root, "node_modules/.bin/buf"), ["curl", ...args], { cwd: root, timeout: 20_000 }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
}

test("buf curl finds its way by reflection, in every protocol", async () => {
  await using server = await startServer();
  const results = await Promise.all([
    ...["connect", "grpc", "grpcweb"].flatMap((protocol) =>
      ["grpc-v1", "grpc-v1alpha"].map(async (version) => {
        const url = `${server.url}/service.instance.v1.InstanceService/GetInstance`;
        const options = ["--http2-prior-knowledge", "--protocol", protocol, "--reflect-protocol", version];
        const { stdout, stderr } = await bufCurl(...options, "--data", "{}", url);
        assert.equal(stderr, "");
        assert.equal((JSON.parse(stdout) as { instanceId: string }).instanceId, server.instance.id);
      }),
    ),
    (async () => {
      const { stdout } = await bufCurl("--http2-prior-knowledge", "--list-services", server.url);
      assert.deepEqual(stdout.trim().split("\n").sort(), [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "service.collection.v1.NamespaceService",
        "service.instance.v1.InstanceService",
      ]);
    })(),
    (async () => {
      const url = `${server.url}/service.collection.v1.NamespaceService/CreateNamespace`;
      const { stderr } = await bufCurl("--http2-prior-knowledge", "--data", '{"name":"!"}', url);
      assert.equal((JSON.parse(stderr) as JsonError).code, "invalid_argument");
    })(),
  ]);
  assert.equal(results.length, 8);
});

test("every question of both versions has its answer", async () => {
  await using server = await startServer();
  const transport = createGrpcTransport({ baseUrl: server.url });
  const questions = [
    { case: "listServices", value: "*" },
    { case: "fileByFilename", value: "service/collection/v1/query.proto" },
    { case: "fileContainingSymbol", value: "service.collection.v1.QueryService.Search" },
    { case: "fileContainingSymbol", value: "service.errors.v1.ErrorInfo" },
    { case: "fileContainingSymbol", value: "no.such.Thing" },
    { case: "fileContainingExtension", value: { containingType: "service.errors.v1.ErrorInfo", extensionNumber: 1 } },
    { case: "allExtensionNumbersOfType", value: "service.errors.v1.ErrorInfo" },
    { case: "allExtensionNumbersOfType", value: "no.such.Thing" },
    { case: undefined },
  ] as const;
  // The two differ in their package name alone.
  for (const service of [ServerReflection, ServerReflectionAlpha as unknown as typeof ServerReflection]) {
    const client = createClient(service, transport);
    const requests = questions.map((messageRequest) => ({ host: "h", messageRequest }));
    const replies = await Array.fromAsync(client.serverReflectionInfo(createAsyncIterable(requests)));
    const answers = replies.map((reply) => reply.messageResponse);
    assert.deepEqual(
      answers.map((answer) => (answer.case === "errorResponse" ? answer.value.errorCode : answer.case)),
      [
        "listServicesResponse",
        "fileDescriptorResponse",
        "fileDescriptorResponse",
        "fileDescriptorResponse",
        Code.NotFound,
        Code.NotFound,
        "allExtensionNumbersResponse",
        Code.NotFound,
        Code.InvalidArgument,
      ],
    );
    assert.ok(replies.every((reply) => reply.validHost === "h" && reply.originalRequest?.host === "h"));
    const files = answers[1];
    assert.ok(files?.case === "fileDescriptorResponse");
    // All that the file needs comes with it.
    const all = files.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    const file: FileDescriptorProto[] = [];
    const add = (name: string): void => {
      const found = all.find((one) => one.name === name);
      assert.ok(found, name);
      found.dependency.forEach(add);
      if (!file.includes(found)) file.push(found);
    };
    add("service/collection/v1/query.proto");
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
    assert.equal(registry.getMessage("service.collection.v1.SearchRequest")?.field["from"]?.number, 2);
  }
});

test("production has no reflection", async () => {
  await using server = await startServer({ rpc: { development: false } });
  const client = createClient(ServerReflection, createGrpcTransport({ baseUrl: server.url }));
  const error = await failureOf(() => Array.fromAsync(client.serverReflectionInfo(createAsyncIterable([]))));
  assert.deepEqual([error.code, infoOf(error).reason], [Code.Unimplemented, "not_implemented"]);
});

test("a call that streams both ways needs HTTP/2", async () => {
  await using server = await startServer();
  const url = `${server.url}/grpc.reflection.v1.ServerReflection/ServerReflectionInfo`;
  const { status, json } = await post(url, "", { "content-type": "application/connect+json" });
  assert.equal(status, 505);
  assert.equal(infoOfJson(json as JsonError).reason, "not_implemented");
});
