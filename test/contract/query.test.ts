import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import {
  QueryService,
  SearchRequestSchema,
  type SearchResponse,
  SearchResponseSchema,
} from "../../src/gen/service/collection/v1/query_pb.ts";
import { type CollectionClient, collectionsServer } from "../support/collections.ts";
import { type Answer, ask } from "../support/http.ts";
import { answers, ids, type Row, schema, upsertsOfAll } from "./query-answers.ts";

let client: CollectionClient;
const served = collectionsServer("2s", async (make) => {
  client = await make();
});

/** An answer without the times that it took. */
function comparable(response: SearchResponse): object {
  const {
    took_ms: _,
    stats,
    ...json
  } = toJson(SearchResponseSchema, response, { useProtoFieldName: true }) as JsonObject;
  return { ...json, stats: stats && { ...(stats as JsonObject), times_ms: null } };
}

/** All queries of the table at once. */
async function askAll(collection: string): Promise<Map<string, Answer["json"]>> {
  const from = `collections.${collection}`;
  const entries = Object.entries(answers).map(
    async ([name, [body]]) => [name, await client.answered({ from, ...body })] as const,
  );
  return new Map(await Promise.all(entries));
}

async function tailRecords(collection: string): Promise<number> {
  return (await client.scan(collection)).json.tail_records as number;
}

/** The answers from a collection whose documents were all in the tail while it was asked, and its name. */
async function askTail(): Promise<[collection: string, Map<string, Answer["json"]>]> {
  for (let i = 0; ; i++) {
    const collection = `docs${i}`;
    await client.made(collection, schema);
    const { json } = await client.written(collection, upsertsOfAll);
    assert.equal(json.results.length, ids.length);
    const seen = await askAll(collection);
    if ((await tailRecords(collection)) === ids.length) return [collection, seen];
    // On a slow machine the tail may be sealed meanwhile: then again.
    assert.ok(i < 20, "the tail was never seen");
  }
}

describe("documents in the tail and in segments", () => {
  let collection: string;
  let tail: Map<string, Answer["json"]>;
  let sealed: Map<string, Answer["json"]>;
  let mixed: Map<string, Answer["json"]>;

  before(async () => {
    [collection, tail] = await askTail();
    await client.sealed(collection);
    sealed = await askAll(collection);
    // Every other document is written again, after something else stood in its place; one more comes and goes.
    const again = upsertsOfAll.filter((_, i) => i % 2 === 0);
    const others = [...again.map(({ upsert }) => upsert.id), 7].map((id) => ({
      upsert: { id, source: { title: "red wine apple cheese", tag: "a", n: 2 }, vectors: { c: [1, 0], d: [9, 9] } },
    }));
    await client.written(collection, others);
    await client.written(collection, [...again, { delete: { id: 7 } }]);
    mixed = await askAll(collection);
  });

  for (const [name, [, check]] of Object.entries(answers)) {
    test(name, () => {
      check(tail.get(name));
      check(sealed.get(name));
      check(mixed.get(name));
    });
  }

  test("where they were", async () => {
    const { stats } = tail.get("explain tells of each row and of the query");
    assert.deepEqual([stats.segments, stats.tail_documents], [0, ids.length]);
    const later = sealed.get("explain tells of each row and of the query").stats;
    assert.deepEqual([later.segments > 0, later.tail_documents], [true, 0]);
  });

  test("Search over RPC finds the same, with the same scores, and answers alike in all protocols", async () => {
    const { url: server } = served.server();
    const url = `${server}/service.collection.v1.QueryService/Search`;
    const from = `collections.${collection}`;
    const binary = [
      createConnectTransport({ baseUrl: server, httpVersion: "1.1" }),
      createGrpcTransport({ baseUrl: server }),
      createGrpcWebTransport({ baseUrl: server, httpVersion: "1.1" }),
    ].map((transport) => createClient(QueryService, transport));
    let compared = 0;
    for (const [name, [body]] of Object.entries(answers)) {
      const { rows } = mixed.get(name);
      // Lists of filters have another shape there.
      if (rows === undefined || /"(and|or)":\[/.test(JSON.stringify(body))) continue;
      const answer = await ask(url, { body: { namespace: client.namespace, from, ...body } });
      assert.equal(answer.status, 200, `${name}: ${answer.text}`);
      assert.deepEqual(
        answer.json.rows.map(({ id, score }: { id: string; score: number }) => [Number(id), score]),
        rows.map(({ _id, _score }: Row) => [_id, _score]),
        name,
      );
      const request = fromJson(SearchRequestSchema, { namespace: client.namespace, from, ...body } as JsonObject);
      const told = comparable(fromJson(SearchResponseSchema, answer.json));
      for (const each of binary) assert.deepEqual(comparable(await each.search(request)), told, name);
      compared++;
    }
    assert.ok(compared > 60, `${compared} queries`);
  });

  test("once all of it is sealed", async () => {
    await client.sealed(collection);
    const last = await askAll(collection);
    for (const [name, [, check]] of Object.entries(answers)) check(last.get(name));
  });
});
