import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { CollectionService } from "../../../src/gen/service/collection/v1/collection_pb.ts";
import {
  type Document,
  DocumentService,
  type DocumentWriteSchema,
  type WriteOpSchema,
} from "../../../src/gen/service/collection/v1/document_pb.ts";
import type { FilterSchema } from "../../../src/gen/service/collection/v1/filter_pb.ts";
import { ask } from "../../support/http.ts";
import { unsealed } from "../../support/memory-engine.ts";
import { failureOf, infoOf, infoOfJson, type JsonError, post, transports } from "./clients.ts";
import { type CollectionServer, startCollections } from "./collection-server.ts";

type Op = MessageInitShape<typeof WriteOpSchema>;
type Filter = MessageInitShape<typeof FilterSchema>;

const where = { namespace: "n", collection: "c" };
const schema = {
  fields: [
    { name: "title", kind: "text" },
    { name: "tag", kind: "keyword" },
    { name: "rank", kind: "i64" },
  ],
  vectors: [{ name: "v", dim: 2 }],
  sparse_vectors: [{ name: "s" }],
};

async function startWithCollection(settings = unsealed): Promise<CollectionServer> {
  const server = await startCollections(settings);
  await ask(`${server.restUrl}/v1/namespaces/n/collections`, { body: { name: "c", schema } });
  return server;
}

function clientOf(server: CollectionServer) {
  const transport = createConnectTransport({ baseUrl: server.rpc.url, httpVersion: "2" });
  return createClient(DocumentService, transport);
}

function write(kind: "upsert" | "insert" | "patch", value: MessageInitShape<typeof DocumentWriteSchema>): Op {
  return { op: { case: kind, value } };
}

function upserts(count: number): Op[] {
  return Array.from({ length: count }, (_, i) =>
    write("upsert", { id: BigInt(i), source: { title: `number ${i}`, tag: i % 2 ? "odd" : "even", rank: i } }),
  );
}

/** A document as REST gives it. */
function restDocument({ id, version, source, vectors, sparseVectors }: Document) {
  const sparse = Object.entries(sparseVectors).map(([name, { indices, values }]) => [name, { indices, values }]);
  return {
    id: Number(id),
    version: Number(version),
    source,
    vectors: Object.fromEntries(Object.entries(vectors).map(([name, { values }]) => [name, values])),
    ...(sparse.length > 0 ? { sparse_vectors: Object.fromEntries(sparse) } : {}),
  };
}

test("documents are written, read, paged, counted, patched and deleted over every protocol as over REST", async () => {
  await using server = await startWithCollection();
  const documentsUrl = `${server.restUrl}/v1/namespaces/n/collections/c/documents`;
  for (const [protocol, transport] of transports(server.rpc.url)) {
    const client = createClient(DocumentService, transport);
    const headers: Headers[] = [];
    const source = { title: "a thing", rank: 3, deep: { list: [1, 2.5, null, "x", true] } };
    const written = await client.writeDocuments(
      {
        ...where,
        ops: [
          write("upsert", {
            id: 1n,
            source,
            vectors: { v: { values: [0.5, -1] } },
            sparseVectors: { s: { indices: [4, 9], values: [1, 2] } },
          }),
          write("insert", { id: 2n, source: { tag: "two" } }),
          write("patch", { id: 2n, source: { rank: 7, tag: null } }),
          { op: { case: "delete", value: { id: 99n } } },
        ],
      },
      { onHeader: (header) => headers.push(header) },
    );
    assert.deepEqual(
      written.results.map(({ id, status, version }) => [id, status, version]),
      [
        [1n, "created", 1n],
        [2n, "created", 1n],
        [2n, "updated", 2n],
        [99n, "noop", 0n],
      ],
      protocol,
    );
    assert.equal(written.replayed, false);
    assert.deepEqual([written.backlog?.throttled, written.token.length], [false, 1]);
    const [entry] = written.token;
    const header = JSON.stringify([
      { stream: Number(entry?.stream), partition: entry?.partition, offset: Number(entry?.offset) },
    ]);
    assert.equal(headers[0]?.get("service-consistency-token"), header, protocol);

    const got = await client.getDocuments(
      { ...where, ids: [2n, 5n, 1n, 2n] },
      { headers: { "Service-Consistency-Token": header } },
    );
    const rest = await ask(`${documentsUrl}/get`, { body: { ids: [2, 5, 1, 2] } });
    assert.deepEqual(
      got.documents.map((document) =>
        document.found ? { ...restDocument(document), found: true } : { id: Number(document.id), found: false },
      ),
      rest.json.documents,
      protocol,
    );
    assert.deepEqual(got.documents[2]?.source, source, protocol);

    const page = await client.scrollDocuments({ ...where, pageSize: 1 });
    const restPage = await ask(`${documentsUrl}/scroll`, { body: { limit: 1 } });
    assert.deepEqual(page.documents.map(restDocument), restPage.json.documents, protocol);
    // Each scroll has a cursor of its own, and either edge goes on from it.
    for (const pageToken of [page.nextPageToken, restPage.json.next_cursor as string]) {
      const last = await client.scrollDocuments({ ...where, pageToken });
      assert.deepEqual([last.documents.map(({ id }) => id), last.nextPageToken], [[2n], ""], protocol);
    }

    assert.equal((await client.countDocuments(where)).count, 2n, protocol);
    const seven: Filter = { filter: { case: "term", value: { rank: 7 } } };
    assert.equal((await client.countDocuments({ ...where, filter: seven })).count, 1n, protocol);
    const patched = await client.patchByFilter({ ...where, filter: seven, patch: { source: { tag: "x" } } });
    assert.deepEqual([patched.matched, patched.affected, patched.partial, patched.nextCursor], [1n, 1n, false, ""]);
    const all: Filter = { filter: { case: "matchAll", value: {} } };
    const deleted = await client.deleteByFilter({ ...where, filter: all });
    assert.deepEqual([deleted.matched, deleted.affected, deleted.partial], [2n, 2n, false], protocol);
    assert.equal((await client.countDocuments(where)).count, 0n, protocol);
  }
});

test("every kind of filter means what it means over REST", async () => {
  await using server = await startWithCollection();
  const client = clientOf(server);
  await client.writeDocuments({ ...where, ops: upserts(30) });
  const all: Filter = { filter: { case: "matchAll", value: {} } };
  const odd: Filter = { filter: { case: "term", value: { tag: "odd" } } };
  const low: Filter = { filter: { case: "range", value: { rank: { lt: 10 } } } };
  const cases: [filter: Filter, rest: object, count: number][] = [
    [all, { match_all: {} }, 30],
    [odd, { term: { tag: "odd" } }, 15],
    [low, { range: { rank: { lt: 10 } } }, 10],
    [{ filter: { case: "terms", value: { rank: [1, 2, 99] } } }, { terms: { rank: [1, 2, 99] } }, 2],
    [{ filter: { case: "exists", value: { field: "tag" } } }, { exists: { field: "tag" } }, 30],
    [{ filter: { case: "prefix", value: { tag: "ev" } } }, { prefix: { tag: "ev" } }, 15],
    [{ filter: { case: "wildcard", value: { tag: "?dd" } } }, { wildcard: { tag: "?dd" } }, 15],
    [{ filter: { case: "ids", value: { values: [3n, 4n, 77n] } } }, { ids: { values: [3, 4, 77] } }, 2],
    [{ filter: { case: "match", value: { title: "Number 7" } } }, { match: { title: "Number 7" } }, 1],
    [{ filter: { case: "phrase", value: { title: "number 12" } } }, { phrase: { title: "number 12" } }, 1],
    [
      { filter: { case: "and", value: { filters: [odd, low] } } },
      { and: [{ term: { tag: "odd" } }, { range: { rank: { lt: 10 } } }] },
      5,
    ],
    [
      { filter: { case: "or", value: { filters: [odd, low] } } },
      { or: [{ term: { tag: "odd" } }, { range: { rank: { lt: 10 } } }] },
      20,
    ],
    [{ filter: { case: "not", value: odd } }, { not: { term: { tag: "odd" } } }, 15],
    [
      { filter: { case: "bool", value: { must: [all], should: [odd], mustNot: [low], filter: [all] } } },
      {
        bool: {
          must: [{ match_all: {} }],
          should: { term: { tag: "odd" } },
          must_not: [{ range: { rank: { lt: 10 } } }],
        },
      },
      10,
    ],
  ];
  for (const [filter, rest, count] of cases) {
    assert.equal((await client.countDocuments({ ...where, filter })).count, BigInt(count), JSON.stringify(rest));
    const answer = await ask(`${server.restUrl}/v1/namespaces/n/collections/c/documents/count`, {
      body: { filter: rest },
    });
    assert.equal(answer.json.count, count, JSON.stringify(rest));
  }
});

test("a write by filter goes on from its cursor", async () => {
  await using server = await startWithCollection();
  const client = clientOf(server);
  await client.writeDocuments({ ...where, ops: upserts(10) });
  const filter: Filter = { filter: { case: "term", value: { tag: "odd" } } };
  const seen: [bigint, boolean][] = [];
  let cursor = "";
  do {
    const done = await client.deleteByFilter({ ...where, filter, maxDocs: 2, cursor });
    seen.push([done.affected, done.partial]);
    cursor = done.nextCursor;
  } while (cursor !== "");
  assert.deepEqual(seen, [
    [2n, true],
    [2n, true],
    [1n, false],
  ]);
  assert.equal((await client.countDocuments(where)).count, 5n);
});

test("conditions and versions hold operations back", async () => {
  await using server = await startWithCollection();
  const client = clientOf(server);
  await client.writeDocuments({ ...where, ops: [write("upsert", { id: 1n, source: { rank: 1 } })] });
  const isTwo: Filter = { filter: { case: "term", value: { rank: 2 } } };
  const { results } = await client.writeDocuments({
    ...where,
    ops: [
      write("patch", { id: 1n, source: { tag: "no" }, condition: isTwo }),
      write("upsert", { id: 1n, source: { rank: 2 }, ifVersion: 1n }),
      write("patch", { id: 1n, source: { tag: "yes" }, condition: isTwo }),
      { op: { case: "delete", value: { id: 1n, ifVersion: 9n } } },
    ],
  });
  assert.deepEqual(
    results.map(({ status }) => status),
    ["condition_failed", "updated", "updated", "condition_failed"],
  );
});

test("a patch replaces vectors and takes them away", async () => {
  await using server = await startWithCollection();
  const client = clientOf(server);
  const full = { vectors: { v: { values: [1, 2] } }, sparseVectors: { s: { indices: [1], values: [1] } } };
  await client.writeDocuments({ ...where, ops: [write("upsert", { id: 1n, source: {}, ...full })] });
  await client.writeDocuments({ ...where, ops: [write("patch", { id: 1n, removeVectors: ["s"] })] });
  const [kept] = (await client.getDocuments({ ...where, ids: [1n] })).documents;
  assert.deepEqual([kept?.vectors["v"]?.values, Object.keys(kept?.sparseVectors ?? {})], [[1, 2], []]);
  const filter: Filter = { filter: { case: "matchAll", value: {} } };
  await client.patchByFilter({ ...where, filter, patch: { removeVectors: ["v"] } });
  const [bare] = (await client.getDocuments({ ...where, ids: [1n] })).documents;
  assert.deepEqual([Object.keys(bare?.vectors ?? {}), bare?.version], [[], 3n]);
});

test("an idempotency key replays the recorded result, in whatever order a map comes", async () => {
  await using server = await startWithCollection();
  const client = clientOf(server);
  const request = { ...where, idempotencyKey: "k" };
  const op = (source: Record<string, number>) => [write("insert", { id: 1n, source })];
  const first = await client.writeDocuments({ ...request, ops: op({ a: 1, b: 2 }) });
  const again = await client.writeDocuments({ ...request, ops: op({ b: 2, a: 1 }) });
  assert.deepEqual([first.replayed, again.replayed], [false, true]);
  assert.deepEqual([again.results, again.token], [first.results, first.token]);
  const other = await failureOf(() => client.writeDocuments({ ...request, ops: op({ a: 1, b: 3 }) }));
  assert.deepEqual([other.code, infoOf(other).reason], [Code.Aborted, "aborted"]);
});

test("the header Idempotency-Key is the key too, over every protocol", async () => {
  await using server = await startWithCollection();
  for (const [i, [protocol, transport]] of transports(server.rpc.url).entries()) {
    const client = createClient(DocumentService, transport);
    const request = { ...where, ops: [write("insert", { id: BigInt(i), source: {} })] };
    const told: (string | null)[] = [];
    const onHeader = (header: Headers) => told.push(header.get("idempotency-replayed"));
    const send = (key: string) => client.writeDocuments(request, { headers: { "Idempotency-Key": key }, onHeader });
    const replayed = [(await send(`k${i}`)).replayed, (await send(`k${i}`)).replayed];
    assert.deepEqual(
      [replayed, told],
      [
        [false, true],
        [null, "true"],
      ],
      protocol,
    );
    const byField = await client.writeDocuments({ ...request, idempotencyKey: `k${i}` });
    assert.equal(byField.replayed, true, protocol);
    const long = await failureOf(() => send("x".repeat(256)));
    assert.deepEqual(infoOf(long).metadata, { field: "Idempotency-Key" }, protocol);
  }
});

test("a collection whose indexes are behind answers when to come again", async () => {
  await using server = await startWithCollection({ ...unsealed, tailRecordsMax: 3 });
  for (const [protocol, transport] of transports(server.rpc.url)) {
    const client = createClient(DocumentService, transport);
    await client.writeDocuments({ ...where, ops: upserts(3) }).catch(() => undefined);
    const error = await failureOf(() => client.writeDocuments({ ...where, ops: upserts(1) }));
    assert.equal(error.code, Code.ResourceExhausted, protocol);
    assert.deepEqual(
      [infoOf(error).reason, infoOf(error).metadata],
      ["resource_exhausted", { retry_after_ms: "1000" }],
    );
  }
  const info = await createClient(
    CollectionService,
    createConnectTransport({ baseUrl: server.rpc.url, httpVersion: "2" }),
  ).getCollection(where);
  assert.deepEqual([info.backpressure?.throttled, info.backpressure?.backlogRecords], [true, 3n]);
});

test("a read waits for its token, until the caller's deadline", async () => {
  await using server = await startWithCollection();
  const client = clientOf(server);
  const { token } = await client.writeDocuments({ ...where, ops: upserts(1) });
  const stream = Number(token[0]?.stream);
  const header = (offset: number) => ({
    "Service-Consistency-Token": JSON.stringify([{ stream, partition: 0, offset }]),
  });
  const waiting = client.countDocuments(where, { headers: header(1) });
  await client.writeDocuments({ ...where, ops: [write("upsert", { id: 5n, source: {} })] });
  assert.equal((await waiting).count, 2n);
  for (const [protocol, transport] of transports(server.rpc.url)) {
    const late = await failureOf(() =>
      createClient(DocumentService, transport).countDocuments(where, { headers: header(99), timeoutMs: 50 }),
    );
    assert.equal(late.code, Code.DeadlineExceeded, protocol);
  }
  const bad = await failureOf(() => client.countDocuments(where, { headers: { "Service-Consistency-Token": "soon" } }));
  assert.deepEqual(infoOf(bad).metadata, { field: "Service-Consistency-Token" });
  const collections = createClient(CollectionService, transports(server.rpc.url)[0]![1]);
  for (const read of [collections.scan, collections.getCollection, collections.listVersions]) {
    await read(where, { headers: header(1) });
    const late = await failureOf(() => read(where, { headers: header(99), timeoutMs: 50 }));
    assert.equal(late.code, Code.DeadlineExceeded);
    const misread = await failureOf(() => read(where, { headers: { "Service-Consistency-Token": "soon" } }));
    assert.deepEqual(infoOf(misread).metadata, { field: "Service-Consistency-Token" });
  }
});

test("bad requests name the field at fault", async () => {
  await using server = await startWithCollection();
  const url = `${server.rpc.url}/service.collection.v1.DocumentService`;
  const upsert = (body: object) => ({ ...where, ops: [{ upsert: { id: 1, source: {}, ...body } }] });
  const patch = (body: object) => ({ ...where, ops: [{ patch: { id: 1, ...body } }] });
  const filtered = (filter: object) => ({ ...where, filter });
  const cases: [method: string, body: object, field: string][] = [
    ["WriteDocuments", { collection: "c" }, "namespace"],
    ["WriteDocuments", where, "ops"],
    ["WriteDocuments", { ...where, ops: [{}] }, "ops[0]"],
    ["WriteDocuments", { ...where, ops: [{ upsert: { source: {} } }] }, "ops[0].upsert.id"],
    ["WriteDocuments", { ...where, ops: [{ insert: { id: 1 } }] }, "ops[0].insert.source"],
    ["WriteDocuments", upsert({ id: -1 }), "ops[0].upsert.id"],
    ["WriteDocuments", upsert({ id: "9007199254740992" }), "ops[0].upsert.id"],
    ["WriteDocuments", upsert({ if: {} }), "ops[0].upsert.if"],
    ["WriteDocuments", upsert({ source: { rank: "high" } }), "ops[0].upsert.source.rank"],
    ["WriteDocuments", upsert({ vectors: { v: { values: [1] } } }), "ops[0].upsert.vectors.v"],
    ["WriteDocuments", upsert({ vectors: { w: { values: [1] } } }), "ops[0].upsert.vectors.w"],
    ["WriteDocuments", upsert({ removeVectors: ["v"] }), "ops[0].upsert.remove_vectors"],
    ["WriteDocuments", patch({ removeVectors: ["v", "w"] }), "ops[0].patch.remove_vectors[1]"],
    [
      "WriteDocuments",
      patch({ removeVectors: ["v"], vectors: { v: { values: [1, 2] } } }),
      "ops[0].patch.remove_vectors[0]",
    ],
    ["WriteDocuments", upsert({ condition: {} }), "ops[0].upsert.condition"],
    ["WriteDocuments", { ...upsert({}), idempotencyKey: "é" }, "idempotency_key"],
    ["GetDocuments", { ...where, ids: [-1] }, "ids[0]"],
    ["GetDocuments", { ...where, ids: [1], consistency: "weak" }, "consistency"],
    ["ScrollDocuments", { ...where, pageSize: 10_001 }, "page_size"],
    ["ScrollDocuments", { ...where, pageToken: "x" }, "page_token"],
    ["ScrollDocuments", { ...where, pageToken: Buffer.from("1:1:abcdefghijkl").toString("base64url") }, "page_token"],
    ["CountDocuments", filtered({}), "filter"],
    ["CountDocuments", filtered({ term: {} }), "filter.term"],
    ["CountDocuments", filtered({ term: { nothing: 1 } }), "filter.term.nothing"],
    ["CountDocuments", filtered({ and: { filters: [{ term: { rank: "x" } }] } }), "filter.and[0].term.rank"],
    ["CountDocuments", filtered({ ids: { values: [-4] } }), "filter.ids.values[0]"],
    ["DeleteByFilter", where, "filter"],
    ["DeleteByFilter", { ...filtered({ matchAll: {} }), maxDocs: 0 }, "max_docs"],
    ["PatchByFilter", filtered({ matchAll: {} }), "patch"],
  ];
  for (const [method, body, field] of cases) {
    const answer = await post(`${url}/${method}`, JSON.stringify(body));
    assert.equal(answer.status, 400, `${method} ${JSON.stringify(body)}`);
    const info = infoOfJson(answer.json as JsonError);
    assert.deepEqual([info.reason, info.metadata["field"]], ["invalid_argument", field], JSON.stringify(body));
  }
  // JSON has no such number, but the binary form of a Struct has.
  const odd = await failureOf(() =>
    clientOf(server).writeDocuments({ ...where, ops: [write("upsert", { id: 1n, source: { a: [1, Number.NaN] } })] }),
  );
  assert.deepEqual(infoOf(odd).metadata, { field: "ops[0].upsert.source.a[1]" });
  const taken = await failureOf(() =>
    clientOf(server).writeDocuments({
      ...where,
      ops: [write("insert", { id: 1n, source: {} }), write("insert", { id: 1n, source: {} })],
    }),
  );
  assert.equal(infoOf(taken).reason, "already_exists");
  const absent = await failureOf(() =>
    clientOf(server).writeDocuments({ ...where, ops: [write("patch", { id: 1n })] }),
  );
  assert.equal(infoOf(absent).reason, "not_found");
});
