import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { CollectionClient, numbers, upserts } from "../support/collections.ts";
import { type Answer, ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { assertError, eventually } from "../support/streams.ts";

let server: ServerProcess;

before(async () => {
  server = await ServerProcess.start({ flags: ["--collection-seal-idle", "200ms"] });
});

after(() => server[Symbol.asyncDispose]());

let namespaces = 0;

async function collection(schema: object = {}): Promise<CollectionClient> {
  const c = await CollectionClient.create(server.url, `ns${namespaces++}`);
  await c.made("docs", schema);
  return c;
}

const tagged = {
  fields: [
    { name: "tag", kind: "keyword" },
    { name: "n", kind: "i64" },
  ],
};

function statuses(answer: Answer): [number, string, number][] {
  assert.equal(answer.status, 200, answer.text);
  return answer.json.results.map(({ id, status, version }: { id: number; status: string; version: number }) => {
    return [id, status, version];
  });
}

test("a write answers with token, results and backlog, and the document reads back", async () => {
  const c = await collection({
    fields: [{ name: "tag", kind: "keyword" }],
    vectors: [{ name: "v", dim: 2 }],
    sparse_vectors: [{ name: "s" }],
  });
  const source = { tag: "red", other: { deep: [1, null, "ü"] } };
  const written = await c.written("docs", [
    {
      upsert: {
        id: 7,
        source,
        vectors: { v: [0.5, -1] },
        sparse_vectors: { s: { indices: [9, 2], values: [1, 0.25] } },
      },
    },
  ]);
  const { token, backlog, ...rest } = written.json;
  assert.deepEqual(rest, { results: [{ id: 7, status: "created", version: 1 }], replayed: false });
  assert.equal(token.length, 1);
  assert.deepEqual([token[0].partition, token[0].offset], [0, 0]);
  assert.equal(written.headers.get("service-consistency-token"), JSON.stringify(token));
  assert.deepEqual([backlog.records, backlog.throttled], [1, false]);
  assert.ok(backlog.bytes > 0);
  const document = {
    id: 7,
    version: 1,
    source,
    vectors: { v: [0.5, -1] },
    sparse_vectors: { s: { indices: [2, 9], values: [0.25, 1] } },
  };
  assert.deepEqual((await c.get("docs", 7)).json, document);
  assert.deepEqual((await c.get("docs", 7, "?consistency=eventual")).json, document);
  const many = await c.post("docs", "get", { ids: [8, 7, 7] });
  assert.deepEqual(many.json, {
    documents: [
      { id: 8, found: false },
      { ...document, found: true },
      { ...document, found: true },
    ],
    token,
  });
});

test("every operation has its statuses and versions", async () => {
  const c = await collection(tagged);
  const write = async (...ops: object[]) => statuses(await c.write("docs", ops));
  const a = { id: 1, source: { tag: "a" } };
  assert.deepEqual(await write({ insert: a }, { insert: { ...a, id: 2 } }), [
    [1, "created", 1],
    [2, "created", 1],
  ]);
  assert.deepEqual(await write({ upsert: a }, { patch: { id: 1, source: { n: 3 } } }, { delete: { id: 9 } }), [
    [1, "updated", 2],
    [1, "updated", 3],
    [9, "noop", 0],
  ]);
  assert.deepEqual((await c.get("docs", 1)).json.source, { tag: "a", n: 3 });
  assert.deepEqual(await write({ delete: { id: 1 } }), [[1, "deleted", 4]]);
  assertError(await c.get("docs", 1), 404, "not_found");
  assert.deepEqual(
    await write(
      { upsert: { ...a, id: 2, if_version: 7 } },
      { upsert: { ...a, id: 2, if: { term: { tag: "zzz" } } } },
      { upsert: { ...a, id: 3, if: { match_all: {} } } },
      { upsert: { ...a, id: 3, if_version: 0 } },
      { patch: { id: 2, source: { n: 1 }, if_version: 1, if: { term: { tag: "a" } } } },
      { delete: { id: 2, if_version: 1 } },
      { delete: { id: 2, if: { range: { n: { gte: 1 } } } } },
    ),
    [
      [2, "condition_failed", 1],
      [2, "condition_failed", 1],
      [3, "condition_failed", 0],
      [3, "created", 1],
      [2, "updated", 2],
      [2, "condition_failed", 2],
      [2, "deleted", 3],
    ],
  );
});

test("a condition is judged before anything else", async () => {
  const c = await collection(tagged);
  const write = async (...ops: object[]) => statuses(await c.write("docs", ops));
  await write({ insert: { id: 1, source: { tag: "a" } } });
  assert.deepEqual(
    await write(
      { insert: { id: 1, source: {}, if_version: 0 } },
      { insert: { id: 1, source: {}, if: { term: { tag: "b" } } } },
      { patch: { id: 9, source: { n: 1 }, if_version: 1 } },
      { patch: { id: 9, source: { n: 1 }, if: { match_all: {} } } },
      { delete: { id: 9, if_version: 1 } },
      { delete: { id: 9, if: { match_all: {} } } },
    ),
    [1, 1, 9, 9, 9, 9].map((id) => [id, "condition_failed", id === 1 ? 1 : 0]),
  );
  assertError(await c.write("docs", [{ insert: { id: 1, source: {}, if_version: 1 } }]), 409, "already_exists");
  assertError(await c.write("docs", [{ patch: { id: 9, source: {}, if_version: 0 } }]), 404, "not_found");
});

test("an empty patch changes nothing", async () => {
  const c = await collection(tagged);
  await c.written(
    "docs",
    upserts([1, 2], () => ({ tag: "a" })),
  );
  for (const patch of [{}, { source: {} }, { source: {}, vectors: {} }]) {
    const done = await ask(`${c.of("docs")}/documents/patch_by_filter`, { body: { filter: { match_all: {} }, patch } });
    assert.equal(done.status, 200, done.text);
    assert.deepEqual([done.json.matched, done.json.affected], [2, 0]);
  }
  assert.deepEqual(statuses(await c.write("docs", [{ patch: { id: 1, source: {} } }])), [[1, "noop", 1]]);
  assert.equal((await c.get("docs", 2)).json.version, 1);
});

test("a patch merges top-level keys, null removes, and named vectors are replaced", async () => {
  const c = await collection({
    vectors: [
      { name: "v", dim: 1 },
      { name: "w", dim: 1 },
    ],
  });
  await c.written("docs", [
    { insert: { id: 1, source: { a: { x: 1, y: 2 }, b: 1, c: 1 }, vectors: { v: [1], w: [2] } } },
    { patch: { id: 1, source: { a: { z: 3 }, b: null }, vectors: { v: [5], w: null } } },
  ]);
  const { source, vectors, version } = (await c.get("docs", 1)).json;
  assert.deepEqual([source, vectors, version], [{ a: { z: 3 }, c: 1 }, { v: [5] }, 2]);
});

test("one failing operation fails the request by name, and nothing is written", async () => {
  const c = await collection({ ...tagged, vectors: [{ name: "v", dim: 2 }], sparse_vectors: [{ name: "s" }] });
  await c.written("docs", [{ insert: { id: 1, source: { tag: "a" } } }]);
  const good = { upsert: { id: 5, source: { tag: "x" } } };
  const exists = await c.write("docs", [good, { insert: { id: 1, source: {} } }]);
  assertError(exists, 409, "already_exists");
  assert.equal(exists.json.id, 1);
  assert.match(exists.json.message, /ops\[1\]\.insert/);
  assertError(await c.write("docs", [good, { patch: { id: 2, source: {} } }]), 404, "not_found", "ops[1].patch");
  for (const [op, at] of [
    [{ upsert: { id: 2, source: { n: "1" } } }, "ops[1].upsert.source.n"],
    [{ upsert: { id: 2, source: { tag: [1] } } }, "ops[1].upsert.source.tag"],
    [{ upsert: { id: 2, source: {}, vectors: { v: [1] } } }, "ops[1].upsert.vectors.v"],
    [{ upsert: { id: 2, source: {}, vectors: { v: [1, "2"] } } }, "ops[1].upsert.vectors.v[1]"],
    [{ upsert: { id: 2, source: {}, vectors: { nope: [1] } } }, "ops[1].upsert.vectors.nope"],
    [
      { upsert: { id: 2, source: {}, sparse_vectors: { s: { indices: [1], values: [] } } } },
      "ops[1].upsert.sparse_vectors.s.values",
    ],
    [
      { upsert: { id: 2, source: {}, sparse_vectors: { s: { indices: [1, 1], values: [1, 1] } } } },
      "ops[1].upsert.sparse_vectors.s.indices[1]",
    ],
    [{ upsert: { id: 2 } }, "ops[1].upsert.source"],
    [{ upsert: { id: 2, source: [] } }, "ops[1].upsert.source"],
    [{ upsert: { source: {} } }, "ops[1].upsert.id"],
    [{ upsert: { id: -1, source: {} } }, "ops[1].upsert.id"],
    [{ upsert: { id: 1.5, source: {} } }, "ops[1].upsert.id"],
    [{ upsert: { id: 9007199254740992, source: {} } }, "ops[1].upsert.id"],
    [{ upsert: { id: "2", source: {} } }, "ops[1].upsert.id"],
    [{ upsert: { id: 2, source: {}, colour: 1 } }, "ops[1].upsert.colour"],
    [{ delete: { id: 2, source: {} } }, "ops[1].delete.source"],
    [{ delete: { id: 2, if_version: -1 } }, "ops[1].delete.if_version"],
    [{ delete: { id: 2, if: { term: { nope: 1 } } } }, "ops[1].delete.if.term.nope"],
    [{ patch: { id: 1, source: { n: 0.5 } } }, "ops[1].patch.source.n"],
    [{ replace: { id: 2 } }, "ops[1].replace"],
    [{ upsert: { id: 2, source: {} }, delete: { id: 2 } }, "ops[1]"],
    [{}, "ops[1]"],
  ] as const) {
    assertError(await c.write("docs", [good, op]), 400, "invalid_argument", at);
  }
  assertError(await c.write("docs", []), 400, "invalid_argument", "ops");
  assertError(await c.write("docs", [good], { opts: 1 }), 400, "invalid_argument", "opts");
  assert.deepEqual(await c.ids("docs"), [1]);
  assert.equal((await c.get("docs", 1)).json.version, 1);
});

test("ids go from 0 to 2^53 - 1", async () => {
  const c = await collection();
  const ids = [0, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER];
  await c.written(
    "docs",
    upserts(ids, (id) => ({ id })),
  );
  assert.deepEqual(await c.ids("docs", undefined, 1), ids);
  assert.deepEqual(await c.ids("docs", { match_all: {} }, 3), ids);
  assert.equal((await c.get("docs", Number.MAX_SAFE_INTEGER)).json.source.id, Number.MAX_SAFE_INTEGER);
  for (const id of ["-1", "1.5", "x", "9007199254740992"]) {
    assertError(await c.get("docs", id), 400, "invalid_argument", "id");
  }
});

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

test("a zero vector is accepted", async () => {
  const c = await collection({ vectors: [{ name: "v", dim: 2, distance: "cosine" }] });
  await c.written("docs", [{ upsert: { id: 1, source: {}, vectors: { v: [0, 0] } } }]);
  assert.deepEqual((await c.get("docs", 1)).json.vectors, { v: [0, 0] });
});

test("an idempotency key replays the recorded results, over a restart too", async () => {
  const dataDir = await temporaryFolder();
  try {
    const first = await ServerProcess.start({ dataDir });
    const c = await CollectionClient.create(first.url, "n");
    await c.made("docs", tagged);
    const ops = upserts([1], () => ({ tag: "a" }));
    const key = { "idempotency-key": "k 1" };
    const written = await c.write("docs", ops, {}, key);
    assert.equal(written.headers.get("idempotency-replayed"), null);
    const inBody = await c.write("docs", ops, { idempotency_key: "k2" });
    assert.deepEqual([inBody.json.replayed, inBody.json.results[0].version], [false, 2]);
    const replays = async (client: CollectionClient) => {
      for (const [original, again] of [
        [written, await client.write("docs", ops, {}, key)],
        [inBody, await client.write("docs", ops, { idempotency_key: "k2" })],
      ] as const) {
        assert.equal(again.status, 200, again.text);
        assert.equal(again.headers.get("idempotency-replayed"), "true");
        assert.deepEqual(
          [again.json.replayed, again.json.results, again.json.token],
          [true, original.json.results, original.json.token],
        );
      }
      assertError(
        await client.write(
          "docs",
          upserts([2], () => ({})),
          {},
          key,
        ),
        409,
        "conflict",
      );
      assert.equal((await client.get("docs", 1)).json.version, 2);
    };
    await replays(c);
    assertError(await c.write("docs", ops, { idempotency_key: "" }), 400, "invalid_argument", "idempotency_key");
    const failed = { "idempotency-key": "failed" };
    assertError(await c.write("docs", [{ patch: { id: 9, source: {} } }], {}, failed), 404, "not_found");
    statuses(
      await c.write(
        "docs",
        upserts([3], () => ({})),
        {},
        failed,
      ),
    );
    assert.equal(await first.stop(), 0);
    await using again = await ServerProcess.start({ dataDir });
    await replays(new CollectionClient(again.url, "n"));
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("a tail over its limit answers 429 until the index has caught up, and nothing is lost", async () => {
  await using small = await ServerProcess.start({
    flags: ["--collection-tail-records-max", "10", "--collection-seal-idle", "1500ms"],
  });
  const c = await CollectionClient.create(small.url, "n");
  await c.made("docs", tagged);
  const filled = await c.written(
    "docs",
    upserts(numbers(0, 12), () => ({ tag: "a" })),
  );
  assert.deepEqual([filled.json.backlog.records, filled.json.backlog.throttled], [12, true]);
  const info = await c.info("docs");
  assert.equal(info.backpressure.throttled, true);
  assert.ok(info.backpressure.retry_after_ms > 0);
  const refused = await c.write(
    "docs",
    upserts([99], () => ({ tag: "b" })),
  );
  assertError(refused, 429, "resource_exhausted");
  assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  assert.equal(await c.count("docs", { term: { tag: "a" } }), 12, "reads go on");
  await eventually(
    () =>
      c.write(
        "docs",
        upserts([99], () => ({ tag: "b" })),
      ),
    ({ status }) => status === 200,
  );
  assert.equal(await c.count("docs"), 13);
  await using bytes = await ServerProcess.start({ flags: ["--collection-tail-bytes-max", "1000"] });
  const d = await CollectionClient.create(bytes.url, "n");
  await d.made("docs", {});
  await d.written(
    "docs",
    upserts([1], () => ({ pad: "x".repeat(2000) })),
  );
  assertError(
    await d.write(
      "docs",
      upserts([2], () => ({})),
    ),
    429,
    "resource_exhausted",
  );
});

test("tokens are checked, waited for, and reflected", async () => {
  const c = await collection(tagged);
  const written = await c.written(
    "docs",
    upserts([1], () => ({ tag: "a" })),
  );
  const token = written.headers.get("service-consistency-token")!;
  const header = { "service-consistency-token": token };
  assert.equal((await c.get("docs", 1, "", header)).status, 200);
  for (const [route, body] of [
    ["get", { ids: [1] }],
    ["scroll", {}],
    ["count", { filter: { term: { tag: "a" } } }],
    ["count", { filter: { term: { tag: "a" } }, consistency: "eventual" }],
  ] as const) {
    const answer = await c.post("docs", route, body, header);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json.token, written.json.token, "what was read");
    assert.equal(answer.headers.get("service-consistency-token"), token);
    if (route === "count") assert.equal(answer.json.count, 1, "an eventual read reflects its token too");
  }
  const [entry] = written.json.token;
  const other = JSON.stringify([{ ...entry, stream: entry.stream + 1000, offset: 10 ** 9 }]);
  assert.equal((await c.get("docs", 1, "", { "service-consistency-token": other })).status, 200);
  const malformed = await c.get("docs", 1, "", { "service-consistency-token": "nonsense" });
  assertError(malformed, 400, "invalid_argument", "Service-Consistency-Token");
  const future = JSON.stringify([{ ...entry, offset: entry.offset + 1 }]);
  const waiting = c.post("docs", "count", {}, { "service-consistency-token": future });
  await c.written(
    "docs",
    upserts([2], () => ({ tag: "a" })),
  );
  assert.equal((await waiting).json.count, 2);
});

test("an eventual read is of the last manifest", async () => {
  const c = await collection(tagged);
  await c.written(
    "docs",
    upserts([1, 2], () => ({ tag: "a" })),
  );
  await c.sealed("docs");
  await using idle = await ServerProcess.start({ flags: ["--collection-seal-idle", "1h"] });
  const d = await CollectionClient.create(idle.url, "n");
  await d.made("docs", tagged);
  await d.written(
    "docs",
    upserts([1, 2], () => ({ tag: "a" })),
  );
  const eventual = await d.post("docs", "count", { consistency: "eventual" });
  assert.deepEqual([eventual.json.count, eventual.json.token], [0, []]);
  assert.equal(await d.count("docs"), 2);
  const published = await c.post("docs", "count", { consistency: "eventual", filter: { term: { tag: "a" } } });
  assert.equal(published.json.count, 2);
  const page = await c.post("docs", "scroll", { consistency: "eventual", limit: 1 });
  assert.deepEqual([page.json.documents[0].id, typeof page.json.next_cursor], [1, "string"]);
  assertError(await c.post("docs", "count", { consistency: "never" }), 400, "invalid_argument", "consistency");
  assertError(await c.get("docs", 1, "?consistency=never"), 400, "invalid_argument", "consistency");
});

test("a scroll pages by id over one moment", async () => {
  const c = await collection(tagged);
  await c.written(
    "docs",
    upserts(numbers(0, 7), (id) => ({ tag: id % 2 === 0 ? "even" : "odd", n: id })),
  );
  for (const [filter, wanted] of [
    [undefined, [0, 1, 2, 3, 4, 5, 6]],
    [{ term: { tag: "even" } }, [0, 2, 4, 6]],
  ] as const) {
    const first = await c.post("docs", "scroll", { filter, limit: 2 });
    assert.deepEqual(Object.keys(first.json).sort(), ["documents", "next_cursor", "token"]);
    assert.deepEqual(Object.keys(first.json.documents[0]).sort(), ["id", "source", "vectors", "version"]);
    await c.written("docs", [
      { delete: { id: 4 } },
      { upsert: { id: 5, source: { tag: "even" } } },
      { upsert: { id: 50, source: { tag: "even" } } },
    ]);
    const seen: number[] = first.json.documents.map(({ id }: { id: number }) => id);
    let cursor: string | null = first.json.next_cursor;
    while (cursor !== null) {
      const page: Answer = await c.post("docs", "scroll", { filter, limit: 2, cursor });
      assert.deepEqual(page.json.token, first.json.token);
      seen.push(...page.json.documents.map(({ id }: { id: number }) => id));
      cursor = page.json.next_cursor;
    }
    assert.deepEqual(seen, wanted);
    await c.written("docs", [
      { delete: { id: 50 } },
      ...upserts([4, 5], (id) => ({ tag: id === 4 ? "even" : "odd", n: id })),
    ]);
  }
  const page = await c.post("docs", "scroll", { limit: 1 });
  const foreign = { filter: { term: { tag: "odd" } }, limit: 1, cursor: page.json.next_cursor };
  assertError(await c.post("docs", "scroll", foreign), 400, "invalid_argument", "cursor");
  for (const [body, at] of [
    [{ limit: 0 }, "limit"],
    [{ limit: 10_001 }, "limit"],
    [{ cursor: "!" }, "cursor"],
    [{ sort: [] }, "sort"],
  ] as const) {
    assertError(await c.post("docs", "scroll", body), 400, "invalid_argument", at);
  }
  assertError(await c.post("docs", "get", { ids: [-1] }), 400, "invalid_argument", "ids[0]");
  assertError(await c.post("docs", "get", {}), 400, "invalid_argument", "ids");
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

test("a cursor goes on with the request that it came from, and with no other", async () => {
  const c = await collection(tagged);
  await c.made("other", tagged);
  const filter = { term: { tag: "a" } };
  for (const name of ["docs", "other"]) {
    await c.written(
      name,
      upserts(numbers(0, 9), (id) => ({ tag: "a", n: id })),
    );
  }
  const point = async (to: string) => {
    const actions = [{ add: { alias: "now", collection: to } }];
    assert.equal((await ask(`${c.url}/aliases`, { body: { actions } })).status, 200);
  };
  await point("docs");
  const patch = { source: { n: 99 } };
  const bodies = {
    scroll: { filter, limit: 2 },
    delete_by_filter: { filter, max_docs: 2 },
    patch_by_filter: { filter, max_docs: 2, patch },
  } as const;
  const cursors = new Map<string, string>();
  for (const [route, body] of Object.entries(bodies)) {
    cursors.set(route, (await c.post("now", route, body)).json.next_cursor);
  }
  for (const [from, to] of [
    ["scroll", "delete_by_filter"],
    ["scroll", "patch_by_filter"],
    ["delete_by_filter", "scroll"],
    ["patch_by_filter", "scroll"],
  ] as const) {
    const answer = await c.post("now", to, { ...bodies[to], cursor: cursors.get(from) });
    assertError(answer, 400, "invalid_argument", "cursor");
  }
  await point("other");
  for (const [route, body] of Object.entries(bodies)) {
    const answer = await c.post("now", route, { ...body, cursor: cursors.get(route) });
    assertError(answer, 400, "invalid_argument", "cursor");
    const going = await c.post("docs", route, { ...body, cursor: cursors.get(route) });
    assert.equal(going.status, 200, "by its own name the collection is there still");
  }
  assert.deepEqual([await c.count("other"), await c.count("other", { term: { n: 99 } })], [9, 0]);
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

test("a number beyond the range of doubles is refused for a field of numbers", async () => {
  const c = await collection(tagged);
  const source = '{"n": 1e400}';
  for (const op of ["upsert", "insert"]) {
    const answer = await ask(`${c.of("docs")}/documents`, {
      body: `{"ops": [{"${op}": {"id": 1, "source": ${source}}}]}`,
    });
    assertError(answer, 400, "invalid_argument", `ops[0].${op}.source.n`);
  }
  await c.written(
    "docs",
    upserts([1], () => ({ tag: "a" })),
  );
  const patch = await ask(`${c.of("docs")}/documents`, {
    body: `{"ops": [{"patch": {"id": 1, "source": ${source}}}]}`,
  });
  assertError(patch, 400, "invalid_argument", "ops[0].patch.source.n");
  const body = `{"filter": {"match_all": {}}, "patch": {"source": ${source}}}`;
  const many = await ask(`${c.of("docs")}/documents/patch_by_filter`, { body });
  assertError(many, 400, "invalid_argument", "patch.source.n");
});

for (const source of ['{"other":-1e400}', '{"j":{"a":[1,{"b":1e999}]}}']) {
  test(`a number beyond the range of doubles is kept as it was written elsewhere: ${source}`, async () => {
    const c = await collection({ fields: [...tagged.fields, { name: "j", kind: "json" }] });
    const written = await ask(`${c.of("docs")}/documents`, {
      body: `{"ops": [{"upsert": {"id": 1, "source": ${source}}}]}`,
    });
    assert.equal(written.status, 200, written.text);
    const { text } = await ask(`${c.of("docs")}/documents/1`);
    assert.ok(text.includes(source), text);
  });
}

test("a vector's numbers are shown as they were written, by every reader", async () => {
  const c = await collection({ vectors: [{ name: "v", dim: 3 }], sparse_vectors: [{ name: "s" }] });
  const v = [0.1, -0.2, 1e-7];
  const s = { indices: [3, 4], values: [0.3, 123.456] };
  await c.written("docs", [{ upsert: { id: 1, source: {}, vectors: { v }, sparse_vectors: { s } } }]);
  const rpc = async (method: string, body: object) => {
    const answer = await ask(`${server.url}/service.collection.v1.${method}`, { body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const where = { namespace: c.namespace, collection: "docs" };
  const one = (await c.get("docs", 1)).json;
  const [many] = (await c.post("docs", "get", { ids: [1] })).json.documents;
  const [page] = (await c.post("docs", "scroll")).json.documents;
  const [row] = (await ask(`${c.url}/query`, { body: { from: "docs", include_vectors: true } })).json.rows;
  const [sql] = (await ask(`${c.url}/sql`, { body: { query: "SELECT v, s FROM docs" } })).json.rows;
  const [document] = (await rpc("DocumentService/GetDocuments", { ...where, ids: [1] })).documents;
  const { namespace } = where;
  const [hit] = (await rpc("QueryService/Search", { namespace, from: "docs", includeVectors: true })).rows;
  for (const [reader, dense, sparse] of [
    ["GET", one.vectors.v, one.sparse_vectors.s],
    ["get", many.vectors.v, many.sparse_vectors.s],
    ["scroll", page.vectors.v, page.sparse_vectors.s],
    ["query", row.v, row.s],
    ["sql", sql.v, sql.s],
    ["GetDocuments", document.vectors.v.values, document.sparseVectors.s],
    ["Search", hit.vectors.v.values, hit.sparseVectors.s],
  ] as const) {
    assert.deepEqual([dense, sparse], [v, s], reader);
  }
});

test("a batch of ten thousand operations is one atomic write", async () => {
  const c = await collection(tagged);
  const ops = upserts(numbers(0, 10_000), (id) => ({ tag: `t${id % 7}`, n: id }));
  const written = await c.written("docs", ops);
  assert.equal(written.json.results.length, 10_000);
  assert.equal(await c.count("docs", { term: { tag: "t3" } }), 1429);
  const many = await c.post("docs", "get", { ids: numbers(0, 10_000).toReversed() });
  assert.deepEqual(many.json.documents[0].source, { tag: "t3", n: 9999 });
  const page = await c.post("docs", "scroll", { limit: 10_000 });
  assert.deepEqual([page.json.documents.length, page.json.next_cursor], [10_000, null]);
  assertError(await c.write("docs", [...ops, ...ops]), 400, "invalid_argument", "ops");
  const bad = [...ops.slice(0, 9_999), { upsert: { id: 20_000, source: { n: "x" } } }];
  assertError(await c.write("docs", bad), 400, "invalid_argument", "ops[9999].upsert.source.n");
  assert.equal(await c.count("docs"), 10_000);
  assert.equal((await ask(`${server.url}/ready`)).status, 200);
});

test("numbers that a double can't carry are kept as they were written", async () => {
  const c = await collection({
    fields: [
      { name: "raw", kind: "json" },
      { name: "f", kind: "f64" },
      { name: "n", kind: "i64" },
    ],
  });
  const raw = '{"a":[12345678901234567890,0.10000000000000000555],"b":1e400}';
  const source = `{"id":"x","raw":${raw},"f":0.1234567890123456789,"other":-9007199254740993}`;
  const send = (path: string, text: string) =>
    fetch(`${c.of("docs")}/documents${path}`, {
      method: "POST",
      body: text,
      headers: { "content-type": "application/json" },
    });
  const filler = ` `.repeat(200_000);
  for (const [id, space] of [
    ["1", ""],
    ["2", filler],
  ] as const) {
    const done = await send("", `{"ops":[${space}{"upsert":{"id":${id},"source":${source}}}]}`);
    assert.equal(done.status, 200, await done.text());
    const text = async () => (await fetch(`${c.of("docs")}/documents/${id}`)).text();
    assert.ok((await text()).includes(`"source":${source}`), await text());
    await send("", `{"ops":[{"patch":{"id":${id},"source":{"more":98765432109876543210}}}]}`);
    assert.ok((await text()).includes(`"source":${source.slice(0, -1)},"more":98765432109876543210}`), await text());
  }
  await send("/patch_by_filter", '{"filter":{"ids":{"values":[2]}},"patch":{"source":{"more":1e-999}}}');
  assert.match(await (await send("/get", '{"ids":[2]}')).text(), /"more":1e-999/);
  const found = await ask(`${c.url}/query`, {
    body: { from: "collections.docs", filter: { range: { f: { gt: 0.1 } } } },
  });
  assert.ok(found.text.includes(`"raw":${raw}`), found.text);
  const selected = await ask(`${c.url}/sql`, {
    body: { query: "select raw, _source from docs where f > 0.12 order by _id limit 1" },
  });
  assert.ok(selected.text.includes(`"raw":${raw},"_source":${source.slice(0, -1)}`), selected.text);
  assertError(await c.write("docs", [{ upsert: { id: 3, source: { n: 2 ** 53 } } }]), 400, "invalid_argument");
  const large = await send("", '{"ops":[{"upsert":{"id":3,"source":{"n":12345678901234567890}}}]}');
  assert.equal(large.status, 400);
});
