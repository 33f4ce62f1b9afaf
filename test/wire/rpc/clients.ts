import { create, fromBinary } from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { type ErrorInfo, ErrorInfoSchema } from "../../../src/gen/service/errors/v1/errors_pb.ts";

/** Every protocol over every HTTP version that carries it. */
export function transports(url: string): [name: string, transport: Transport][] {
  // Node's client drops a reply that comes while it has more than 10 MB to send.
  const h2 = { httpVersion: "2", nodeOptions: { maxSessionMemory: 100 } } as const;
  return [
    ["connect json h1", createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: false })],
    ["connect proto h1", createConnectTransport({ baseUrl: url, httpVersion: "1.1" })],
    ["connect json h2", createConnectTransport({ baseUrl: url, ...h2, useBinaryFormat: false })],
    ["connect proto h2", createConnectTransport({ baseUrl: url, ...h2 })],
    ["grpc-web h1", createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" })],
    ["grpc-web json h1", createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: false })],
    ["grpc-web h2", createGrpcWebTransport({ baseUrl: url, ...h2 })],
    ["grpc h2", createGrpcTransport({ baseUrl: url, ...h2 })],
    ["grpc json h2", createGrpcTransport({ baseUrl: url, ...h2, useBinaryFormat: false })],
  ];
}

export async function failureOf(call: () => Promise<unknown>): Promise<ConnectError> {
  try {
    await call();
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new Error("the call should have failed");
}

export function infoOf(error: ConnectError): ErrorInfo {
  return error.findDetails(ErrorInfoSchema)[0] ?? create(ErrorInfoSchema, { reason: "(no ErrorInfo)" });
}

export interface JsonError {
  readonly code: string;
  readonly message: string;
  readonly details: readonly { readonly type: string; readonly value: string; readonly debug?: ErrorInfo }[];
}

/** The ErrorInfo of a Connect error body. */
export function infoOfJson(body: JsonError): ErrorInfo {
  const detail = body.details.find((one) => one.type === ErrorInfoSchema.typeName);
  if (detail === undefined) throw new Error(`no ErrorInfo in ${JSON.stringify(body)}`);
  return fromBinary(ErrorInfoSchema, Buffer.from(detail.value, "base64"));
}

export async function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; json: unknown }> {
  const response = await fetch(url, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text === "" ? undefined : JSON.parse(text) };
}
