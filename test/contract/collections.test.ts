import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CollectionClient, collectionsServer, numbers, upserts } from "../support/collections.ts";
import { type Answer, ask } from "../support/http.ts";
import { assertError, eventually } from "../support/streams.ts";

const { server, client } = collectionsServer("100ms");

test("the same schema again gives the same collection, another one is taken", async () => {
  const c = await client();
  const fields = [
    { name: "a", kind: "i64" },
    { name: "b", kind: "keyword" },
  ];
  const made = await c.made("docs", { fields });
  const again = await c.made("docs", { fields: fields.toReversed() });
  assert.equal(again.json.id, made.json.id);
  const other = await c.make("docs", { fields: fields.slice(1) });
  assertError(other, 409, "already_exists");
  assert.equal(other.json.id, made.json.id);
});

test("what names no collection, or none that may be, is refused", async () => {
  const c = await client();
  assertError(await c.make("no/slash", {}), 400, "invalid_argument", "name");
  assertError(await ask(`${c.url}/collections`, { body: { name: "x" } }), 400, "invalid_argument", "schema");
  assertError(
    await ask(`${c.url}/collections`, { body: { name: "x", schema: {}, y: 1 } }),
    400,
    "invalid_argument",
    "y",
  );
  const missing = new CollectionClient(server().url, "nowhere");
  assertError(await missing.make("docs", {}), 404, "not_found");
  for (const [method, path, body] of [
    ["GET", "", undefined],
    ["DELETE", "", undefined],
    ["POST", "/fields", { fields: [{ name: "f", kind: "i64" }] }],
    ["GET", "/versions", undefined],
    ["PUT", "/hot", { enabled: true }],
    ["POST", "/warm", undefined],
    ["POST", "/scan", undefined],
    ["GET", "/documents/1", undefined],
    ["POST", "/documents", { ops: [{ delete: { id: 1 } }] }],
    ["POST", "/documents/get", { ids: [1] }],
    ["POST", "/documents/scroll", {}],
    ["POST", "/documents/count", {}],
    ["POST", "/documents/delete_by_filter", { filter: { match_all: {} } }],
    ["POST", "/documents/patch_by_filter", { filter: { match_all: {} }, patch: {} }],
  ] as const) {
    assertError(await ask(`${c.of("gone")}${path}`, { method, body }), 404, "not_found");
  }
  assert.equal((await ask(`${c.url}/collections`, { method: "PATCH", body: {} })).status, 405);
});

for (const [method, path] of [
  ["POST", "/scan"],
  ["POST", "/warm"],
] as const) {
  test(`${method} ${path} takes an empty object or nothing, and refuses what it does not know`, async () => {
    const c = await client();
    await c.made("docs");
    for (const body of [undefined, {}]) {
      assert.equal((await ask(`${c.of("docs")}${path}`, { method, body })).status, path === "/warm" ? 202 : 200);
    }
    assertError(
      await ask(`${c.of("docs")}${path}`, { method, body: { versoin: 1 } }),
      400,
      "invalid_argument",
      "versoin",
    );
    assertError(await ask(`${c.of("docs")}${path}`, { method, body: [] }), 400, "invalid_argument", "body");
  });
}

for (const [what, path, body] of [
  ["a scan plan", "/scan", {}],
  ["the collection", "", undefined],
  ["its versions", "/versions", undefined],
  ["its recall", "/recall", { field: "v" }],
] as const) {
  test(`${what} is a read: it takes a token and waits for it`, async () => {
    const c = await client();
    await c.made("docs", { vectors: [{ name: "v", dim: 1 }] });
    const write = (id: number) => c.written("docs", [{ upsert: { id, source: {}, vectors: { v: [id] } } }]);
    const [{ stream }] = (await write(1)).json.token;
    const method = body === undefined ? "GET" : "POST";
    const read = (offset: number | string) => {
      const token = typeof offset === "string" ? offset : JSON.stringify([{ stream, partition: 0, offset }]);
      return ask(`${c.of("docs")}${path}`, { method, body, headers: { "service-consistency-token": token } });
    };
    assert.equal((await read(0)).status, 200);
    assertError(await read("nonsense"), 400, "invalid_argument", "Service-Consistency-Token");
    let isAnswered = false;
    const waiting = read(1).finally(() => {
      isAnswered = true;
    });
    for (let i = 0; i < 3; i++) await read(0);
    assert.equal(isAnswered, false);
    await write(2);
    const { status, json } = await waiting;
    assert.equal(status, 200);
    if (path === "/scan") assert.deepEqual(json.token, [{ stream, partition: 0, offset: 1 }]);
  });

  test(`${what} is a read: it takes a consistency`, async () => {
    const c = await client();
    await c.made("docs", { vectors: [{ name: "v", dim: 1 }] });
    const read = (consistency: string) =>
      body === undefined
        ? ask(`${c.of("docs")}${path}?consistency=${consistency}`)
        : ask(`${c.of("docs")}${path}`, { body: { ...body, consistency } });
    for (const known of ["strong", "eventual"]) assert.equal((await read(known)).status, 200);
    assertError(await read("weak"), 400, "invalid_argument", "consistency");
  });
}

test("collections are listed by name, in pages", async () => {
  const c = await client();
  for (const name of ["b", "a", "d", "c", "B"]) await c.made(name);
  const names = (answer: Answer) => answer.json.collections.map(({ name }: { name: string }) => name);
  const all = await ask(`${c.url}/collections`);
  assert.deepEqual([names(all), all.json.next_page_token], [["B", "a", "b", "c", "d"], ""]);
  assert.deepEqual(all.json.collections[1], await c.info("a"));
  const seen: string[] = [];
  let token = "";
  do {
    const page = await ask(`${c.url}/collections?page_size=2&page_token=${token}`);
    seen.push(...names(page));
    token = page.json.next_page_token;
  } while (token !== "");
  assert.deepEqual(seen, ["B", "a", "b", "c", "d"]);
  for (const [query, at] of [
    ["page_size=0", "page_size"],
    ["page_size=100000", "page_size"],
    ["page_token=%25", "page_token"],
  ] as const) {
    assertError(await ask(`${c.url}/collections?${query}`), 400, "invalid_argument", at);
  }
});

test("aliases are changed all or none, resolve everywhere, and go with their collection", async () => {
  const c = await client();
  await c.made("one", { fields: [{ name: "a", kind: "i64" }] });
  await c.made("two", {});
  const change = (actions: readonly object[]) => ask(`${c.url}/aliases`, { body: { actions } });
  const set = await change([
    { add: { alias: "now", collection: "one" } },
    { add: { alias: "also", collection: "one" } },
  ]);
  assert.equal(set.status, 200, set.text);
  const both = [
    { alias: "also", collection: "one" },
    { alias: "now", collection: "one" },
  ];
  assert.deepEqual(set.json, { aliases: both });
  assert.deepEqual((await ask(`${c.url}/aliases`)).json, { aliases: both });
  assert.deepEqual((await c.info("now")).aliases, ["also", "now"]);
  assert.equal((await c.info("now")).name, "one");
  await c.written("now", [{ upsert: { id: 1, source: { a: 1 } } }]);
  assert.equal((await c.get("also", 1)).json.id, 1);
  assert.equal(await c.count("one"), 1);
  for (const [actions, status, error] of [
    [[{ add: { alias: "x", collection: "one" } }, { remove: { alias: "nope" } }], 404, "not_found"],
    [[{ add: { alias: "x", collection: "one" } }, { add: { alias: "y", collection: "nope" } }], 404, "not_found"],
    [[{ add: { alias: "x", collection: "one" } }, { add: { alias: "two", collection: "one" } }], 409, "conflict"],
    [[{ add: { alias: "x", collection: "one" } }, { move: {} }], 400, "invalid_argument"],
    [
      [{ add: { alias: "x", collection: "one" } }, { add: { alias: "no/", collection: "one" } }],
      400,
      "invalid_argument",
    ],
    [[{ add: { alias: "x", collection: "" } }], 400, "invalid_argument"],
    [[], 400, "invalid_argument"],
  ] as const) {
    assertError(await change(actions), status, error);
    assert.deepEqual((await ask(`${c.url}/aliases`)).json, { aliases: both }, "none");
  }
  const swap = await change([{ remove: { alias: "also" } }, { add: { alias: "now", collection: "two" } }]);
  assert.deepEqual(swap.json, { aliases: [{ alias: "now", collection: "two" }] });
  assert.equal((await c.info("now")).name, "two");
  assertError(await c.make("now", {}), 409, "conflict");
  assertError(await ask(c.of("now"), { method: "DELETE" }), 404, "not_found");
  assert.deepEqual((await ask(c.of("two"), { method: "DELETE" })).json, { dropped: true });
  assert.deepEqual((await ask(`${c.url}/aliases`)).json, { aliases: [] });
  assertError(await ask(c.of("now")), 404, "not_found");
});

test("a dropped collection is gone with its documents, and its space is freed", async () => {
  const c = await client();
  const { id } = (await c.made("docs", { fields: [{ name: "a", kind: "i64" }] })).json;
  await c.written(
    "docs",
    upserts(numbers(0, 300), (a) => ({ a, pad: "x".repeat(500) })),
  );
  await c.sealed("docs");
  const folder = join(server().dataDir, "objects", "collections");
  assert.ok(readdirSync(folder).includes(String(id)));
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (\\d+)`, "m").exec((await ask(`${server().url}/metrics`)).text)![1]);
  const entries = () => metric("service_store_entries");
  // Entries are counted in the store's tree: what is still in the overlay is not among them.
  await eventually(
    () => metric("service_store_overlay_bytes"),
    (bytes) => bytes === 0,
  );
  const full = await entries();
  const dropped = await ask(c.of("docs"), { method: "DELETE" });
  assert.deepEqual([dropped.status, dropped.json], [200, { dropped: true }]);
  assertError(await c.get("docs", 1), 404, "not_found");
  assertError(await ask(c.of("docs"), { method: "DELETE" }), 404, "not_found");
  await eventually(
    async () => ({ left: await entries(), folders: readdirSync(folder) }),
    ({ left, folders }) => left <= full - 300 && !folders.includes(String(id)),
  );
  const anew = await c.made("docs", {});
  assert.notEqual(anew.json.id, id);
  assert.equal(await c.count("docs"), 0);
  assert.equal((await ask(`${c.url}`, { method: "DELETE" })).status, 409, "a namespace with collections is not empty");
});

test("hot and warm load the index and say so", async () => {
  const c = await client();
  await c.made("docs", { fields: [{ name: "a", kind: "i64" }] });
  const state = async () => (await c.info("docs")).hot;
  assert.deepEqual(await state(), { enabled: false, state: "cold" });
  const warmed = await ask(`${c.of("docs")}/warm`, { method: "POST" });
  assert.deepEqual([warmed.status, warmed.json], [202, { status: "accepted" }]);
  await eventually(state, ({ state }) => state === "hot");
  const hot = await ask(`${c.of("docs")}/hot`, { method: "PUT", body: { enabled: true } });
  assert.deepEqual([hot.status, hot.json], [200, { hot: { enabled: true, state: "hot" } }]);
  assert.deepEqual(await state(), { enabled: true, state: "hot" });
  const off = await ask(`${c.of("docs")}/hot`, { method: "PUT", body: { enabled: false } });
  assert.equal(off.json.hot.enabled, false);
  for (const body of [{}, { enabled: "yes" }]) {
    assertError(await ask(`${c.of("docs")}/hot`, { method: "PUT", body }), 400, "invalid_argument", "enabled");
  }
});

test("an idle tail is sealed, and versions and scan tell of it exactly", async () => {
  const c = await client();
  const before = Date.now();
  await c.made("docs", { fields: [{ name: "a", kind: "i64" }] });
  const empty = await c.scan("docs");
  const { schema } = await c.info("docs");
  assert.deepEqual(empty.json, { lance: null, tail_records: 0, schema, token: [] });
  assert.deepEqual((await ask(`${c.of("docs")}/versions`)).json, { versions: [] });
  const written = await c.written("docs", [...upserts([1, 2, 3], (a) => ({ a })), { delete: { id: 3 } }]);
  const scan = await c.scan("docs");
  assert.deepEqual(scan.json.token, written.json.token);
  assert.equal(scan.headers.get("service-consistency-token"), JSON.stringify(written.json.token));
  await c.sealed("docs");
  const info = await c.info("docs");
  assert.deepEqual([info.manifest.records, info.manifest.applied], [2, 1]);
  assert.ok(info.manifest.bytes > 0);
  assert.deepEqual(info.backpressure, { throttled: false, backlog_records: 0, backlog_bytes: 0, retry_after_ms: 0 });
  const { versions } = (await ask(`${c.of("docs")}/versions`)).json;
  const last = versions.at(-1);
  assert.deepEqual(Object.keys(last).sort(), ["applied", "created_at", "lance", "records", "version"]);
  assert.deepEqual([last.version, last.records, last.applied], [info.manifest.version, 2, 1]);
  assert.deepEqual(last.lance, info.manifest.lance);
  assert.ok(Date.parse(last.created_at) >= before && last.created_at.endsWith("Z"));
  await c.written(
    "docs",
    upserts([2, 9], (a) => ({ a })),
  );
  const behind = await c.scan("docs");
  assert.ok([0, 2].includes(behind.json.tail_records), "each changed document counts once");
  await c.sealed("docs");
  const later = (await ask(`${c.of("docs")}/versions`)).json.versions;
  assert.deepEqual(later.slice(0, versions.length), versions, "old versions are kept");
  assert.deepEqual([later.at(-1).records, later.at(-1).applied], [3, 2]);
});
