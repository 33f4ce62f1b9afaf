import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { shortFloats } from "../../../src/engine/search/vector/short-floats.ts";
import {
  QueryService,
  type Row,
  type SearchRequest,
  SearchRequestSchema,
  type SearchResponse,
} from "../../../src/gen/service/collection/v1/query_pb.ts";
import { type Answer, ask } from "../../support/http.ts";
import { unsealed } from "../../support/memory-engine.ts";
import { failureOf, infoOf, infoOfJson, type JsonError, post, transports } from "./clients.ts";
import { type CollectionServer, startCollections } from "./collection-server.ts";

const schema = {
  fields: [
    { name: "title", kind: { text: { analyzer: "english", positions: true } } },
    { name: "body", kind: "text" },
    { name: "tag", source_path: "meta.tag", kind: "keyword", fast: true },
    { name: "rank", kind: "i64" },
    { name: "price", kind: "f64" },
    { name: "sold", kind: "bool" },
    { name: "at", kind: "date" },
    { name: "extra", kind: "json" },
  ],
  vectors: [
    { name: "v", dim: 2, distance: "cosine" },
    { name: "w", dim: 1, distance: "l2" },
  ],
  sparse_vectors: [{ name: "s" }],
};

const words = ["red fox", "lazy dog", "quick red foxes", "brown dogs run", "the red dog runs quickly"];

function documents(): object[] {
  return Array.from({ length: 40 }, (_, i) => ({
    upsert: {
      id: i,
      source: {
        title: words[i % words.length],
        body: `number ${i} of the ${words[(i * 3) % words.length]}`,
        meta: { tag: i % 7 === 6 ? ["a", "b"] : ["a", "b", "c"][i % 3] },
        rank: i % 5,
        price: i / 4,
        sold: i % 2 === 0,
        at: new Date(1_700_000_000_000 + i * 86_400_000).toISOString(),
        extra: { deep: [i, null, { more: "ü" }] },
        unknown: "not in the schema",
      },
      vectors: { v: [Math.cos(i), Math.sin(i)], ...(i % 4 === 0 ? {} : { w: [i / 10] }) },
      sparse_vectors: { s: { indices: [i % 3, 10 + (i % 4)], values: [1, 0.5] } },
    },
  }));
}

let server: CollectionServer;

before(async () => {
  server = await startCollections(unsealed);
  const url = `${server.restUrl}/v1/namespaces/n/collections`;
  const made = await ask(url, { body: { name: "c", schema } });
  assert.equal(made.status, 200, made.text);
  const written = await ask(`${url}/c/documents`, { body: { ops: documents() } });
  assert.equal(written.status, 200, written.text);
});

after(() => server[Symbol.asyncDispose]());

/** A filter of REST in the JSON of the message: lists of filters are messages of their own. */
function filterMessage(filter: JsonObject): JsonObject {
  const [kind, value] = Object.entries(filter)[0] ?? [];
  if (kind === undefined) return {};
  const list = (filters: JsonValue | undefined) => ((filters ?? []) as JsonObject[]).map(filterMessage);
  if (kind === "and" || kind === "or") return { [kind]: { filters: list(value) } };
  if (kind === "not") return { not: filterMessage(value as JsonObject) };
  if (kind !== "bool") return { [kind]: value as JsonObject };
  return { bool: Object.fromEntries(Object.entries(value as JsonObject).map(([name, each]) => [name, list(each)])) };
}

function withFilter<T extends JsonObject>(part: T): T {
  return part["filter"] === undefined ? part : { ...part, filter: filterMessage(part["filter"] as JsonObject) };
}

/** The body of a REST query as a message. */
function messageOf(body: JsonObject): SearchRequest {
  const { retrieve, ...rest } = withFilter(body);
  const retrievers = ((retrieve ?? []) as JsonObject[]).map((retriever) =>
    Object.fromEntries(Object.entries(retriever).map(([kind, value]) => [kind, withFilter(value as JsonObject)])),
  );
  return fromJson(SearchRequestSchema, { namespace: "n", ...rest, retrieve: retrievers });
}

function restRow(row: Row, body: JsonObject): object {
  const lists = Object.entries(row.vectors).map(([name, { values }]) => [name, shortFloats(values)]);
  const sparse = Object.entries(row.sparseVectors).map(([name, { indices, values }]) => [name, { indices, values }]);
  const highlights = Object.entries(row.highlights).map(([name, { fragments }]) => [name, fragments]);
  return {
    _id: Number(row.id),
    _score: row.score,
    ...row.fields,
    ...Object.fromEntries([...lists, ...sparse]),
    ...(body["highlight"] === undefined ? {} : { _highlights: Object.fromEntries(highlights) }),
    ...(row.explain === undefined ? {} : { _explain: row.explain }),
  };
}

/** An answer in the form of REST's, without its times. */
function restForm(response: SearchResponse, body: JsonObject): object {
  const rows = (list: readonly Row[]) => list.map((row) => restRow(row, body));
  const { stats } = response;
  const facets = Object.entries(response.facets).map(([field, { values }]) => [
    field,
    values.map(({ value, count }) => ({ value: toJson(ValueSchema, value!), count: Number(count) })),
  ]);
  return withoutTimes({
    ...(body["group_by"] === undefined
      ? { rows: rows(response.rows) }
      : {
          groups: response.groups.map((group) => ({ key: toJson(ValueSchema, group.key!), rows: rows(group.rows) })),
        }),
    ...(body["facets"] === undefined ? {} : { facets: Object.fromEntries(facets) }),
    token: response.token.map(({ stream, partition, offset }) => ({
      stream: Number(stream),
      partition,
      offset: Number(offset),
    })),
    ...(stats === undefined ? {} : { stats }),
  });
}

function withoutTimes({ took_ms: _, ...answer }: Record<string, unknown>): object {
  if (answer["stats"] === undefined) return answer;
  const stats = answer["stats"] as Record<string, unknown>;
  return { ...answer, stats: { ...stats, times_ms: Object.keys(stats["times_ms"] as object).sort() } };
}

function rest(body: JsonObject): Promise<Answer> {
  return ask(`${server.restUrl}/v1/namespaces/n/query`, { body });
}

const from = "collections.c";
const vector = (more: JsonObject = {}) => ({ vector: { field: "v", query: [1, 0.5], k: 10, ...more } });
const text = (query: string, more: JsonObject = {}) => ({ text: { field: "title", query, k: 10, ...more } });
const sparse = (more: JsonObject = {}) => ({
  sparse: { field: "s", query: { indices: [1, 12], values: [0.5, 2] }, k: 10, ...more },
});

const queries: Readonly<Record<string, JsonObject>> = {
  "nothing but the collection": { from },
  "the bare name": { from: "c", limit: 3 },
  vector: { from, retrieve: [vector()] },
  "vector, default k": { from, retrieve: [{ vector: { field: "v", query: [0, 1] } }], limit: 40 },
  "vector, exact and ef": { from, retrieve: [vector({ exact: true }), vector({ ef: 50 })] },
  "vector of another distance": { from, retrieve: [{ vector: { field: "w", query: [2.25], k: 5 } }] },
  text: { from, retrieve: [text("red foxes")] },
  "text, and": { from, retrieve: [text("red dogs", { operator: "and" })] },
  "text, phrase": { from, retrieve: [text('"red dog"')] },
  "text without words": { from, retrieve: [text("")] },
  sparse: { from, retrieve: [sparse()] },
  hybrid: { from, retrieve: [vector(), text("red")] },
  "hybrid of three": { from, retrieve: [vector({ weight: 2 }), text("dog", { weight: 0.5 }), sparse()], limit: 20 },
  "rrf with k": { from, retrieve: [vector(), text("red")], fuse: { method: "rrf", k: 5 } },
  "fuse without a method": { from, retrieve: [vector()], fuse: {} },
  weighted: { from, retrieve: [vector({ weight: 3 }), text("red")], fuse: { method: "weighted" } },
  "weight 0": { from, retrieve: [vector({ weight: 0 }), text("red")] },
  "filtered retrievers": {
    from,
    retrieve: [vector({ filter: { term: { tag: "b" } } }), text("red", { filter: { range: { price: { lt: 5 } } } })],
    filter: { term: { sold: true } },
  },
  term: { from, filter: { term: { tag: "a" } } },
  terms: { from, filter: { terms: { rank: [1, 3] } } },
  range: { from, filter: { range: { at: { gte: "2023-11-20T00:00:00Z", lt: "2023-12-01T00:00:00Z" } } } },
  exists: { from, filter: { exists: { field: "tag" } } },
  prefix: { from, filter: { prefix: { tag: "a" } } },
  wildcard: { from, filter: { wildcard: { tag: "?" } } },
  ids: { from, filter: { ids: { values: [3, 1, 999] } } },
  match: { from, filter: { match: { title: "red dog" } } },
  phrase: { from, filter: { phrase: { body: "number 7" } } },
  "match all": { from, filter: { match_all: {} } },
  "and, or, not": {
    from,
    filter: { and: [{ or: [{ term: { tag: "a" } }, { term: { rank: 2 } }] }, { not: { term: { sold: false } } }] },
  },
  bool: {
    from,
    filter: {
      bool: {
        must: [{ match: { title: "red" } }],
        should: [{ term: { tag: "a" } }, { term: { tag: "b" } }],
        must_not: [{ term: { rank: 0 } }],
        filter: [{ exists: { field: "price" } }],
      },
    },
  },
  "empty lists": { from, filter: { and: [{ and: [] }, { not: { or: [] } }] } },
  sort: { from, sort: [{ field: "rank", order: "desc" }, { field: "tag" }], limit: 15 },
  "sort what was retrieved": { from, retrieve: [text("red")], sort: [{ field: "price" }, { field: "_score" }] },
  "sort by _score and _id": {
    from,
    retrieve: [vector()],
    sort: [{ field: "_score" }, { field: "_id", order: "desc" }],
  },
  "a page": { from, retrieve: [text("red", { k: 30 })], limit: 4, offset: 7 },
  "a page beyond the end": { from, limit: 5, offset: 100 },
  "nothing selected": { from, retrieve: [text("fox")], select: [] },
  select: { from, select: ["tag", "v", "s", "_id"], limit: 3 },
  exclude: { from, exclude: ["title", "body", "extra", "w"], include_vectors: true, limit: 5 },
  "no document left": { from, filter: { term: { tag: "zzz" } }, facets: [{ field: "tag" }] },
  highlights: {
    from,
    retrieve: [text("red foxes")],
    filter: { match: { body: "number" } },
    highlight: { fields: ["title", "body"] },
  },
  "highlights of nothing": { from, retrieve: [vector({ k: 2 })], highlight: { fields: ["title"] } },
  groups: { from, retrieve: [text("red", { k: 40 })], group_by: { field: "tag", size: 2 } },
  "groups of matches": { from, group_by: { field: "sold" }, sort: [{ field: "price", order: "desc" }], limit: 1 },
  "groups by date": { from, group_by: { field: "at", size: 1 }, limit: 3, offset: 2 },
  facets: {
    from,
    facets: [{ field: "tag", limit: 2 }, { field: "rank" }, { field: "sold" }, { field: "at", limit: 1 }],
  },
  "facets of what was retrieved": { from, retrieve: [text("fox", { k: 7 })], facets: [{ field: "price" }], limit: 1 },
  min_score: { from, retrieve: [vector({ k: 40 })], min_score: 0.5, limit: 40 },
  "min_score of 0": { from, retrieve: [vector({ k: 40 })], min_score: 0, limit: 40 },
  eventual: { from, consistency: "eventual" },
  strong: { from, consistency: "strong", limit: 1 },
  explain: {
    from,
    retrieve: [vector({ k: 3 }), text('"red dog" fox', { k: 3, filter: { range: { rank: { gt: 0 } } } }), sparse()],
    filter: { not: { term: { tag: "b" } } },
    sort: [{ field: "rank" }],
    min_score: 0.001,
    explain: true,
  },
  "explain groups": { from, group_by: { field: "tag" }, explain: true, select: [] },
};

/** Queries that find nothing; of all others an empty answer would compare nothing. */
const findNothing = ["text without words", "a page beyond the end", "no document left", "eventual"];

function someTransports(): [string, Transport][] {
  const wanted = ["connect json h1", "connect proto h2", "grpc h2", "grpc-web h1"];
  return transports(server.rpc.url).filter(([name]) => wanted.includes(name));
}

for (const [name, body] of Object.entries(queries)) {
  test(`a search answers over every protocol as over REST: ${name}`, async () => {
    const expected = await rest(body);
    assert.equal(expected.status, 200, expected.text);
    assert.equal((expected.json.rows ?? expected.json.groups).length === 0, findNothing.includes(name), expected.text);
    for (const [protocol, transport] of someTransports()) {
      const headers: Headers[] = [];
      const found = await createClient(QueryService, transport).search(messageOf(body), {
        onHeader: (header) => headers.push(header),
      });
      assert.deepEqual(restForm(found, body), withoutTimes(expected.json), protocol);
      assert.equal(
        headers[0]?.get("service-consistency-token"),
        expected.headers.get("service-consistency-token"),
        protocol,
      );
    }
  });
}

function nested(levels: number): JsonObject {
  let filter: JsonObject = { match_all: {} };
  for (let i = 0; i < levels; i++) filter = { not: filter };
  return filter;
}

/** By name: a query and the field that its error names. */
const refused: Readonly<Record<string, readonly [JsonObject, string]>> = {
  "no collection": [{}, "from"],
  "a bad name": [{ from: "collections.-" }, "from"],
  "limit 0": [{ from, limit: 0 }, "limit"],
  "limit too high": [{ from, limit: 10_001 }, "limit"],
  "negative offset": [{ from, offset: -1 }, "offset"],
  "a page too far": [{ from, limit: 10, offset: 9_991 }, "offset"],
  "k 0": [{ from, retrieve: [vector({ k: 0 })] }, "retrieve[0].vector.k"],
  "k of a million": [{ from, retrieve: [text("red", { k: 1_000_000 })] }, "retrieve[0].text.k"],
  "no kind of retriever": [{ from, retrieve: [vector(), {}] }, "retrieve[1]"],
  "wrong dimension": [{ from, retrieve: [vector({ query: [1, 2, 3] })] }, "retrieve[0].vector.query"],
  "unknown vector": [{ from, retrieve: [vector({ field: "x" })] }, "retrieve[0].vector.field"],
  "a text field as vector": [{ from, retrieve: [vector({ field: "title" })] }, "retrieve[0].vector.field"],
  "unknown text field": [{ from, retrieve: [text("red", { field: "x" })] }, "retrieve[0].text.field"],
  "unknown operator": [{ from, retrieve: [text("red", { operator: "xor" })] }, "retrieve[0].text.operator"],
  "unknown sparse vector": [{ from, retrieve: [sparse({ field: "v" })] }, "retrieve[0].sparse.field"],
  "uneven sparse vector": [
    { from, retrieve: [sparse({ query: { indices: [1, 2], values: [1] } })] },
    "retrieve[0].sparse.query.values",
  ],
  "negative weight": [{ from, retrieve: [vector({ weight: -1 })] }, "retrieve[0].vector.weight"],
  "ef 0": [{ from, retrieve: [vector({ ef: 0 })] }, "retrieve[0].vector.ef"],
  "unknown field in a filter": [{ from, filter: { term: { x: 1 } } }, "filter.term.x"],
  "an empty filter": [{ from, filter: {} }, "filter"],
  "a bad filter of a retriever": [
    { from, retrieve: [vector({ filter: { and: [{ match_all: {} }, { prefix: { rank: "a" } }] } })] },
    "retrieve[0].vector.filter.and[1].prefix.rank",
  ],
  "unknown fusion": [{ from, retrieve: [vector()], fuse: { method: "sum" } }, "fuse.method"],
  "k of weighted": [{ from, retrieve: [vector()], fuse: { method: "weighted", k: 2 } }, "fuse.k"],
  "fuse without retrieve": [{ from, fuse: {} }, "fuse"],
  "min_score without retrieve": [{ from, min_score: 1 }, "min_score"],
  "sort by a text": [{ from, sort: [{ field: "title" }] }, "sort[0].field"],
  "sort without a field": [{ from, sort: [{ order: "asc" }] }, "sort[0].field"],
  "unknown order": [{ from, sort: [{ field: "rank", order: "up" }] }, "sort[0].order"],
  "select of an unknown field": [{ from, select: ["tag", "x"] }, "select[1]"],
  "select of a number": [{ from, select: [1] }, "select[0]"],
  "exclude of an unknown field": [{ from, exclude: ["x"] }, "exclude[0]"],
  "highlight of a keyword": [{ from, highlight: { fields: ["tag"] } }, "highlight.fields[0]"],
  "groups of 0": [{ from, group_by: { field: "tag", size: 0 } }, "group_by.size"],
  "groups by a text": [{ from, group_by: { field: "title" } }, "group_by.field"],
  "facet limit 0": [{ from, facets: [{ field: "tag", limit: 0 }] }, "facets[0].limit"],
  "a facet twice": [{ from, facets: [{ field: "tag" }, { field: "tag" }] }, "facets[1].field"],
  "unknown consistency": [{ from, consistency: "maybe" }, "consistency"],
};

for (const [name, [body, field]] of Object.entries(refused)) {
  test(`a bad search is refused over every protocol as over REST: ${name}`, async () => {
    const expected = await rest(body);
    assert.deepEqual([expected.status, expected.json.field], [400, field], expected.text);
    for (const [protocol, transport] of someTransports()) {
      const error = await failureOf(() => createClient(QueryService, transport).search(messageOf(body)));
      const { reason, metadata } = infoOf(error);
      assert.deepEqual(
        [error.code, reason, metadata["field"], error.rawMessage],
        [Code.InvalidArgument, "invalid_argument", field, expected.json.message],
        protocol,
      );
    }
  });
}

test("a filter nested too deep, and numbers that are none, are refused by name", async () => {
  for (const [protocol, transport] of someTransports()) {
    const client = createClient(QueryService, transport);
    const search = (body: JsonObject) => failureOf(() => client.search(messageOf(body)));
    const deep = await search({ from, filter: nested(80) });
    assert.equal(deep.code, Code.InvalidArgument, `${protocol}: ${deep.message}`);
    const message = messageOf({ from, retrieve: [vector()] });
    const retriever = message.retrieve[0]?.retriever;
    assert.ok(retriever?.case === "vector");
    retriever.value.query = [1, Number.NaN];
    const broken = await failureOf(() => client.search(message));
    assert.deepEqual(
      [broken.code, infoOf(broken).metadata["field"]],
      [Code.InvalidArgument, "retrieve[0].vector.query[1]"],
      protocol,
    );
    message.minScore = Number.POSITIVE_INFINITY;
    retriever.value.query = [1, 2];
    const endless = await failureOf(() => client.search(message));
    assert.deepEqual([endless.code, infoOf(endless).metadata["field"]], [Code.InvalidArgument, "min_score"], protocol);
  }
});

test("what a search names must be there", async () => {
  for (const [protocol, transport] of someTransports()) {
    const client = createClient(QueryService, transport);
    const cases = [
      [{ namespace: "n", from: "collections.nothing" }, Code.NotFound, "not_found"],
      [{ namespace: "nowhere", from }, Code.NotFound, "not_found"],
      [{ from }, Code.InvalidArgument, "invalid_argument"],
    ] as const;
    for (const [request, code, reason] of cases) {
      const error = await failureOf(() => client.search(request));
      assert.deepEqual([error.code, infoOf(error).reason], [code, reason], protocol);
    }
  }
});

test("JSON as a person writes it: names of either case, an empty select, unknown fields refused", async () => {
  const url = `${server.rpc.url}/service.collection.v1.QueryService/Search`;
  const send = (body: object) => post(url, JSON.stringify({ namespace: "n", from, ...body }));
  const bare = await send({ select: [], limit: 1, retrieve: [text("fox", { k: 1 })] });
  assert.equal(bare.status, 200);
  const { rows } = bare.json as { rows: { fields?: object; score: number }[] };
  assert.deepEqual([rows.length, rows[0]?.fields ?? {}], [1, {}]);
  for (const body of [
    { includeVectors: true, limit: 1 },
    { include_vectors: true, limit: 1 },
  ]) {
    const answer = (await send(body)).json as { rows: { vectors: Record<string, { values: number[] }> }[] };
    assert.deepEqual(answer.rows[0]?.vectors["v"]?.values, [1, 0]);
  }
  const unknown = await send({ lmit: 1 });
  assert.equal(unknown.status, 400);
  assert.equal(infoOfJson(unknown.json as JsonError).reason, "invalid_argument");
});

test("a search takes a token and answers with one that reflects it", async () => {
  const documentsUrl = `${server.restUrl}/v1/namespaces/n/collections/t/documents`;
  await ask(`${server.restUrl}/v1/namespaces/n/collections`, { body: { name: "t", schema: {} } });
  const client = createClient(QueryService, createConnectTransport({ baseUrl: server.rpc.url, httpVersion: "2" }));
  const request = { namespace: "n", from: "collections.t" };
  assert.deepEqual((await client.search({ ...request, consistency: "eventual" })).rows, []);
  const written = await ask(documentsUrl, { body: { ops: [{ upsert: { id: 1, source: {} } }] } });
  const token = written.headers.get("service-consistency-token") ?? "";
  // A token makes an eventual read reflect it, whatever is published.
  const headers = { "Service-Consistency-Token": token };
  const seen = await client.search({ ...request, consistency: "eventual" }, { headers });
  assert.deepEqual(
    seen.rows.map(({ id }) => id),
    [1n],
  );
  assert.equal(seen.token[0]?.offset, BigInt(written.json.token[0].offset));
  const bad = await failureOf(() => client.search(request, { headers: { "Service-Consistency-Token": "{" } }));
  assert.deepEqual([bad.code, infoOf(bad).metadata["field"]], [Code.InvalidArgument, "Service-Consistency-Token"]);
});

test("a search that waits for a write which never comes ends with its deadline", async () => {
  const [entry] = (await rest({ from })).json.token as { stream: number; partition: number; offset: number }[];
  const ahead = JSON.stringify([{ ...entry, offset: entry!.offset + 1 }]);
  for (const [protocol, transport] of someTransports()) {
    const client = createClient(QueryService, transport);
    const options = { headers: { "Service-Consistency-Token": ahead }, timeoutMs: 50 };
    const error = await failureOf(() => client.search({ namespace: "n", from }, options));
    assert.equal(error.code, Code.DeadlineExceeded, `${protocol}: ${error.message}`);
  }
});
