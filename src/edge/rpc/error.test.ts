import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { EngineError, type Reason, reasons } from "../../engine/errors.ts";
import { catalogue } from "../../engine/instance/catalogue.ts";
import { CollectionService } from "../../gen/service/collection/v1/collection_pb.ts";
import { DocumentService } from "../../gen/service/collection/v1/document_pb.ts";
import { NamespaceService } from "../../gen/service/collection/v1/namespace_pb.ts";
import { QueryService } from "../../gen/service/collection/v1/query_pb.ts";
import { ErrorInfoSchema } from "../../gen/service/errors/v1/errors_pb.ts";
import { InstanceService } from "../../gen/service/instance/v1/instance_pb.ts";
import { LiveService } from "../../gen/service/live/v1/live_pb.ts";
import { toConnectError } from "./error.ts";

const context = { acceptLanguage: "en", report: () => "the-id" };

test("every reason goes out with its code, its metadata and a hint", () => {
  for (const [reason, spec] of Object.entries(reasons) as [Reason, (typeof reasons)[Reason]][]) {
    const metadata = Object.fromEntries([...spec.metadata, "other"].map((key) => [key, `the ${key}`]));
    const error = toConnectError(new EngineError(reason, "what happened", { metadata }), context);
    assert.equal(codeToString(error.code), spec.rpc, reason);
    assert.equal(error.rawMessage, reason === "internal" ? "internal error, request id the-id" : "what happened");
    const info = error.findDetails(ErrorInfoSchema)[0];
    assert.equal(info?.reason, reason);
    // Keys that the registry does not list stay inside.
    assert.deepEqual(Object.keys(info?.metadata ?? {}), [...spec.metadata], reason);
    assert.notEqual(info?.hint, "");
  }
});

test("the wait before a retry is told in milliseconds", () => {
  const error = toConnectError(new EngineError("resource_exhausted", "busy", { retryAfterMs: 250 }), context);
  assert.deepEqual(error.findDetails(ErrorInfoSchema)[0]?.metadata, { retry_after_ms: "250" });
});

for (const [code, message, hint] of [
  [Code.Unimplemented, "method not allowed: use POST", "Use POST."],
  [Code.InvalidArgument, "unsupported content type", "Send a content type that the call supports."],
  [Code.ResourceExhausted, "message is larger than allowed", "Send less in one request."],
] as const) {
  test(`the hint for "${message}" is what can be done about it`, () => {
    const error = toConnectError(new ConnectError(message, code), context);
    assert.equal(error.findDetails(ErrorInfoSchema)[0]?.hint, hint);
  });
}

test("an explained error is not explained again", () => {
  const once = toConnectError(new EngineError("not_found", "gone"), context);
  assert.equal(toConnectError(once, context), once);
});

test("every code that the library may raise has a reason", () => {
  for (const code of Object.values(Code).filter((value) => typeof value === "number")) {
    const reason = toConnectError(new ConnectError("m", code), context).findDetails(ErrorInfoSchema)[0]?.reason ?? "";
    assert.ok(reason in reasons, `${Code[code]} is ${reason}`);
  }
});

test("the catalogue names the services of the definitions", () => {
  const defined = [InstanceService, NamespaceService, CollectionService, DocumentService, QueryService, LiveService];
  const named = catalogue.flatMap((entry) => entry.services);
  for (const service of defined) assert.ok(named.includes(service.typeName), service.typeName);
  const undefinedHere = named.filter((name) => !defined.some((service) => service.typeName === name));
  assert.deepEqual(undefinedHere, ["service.graph.v1.GraphService", "service.house.v1.HouseService"]);
});
