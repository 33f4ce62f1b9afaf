import assert from "node:assert/strict";
import { test } from "node:test";
import { type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { CollectionInfoSchema, CollectionService } from "../../../src/gen/service/collection/v1/collection_pb.ts";
import { DocumentService } from "../../../src/gen/service/collection/v1/document_pb.ts";
import type { SchemaSchema } from "../../../src/gen/service/collection/v1/schema_pb.ts";
import { ask } from "../../support/http.ts";
import { unsealed } from "../../support/memory-engine.ts";
import { failureOf, infoOf, infoOfJson, type JsonError, post, transports } from "./clients.ts";
import { startCollections } from "./collection-server.ts";

const namespace = "n";

const schema: MessageInitShape<typeof SchemaSchema> = {
  fields: [
    { name: "title", kind: { kind: { case: "text", value: { analyzer: "english" } } } },
    { name: "tag", sourcePath: "meta.tag", kind: { kind: { case: "keyword", value: {} } }, fast: true },
    { name: "rank", kind: { kind: { case: "i64", value: {} } } },
    { name: "price", kind: { kind: { case: "f64", value: {} } }, indexed: false },
    { name: "sold", kind: { kind: { case: "bool", value: {} } } },
    { name: "at", kind: { kind: { case: "date", value: {} } } },
    { name: "extra", kind: { kind: { case: "json", value: {} } } },
  ],
  vectors: [{ name: "v", dim: 3 }],
  sparseVectors: [{ name: "s" }],
  maxFields: 20,
};

/** Every number of an answer as REST has it: 64-bit integers are text in proto JSON. */
function restNumbers(value: unknown): unknown {
  if (typeof value === "string" && /^\d+$/.test(value)) return Number(value);
  if (Array.isArray(value)) return value.map(restNumbers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, restNumbers(entry)]));
}

/** An RPC answer in the form of REST's: a kind without options is its name alone. */
function restForm(json: unknown): Record<string, unknown> {
  const info = restNumbers(json) as Record<string, unknown>;
  const { fields } = info["schema"] as { fields: Record<string, unknown>[] };
  for (const field of fields) {
    const kind = field["kind"] as Record<string, unknown>;
    if (kind["text"] === undefined) field["kind"] = Object.keys(kind)[0];
  }
  return info;
}

test("a collection's info is the same over every protocol and over REST", async () => {
  await using server = await startCollections(unsealed);
  for (const [protocol, transport] of transports(server.rpc.url)) {
    const name = protocol.replaceAll(" ", "-");
    const client = createClient(CollectionService, transport);
    const made = await client.createCollection({ namespace, name, schema });
    assert.deepEqual(await client.createCollection({ namespace, name, schema }), made, protocol);
    assert.deepEqual(await client.getCollection({ namespace, collection: name }), made, protocol);
    const rest = await ask(`${server.restUrl}/v1/namespaces/n/collections/${name}`);
    const json = toJson(CollectionInfoSchema, made, { useProtoFieldName: true, alwaysEmitImplicit: true });
    // A message that is not there is REST's null.
    const { lance, ...manifest } = rest.json.manifest;
    assert.equal(lance, null);
    assert.deepEqual(restForm(json), { ...rest.json, manifest }, protocol);

    const other = await failureOf(() => client.createCollection({ namespace, name, schema: { dynamic: "strict" } }));
    assert.deepEqual([other.code, infoOf(other).reason], [Code.AlreadyExists, "already_exists"], protocol);
    assert.deepEqual(await client.dropCollection({ namespace, collection: name }).then(({ dropped }) => dropped), true);
    const gone = await failureOf(() => client.getCollection({ namespace, collection: name }));
    assert.deepEqual([gone.code, infoOf(gone).reason], [Code.NotFound, "not_found"], protocol);
  }
});

test("a schema made over REST is the one made over RPC", async () => {
  await using server = await startCollections(unsealed);
  const client = createClient(CollectionService, createConnectTransport({ baseUrl: server.rpc.url, httpVersion: "2" }));
  await client.createCollection({ namespace, name: "c", schema });
  const known = await ask(`${server.restUrl}/v1/namespaces/n/collections/c`);
  const again = await ask(`${server.restUrl}/v1/namespaces/n/collections`, {
    body: { name: "c", schema: known.json.schema },
  });
  assert.deepEqual([again.status, again.json], [200, known.json]);
});

test("collections are listed in pages", async () => {
  await using server = await startCollections(unsealed);
  const client = createClient(CollectionService, createConnectTransport({ baseUrl: server.rpc.url, httpVersion: "2" }));
  for (const name of ["d", "a", "c", "b", "e"]) await client.createCollection({ namespace, name, schema: {} });
  const names: string[][] = [];
  let pageToken = "";
  do {
    const page = await client.listCollections({ namespace, pageSize: 2, pageToken });
    names.push(page.collections.map(({ name }) => name));
    const rest = await ask(
      `${server.restUrl}/v1/namespaces/n/collections?page_size=2${pageToken && `&page_token=${pageToken}`}`,
    );
    assert.equal(page.nextPageToken, rest.json.next_page_token);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  assert.deepEqual(names, [["a", "b"], ["c", "d"], ["e"]]);
});

test("aliases change all or none, and resolve", async () => {
  await using server = await startCollections(unsealed);
  const client = createClient(CollectionService, createConnectTransport({ baseUrl: server.rpc.url, httpVersion: "2" }));
  for (const name of ["one", "two"]) await client.createCollection({ namespace, name, schema: {} });
  const add = (alias: string, collection: string) => ({
    action: { case: "add", value: { alias, collection } } as const,
  });
  const { aliases } = await client.updateAliases({ namespace, actions: [add("now", "one"), add("old", "one")] });
  assert.deepEqual(
    aliases.map(({ alias, collection }) => [alias, collection]),
    [
      ["now", "one"],
      ["old", "one"],
    ],
  );
  const found = await client.getCollection({ namespace, collection: "now" });
  assert.deepEqual([found.name, found.aliases], ["one", ["now", "old"]]);

  const missing = await failureOf(() =>
    client.updateAliases({ namespace, actions: [add("now", "two"), add("x", "none")] }),
  );
  assert.equal(infoOf(missing).reason, "not_found");
  assert.equal((await client.getCollection({ namespace, collection: "now" })).name, "one");

  await client.updateAliases({
    namespace,
    actions: [add("now", "two"), { action: { case: "remove", value: { alias: "old" } } }],
  });
  assert.equal((await client.getCollection({ namespace, collection: "now" })).name, "two");
  assert.deepEqual((await ask(`${server.restUrl}/v1/namespaces/n/aliases`)).json, {
    aliases: [{ alias: "now", collection: "two" }],
  });
  const alias = await failureOf(() => client.dropCollection({ namespace, collection: "now" }));
  assert.equal(infoOf(alias).reason, "not_found");
});

test("fields are added where the schema has the version expected", async () => {
  await using server = await startCollections(unsealed);
  const client = createClient(CollectionService, createConnectTransport({ baseUrl: server.rpc.url, httpVersion: "2" }));
  await client.createCollection({ namespace, name: "c", schema: {} });
  const fields = [{ name: "size", kind: { kind: { case: "i64", value: {} } } }] as const;
  const request = { namespace, collection: "c", fields: [...fields], expectedSchemaVersion: 1n };
  const done = await client.addFields(request);
  assert.equal(done.schemaVersion, 2n);
  assert.deepEqual(
    done.schema?.fields.map(({ name, kind, fast }) => [name, kind?.kind.case, fast]),
    [["size", "i64", true]],
  );
  const stale = await failureOf(() => client.addFields(request));
  assert.deepEqual([stale.code, infoOf(stale).reason], [Code.Aborted, "aborted"]);
});

test("versions, the scan plan, hot and warm tell what REST tells", async () => {
  await using server = await startCollections({ sealIdleMs: 0 });
  const transport = createConnectTransport({ baseUrl: server.rpc.url, httpVersion: "2" });
  const client = createClient(CollectionService, transport);
  const documents = createClient(DocumentService, transport);
  const collection = "c";
  await client.createCollection({ namespace, name: collection, schema });
  assert.deepEqual((await client.listVersions({ namespace, collection })).versions, []);
  const empty = await client.scan({ namespace, collection });
  assert.deepEqual([empty.lance, empty.tailRecords, empty.token], [undefined, 0n, []]);

  const upsert = { id: 7n, source: { rank: 1 } };
  await documents.writeDocuments({ namespace, collection, ops: [{ op: { case: "upsert", value: upsert } }] });
  while ((await client.scan({ namespace, collection })).tailRecords > 0n) await new Promise(setImmediate);
  const { versions } = await client.listVersions({ namespace, collection });
  const rest = await ask(`${server.restUrl}/v1/namespaces/n/collections/c/versions`);
  assert.deepEqual(
    versions.map(({ version, createdAt, records, applied }) => [
      Number(version),
      createdAt,
      Number(records),
      Number(applied),
    ]),
    rest.json.versions.map((each: Record<string, unknown>) => [
      each["version"],
      each["created_at"],
      each["records"],
      each["applied"],
    ]),
  );
  assert.deepEqual(
    versions.map(({ records, applied }) => [records, applied]),
    [[1n, 1n]],
  );
  const headers: Headers[] = [];
  const plan = await client.scan({ namespace, collection }, { onHeader: (header) => headers.push(header) });
  const restPlan = await ask(`${server.restUrl}/v1/namespaces/n/collections/c/scan`, { body: {} });
  assert.equal(plan.token.length, 1);
  assert.deepEqual(restNumbers(JSON.parse(JSON.stringify(plan.token, bigintText))), [
    { $typeName: "service.collection.v1.TokenEntry", ...restPlan.json.token[0] },
  ]);
  assert.equal(headers[0]?.get("service-consistency-token"), JSON.stringify(restPlan.json.token));

  const { hot } = await client.setHot({ namespace, collection, enabled: true });
  assert.equal(hot?.enabled, true);
  assert.equal((await client.warmCollection({ namespace, collection })).status, "accepted");
  const isHot = async () => (await client.getCollection({ namespace, collection })).hot?.state === "hot";
  while (!(await isHot())) await new Promise(setImmediate);
  const off = await client.setHot({ namespace, collection, enabled: false });
  assert.equal(off.hot?.enabled, false);
});

function bigintText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

test("bad requests name the field at fault", async () => {
  await using server = await startCollections(unsealed);
  const url = `${server.rpc.url}/service.collection.v1.CollectionService`;
  await post(`${url}/CreateCollection`, JSON.stringify({ namespace: "n", name: "c", schema: {} }));
  const good = { namespace: "n", collection: "c" };
  const keyword = { name: "f", kind: { keyword: {} } };
  const cases: [method: string, body: object, field: string][] = [
    ["CreateCollection", { name: "x", schema: {} }, "namespace"],
    ["CreateCollection", { namespace: "n", name: "-", schema: {} }, "name"],
    ["CreateCollection", { namespace: "n", name: "x" }, "schema"],
    ["CreateCollection", { namespace: "n", name: "x", schema: {}, shards: 3 }, "shards"],
    ["CreateCollection", { namespace: "n", name: "x", schema: { fields: [{ name: "f" }] } }, "schema.fields[0].kind"],
    [
      "CreateCollection",
      { namespace: "n", name: "x", schema: { fields: [{ name: "f", kind: {} }] } },
      "schema.fields[0].kind",
    ],
    [
      "CreateCollection",
      { namespace: "n", name: "x", schema: { fields: [{ name: "f", kind: { text: { analyzer: "klingon" } } }] } },
      "schema.fields[0].kind.text.analyzer",
    ],
    ["CreateCollection", { namespace: "n", name: "x", schema: { vectors: [{ name: "v" }] } }, "schema.vectors[0].dim"],
    ["CreateCollection", { namespace: "n", name: "x", schema: { dynamic: "no" } }, "schema.dynamic"],
    ["ListCollections", { namespace: "n", pageSize: -1 }, "page_size"],
    ["ListCollections", { namespace: "n", pageSize: 1001 }, "page_size"],
    ["ListCollections", { namespace: "n", pageToken: "%" }, "page_token"],
    ["GetCollection", { namespace: "n" }, "collection"],
    ["AddFields", good, "fields"],
    ["AddFields", { ...good, fields: [keyword], expectedSchemaVersion: "-1" }, "expected_schema_version"],
    ["UpdateAliases", { namespace: "n" }, "actions"],
    ["UpdateAliases", { namespace: "n", actions: [{}] }, "actions[0]"],
    ["UpdateAliases", { namespace: "n", actions: [{ add: { alias: "-", collection: "c" } }] }, "actions[0].add.alias"],
    ["UpdateAliases", { namespace: "n", actions: [{ add: { alias: "a" } }] }, "actions[0].add.collection"],
    ["SetHot", good, "enabled"],
  ];
  for (const [method, body, field] of cases) {
    const answer = await post(`${url}/${method}`, JSON.stringify(body));
    assert.equal(answer.status, 400, `${method} ${JSON.stringify(body)}`);
    const info = infoOfJson(answer.json as JsonError);
    assert.deepEqual([info.reason, info.metadata["field"]], ["invalid_argument", field], JSON.stringify(body));
  }
  const missing = await post(`${url}/GetCollection`, JSON.stringify({ namespace: "nowhere", collection: "c" }));
  assert.deepEqual([missing.status, infoOfJson(missing.json as JsonError).reason], [404, "not_found"]);
});
