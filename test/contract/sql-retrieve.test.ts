import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CollectionClient } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

/** The same plan in SQL and as a query: the same rows in the same order, with the same scores. */

const schema = {
  fields: [
    { name: "body", kind: "text" },
    { name: "tag", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
    { name: "price", kind: "f64" },
    { name: "live", kind: "bool" },
    { name: "at", kind: "date" },
  ],
  vectors: [{ name: "v", dim: 3, distance: "cosine" }],
};

const words = ["red", "green", "blue", "apple", "pear", "plum", "wine"];

/** Numbers that look random and are the same each time. */
function* numbersFrom(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield state / 2_147_483_648;
  }
}

function documents(count: number): object[] {
  const random = numbersFrom(7);
  const next = () => random.next().value;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  return Array.from({ length: count }, (_, id) => ({
    upsert: {
      id,
      source: {
        body: Array.from({ length: 3 + Math.floor(next() * 6) }, () => pick(words)).join(" "),
        tag: id % 9 === 0 ? [pick(["a", "b", "c"]), pick(["a", "b", "c"])] : pick(["a", "b", "c"]),
        n: Math.floor(next() * 20),
        ...(id % 5 === 0 ? {} : { price: Math.round(next() * 1000) / 8 }),
        live: next() < 0.5,
        at: `2024-0${1 + Math.floor(next() * 9)}-15T00:00:00Z`,
      },
      vectors: { v: [next() - 0.5, next() - 0.5, next() - 0.5] },
    },
  }));
}

const vector = { vector: { field: "v", query: [0.3, -0.2, 0.9], k: 12 } };
const text = { text: { field: "body", query: "red apple wine", k: 9 } };
const inSql = {
  vector: "vector_search(docs, [0.3, -0.2, 0.9], v, 12)",
  text: "text_search(docs, 'red apple wine', body, 9)",
};
const fused = `rrf(${inSql.vector}, ${inSql.text})`;

const pairs: readonly (readonly [name: string, sql: string, query: object])[] = [
  ["a vector", `from ${inSql.vector}`, { retrieve: [vector], limit: 12 }],
  ["a text", `from ${inSql.text}`, { retrieve: [text], limit: 9 }],
  ["both", `from ${fused}`, { retrieve: [vector, text], fuse: { method: "rrf" }, limit: 21 }],
  ["both, the first", `from ${fused} limit 5`, { retrieve: [vector, text], limit: 5 }],
  ["both, later ones", `from ${fused} limit 5 offset 4`, { retrieve: [vector, text], limit: 5, offset: 4 }],
  [
    "another k",
    `from rrf(${inSql.vector}, ${inSql.text}, k := 3)`,
    { retrieve: [vector, text], fuse: { k: 3 }, limit: 21 },
  ],
  ["a term", `from ${fused} where tag = 'a'`, { retrieve: [vector, text], filter: { term: { tag: "a" } }, limit: 21 }],
  [
    "terms and a range",
    `from ${fused} f where f.tag in ('a', 'b') and f.n >= 5 and f.n < 15`,
    {
      retrieve: [vector, text],
      filter: { and: [{ terms: { tag: ["a", "b"] } }, { range: { n: { gte: 5, lt: 15 } } }] },
      limit: 21,
    },
  ],
  ["truth", `from ${fused} where live`, { retrieve: [vector, text], filter: { term: { live: true } }, limit: 21 }],
  [
    "a missing value",
    `from ${fused} where price is null`,
    { retrieve: [vector, text], filter: { not: { exists: { field: "price" } } }, limit: 21 },
  ],
  [
    "a number beyond 2^53",
    `from ${inSql.vector} where price < 1e300 and price > -1e17 and not (price = 1e16)`,
    { retrieve: [vector], filter: { exists: { field: "price" } }, limit: 12 },
  ],
  [
    "a date",
    `from ${inSql.text} where "at" >= timestamptz '2024-05-01 00:00:00+00'`,
    { retrieve: [text], filter: { range: { at: { gte: "2024-05-01T00:00:00Z" } } }, limit: 9 },
  ],
  [
    "either of two",
    `from ${inSql.vector} where tag = 'c' or n = 3`,
    { retrieve: [vector], filter: { or: [{ term: { tag: "c" } }, { term: { n: 3 } }] }, limit: 12 },
  ],
];

/** With values for their parameters. */
const conditions: readonly (readonly [condition: string, ...params: unknown[]])[] = [
  ["length(body) > 30"],
  ["s.body like '%wine'"],
  ["body not like '%wine%' and s.tag <> 'c'"],
  ["lower(body) like $1 and n % $2 = 0", "%plum%", 2],
  ["n + coalesce(price, 0) > ?", 40.5],
  ["price is null or body like 'red%'"],
  ["list_contains($1, tag) and length(s.body) > 20", ["a", "c"]],
  ["s.n between $1 and $2 and string_split(body, ' ')[1] in ('red', 'green', 'blue')", 3, 17],
  ["_id >= 150 and body <> 'red'"],
  ['month("at") % 2 = 1 and live'],
  ["(_source->>'$.n')::int < 10"],
  ["v[1] > 0 and v[2] < $1", 0.4],
];

let server: ServerProcess;
before(async () => {
  server = await ServerProcess.start();
});
after(() => server[Symbol.asyncDispose]());

describe("retrievers in SQL and in a query", () => {
  let client: CollectionClient;

  before(async () => {
    client = await CollectionClient.create(server.url, "r");
    await client.made("docs", schema);
    await client.written("docs", documents(300));
  });

  async function both(sql: string, query: object) {
    const [first, second] = await Promise.all([
      ask(`${client.url}/sql`, { body: { query: `select _id, _score, tag, n ${sql}` } }),
      ask(`${client.url}/query`, { body: { from: "collections.docs", select: ["tag", "n"], ...query } }),
    ]);
    assert.equal(first.status, 200, first.text);
    assert.equal(second.status, 200, second.text);
    const ranked = (rows: { _id: number; _score: number }[]) => rows.map(({ _id, _score }) => ({ _id, _score }));
    return { sql: ranked(first.json.rows), query: ranked(second.json.rows) };
  }

  for (const [name, sql, query] of pairs) {
    test(name, async () => {
      const found = await both(sql, query);
      assert.notEqual(found.query.length, 0);
      assert.deepEqual(found.sql, found.query);
    });
  }

  for (const [condition, ...params] of conditions) {
    test(`the best of all that meet ${condition}`, async () => {
      const ranked = async (from: string, k: number, limit: string) => {
        const query = `select _id, _score from ${from.replaceAll("$k", String(k))} s where ${condition} ${limit}`;
        const done = await ask(`${client.url}/sql`, { body: { query, params } });
        assert.equal(done.status, 200, done.text);
        return done.json.rows as object[];
      };
      for (const from of ["vector_search(docs, [0.3, -0.2, 0.9], v, $k)", "text_search(docs, 'red apple', body, $k)"]) {
        const all = await ranked(from, 300, "order by _score desc, _id");
        assert.deepEqual(await ranked(from, 7, ""), all.slice(0, 7));
        assert.ok(all.length > 7, `${all.length} rows`);
      }
    });
  }

  const several = [
    ...["tag = 'b'", "tag <> 'b'", "not tag = 'b'", "tag in ('a', 'c')", "tag not in ('a', 'c')", "tag like 'b%'"],
    ...[
      "tag = 'b' or n = 3",
      "n >= 3 and (tag = 'c' or tag = 'b')",
      "tag > 'a'",
      "tag is null",
      "tag between 'b' and 'c'",
    ],
    ...["n > 4 or body = 'x'", "tag = 'a' or length(tag) > 1"],
  ];
  const isFirst = async () => {
    const rowsOf = async (query: string) => {
      const { status, text, json } = await ask(`${client.url}/sql`, { body: { query } });
      assert.equal(status, 200, text);
      return json.rows as object[];
    };
    for (const condition of several) {
      const wanted = await rowsOf(
        `select _id, tag, n from docs where body like '%red%' and (${condition}) order by _id`,
      );
      const from = (k: number) => `select _id, tag, n from text_search(docs, 'red', body, ${k}) where ${condition}`;
      assert.deepEqual(await rowsOf(`${from(300)} order by _id`), wanted, condition);
      const ranked = await rowsOf(from(300));
      // Every k is full: the condition restricts what is ranked.
      for (let k = 1; k <= Math.min(ranked.length, 9); k++) assert.deepEqual(await rowsOf(from(k)), ranked.slice(0, k));
    }
  };

  test("a column without a name is called as its expression was written", async () => {
    const search = "text_search(docs, 'red', body, 2)";
    const names = [
      `(select count(*) from ${search})`,
      `exists(select 1 from ${search}) or 1 is distinct from 2`,
      "n+1",
      '[1,"n"]',
      "count(*) OVER ()",
    ];
    for (const list of [names.join(", "), `all ${names.join(",\n")}`]) {
      const done = await ask(`${client.url}/sql`, { body: { query: `select ${list} from docs limit 1` } });
      assert.equal(done.status, 200, done.text);
      const shown = done.json.columns.map(({ name }: { name: string }) => name);
      assert.deepEqual(shown, names);
    }
    const others: readonly (readonly [query: string, names: readonly string[]])[] = [
      ["select distinct on (n) n, 2  * n from docs", ["n", "2 * n"]],
      ["select 1+1 union all select 3 order by 1", ["1+1"]],
      ["select max(columns('n')) from docs", ["n"]],
      ["select unnest({'a': 1, 'b': 2}), upper('x')", ["a", "b", "upper('x')"]],
      ["with w as (select 1+1) select * from w", ["(1 + 1)"]],
      ["select sum(n) from docs where n > 1 group by n % 2", ["sum(n)"]],
    ];
    for (const [query, wanted] of others) {
      const { columns } = (await ask(`${client.url}/sql`, { body: { query } })).json;
      assert.deepEqual(
        columns.map(({ name }: { name: string }) => name),
        wanted,
        query,
      );
    }
  });

  test("a condition holds of a field's first value, as it does in the table", isFirst);

  test("the same after the documents have become segments, and after a write", async () => {
    await client.sealed("docs");
    await isFirst();
    const [, sql, query] = pairs[6]!;
    const before = await both(sql, query);
    assert.deepEqual(before.sql, before.query);
    await client.written("docs", [{ delete: { id: before.sql[0]!._id } }]);
    const later = await both(sql, query);
    assert.deepEqual(later.sql, later.query);
    assert.ok(later.sql.every(({ _id }) => _id !== before.sql[0]!._id));
  });
});

test("a field with multi is a list, in the table and of a retriever", async () => {
  const client = await CollectionClient.create(server.url, "lists");
  const kinds = { k: "keyword", t: "text", i: "i64", f: "f64", b: "bool", d: "date" };
  const fields = Object.entries(kinds).map(([name, kind]) => ({ name, kind, multi: true }));
  const made = await client.made("docs", { fields: [{ name: "body", kind: "text" }, ...fields] });
  assert.equal(made.json.schema.fields[1].multi, true);
  const many = { k: ["a", "b"], t: ["x y", ""], i: [1, 2, 2], f: [0.5], b: [true, false], d: ["2024-01-01T00:00:00Z"] };
  await client.written("docs", [
    { upsert: { id: 1, source: { body: "red", ...many } } },
    { upsert: { id: 2, source: { body: "red", k: "c", i: [] } } },
    { upsert: { id: 3, source: { body: "red" } } },
  ]);
  const rowsOf = async (query: string) => {
    const done = await ask(`${client.url}/sql`, { body: { query } });
    assert.equal(done.status, 200, done.text);
    return done.json.rows;
  };
  const shown = { k: ["a", "b"], t: ["x y", ""], i: [1, 2, 2], f: [0.5], b: [true, false] };
  const none = { k: null, t: null, i: null, f: null, b: null };
  for (const from of ["docs", "text_search(docs, 'red', body, 10)"]) {
    assert.deepEqual(await rowsOf(`select _id, k, t, i, f, b from ${from} order by _id`), [
      { _id: 1, ...shown },
      { _id: 2, ...none, k: ["c"] },
      { _id: 3, ...none },
    ]);
    assert.deepEqual(await rowsOf(`select year(d[1]) as y from ${from} where list_contains(k, 'b')`), [{ y: 2024 }]);
    assert.deepEqual(await rowsOf(`select _id from ${from} where 2 = any(i) or k is null order by _id`), [
      { _id: 1 },
      { _id: 3 },
    ]);
  }
});

test("dates of every year are told in ISO 8601, and are taken back", async () => {
  const client = await CollectionClient.create(server.url, "dates");
  await client.made("docs", { fields: [{ name: "at", kind: "date" }] });
  const dates = [
    "-001199-02-15T14:13:20.001Z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "+010000-01-01T00:00:00Z",
  ];
  await client.written("docs", [
    ...dates.map((at, id) => ({ upsert: { id, source: { at } } })),
    { upsert: { id: dates.length, source: { at: Date.parse(dates[0]!) } } },
  ]);
  const query = 'select "at", "at"::date as day from docs order by _id';
  const { json } = await ask(`${client.url}/sql`, { body: { query } });
  const shown = [...dates, dates[0]!].map((at) => ({ at, day: at.replace(/T.*/, "") }));
  assert.deepEqual(json.rows, shown);
});
