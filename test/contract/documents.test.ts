import assert from "node:assert/strict";
import { test } from "node:test";
import { collectionsServer, statuses, tagged, upserts } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { assertError } from "../support/streams.ts";

const { collection } = collectionsServer("200ms");

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

test("a zero vector is accepted", async () => {
  const c = await collection({ vectors: [{ name: "v", dim: 2, distance: "cosine" }] });
  await c.written("docs", [{ upsert: { id: 1, source: {}, vectors: { v: [0, 0] } } }]);
  assert.deepEqual((await c.get("docs", 1)).json.vectors, { v: [0, 0] });
});
