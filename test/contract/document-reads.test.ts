import assert from "node:assert/strict";
import { test } from "node:test";
import { CollectionClient, collectionsServer, numbers, upserts } from "../support/collections.ts";
import { type Answer, ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { assertError } from "../support/streams.ts";

const { collection } = collectionsServer("200ms");

const tagged = {
  fields: [
    { name: "tag", kind: "keyword" },
    { name: "n", kind: "i64" },
  ],
};

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
