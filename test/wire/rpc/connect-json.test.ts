import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { after, before, test } from "node:test";
import { served } from "../../../src/edge/rpc/router.ts";
import { QueryService } from "../../../src/gen/service/collection/v1/query_pb.ts";
import { infoOfJson, type JsonError, post } from "./clients.ts";
import { startServer, type TestServer } from "./server.ts";

let server: TestServer;
const search = served(QueryService, {
  search: (request) => ({ rows: [{ fields: { retrievers: request.retrieve.length, k: request.limit ?? 0 } }] }),
});
before(async () => {
  server = await startServer({ rpc: { services: [search] } });
});
after(async () => await server[Symbol.asyncDispose]());

const create = "/service.collection.v1.NamespaceService/CreateNamespace";
const getInstance = "/service.instance.v1.InstanceService/GetInstance";

test("GetInstance has every field, in lowerCamelCase", async () => {
  const { status, json } = await post(server.url + getInstance, "{}");
  assert.equal(status, 200);
  const { instanceId, services, ...rest } = json as Record<string, unknown>;
  assert.equal(instanceId, server.instance.id);
  assert.deepEqual(rest, {
    name: "native-engine",
    edition: "EDITION_OSS",
    serverVersion: "0.1.0",
    apiVersions: ["service.instance.v1", "service.collection.v1"],
    features: { streams: true },
    issuer: "",
    tlsPins: "",
    minAppVersions: {},
    keyRotation: "",
    jwksUri: `${server.url}/.well-known/jwks.json`,
    signInMethods: [{ kind: "SIGN_IN_KIND_NONE", displayName: "No sign-in" }],
    setupRequired: true,
  });
  assert.deepEqual(
    (services as { package: string }[]).find((one) => one.package === "service.live.v1"),
    {
      package: "service.live.v1",
      version: "v1",
      available: false,
      services: ["service.live.v1.LiveService"],
      unstable: true,
    },
  );
});

test("the key set is served where jwksUri says", async () => {
  const { json } = await post(server.url + getInstance, "{}");
  const response = await fetch((json as { jwksUri: string }).jwksUri);
  assert.equal(response.headers.get("content-type"), "application/jwk-set+json");
  assert.deepEqual(await response.json(), server.instance.keySet);
});

test("bad requests name the field at fault", async () => {
  const query = "/service.collection.v1.QueryService/Search";
  const table: [path: string, body: string, headers: Record<string, string>, field: string][] = [
    [create, '{"nmae":"x"}', {}, "nmae"],
    [create, '{"name":3}', {}, "name"],
    [create, "{", {}, "body"],
    [create, "", {}, "body"],
    [create, "[]", {}, "body"],
    [create, "null", {}, "body"],
    [create, "{}", {}, "name"],
    [create, '{"name":"x"}', { "connect-protocol-version": "2" }, "Connect-Protocol-Version"],
    [create, '{"name":"x"}', { "connect-timeout-ms": "soon" }, "Connect-Timeout-Ms"],
    [create, '{"name":"x"}', { "content-encoding": "gzip" }, "content-encoding"],
    [query, '{"retrieve":[{"vector":{"feild":"v"}}]}', {}, "retrieve[0].vector.feild"],
    [query, '{"retrieve":[{"text":{}},{"vector":{"query":[1,"x"]}}]}', {}, "retrieve[1].vector.query[1]"],
    [query, '{"retrieve":[{"text":{},"vector":{}}]}', {}, "retrieve[0].vector"],
    [query, '{"retrieve":[{"vector":{"k":"many"}}]}', {}, "retrieve[0].vector.k"],
    [query, '{"retrieve":[5]}', {}, "retrieve[0]"],
    [query, '{"retrieve":[{"text":"apple"}]}', {}, "retrieve[0].text"],
    [query, '{"filter":[]}', {}, "filter"],
    [query, '{"filter":{"match_all":{},"exists":{"field":"f"}}}', {}, "filter.exists"],
    [query, '{"select":"title"}', {}, "select"],
    [query, "[]", {}, "body"],
  ];
  for (const [path, body, headers, field] of table) {
    const { status, json } = await post(server.url + path, body, headers);
    const error = json as JsonError;
    assert.deepEqual([status, error.code], [400, "invalid_argument"], body + JSON.stringify(headers));
    const info = infoOfJson(error);
    assert.deepEqual([info.reason, info.metadata], ["invalid_argument", { field }], body + JSON.stringify(error));
  }
});

test("a malformed binary message is the caller's fault", async () => {
  const bytes = Uint8Array.of(0x0a, 0x7f, 0x01);
  const { status, json } = await post(server.url + create, bytes, { "content-type": "application/proto" });
  assert.equal(status, 400);
  assert.equal(infoOfJson(json as JsonError).reason, "invalid_argument");
});

test("an error that quotes a long key stays small", async () => {
  const key = "k".repeat(100_000);
  const { status, json } = await post(server.url + create, JSON.stringify({ [key]: 1 }), { "accept-encoding": "gzip" });
  assert.equal(status, 400);
  const error = json as JsonError;
  assert.ok(error.message.length <= 1000);
  assert.equal(infoOfJson(error).metadata["field"]?.length, 128);
});

test("64-bit integers are strings, both spellings of a name are read", async () => {
  const { json } = await post(server.url + create, '{"name":"numbers"}');
  assert.equal(typeof (json as { id: string }).id, "string");
  const body = JSON.stringify({
    retrieve: [{ text: { field: "t", query: "q", k: 3 } }],
    limit: 7,
    include_vectors: true,
  });
  const found = await post(`${server.url}/service.collection.v1.QueryService/Search`, body);
  assert.deepEqual((found.json as { rows: { fields: object }[] }).rows[0]?.fields, { retrievers: 1, k: 7 });
});

test("other methods and content types", async () => {
  const get = await fetch(server.url + create);
  assert.equal(get.status, 405);
  assert.equal(get.headers.get("allow"), "POST");
  assert.equal(infoOfJson((await get.json()) as JsonError).reason, "not_implemented");
  const options = await fetch(server.url + create, { method: "OPTIONS" });
  assert.equal(options.status, 204);
  assert.equal(options.headers.get("allow"), "POST, OPTIONS");
  const xml = await post(server.url + create, "<x/>", { "content-type": "text/xml" });
  assert.equal(xml.status, 415);
  assert.equal(infoOfJson(xml.json as JsonError).reason, "invalid_argument");
  const packed = await post(server.url + create, "{}", { "content-encoding": "lzma" });
  assert.equal(packed.status, 501);
  assert.equal((packed.json as JsonError).code, "unimplemented");
  assert.equal(packed.headers.get("accept-encoding"), "gzip,br");
});

test("unknown paths of every package", async () => {
  const table: [path: string, reason: string, metadata: Record<string, string>][] = [
    ["/service.collection.v1.CollectionService/GetCollection", "not_implemented", {}],
    ["/service.collection.v1.CollectionService/NoSuchMethod", "not_implemented", {}],
    ["/service.instance.v1.InstanceService/NoSuchMethod", "not_implemented", {}],
    ["/service.instance.v1.NoSuchService/Method", "not_implemented", {}],
    ["/service.other.v1.OtherService/Method", "not_implemented", {}],
    ["/grpc.health.v1.Health/NoSuchMethod", "not_implemented", {}],
    ["/service.live.v1.LiveService/Query", "feature_not_in_variant", { variant: "oss" }],
    ["/service.live.v1.LiveService/NoSuchMethod", "feature_not_in_variant", { variant: "oss" }],
    ["/service.graph.v1.GraphService/Anything", "feature_not_in_variant", { variant: "oss" }],
    ["/service.house.v1.HouseService/Anything", "feature_not_in_variant", { variant: "oss" }],
  ];
  for (const [path, reason, metadata] of table) {
    // The body is not read, so that what is in it does not matter.
    const { status, json } = await post(server.url + path, '{"any":1}');
    const error = json as JsonError;
    assert.deepEqual([status, error.code], [501, "unimplemented"], path);
    assert.deepEqual([infoOfJson(error).reason, infoOfJson(error).metadata], [reason, metadata], path);
    assert.deepEqual(error.details[0]?.debug?.reason, reason);
  }
});

test("hints are in the caller's language", async () => {
  const table: [accept: string, hint: RegExp][] = [
    ["de-AT,de;q=0.9,en;q=0.8", /Prüfen Sie/],
    ["fr", /Vérifiez/],
    ["es-MX", /Compruebe/],
    ["ja", /メソッド/],
    ["zh-Hans-CN", /方法/],
    ["nl", /^Check/],
    ["pt, en;q=0.2, de;q=0.7", /Prüfen Sie/],
    ["*", /^Check/],
  ];
  for (const [accept, hint] of table) {
    const { json } = await post(`${server.url}/grpc.health.v1.Health/Nothing`, "{}", { "accept-language": accept });
    assert.match(infoOfJson(json as JsonError).hint, hint, accept);
  }
});

test("the connection serves on after a refused upload", async () => {
  const { port } = server;
  const agentless = (body: Buffer, path: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { "content-type": "application/json", "content-length": body.byteLength };
      const call = httpRequest({ port, host: "127.0.0.1", method: "POST", path, headers }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
      });
      call.on("error", reject);
      call.end(body);
    });
  assert.equal(await agentless(Buffer.alloc(4 * 1024 * 1024, " "), "/service.live.v1.LiveService/Query"), 501);
  assert.equal(await agentless(Buffer.from("{}"), getInstance), 200);
});
