import assert from "node:assert/strict";
import { test } from "node:test";
import { collectionsServer, numbers, upserts } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { assertError, eventually } from "../support/streams.ts";

const { collection } = collectionsServer("200ms");

const tagged = {
  fields: [
    { name: "tag", kind: "keyword" },
    { name: "n", kind: "i64" },
  ],
};

const people = [
  {
    id: 1,
    source: { name: "anna", bio: "The quick brown fox", age: 30, score: 1.5, on: true, at: "2024-01-01T00:00:00Z" },
  },
  { id: 2, source: { name: "bert", bio: "brown quick", age: [7, 40], score: -2, on: false, at: 1_704_067_200_001 } },
  { id: 3, source: { name: ["annabel", "cy"], bio: "", age: 5 } },
  { id: 4, source: {} },
];
const peopleSchema = {
  fields: [
    { name: "name", kind: "keyword" },
    { name: "bio", kind: "text" },
    { name: "words", source_path: "bio", kind: { text: { positions: false } } },
    { name: "age", kind: "i64" },
    { name: "score", kind: "f64", indexed: false },
    { name: "on", kind: "bool" },
    { name: "at", kind: "date" },
    { name: "hidden", kind: "keyword", indexed: false },
  ],
};

test("source_path reaches through objects and arrays, and arrays are several values", async () => {
  const c = await collection({
    fields: [
      { name: "city", source_path: "people.home.city", kind: "keyword" },
      { name: "dotted", source_path: "a.b", kind: "i64" },
      { name: "raw", kind: "json" },
    ],
  });
  await c.written("docs", [
    {
      upsert: { id: 1, source: { people: [{ home: { city: "Rome" } }, { home: [{ city: ["Oslo", null, "Bonn"] }] }] } },
    },
    { upsert: { id: 2, source: { people: { home: { city: "Bonn" } }, "a.b": 5 } } },
    { upsert: { id: 3, source: { people: [], a: { b: [5, 6] }, raw: { any: [{}] } } } },
  ]);
  for (const sealed of [false, true]) {
    if (sealed) await c.sealed("docs");
    assert.deepEqual(await c.ids("docs", { term: { city: "Bonn" } }), [1, 2]);
    assert.deepEqual(await c.ids("docs", { terms: { city: ["Oslo", "Rome"] } }), [1]);
    assert.deepEqual(await c.ids("docs", { term: { dotted: 5 } }), [2, 3]);
    assert.deepEqual(await c.ids("docs", { not: { exists: { field: "city" } } }), [3]);
  }
  assertError(
    await c.post("docs", "count", { filter: { exists: { field: "raw" } } }),
    400,
    "invalid_argument",
    "filter.exists.field",
  );
});

test("the filter language finds the same in tail and segment", async () => {
  const c = await collection(peopleSchema);
  await c.written(
    "docs",
    people.map((upsert) => ({ upsert })),
  );
  const cases: [object, number[]][] = [
    [{ match_all: {} }, [1, 2, 3, 4]],
    [{ term: { name: "anna" } }, [1]],
    [{ term: { age: 7 } }, [2]],
    [{ term: { on: false } }, [2]],
    [{ term: { score: 1.5 } }, [1]],
    [{ term: { at: "2024-01-01T01:00:00+01:00" } }, [1]],
    [{ terms: { age: [5, 30, 99] } }, [1, 3]],
    [{ terms: { name: [] } }, []],
    [{ range: { age: { gt: 5, lte: 30 } } }, [1, 2]],
    [{ range: { age: { gte: 5, lt: 7 } } }, [3]],
    [{ range: { age: { gt: 4.5, lt: 5.5 } } }, [3]],
    [{ range: { score: { lt: 0 } } }, [2]],
    [{ range: { name: { gte: "annab", lt: "b" } } }, [3]],
    [{ range: { at: { gt: "2024-01-01T00:00:00Z" } } }, [2]],
    [{ exists: { field: "bio" } }, [1, 2, 3]],
    [{ exists: { field: "on" } }, [1, 2]],
    [{ prefix: { name: "anna" } }, [1, 3]],
    [{ prefix: { bio: "qui" } }, [1, 2]],
    [{ wildcard: { name: "a*a" } }, [1]],
    [{ wildcard: { name: "?y" } }, [3]],
    [{ ids: { values: [4, 2, 99] } }, [2, 4]],
    [{ match: { bio: "Brown QUICK" } }, [1, 2]],
    [{ match: { bio: "brown fox" } }, [1]],
    [{ match: { name: "bert" } }, [2]],
    [{ phrase: { bio: "quick brown" } }, [1]],
    [{ phrase: { bio: "brown quick" } }, [2]],
    [{ match: { words: "fox" } }, [1]],
    [{ and: [] }, [1, 2, 3, 4]],
    [{ or: [] }, []],
    [{ and: [{ exists: { field: "age" } }, { not: { term: { name: "bert" } } }] }, [1, 3]],
    [{ or: [{ term: { name: "bert" } }, { ids: { values: [4] } }] }, [2, 4]],
    [{ not: { term: { name: "anna" } } }, [2, 3, 4]],
    [{ bool: { must: [{ exists: { field: "age" } }], must_not: [{ term: { age: 5 } }] } }, [1, 2]],
    [
      { bool: { should: [{ term: { age: 5 } }, { term: { age: 30 } }], filter: [{ prefix: { name: "anna" } }] } },
      [1, 3],
    ],
    [{ bool: {} }, [1, 2, 3, 4]],
  ];
  for (const sealed of [false, true]) {
    if (sealed) await c.sealed("docs");
    for (const [filter, wanted] of cases) {
      assert.deepEqual(await c.ids("docs", filter, 2), wanted, `${sealed} ${JSON.stringify(filter)}`);
      assert.equal(await c.count("docs", filter), wanted.length, JSON.stringify(filter));
    }
  }
});

test("a filter that can't be is refused where it is wrong", async () => {
  const c = await collection(peopleSchema);
  for (const [filter, at] of [
    [{ term: { nope: 1 } }, "filter.term.nope"],
    [{ term: { hidden: "x" } }, "filter.term.hidden"],
    [{ exists: { field: "hidden" } }, "filter.exists.field"],
    [{ term: { age: "x" } }, "filter.term.age"],
    [{ term: { age: 1.5 } }, "filter.term.age"],
    [{ term: { on: 1 } }, "filter.term.on"],
    [{ term: { name: 1 } }, "filter.term.name"],
    [{ terms: { age: 1 } }, "filter.terms.age"],
    [{ terms: { age: [1, "x"] } }, "filter.terms.age[1]"],
    [{ range: { age: {} } }, "filter.range.age"],
    [{ range: { age: { above: 1 } } }, "filter.range.age.above"],
    [{ range: { bio: { gt: "a" } } }, "filter.range.bio"],
    [{ range: { at: { gt: "yesterday" } } }, "filter.range.at.gt"],
    [{ prefix: { age: "1" } }, "filter.prefix.age"],
    [{ wildcard: { age: "1" } }, "filter.wildcard.age"],
    [{ match: { age: "1" } }, "filter.match.age"],
    [{ phrase: { words: "a b" } }, "filter.phrase.words"],
    [{ ids: { values: ["1"] } }, "filter.ids.values[0]"],
    [{ ids: [1] }, "filter.ids"],
    [{ and: { term: { age: 1 } } }, "filter.and"],
    [{ or: [{ term: { age: 1 } }, {}] }, "filter.or[1]"],
    [{ not: [] }, "filter.not"],
    [{ bool: { might: [] } }, "filter.bool.might"],
    [{ fuzzy: { name: "x" } }, "filter.fuzzy"],
    [{ term: { age: 1 }, exists: { field: "age" } }, "filter"],
    [{ match_all: { boost: 1 } }, "filter.match_all"],
  ] as const) {
    for (const route of ["count", "scroll", "delete_by_filter"]) {
      assertError(await c.post("docs", route, { filter }), 400, "invalid_argument", at);
    }
  }
});

test("a value of the wrong type is refused, whatever the kind", async () => {
  const c = await collection({
    fields: ["keyword", "text", "i64", "f64", "bool", "date"].map((kind) => ({ name: kind, kind })),
  });
  for (const [name, value] of [
    ["keyword", 1],
    ["text", { a: 1 }],
    ["i64", 1.5],
    ["i64", 2 ** 53],
    ["f64", "1"],
    ["bool", "true"],
    ["date", "2024-13-01T00:00:00Z"],
    ["date", 1.5],
  ] as const) {
    const answer = await c.write("docs", [{ upsert: { id: 1, source: { [name]: value } } }]);
    assertError(answer, 400, "invalid_argument", `ops[0].upsert.source.${name}`);
  }
});

test("delete and patch by filter go in steps, with cursors over one moment", async () => {
  const c = await collection(tagged);
  await c.written(
    "docs",
    upserts(numbers(0, 25), (id) => ({ tag: id < 20 ? "a" : "b", n: 0 })),
  );
  const filter = { term: { tag: "a" } };
  const first = await c.post("docs", "patch_by_filter", { filter, patch: { source: { n: 1 } }, max_docs: 8 });
  const { token, backlog, next_cursor, ...rest } = first.json;
  assert.deepEqual(rest, { matched: 8, affected: 8, partial: true });
  assert.equal(first.headers.get("service-consistency-token"), JSON.stringify(token));
  assert.equal(backlog.throttled, false);
  // Written after the moment: a new match is not for this patch, and a changed one is left as it is.
  await c.written("docs", [
    { upsert: { id: 100, source: { tag: "a", n: 0 } } },
    { upsert: { id: 15, source: { tag: "a", n: 7 } } },
  ]);
  const second = await c.post("docs", "patch_by_filter", { filter, patch: { source: { n: 1 } }, cursor: next_cursor });
  assert.deepEqual(
    [second.json.matched, second.json.affected, second.json.partial, second.json.next_cursor],
    [12, 11, false, null],
  );
  assert.equal(await c.count("docs", { term: { n: 1 } }), 19);
  assert.deepEqual(await c.ids("docs", { term: { n: 7 } }), [15]);
  const none = await c.post("docs", "patch_by_filter", {
    filter: { term: { tag: "zzz" } },
    patch: { source: { n: 1 } },
  });
  assert.deepEqual([none.json.matched, none.json.affected, none.json.partial], [0, 0, false]);
  const gone = await c.post("docs", "delete_by_filter", { filter });
  assert.deepEqual(
    [gone.json.matched, gone.json.affected, gone.json.partial, gone.json.next_cursor],
    [21, 21, false, null],
  );
  assert.deepEqual(await c.ids("docs"), numbers(20, 25));
  for (const [route, body, at] of [
    ["delete_by_filter", {}, "filter"],
    ["delete_by_filter", { filter: null }, "filter"],
    ["delete_by_filter", { filter, max_docs: 0 }, "max_docs"],
    ["delete_by_filter", { filter, patch: {} }, "patch"],
    ["patch_by_filter", { filter }, "patch"],
    ["patch_by_filter", { filter, patch: { version: 1 } }, "patch.version"],
    ["patch_by_filter", { filter: { match_all: {} }, patch: { source: { n: "x" } } }, "patch.source.n"],
    ["patch_by_filter", { filter: { term: { tag: "zzz" } }, patch: { source: { n: "x" } } }, "patch.source.n"],
    ["patch_by_filter", { filter: { match_all: {} }, patch: { vectors: { v: [1] } } }, "patch.vectors.v"],
  ] as const) {
    assertError(await c.post("docs", route, body), 400, "invalid_argument", at);
  }
});

test("a document that was deleted and made anew is another one to a write by filter, though its version is the same", async () => {
  const c = await collection(tagged);
  for (const [route, more] of [
    ["delete_by_filter", {}],
    ["patch_by_filter", { patch: { source: { n: 1 } } }],
  ] as const) {
    await c.written(
      "docs",
      upserts(numbers(0, 6), () => ({ tag: "a", n: 0 })),
    );
    const body = { filter: { term: { tag: "a" } }, max_docs: 2, ...more };
    const { next_cursor: cursor } = (await c.post("docs", route, body)).json;
    for (const id of [2, 4]) {
      await c.written("docs", [{ delete: { id } }, { insert: { id, source: { tag: id === 2 ? "b" : "a", n: 0 } } }]);
    }
    const done = await c.post("docs", route, { ...body, max_docs: 10, cursor });
    assert.deepEqual([done.json.matched, done.json.affected], [4, 3], route);
    assert.deepEqual((await c.get("docs", 2)).json.source, { tag: "b", n: 0 }, route);
    await c.written("docs", [{ delete: { id: 2 } }, { delete: { id: 4 } }]);
  }
});

test("a delete by filter stays with its collection when the alias moves meanwhile", async () => {
  const c = await collection(tagged);
  await c.made("other", tagged);
  const ops = upserts(numbers(0, 8_000), (id) => ({ tag: "a", n: id }));
  for (const name of ["docs", "other"]) await c.written(name, ops);
  const point = (to: string) =>
    ask(`${c.url}/aliases`, { body: { actions: [{ add: { alias: "now", collection: to } }] } });
  await point("docs");
  const deleting = c.post("now", "delete_by_filter", { filter: { match_all: {} } });
  await eventually(
    () => c.count("docs"),
    (left) => left < 8_000,
  );
  await point("other");
  const done = await deleting;
  assert.deepEqual([done.status, done.json.affected], [200, 8_000], done.text);
  assert.deepEqual([await c.count("docs"), await c.count("other")], [0, 8_000]);
});
