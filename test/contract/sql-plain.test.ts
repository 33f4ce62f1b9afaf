import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CollectionClient } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

/** A statement that only shows what a retriever finds is answered without a database, with the same answer. */

const schema = {
  fields: [
    { name: "body", kind: "text" },
    { name: "tag", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
    { name: "price", kind: "f64" },
    { name: "live", kind: "bool" },
    { name: "at", kind: "date" },
    { name: "extra", kind: "json" },
    { name: "Mixed", kind: "keyword" },
  ],
  vectors: [{ name: "v", dim: 3, distance: "cosine" }],
};

const sources: readonly object[] = [
  { body: "red", tag: "a", n: 1, price: 0.1, live: true, at: "2024-01-15T01:02:03.004Z", extra: { x: [1, null] } },
  { body: "red ünïcode 🍎", tag: ["b", "a"], n: [7, 1], price: -0, live: false, Mixed: "ä" },
  { body: "red apple", tag: "ü", n: 9_007_199_254_740_991, price: 1e300, extra: "text", Mixed: "x" },
  { body: "red \u0000 zero", tag: "\u0000b", n: -9_007_199_254_740_991, extra: [], at: "1969-12-31T23:59:59Z" },
  { body: "red \ud83c half", tag: "\ud800", n: 0, extra: 5, live: true },
  { body: "red" },
  { body: ["red", "pear"], tag: ["c", "a", "b"], price: 2.5, Mixed: ["y", "x"] },
  { body: "pear", tag: "", n: 3 },
];

const text = "text_search(docs, 'red', body, 20)";
const both = `rrf(vector_search(docs, [0.3, -0.2, 0.9], v, 5), ${text})`;

const statements: readonly (readonly [statement: string, ...params: unknown[]])[] = [
  [`select * from ${text}`],
  [`select * from ${both} limit 3`],
  [`select * from ${both} limit 3 offset 2`],
  [`select * from ${text} offset 4`],
  [`select * from ${text} limit 0`],
  [`select * from ${text} limit 3 offset 100`],
  [`select * from ${text} where tag = 'a'`],
  [`select * from ${text} where 'a' = tag and n = 1 limit 2`],
  [`select * from ${text} where TAG in ('b', 'ü') limit 5`],
  [`select _id, _score, tag from ${both} where n in (1, 7)`],
  [`select tag as t, n as "N", price from ${both} s where _id = 1`],
  [`select live, "at", extra, Mixed from ${text} x where Mixed = 'x'`],
  [`select * from ${text} where tag = ''`],
  [`select * from vector_search(docs, [0, 0, 1], v, 10) where tag = ''`],
  [`select * from ${text} where tag = 'none'`],
  [`select * from ${text} where tag = $1 limit $2`, "a", 1],
  [`select * from ${text} where tag = ? and n in (?, ?) limit 4 offset ?`, "a", 1, 7, 0],
  [`select * from ${text} where tag = $1`, "\u0000b"],
  [`select * from ${text} where tag = $1`, "\ud800"],
  ["select _id from text_search(docs, $1, body, $2) where n = $3", "red", 20, 9_007_199_254_740_991],
  // These are left to the database, some as faults.
  [`select mixed, TAG from ${text}`],
  [`select tag, tag from ${text}`],
  [`select *, v from ${text}`],
  [`select *, _source from ${text} limit 2`],
  [`select * exclude (tag) from ${text}`],
  [`select distinct tag from ${text} order by tag nulls last`],
  [`select * from ${text} where n = $1`, "1"],
  [`select * from ${text} where tag = $1`, 5],
  [`select * from ${text} where n = '7'`],
  [`select * from ${text} where tag = $1`, null],
  [`select * from ${text} limit $1`, null],
  [`select * from ${text} limit '2'`],
  [`select * from ${text} limit 2.5`],
  [`select * from ${text} limit 50%`],
  [`select * from ${text} where tag = 'a' or n = 7`],
  [`select * from ${text} where _score = 0`],
  [`select nothing from ${text}`],
  [`select * from ${text} where nothing = 'a'`],
  [`select * from ${text} s(a, b) where a = 1`],
  [`select s.tag from ${text} s where s.n = 1`],
  [`select n as tag from ${text} where tag = 'a'`],
  [`select tag as t from ${text} where t = 'a'`],
];

describe("a statement that shows what its retriever finds", () => {
  let server: ServerProcess;
  let client: CollectionClient;

  before(async () => {
    server = await ServerProcess.start();
    client = await CollectionClient.create(server.url, "plain");
    await client.made("docs", schema);
    const ops = sources.map((source, id) => ({
      upsert: { id, source, vectors: { v: [Math.cos(id), Math.sin(id), id / 10] } },
    }));
    await client.written("docs", ops);
  });

  after(() => server[Symbol.asyncDispose]());

  async function answer(query: string, params: readonly unknown[]) {
    const { status, json } = await ask(`${client.url}/sql`, { body: { query, params } });
    const { columns, rows, row_count, token, error } = json;
    return status === 200 ? { columns, rows, row_count, token } : { status, code: error?.code };
  }

  for (const [statement, ...params] of statements) {
    test(`${statement} ${JSON.stringify(params)}`, async () => {
      // A select of a select is the database's.
      const wanted = await answer(`select * from (${statement}) as inner_rows`, params);
      for (let time = 1; time <= 3; time++) assert.deepEqual(await answer(statement, params), wanted);
    });
  }

  test("its rows follow the writes", async () => {
    const statement = `select * from ${text} where tag = 'a' limit 10`;
    const ids = async () =>
      (await answer(statement, [])).rows
        .map(({ _id }: { _id: number }) => _id)
        .toSorted((a: number, b: number) => a - b);
    assert.deepEqual(await ids(), [0]);
    await client.written("docs", [
      { delete: { id: 1 } },
      { upsert: { id: 20, source: { body: "red", tag: "a" } } },
      { upsert: { id: 0, source: { body: "red", tag: "b" } } },
    ]);
    assert.deepEqual(await ids(), [20]);
  });
});
