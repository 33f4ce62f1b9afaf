import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type CollectionClient, collectionsServer, numbers } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { assertError } from "../support/streams.ts";
import { c, type Row, schema, text, upsertsOfAll } from "./query-answers.ts";

let client: CollectionClient;
const served = collectionsServer("2s", async (make) => {
  client = await make();
});

describe("requests", () => {
  const from = "collections.few";

  before(async () => {
    await client.made("few", schema);
    await client.written("few", upsertsOfAll);
  });

  test("the answer has its token in body and header, and a time", async () => {
    const answer = await client.query({ from });
    assert.equal(answer.headers.get("service-consistency-token"), JSON.stringify(answer.json.token));
    assert.equal(answer.json.token.length, 1);
    assert.equal(typeof answer.json.took_ms, "number");
    assert.deepEqual(Object.keys(answer.json).sort(), ["rows", "token", "took_ms"]);
  });

  test("limit is 10 and k at least 50 by default", async () => {
    await client.made("many", schema);
    const ops = numbers(0, 80).map((id) => ({ upsert: { id, source: { n: id }, vectors: { c: [1, id] } } }));
    await client.written("many", ops);
    assert.equal((await client.answered({ from: "many" })).rows.length, 10);
    assert.equal((await client.answered({ from: "many", retrieve: [c()] })).rows.length, 10);
    assert.equal((await client.answered({ from: "many", retrieve: [c()], limit: 80, offset: 0 })).rows.length, 80);
    const { stats } = await client.answered({ from: "many", retrieve: [c()], explain: true });
    assert.deepEqual(stats.retrieved, [50]);
    const filtered = { from: "many", retrieve: [c({ k: 5 })], filter: { range: { n: { gte: 60 } } } };
    assert.equal((await client.answered(filtered)).rows.length, 5);
  });

  test("an alias and a bare name are as good as the collection", async () => {
    const actions = [{ add: { alias: "other", collection: "few" } }];
    assert.equal((await ask(`${client.url}/aliases`, { body: { actions } })).status, 200);
    const { rows } = await client.answered({ from });
    for (const name of ["few", "other", "collections.other"]) {
      assert.deepEqual((await client.answered({ from: name })).rows, rows);
    }
  });

  test("several queries in one request are answered in their order", async () => {
    const bodies = [
      { from, limit: 1 },
      { from: "collections.few", retrieve: [c({ k: 2 })] },
      { from, group_by: { field: "tag" } },
    ];
    const answer = await client.query({ queries: bodies });
    assert.equal(answer.status, 200, answer.text);
    const { results } = answer.json;
    assert.equal(results.length, 3);
    for (const [i, body] of bodies.entries()) {
      const { took_ms: _, ...alone } = await client.answered(body);
      const { took_ms: __, ...together } = results[i];
      assert.deepEqual(together, alone);
    }
    assertError(await client.query({ queries: [] }), 400, "invalid_argument", "queries");
    assertError(
      await client.query({ queries: [{ from }, { from, limit: 0 }] }),
      400,
      "invalid_argument",
      "queries[1].limit",
    );
    assertError(await client.query({ queries: [{ from }], from }), 400, "invalid_argument", "from");
    const many = Array.from({ length: 33 }, () => ({ from }));
    assertError(await client.query({ queries: many }), 400, "invalid_argument", "queries");
  });

  test("updates and deletes are seen at once", async () => {
    await client.made("live", schema);
    const seen = async (body: object) =>
      (await client.answered({ from: "live", ...body })).rows.map(({ _id }: Row) => _id);
    const write = (...ops: object[]) => client.written("live", ops);
    for (let round = 0; round < 5; round++) {
      await write({ upsert: { id: 1, source: { title: `round ${round}`, n: round }, vectors: { c: [1, round] } } });
      assert.deepEqual(await seen({ retrieve: [text(`${round}`)] }), [1]);
      assert.deepEqual(await seen({ retrieve: [text(`${round - 1}`)] }), []);
      assert.deepEqual(await seen({ filter: { term: { n: round } } }), [1]);
      assert.deepEqual(await seen({ filter: { term: { n: round - 1 } } }), []);
      assert.deepEqual(await seen({ retrieve: [c()] }), [1]);
      await write({ patch: { id: 1, source: { title: "patched" } } });
      assert.deepEqual(await seen({ retrieve: [text(`${round}`)] }), []);
      assert.deepEqual(await seen({ retrieve: [text("patched")] }), [1]);
      await write({ delete: { id: 1 } });
      assert.deepEqual(await seen({}), []);
      assert.deepEqual(await seen({ retrieve: [c(), text("patched")] }), []);
    }
  });

  test("an eventual read shows what is sealed, with the token of that; a token makes it newer", async () => {
    await client.made("late", schema);
    await client.written("late", [{ upsert: { id: 1, source: { n: 1 } } }]);
    await client.sealed("late");
    const read = async (consistency: string, headers: Record<string, string> = {}) => {
      const answer = await client.query({ from: "late", consistency }, headers);
      assert.equal(answer.status, 200, answer.text);
      return [answer.json.rows.map(({ _id }: Row) => _id), answer.json.token[0].offset as number] as const;
    };
    const written = await client.written("late", [{ upsert: { id: 2, source: { n: 2 } } }]);
    const offset = written.json.token[0].offset as number;
    const [old, oldOffset] = await read("eventual");
    // Unless the tail was sealed by now.
    if (oldOffset < offset) assert.deepEqual(old, [1]);
    const token = written.headers.get("service-consistency-token") ?? "";
    assert.deepEqual(await read("eventual", { "Service-Consistency-Token": token }), [[1, 2], offset]);
    assert.deepEqual(await read("strong"), [[1, 2], offset]);
    await client.sealed("late");
    assert.deepEqual(await read("eventual"), [[1, 2], offset]);
    assertError(
      await client.query({ from: "late" }, { "Service-Consistency-Token": "[1]" }),
      400,
      "invalid_argument",
      "Service-Consistency-Token[0]",
    );
  });

  const deep = (levels: number): object => {
    let filter: object = { match_all: {} };
    for (let i = 0; i < levels; i++) filter = { not: filter };
    return filter;
  };

  /** A body and the field that its error names. */
  const refused: readonly (readonly [unknown, string])[] = [
    [{}, "from"],
    [{ from: 1 }, "from"],
    [{ from: "collections.not a name" }, "from"],
    [{ from, nothing: 1 }, "nothing"],
    [{ from, limit: 0 }, "limit"],
    [{ from, limit: 10_001 }, "limit"],
    [{ from, limit: 1.5 }, "limit"],
    [{ from, limit: "10" }, "limit"],
    [{ from, offset: -1 }, "offset"],
    [{ from, limit: 1, offset: 10_000 }, "offset"],
    [{ from, retrieve: {} }, "retrieve"],
    [{ from, retrieve: [{}] }, "retrieve[0]"],
    [{ from, retrieve: [{ image: {} }] }, "retrieve[0].image"],
    [{ from, retrieve: [{ ...c(), ...text("x") }] }, "retrieve[0]"],
    [{ from, retrieve: Array.from({ length: 17 }, () => c()) }, "retrieve"],
    [{ from, retrieve: [c({ k: 0 })] }, "retrieve[0].vector.k"],
    [{ from, retrieve: [c({ k: 1_000_000 })] }, "retrieve[0].vector.k"],
    [{ from, retrieve: [c({ query: [1] })] }, "retrieve[0].vector.query"],
    [{ from, retrieve: [c({ query: [1, null] })] }, "retrieve[0].vector.query[1]"],
    [{ from, retrieve: [c({ query: [1, 1e300] })] }, "retrieve[0].vector.query[1]"],
    [{ from, retrieve: [c({ query: "1,0" })] }, "retrieve[0].vector.query"],
    [{ from, retrieve: [c({ field: "nothing" })] }, "retrieve[0].vector.field"],
    [{ from, retrieve: [c({ field: "title" })] }, "retrieve[0].vector.field"],
    [{ from, retrieve: [c({ weight: -1 })] }, "retrieve[0].vector.weight"],
    [{ from, retrieve: [c({ ef: 0 })] }, "retrieve[0].vector.ef"],
    [{ from, retrieve: [c({ exact: 1 })] }, "retrieve[0].vector.exact"],
    [{ from, retrieve: [c({ operator: "or" })] }, "retrieve[0].vector.operator"],
    [{ from, retrieve: [text("x", { field: "nothing" })] }, "retrieve[0].text.field"],
    [{ from, retrieve: [text("x", { field: "tag" })] }, "retrieve[0].text.field"],
    [{ from, retrieve: [text("x", { operator: "nor" })] }, "retrieve[0].text.operator"],
    [{ from, retrieve: [{ text: { field: "title" } }] }, "retrieve[0].text.query"],
    [{ from, retrieve: [{ sparse: { field: "s", query: [1] } }] }, "retrieve[0].sparse.query"],
    [
      { from, retrieve: [{ sparse: { field: "s", query: { indices: [1, 1], values: [1, 1] } } }] },
      "retrieve[0].sparse.query.indices[1]",
    ],
    [{ from, filter: [] }, "filter"],
    [{ from, filter: {} }, "filter"],
    [{ from, filter: { like: { tag: "a" } } }, "filter.like"],
    [{ from, filter: { term: { nothing: 1 } } }, "filter.term.nothing"],
    [{ from, filter: { term: { kept: "k" } } }, "filter.term.kept"],
    [{ from, filter: { term: { n: "x" } } }, "filter.term.n"],
    [{ from, filter: { range: { n: {} } } }, "filter.range.n"],
    [{ from, filter: { phrase: { loose: "two words" } } }, "filter.phrase.loose"],
    [{ from, filter: { and: [{ match_all: {} }, { ids: { values: ["x"] } }] } }, "filter.and[1].ids.values[0]"],
    [{ from, fuse: { method: "rrf" } }, "fuse"],
    [{ from, retrieve: [c()], fuse: { method: "max" } }, "fuse.method"],
    [{ from, retrieve: [c()], fuse: { k: 0 } }, "fuse.k"],
    [{ from, sort: [{ field: "title" }] }, "sort[0].field"],
    [{ from, sort: [{ field: "slow" }] }, "sort[0].field"],
    [{ from, sort: [{ field: "n", order: "down" }] }, "sort[0].order"],
    [{ from, select: ["nothing"] }, "select[0]"],
    [{ from, select: "n" }, "select"],
    [{ from, exclude: ["n", "nothing"] }, "exclude[1]"],
    [{ from, include_vectors: "yes" }, "include_vectors"],
    [{ from, highlight: {} }, "highlight.fields"],
    [{ from, highlight: { fields: ["n"] } }, "highlight.fields[0]"],
    [{ from, group_by: { field: "slow" } }, "group_by.field"],
    [{ from, group_by: { field: "tag", size: 101 } }, "group_by.size"],
    [{ from, group_by: { field: "tag", size: 100 }, limit: 101 }, "group_by.size"],
    [{ from, facets: [{ field: "title" }] }, "facets[0].field"],
    [{ from, facets: [{ field: "tag", limit: 0 }] }, "facets[0].limit"],
    [{ from, min_score: 1 }, "min_score"],
    [{ from, retrieve: [c()], min_score: "1" }, "min_score"],
    [{ from, consistency: "weak" }, "consistency"],
    [{ from, explain: 1 }, "explain"],
  ];

  for (const [body, field] of refused) {
    test(`refused: ${JSON.stringify(body).slice(0, 90)}`, async () => {
      assertError(await client.query(body), 400, "invalid_argument", field);
    });
  }

  test("a body that is no query, a filter without end and a name of nothing", async () => {
    assertError(await client.query([]), 400, "invalid_argument");
    assertError(await client.query("{"), 400, "invalid_argument");
    assertError(
      await client.query('{"from":"few","retrieve":[{"vector":{"field":"c","query":[NaN,1]}}]}'),
      400,
      "invalid_argument",
    );
    assertError(await client.query({ from, filter: deep(1_000) }), 400, "invalid_argument");
    assertError(await client.query({ from: "collections.nothing" }), 404, "not_found");
    assertError(await client.query({ from: "streams.few" }), 404, "not_found");
    assertError(await ask(`${served.server().url}/v1/namespaces/none/query`, { body: { from } }), 404, "not_found");
  });

  test("of a long text the first words count", async () => {
    const long = `${"apple ".repeat(200_000)} cheese`;
    const { rows } = await client.answered({ from, retrieve: [text(long)] });
    assert.deepEqual(
      rows.map(({ _id }: Row) => _id),
      [1, 4, 2],
    );
  });

  test("recall measures itself, and names what it can't measure", async () => {
    const recall = (body: object) => ask(`${client.of("few")}/recall`, { body });
    for (const body of [{ field: "c" }, { field: "l", num: 3, k: 2, filter: { term: { tag: "a" } } }]) {
      const { status, json, text: raw } = await recall(body);
      assert.equal(status, 200, raw);
      assert.equal(json.recall, 1);
      assert.deepEqual([typeof json.ann_ms, typeof json.exact_ms], ["number", "number"]);
    }
    assertError(await recall({}), 400, "invalid_argument", "field");
    assertError(await recall({ field: "title" }), 400, "invalid_argument", "field");
    assert.equal((await recall({ field: "c", k: 10_000, num: 1 })).status, 200);
    for (const k of [0, 10_001]) assertError(await recall({ field: "c", k }), 400, "invalid_argument", "k");
    assertError(
      await recall({ field: "c", filter: { term: { nothing: 1 } } }),
      400,
      "invalid_argument",
      "filter.term.nothing",
    );
    assertError(await ask(`${client.of("nothing")}/recall`, { body: { field: "c" } }), 404, "not_found");
  });
});
