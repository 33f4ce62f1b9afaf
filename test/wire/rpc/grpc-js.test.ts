import assert from "node:assert/strict";
import { test } from "node:test";
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, compressionAlgorithms, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { served } from "../../../src/edge/rpc/router.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { NamespaceService } from "../../../src/gen/service/collection/v1/namespace_pb.ts";
import { QueryService } from "../../../src/gen/service/collection/v1/query_pb.ts";
import { InstanceService } from "../../../src/gen/service/instance/v1/instance_pb.ts";
import { LiveService } from "../../../src/gen/service/live/v1/live_pb.ts";
import { startServer } from "./server.ts";

/** A call of the grpc-js client with our messages. */
function codec<M extends DescMethod>(method: M) {
  return [
    `/${method.parent.typeName}/${method.name}`,
    (message: MessageShape<M["input"]>) => Buffer.from(toBinary(method.input as DescMessage, message)),
    (bytes: Buffer) => fromBinary(method.output as M["output"], bytes) as MessageShape<M["output"]>,
  ] as const;
}

async function unary<M extends DescMethod>(
  client: Client,
  method: M,
  init: MessageInitShape<M["input"]>,
  deadline?: number,
): Promise<MessageShape<M["output"]>> {
  const options = deadline === undefined ? {} : { deadline };
  return await new Promise((resolve, reject) => {
    const message = create(method.input as M["input"], init);
    client.makeUnaryRequest(...codec(method), message, new Metadata(), options, (error, reply) => {
      if (error !== null || reply === undefined) reject(error);
      else resolve(reply);
    });
  });
}

test("grpc-js calls, fails, streams and gives up", async () => {
  const slow = served(QueryService, { search: () => new Promise(() => undefined) });
  await using server = await startServer({ rpc: { services: [slow] } });
  const clients = [
    new Client(`127.0.0.1:${server.port}`, credentials.createInsecure()),
    new Client(`127.0.0.1:${server.port}`, credentials.createInsecure(), {
      "grpc.default_compression_algorithm": compressionAlgorithms.gzip,
    }),
  ];
  for (const client of clients) {
    const instance = await unary(client, InstanceService.method.getInstance, {});
    assert.equal(instance.instanceId, server.instance.id);

    const refused = async (call: Promise<unknown>, code: status, reason: string) => {
      await assert.rejects(call, (error: ServiceError) => {
        assert.equal(error.code, code, error.message);
        const details = error.metadata.get("grpc-status-details-bin")[0];
        assert.ok(String(details).includes(reason), `${reason} in the details`);
        return true;
      });
    };
    await refused(
      unary(client, NamespaceService.method.createNamespace, { name: "?" }),
      status.INVALID_ARGUMENT,
      "name",
    );
    await refused(unary(client, LiveService.method.query, {}), status.UNIMPLEMENTED, "feature_not_in_variant");
    const tooLarge = { name: "x".repeat(17 * 1024 * 1024) };
    await refused(
      unary(client, NamespaceService.method.createNamespace, tooLarge),
      status.INVALID_ARGUMENT,
      "invalid_argument",
    );
    await assert.rejects(unary(client, QueryService.method.search, {}, Date.now() + 100), {
      code: status.DEADLINE_EXCEEDED,
    });

    const { watch } = Health.method;
    const stream = client.makeServerStreamRequest(...codec(watch), create(watch.input, {}));
    const seen: Status[] = [];
    await new Promise<void>((resolve) => {
      stream.on("data", (reply: MessageShape<typeof watch.output>) => {
        seen.push(reply.status);
        stream.cancel();
      });
      stream.on("error", (error: ServiceError) => {
        assert.equal(error.code, status.CANCELLED);
        resolve();
      });
    });
    assert.deepEqual(seen, [Status.SERVING]);
    client.close();
  }
});
