import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CollectionClient } from "../support/collections.ts";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

/** Tables follow what happens to collections and streams, and a statement sees each write whole. */

describe("SQL while things change", () => {
  let server: ServerProcess;
  let client: CollectionClient;

  before(async () => {
    server = await ServerProcess.start();
    client = await CollectionClient.create(server.url, "f");
  });

  after(() => server[Symbol.asyncDispose]());

  async function rows(query: string, token?: unknown): Promise<Record<string, unknown>[]> {
    const headers = token === undefined ? {} : { "service-consistency-token": JSON.stringify(token) };
    const done = await ask(`${client.url}/sql`, { body: { query }, headers });
    assert.equal(done.status, 200, done.text);
    return done.json.rows;
  }

  const schema = { fields: [{ name: "n", kind: "i64" }] };

  test("a batch is seen whole or not at all, however many are written meanwhile", async () => {
    await client.made("pairs", schema);
    const batch = (n: number) => [1, 2, 3, 4].map((id) => ({ upsert: { id, source: { n: id % 2 === 0 ? n : -n } } }));
    await client.written("pairs", batch(1));
    let written = 1;
    let isOver = false;
    const writing = (async () => {
      while (written < 150) await client.written("pairs", batch(++written));
      isOver = true;
    })();
    let last = 0;
    while (!isOver) {
      const [row] = await rows("select sum(n) as s, max(n) as m, count(*) as c from pairs");
      assert.equal(row!["s"], 0);
      assert.equal(row!["c"], 4);
      assert.ok((row!["m"] as number) >= last, "what was seen stays seen");
      last = row!["m"] as number;
    }
    await writing;
    assert.deepEqual(await rows("select max(n) as m from pairs"), [{ m: 150 }]);
  });

  test("a table that was packed follows its collection", async () => {
    await client.made("packed", {
      fields: [
        { name: "n", kind: "i64" },
        { name: "t", kind: "keyword" },
      ],
    });
    const count = 12_000;
    const ids = Array.from({ length: count }, (_, id) => id);
    const ops = ids.map((id) => ({ upsert: { id, source: { n: id, t: `t${id % 7}` } } }));
    for (const from of [0, count / 2]) await client.written("packed", ops.slice(from, from + count / 2));
    const totals = "select count(*) as c, sum(n) as s, count(distinct t) as t from packed";
    let sum = (count * (count - 1)) / 2;
    assert.deepEqual(await rows(totals), [{ c: count, s: sum, t: 7 }]);
    for (let round = 0; round < 5; round++) {
      await client.written("packed", [
        { upsert: { id: round, source: { n: 100_000, t: `new${round}` } } },
        { delete: { id: count - 1 - round } },
      ]);
      sum += 100_000 - round - (count - 1 - round);
      assert.deepEqual(await rows(totals), [{ c: count - 1 - round, s: sum, t: 8 + round }]);
    }
    assert.deepEqual(await rows("select t from packed where _id = 3"), [{ t: "new3" }]);
  });

  test("a collection that is made anew under its name is another table", async () => {
    await client.made("again", schema);
    await client.written("again", [{ upsert: { id: 1, source: { n: 1 } } }]);
    assert.deepEqual(await rows("select n from again"), [{ n: 1 }]);
    assert.equal((await ask(client.of("again"), { method: "DELETE" })).status, 200);
    const gone = await ask(`${client.url}/sql`, { body: { query: "select n from again" } });
    assert.equal(gone.status, 400);
    await client.made("again", { fields: [{ name: "t", kind: "keyword" }] });
    assert.deepEqual(await rows("select * from again"), []);
    await client.written("again", [{ upsert: { id: 2, source: { t: "x" } } }]);
    assert.deepEqual(await rows("select _id, t from again"), [{ _id: 2, t: "x" }]);
  });

  test("fields that are added show what documents had all along", async () => {
    await client.made("grows", schema);
    await client.written("grows", [{ upsert: { id: 1, source: { n: 1, later: "here" } } }]);
    assert.deepEqual(await rows("select n from grows"), [{ n: 1 }]);
    const fields = [{ name: "later", kind: "keyword" }];
    const added = await ask(`${client.of("grows")}/fields`, { body: { fields, expected_schema_version: 1 } });
    assert.equal(added.status, 200, added.text);
    assert.deepEqual(await rows("select n, later from grows"), [{ n: 1, later: "here" }]);
  });

  test("inferred fields become columns", async () => {
    await client.made("free", { fields: [], dynamic: "dynamic" });
    await client.written("free", [{ upsert: { id: 1, source: { a: 1 } } }]);
    assert.deepEqual(await rows("select a from free"), [{ a: 1 }]);
    await client.written("free", [{ upsert: { id: 2, source: { b: true } } }]);
    assert.deepEqual(await rows("select a, b from free order by _id"), [
      { a: 1, b: null },
      { a: null, b: true },
    ]);
  });

  test("an alias shows where it points to", async () => {
    await client.made("one", schema);
    await client.made("two", schema);
    await client.written("one", [{ upsert: { id: 1, source: { n: 1 } } }]);
    await client.written("two", [{ upsert: { id: 1, source: { n: 2 } } }]);
    for (const [collection, n] of [
      ["one", 1],
      ["two", 2],
      ["one", 1],
    ] as const) {
      const actions = [{ add: { alias: "now", collection } }];
      assert.equal((await ask(`${client.url}/aliases`, { body: { actions } })).status, 200);
      assert.deepEqual(await rows("select n from now"), [{ n }]);
    }
  });

  test("columns that are asked for later are there, after writes too", async () => {
    await client.made("wide", { ...schema, vectors: [{ name: "v", dim: 2, distance: "l2" }] });
    await client.written("wide", [{ upsert: { id: 1, source: { n: 1 }, vectors: { v: [1, 2] } } }]);
    assert.deepEqual(await rows("select n from wide"), [{ n: 1 }]);
    await client.written("wide", [{ upsert: { id: 2, source: { n: 2 }, vectors: { v: [3, 4] } } }]);
    assert.deepEqual(await rows("select v, _source from wide order by _id"), [
      { v: [1, 2], _source: { n: 1 } },
      { v: [3, 4], _source: { n: 2 } },
    ]);
    await client.sealed("wide");
    await client.written("wide", [{ patch: { id: 1, source: { n: 9 } } }]);
    assert.deepEqual(await rows("select n, v from wide order by _id"), [
      { n: 9, v: [1, 2] },
      { n: 2, v: [3, 4] },
    ]);
  });

  test("appended records are seen at once, and a token is waited for", async () => {
    const streams = `${client.url}/streams`;
    assert.equal((await ask(streams, { body: { name: "s" } })).status, 201);
    for (let i = 0; i < 5; i++) {
      const body = { records: [{ value: base64(`r${i}`) }] };
      const done = await ask(`${streams}/s/partitions/0/records`, { body });
      assert.deepEqual(await rows("select max(value) as v from streams.s", done.json.token), [{ v: `r${i}` }]);
    }
    const future = await ask(`${client.url}/sql`, {
      body: { query: "select count(*) from streams.s" },
      headers: { "service-consistency-token": "nonsense" },
    });
    assert.equal(future.status, 400);
  });
});
