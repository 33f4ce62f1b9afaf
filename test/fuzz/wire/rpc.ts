import { gzipSync } from "node:zlib";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Health } from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { CollectionService } from "../../../src/gen/service/collection/v1/collection_pb.ts";
import { DocumentService } from "../../../src/gen/service/collection/v1/document_pb.ts";
import { NamespaceService } from "../../../src/gen/service/collection/v1/namespace_pb.ts";
import { QueryService } from "../../../src/gen/service/collection/v1/query_pb.ts";
import { InstanceService } from "../../../src/gen/service/instance/v1/instance_pb.ts";
import { LiveService } from "../../../src/gen/service/live/v1/live_pb.ts";
import type { Dice } from "../../sim/dice.ts";
import { mutate } from "../mutate.ts";
import { messageBytes, messageJson } from "./messages.ts";
import { enveloped, type RpcCall, rpcTarget } from "./rpc-calls.ts";
import { secret } from "./server.ts";

const services: readonly DescService[] = [
  CollectionService,
  DocumentService,
  QueryService,
  NamespaceService,
  InstanceService,
  Health,
  LiveService,
];
/** Those that never end are another test's, and dropping what the others look at would leave them nothing. */
const left = new Set(["Watch", "DropCollection", "DeleteByFilter"]);
const methods: readonly DescMethod[] = services.flatMap(({ methods: all }) =>
  all.filter(({ name }) => !left.has(name)),
);

const extras: readonly (readonly [string, string])[] = [
  ["connect-protocol-version", "1"],
  ["connect-protocol-version", "2"],
  ["connect-timeout-ms", "1"],
  ["connect-timeout-ms", "-1"],
  ["connect-timeout-ms", "x"],
  ["grpc-timeout", "1m"],
  ["grpc-timeout", "99999999999H"],
  ["content-encoding", "gzip"],
  ["content-encoding", "zstd"],
  ["grpc-encoding", "gzip"],
  ["grpc-encoding", "nothing"],
  ["connect-content-encoding", "br"],
  ["service-consistency-token", "[{}]"],
  ["service-consistency-token", '[{"stream":1,"partition":0,"offset":1}]'],
  ["accept-language", "de;q=0.9, *;q=\u0000".replace("\u0000", "")],
  ["authorization", `Bearer ${secret}`],
];

const kinds = [
  "application/json",
  "application/proto",
  "application/connect+json",
  "application/connect+proto",
  "application/grpc",
  "application/grpc+json",
  "application/grpc-web+proto",
  "application/grpc-web-text",
  "text/plain",
] as const;

function make(dice: Dice): RpcCall {
  const method = dice.pick(methods);
  const type = dice.chance(0.97) ? dice.pick(kinds.slice(0, 7)) : dice.pick(kinds);
  const isJson = type.endsWith("json");
  let message: Uint8Array = isJson
    ? Buffer.from(JSON.stringify(messageJson(method.input, dice)))
    : messageBytes(method.input, dice);
  if (dice.chance(0.3))
    message = mutate(Buffer.from(message), Buffer.from(message), ['"', "\u0000", "\u00ff"], 20_000, dice);
  const headers: Record<string, string> = { "content-type": type };
  if (dice.chance(0.03)) delete headers["content-type"];
  while (dice.chance(0.2)) {
    const [name, value] = dice.pick(extras);
    headers[name] = value;
    if (value === "gzip" && dice.chance(0.7)) message = gzipSync(message);
  }
  if (type.includes("grpc")) headers["te"] = "trailers";
  const isUnary = type === "application/json" || type === "application/proto";
  const body = isUnary ? Buffer.from(message) : enveloped(message, dice);
  const times = !isUnary && dice.chance(0.05) ? 3 : 1;
  const whole = Buffer.concat(Array.from({ length: times }, () => body));
  const path = dice.chance(0.98)
    ? `/${method.parent.typeName}/${method.name}`
    : `/${method.parent.typeName}/${dice.pick(["", "Nothing", "%00", "a/b"])}`;
  const verb = dice.chance(0.97) ? "POST" : dice.pick(["GET", "PUT", "OPTIONS", "HEAD"]);
  return { path, headers, body: whole.toString("base64"), method: verb };
}

/** Calls in every protocol: messages that make sense, that nearly do, and bytes that are none. */
export const rpc = rpcTarget("rpc", make);
