import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { CollectionClient } from "../../support/collections.ts";
import { ask } from "../../support/http.ts";
import { ServerProcess } from "../../support/process.ts";

/** The rows nearest to a vector, by the index and without it: the same ones in the same order. */

const dim = 8;
const operators = { l2: "<->", cosine: "<=>", dot: "<#>" } as const;
const metrics = Object.keys(operators) as (keyof typeof operators)[];

let server: ServerProcess;
let store: CollectionClient;
let client: pg.Client;

/** Numbers that look random and are the same each time. */
function* numbersFrom(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    yield state / 2_147_483_648 - 0.5;
  }
}
const random = numbersFrom(26);
const vector = () => Array.from({ length: dim }, () => random.next().value);

function documents(count: number): object[] {
  return Array.from({ length: count }, (_, id) => ({
    upsert: {
      id,
      source: { tag: "abc"[id % 3], n: id % 17, title: `Title ${id}` },
      // Some have none, some have that of another, one has no direction.
      ...(id % 10 === 0 ? {} : { vectors: { v: id === 7 ? new Array(dim).fill(0) : vector() } }),
    },
  }));
}

before(async () => {
  server = await ServerProcess.start();
  store = await CollectionClient.create(server.url, "near");
  for (const distance of metrics) {
    await store.made(distance, {
      fields: [
        { name: "tag", kind: "keyword" },
        { name: "n", kind: "i64" },
        { name: "title", kind: "text" },
      ],
      vectors: [{ name: "v", dim, distance }],
    });
    await store.written(distance, documents(400));
  }
  client = new pg.Client({ ...server.postgres, user: "test", database: "near" });
  await client.connect();
});
after(async () => {
  await client.end();
  await server[Symbol.asyncDispose]();
});

async function rows(query: string, values: unknown[] = []): Promise<object[]> {
  return (await client.query(query, values)).rows;
}

async function usesIndex(query: string, values: unknown[] = []): Promise<boolean> {
  return JSON.stringify(await rows(`explain ${query}`, values)).includes("vector_index");
}

const conditions = ["", "where tag = 'b'", "where n < 5 and tag in ('a', 'c')", "where n between 3 and 9"];

async function isSame(distance: keyof typeof operators): Promise<void> {
  const sign = operators[distance];
  for (const condition of conditions) {
    for (const [limit, offset] of [
      [1, 0],
      [10, 0],
      [7, 5],
    ] as const) {
      const near = JSON.stringify(vector());
      const select = `select _id, tag, v, v ${sign} '${near}' as d from ${distance} ${condition}`;
      const query = `${select} order by v ${sign} '${near}' limit ${limit} offset ${offset}`;
      assert.ok(await usesIndex(query), query);
      const exact = await rows(`${select} order by (v ${sign} '${near}') + 0 limit ${limit} offset ${offset}`);
      assert.equal(exact.length, limit);
      assert.deepEqual(await rows(query), exact, query);
      const given = `select _id from ${distance} ${condition} order by v ${sign} $1 limit $2 offset $3`;
      const ids = exact.map((row) => ({ _id: (row as { _id: string })._id }));
      assert.ok(await usesIndex(`${select} order by d limit ${limit} offset ${offset}`));
      assert.deepEqual(await rows(given, [near, limit, offset]), ids, given);
    }
  }
}

for (const distance of metrics) {
  test(`${operators[distance]} over a collection with ${distance}`, async () => {
    await isSame(distance);
    await store.sealed(distance);
    await isSame(distance);
    const before = JSON.stringify(vector());
    const query = `select _id from ${distance} order by v ${operators[distance]} $1::vector limit 2`;
    const [first] = await rows(query, [before]);
    await store.written(distance, [{ delete: { id: Number((first as { _id: string })._id) } }]);
    assert.notDeepEqual((await rows(query, [before]))[0], first);
  });
}

test("what else a statement may say with it", async () => {
  const near = `v <-> '${JSON.stringify(vector())}'`;
  for (const query of [
    `select * from l2 order by ${near} limit 3`,
    `select x.title, 1 - (${near}) as near from collections.l2 x where x.tag = 'a' order by ${near}, x._id limit 3`,
    `select count(*) from (select n from l2 order by ${near} limit 5) s`,
    `with top as (select _id from l2 order by ${near} limit 5) select title from l2 join top using (_id) order by _id`,
    `select _id, upper(tag) as t, ${near} as near from l2 order by near asc nulls last limit 3`,
  ]) {
    assert.ok(await usesIndex(query), query);
    assert.deepEqual(await rows(query), await rows(query.replace(`by ${near}`, `by (${near}) + 0`)), query);
  }
});

test("where an index can't tell, all rows are compared", async () => {
  const vectorText = JSON.stringify(vector());
  const near = `v <-> '${vectorText}'`;
  for (const query of [
    `select _id from l2 order by ${near}`,
    `select _id from l2 order by ${near} desc limit 3`,
    `select _id from l2 order by ${near} nulls first limit 3`,
    `select _id from l2 order by ${near}, n limit 3`,
    `select _id from l2 order by n, ${near} limit 3`,
    `select _id from l2 order by v <=> '${vectorText}' limit 3`,
    `select _id from cosine order by ${near} limit 3`,
    `select _id from cosine order by v <=> '${JSON.stringify(new Array(dim).fill(0))}' limit 3`,
    `select _id from l2 where title like '%1%' order by ${near} limit 3`,
    `select _id from l2 where n + 1 = 3 order by ${near} limit 3`,
    `select distinct tag, ${near} as d from l2 order by d limit 3`,
    `select n as v, tag from l2 order by ${near} limit 3`,
    `select _id, ${near} as n from l2 order by n limit 3`,
    `select _id, row_number() over () from l2 order by ${near} limit 3`,
    `select unnest([_id, n]) from l2 order by ${near} limit 3`,
    `select a._id from l2 a join cosine b using (_id) order by a.${near} limit 3`,
    `select _id from l2 order by v <-> (select v from l2 where _id = 1) limit 3`,
    // More rows than have a vector: the others come after them.
    `select _id from l2 where n = 3 order by ${near} limit 200`,
    `select _id from l2 order by ${near} limit 0`,
  ]) {
    assert.equal(await usesIndex(query), false, query);
    await rows(query);
  }
  const all = await rows(`select _id from l2 where n = 3 order by ${near}, _id limit 200`);
  assert.equal(all.length, Number(((await rows("select count(*) as c from l2 where n = 3"))[0] as { c: string }).c));
  await assert.rejects(rows("select _id from l2 order by v <-> '[1,2]' limit 3"), pg.DatabaseError);
  await assert.rejects(rows("select _id from l2 order by v <-> 'x' limit 3"), pg.DatabaseError);
});

test("the same over REST, in the words of SQL there", async () => {
  const query = vector();
  const sql = async (text: string, params: unknown[] = []) => {
    const done = await ask(`${store.url}/sql`, { body: { query: text, params } });
    assert.equal(done.status, 200, done.text);
    return done.json.rows as object[];
  };
  for (const [from, distance] of [
    ["l2", "array_distance(v, [$]::FLOAT[8])"],
    ["cosine", "array_cosine_distance(v, [$]::FLOAT[8])"],
    ["dot", "array_negative_inner_product(v, [$]::FLOAT[8])"],
  ] as const) {
    const by = distance.replace("$", query.join(", "));
    const select = `select _id, ${by} as d from ${from} where tag = ? order by`;
    const mapped = `${select} ${by} limit ?`;
    assert.match(JSON.stringify(await sql(`explain ${mapped}`, ["a", 5])), /vector_index/);
    assert.deepEqual(await sql(mapped, ["a", 5]), await sql(`${select} (${by}) + 0 limit ?`, ["a", 5]));
    const list = distance.replace("[$]", "?");
    const given = await sql(`select _id from ${from} order by ${list} limit 5`, [query]);
    assert.deepEqual(given, await sql(`select _id from ${from} order by (${by}) + 0 limit 5`));
  }
});
