import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { launch, seed, Tab } from "./harness.ts";

let server: ServerProcess;
let browser: Browser;
before(async () => {
  browser = await launch();
  server = await ServerProcess.start();
  await seed(server.url);
});
after(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
});

test("a hybrid query is built, run and shared by its address", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/search");
  const { page } = tab;
  await page.getByPlaceholder('Words, or "a phrase"').fill("red apple");
  await page.getByLabel("title").check();
  await page.getByLabel("Like document").fill("1");
  await page.getByLabel("Filter").fill('{"term":{"kind":"fruit"}}');
  await page.getByLabel("Filter").press("Control+Enter");
  await page.getByText("What the filter does").waitFor();
  for (const name of ["Text", "Vector", "Fused"]) {
    assert.equal(await page.getByLabel(`${name} ranking`).locator("li").count(), 10, name);
  }
  const first = page.getByLabel("Fused ranking").locator("li").first();
  assert.match(await first.innerText(), /text[\s\S]*#1 ·[\s\S]*vector[\s\S]*#1 ·[\s\S]*1\/\(60\+1\)/);
  assert.ok((await first.locator("mark").count()) > 0, "highlights are marked");
  assert.match(await page.locator(".share").innerText(), /keeps 60 of 120 documents \(50%\)/);
  const url = page.url();
  assert.match(url, /text=red\+apple/);
  await using other = await Tab.open(browser, server.url, new URL(url).hash);
  await other.page.getByText("What the filter does").waitFor();
  assert.equal(
    await other.page.getByLabel("Fused ranking").innerText(),
    await page.getByLabel("Fused ranking").innerText(),
  );
});

test("the rankings are those of the API, and pointing at a row marks it in all", async () => {
  await using tab = await Tab.open(
    browser,
    server.url,
    "#/ns/shop/search?c=items&text=green+pear&vector=1,0,0,0.5&run=1",
  );
  const { page } = tab;
  const body = {
    from: "items",
    retrieve: [
      { text: { field: "title", query: "green pear", k: 50 } },
      { vector: { field: "v", query: [1, 0, 0, 0.5], k: 50 } },
    ],
  };
  const { json } = await ask(`${server.url}/v1/namespaces/shop/query`, { body });
  const fused = page.getByLabel("Fused ranking");
  await fused.locator("li").first().waitFor();
  assert.deepEqual(
    await fused.locator(".hit-title").allInnerTexts(),
    json.rows.map(({ title }: { title: string }) => title),
  );
  const title = json.rows[0].title as string;
  await fused.locator("li").first().hover();
  const marked = await page.locator(".hit.same .hit-title").allInnerTexts();
  assert.ok(marked.length >= 1 && marked.every((each) => each === title), marked.join());
});

test("the code of a query runs as it stands", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/search?c=items&text=red+apple&like=1&run=1");
  const { page } = tab;
  await page.getByText("The same query as code").waitFor();
  for (const [language, sign] of [
    ["curl", /^curl -X POST http/],
    ["TypeScript", /await fetch\("http/],
    ["Python", /^import json/],
    ["SQL", /FROM rrf\(/],
  ] as const) {
    await page.getByRole("tab", { name: language, exact: true }).click();
    await page.locator(".snippets").getByRole("button", { name: "Copy" }).click();
    assert.match(String(await page.evaluate("navigator.clipboard.readText()")), sign, language);
  }
  await page.getByRole("tab", { name: "curl", exact: true }).click();
  const shown = await page.locator(".snippets pre").innerText();
  const sent = /-d '([\s\S]*)'$/.exec(shown)?.[1] ?? "";
  const { status, json } = await ask(`${server.url}/v1/namespaces/shop/query`, { body: sent });
  assert.equal(status, 200);
  assert.equal(json.rows.length, 10);
});

test("a mistake in a query is told where it is", async () => {
  const filter = encodeURIComponent('{"term":{"nothing":"x"}}');
  await using tab = await Tab.open(browser, server.url, `#/ns/shop/search?c=items&text=a&filter=${filter}&run=1`);
  const notice = tab.page.getByRole("alert");
  await notice.waitFor();
  assert.match(await notice.innerText(), /invalid_argument[\s\S]*filter/);
});

test("more like this searches by that document", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/search?c=items&text=apple&run=1");
  const { page } = tab;
  await page.getByRole("button", { name: "More like this" }).first().click();
  assert.notEqual(await page.getByLabel("Like document").inputValue(), "");
});

/** Documents with a sparse vector, for a retriever more. */
async function makeWares(): Promise<void> {
  const shop = `${server.url}/v1/namespaces/shop`;
  const fields = [
    { name: "title", kind: "text" },
    { name: "kind", kind: "keyword", fast: true },
    { name: "price", kind: "f64" },
  ];
  const vectors = [{ name: "v", dim: 2, distance: "cosine" }];
  await ask(`${shop}/collections`, {
    body: { name: "wares", schema: { fields, vectors, sparse_vectors: [{ name: "s" }] } },
  });
  const ops = Array.from({ length: 30 }, (_, i) => ({
    upsert: {
      id: i,
      source: { title: `ware ${i % 2 === 0 ? "red" : "blue"} ${i}`, kind: `kind-${i % 3}`, price: 100 - i },
      vectors: { v: [Math.cos(i), Math.sin(i)] },
      sparse_vectors: { s: { indices: [i % 5, 10], values: [1 + i / 10, 0.5] } },
    },
  }));
  assert.equal((await ask(`${shop}/collections/wares/documents`, { body: { ops } })).status, 200);
}

test("three retrievers, facets, groups and an order are those of the API", async () => {
  await makeWares();
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/search?c=wares&text=red&like=4");
  const { page } = tab;
  const query = async (more: object) => {
    const retrieve = [
      { text: { field: "title", query: "red", k: 50 } },
      {
        vector: {
          field: "v",
          query: (await ask(`${server.url}/v1/namespaces/shop/collections/wares/documents/4`)).json.vectors.v,
          k: 50,
        },
      },
      { sparse: { field: "s", query: { indices: [2, 10], values: [1, 0.25] }, k: 50 } },
    ];
    const body = { from: "wares", retrieve, limit: 10, ...more };
    return (await ask(`${server.url}/v1/namespaces/shop/query`, { body })).json;
  };
  await page.getByLabel("Or index:weight").fill("2:1, 10:0.25");
  await page.getByText("Facets, groups and order").click();
  await page.getByLabel("kind", { exact: true }).check();
  await page.getByLabel("Sort by").selectOption("price");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  const sorted = page.getByLabel("Fused, by price ranking");
  await sorted.waitFor();
  const titles = (rows: readonly { title: string }[]) => rows.map(({ title }) => title);
  const { rows, facets } = await query({ sort: [{ field: "price", order: "asc" }], facets: [{ field: "kind" }] });
  assert.deepEqual(await sorted.locator(".hit-title").allInnerTexts(), titles(rows));
  assert.equal(await page.getByLabel("Sparse ranking").locator("li").count(), 10);
  const shown = await page.getByLabel("Facet kind").locator("button").allInnerTexts();
  assert.deepEqual(
    shown.map((text) => text.split(/\s+/)),
    facets.kind.map(({ value, count }: { value: string; count: number }) => [value, String(count)]),
  );
  assert.deepEqual(await tab.violations(), []);
  await page.getByLabel("Sort by").selectOption("");
  await page.getByLabel("Group by").selectOption("kind");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.getByLabel("kind-0 ranking").waitFor();
  const { groups } = await query({ group_by: { field: "kind", size: 3 } });
  for (const { key, rows: best } of groups) {
    assert.deepEqual(await page.getByLabel(`${key} ranking`).locator(".hit-title").allInnerTexts(), titles(best), key);
  }
  assert.deepEqual(await tab.violations(), []);
  // Its SQL is one that the server takes, and gives the same rows of each group.
  await page.getByRole("tab", { name: "SQL", exact: true }).click();
  const sql = await page.locator(".snippets pre").innerText();
  const answer = await ask(`${server.url}/v1/namespaces/shop/sql`, { body: { query: sql } });
  assert.equal(answer.status, 200, answer.text);
  for (const { key, rows: best } of groups) {
    const same = answer.json.rows.filter(({ kind }: { kind: string }) => kind === key);
    assert.deepEqual(titles(same), titles(best), key);
  }
  await page.getByLabel("Facet kind").getByRole("button", { name: "kind-1" }).click();
  await page.getByText("What the filter does").waitFor();
  assert.match(decodeURIComponent(page.url()), /filter={"term":{"kind":"kind-1"}}/);
  assert.equal(await page.getByLabel("kind-0 ranking").count(), 0);
});

test("SQL completes tables and runs a query", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/sql");
  const { page } = tab;
  await page.getByText("Begin with").waitFor();
  const editor = page.getByLabel("SQL query");
  await editor.click();
  await page.keyboard.type("SELECT * FROM stre");
  const offered = page.locator(".cm-tooltip-autocomplete li", { hasText: "streams" }).first();
  // The names of the tables may come after what was typed; asked for once more, they are there.
  for (; !(await offered.isVisible()); await sleep(200)) await page.keyboard.press("Control+Space");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("SELECT count(*) AS documents FROM items");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Enter");
  await page.locator("td", { hasText: "120" }).waitFor();
  assert.deepEqual(await tab.violations(), []);
});

/** An answer of the SQL route, for what a page does with one. */
const sqlAnswer = {
  columns: [
    { name: "kind", type: "VARCHAR" },
    { name: "n", type: "BIGINT" },
    { name: "note", type: "VARCHAR" },
  ],
  rows: [
    { kind: "fruit", n: 60, note: null },
    { kind: "tool", n: 61, note: "a,b" },
  ],
  row_count: 2,
  token: [],
};

test("SQL results are a table and a chart, and copied as CSV", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/sql");
  const { page } = tab;
  await page.route("**/sql", (route) => route.fulfill({ json: sqlAnswer }));
  await page.getByLabel("SQL query").click();
  await page.keyboard.type("SELECT 1");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("2 rows in").waitFor();
  assert.equal(await page.locator("td", { hasText: "null" }).count(), 1);
  await page.getByRole("button", { name: "CSV" }).click();
  assert.equal(await page.evaluate("navigator.clipboard.readText()"), 'kind,n,note\nfruit,60,\ntool,61,"a,b"');
  assert.deepEqual(await tab.violations(), []);
  await page.getByRole("tab", { name: "Chart" }).click();
  await page.locator("figure.chart canvas").waitFor();
  assert.match(page.url(), /view=chart/);
  assert.deepEqual(await tab.violations(), []);
});

test("a query at fault is marked where the server points, and one that runs can be stopped", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/sql");
  const { page } = tab;
  await page.getByLabel("SQL query").click();
  await page.keyboard.type("SELECT * FROM itms");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Run" }).click();
  assert.equal(await page.locator(".cm-fault").innerText(), "itms");
  assert.match(await page.getByRole("alert").innerText(), /invalid_argument\s+400\s+in query/);
  await page.route("**/sql", () => {});
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("You have stopped the query.").waitFor();
});

test("a large collection is counted, paged and filtered, a page of it at a time", async () => {
  const path = `${server.url}/v1/namespaces/shop/collections`;
  const fields = [
    { name: "kind", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
  ];
  await ask(path, { body: { name: "large", schema: { fields } } });
  for (let at = 0; at < 20_000; at += 10_000) {
    const ops = Array.from({ length: 10_000 }, (_, i) => ({
      upsert: { id: at + i, source: { kind: i % 4 === 0 ? "rare" : "usual", n: at + i } },
    }));
    assert.equal((await ask(`${path}/large/documents`, { body: { ops } })).status, 200);
  }
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/collections/large");
  const { page } = tab;
  await page.locator(".stat", { hasText: "20,000" }).first().waitFor();
  await page.locator(".rows .list-row").nth(49).waitFor();
  assert.equal(await page.locator(".rows .list-row").count(), 50);
  await page.getByLabel("Filter").first().fill('{"term": {"kind": "rare"}}');
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("5,000 match the filter").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.locator(".rows .offset", { hasText: /^200$/ }).waitFor();
  assert.equal(await page.locator(".rows .list-row").count(), 50);
});

test("ten thousand streams are listed, filtered and opened", async () => {
  const ns = `${server.url}/v1/namespaces/many`;
  await ask(`${server.url}/v1/namespaces`, { body: { name: "many" } });
  const names = Array.from({ length: 10_000 }, (_, i) => `stream-${String(i).padStart(5, "0")}`);
  for (let at = 0; at < names.length; at += 250) {
    await Promise.all(names.slice(at, at + 250).map((name) => ask(`${ns}/streams`, { body: { name } })));
  }
  await using tab = await Tab.open(browser, server.url, "#/ns/many/streams");
  const { page } = tab;
  await page.locator(".list-row >> text=stream-00000").waitFor();
  await page.getByRole("status").filter({ hasText: "10,000" }).waitFor();
  assert.ok((await page.locator(".virtual li").count()) < 60, "only what is in view exists");
  await page.locator(".virtual").evaluate((element: unknown) => {
    const list = element as { scrollTop: number; scrollHeight: number };
    list.scrollTop = list.scrollHeight;
  });
  await page.locator(".list-row >> text=stream-09999").waitFor();
  assert.deepEqual(await tab.violations(), []);
  await page.getByLabel("Filter by name").fill("4242");
  await page.getByRole("status").filter({ hasText: "1 of 10,000" }).waitFor();
  await page.locator(".list-row >> text=stream-04242").click();
  await page.waitForURL(/streams\/stream-04242/);
});
