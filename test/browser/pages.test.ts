import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ask, base64 } from "../support/http.ts";
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

const filter = encodeURIComponent('{"term":{"kind":"fruit"}}');
/** Every page, and what shows that it has loaded. */
const pages: Readonly<Record<string, readonly [hash: string, shown: string]>> = {
  overview: ["#/", "text=Event loop delay"],
  namespaces: ["#/namespaces", ".list-row >> text=shop"],
  streams: ["#/ns/shop/streams", ".list-row >> text=orders"],
  "no streams": ["#/ns/empty/streams", "text=No streams in empty"],
  stream: ["#/ns/shop/streams/orders", ".list-row .offset >> text=149"],
  links: ["#/ns/shop/links", ".list-row >> text=totals"],
  link: ["#/ns/shop/links/totals", "text=Lag over time"],
  collections: ["#/ns/shop/collections", ".list-row >> text=items"],
  collection: ["#/ns/shop/collections/items", ".list-row >> text=number 0"],
  schema: ["#/ns/shop/collections/items?tab=schema", "text=Source path"],
  versions: ["#/ns/shop/collections/items?tab=versions", "main"],
  search: [
    `#/ns/shop/search?c=items&text=red+apple&like=1&filter=${filter}&hl=title&run=1`,
    "text=What the filter does",
  ],
  "no live tables": ["#/ns/empty/live", "text=No live tables in empty"],
  "no live functions": ["#/ns/empty/live?tab=functions", "text=No functions in empty"],
  "no search": ["#/ns/empty/search", "text=No collections in empty"],
  sql: ["#/ns/shop/sql?query=SELECT+1", ".editor .cm-content"],
  docs: ["#/docs", "text=API reference"],
  guide: ["#/docs/query", "text=Fields of a query"],
  nowhere: ["#/nothing/here", "text=Page not found"],
};

for (const [name, [hash, shown]] of Object.entries(pages)) {
  test(`${name}: axe finds nothing in light and dark, and it fits a phone`, async () => {
    await using tab = await Tab.open(browser, server.url, hash);
    const { page } = tab;
    await page.locator(shown).first().waitFor();
    assert.deepEqual(await tab.violations(), []);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.deepEqual(await tab.violations(), []);
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await tab.overflow(), 0);
  });
}

test("the overview shows health and traffic that grows", async () => {
  await using tab = await Tab.open(browser, server.url, "#/");
  await tab.page.locator(".badge.good", { hasText: "Ready" }).waitFor();
  // They come with the first metrics, which may be later than readiness.
  await tab.page.locator("figure.chart canvas").first().waitFor();
  assert.equal(await tab.page.locator("figure.chart").count(), 9);
});

test("a namespace is created, chosen and deleted", async () => {
  await using tab = await Tab.open(browser, server.url, "#/namespaces");
  const { page } = tab;
  await page.getByRole("button", { name: "Create namespace" }).click();
  await page.getByLabel("Name", { exact: true }).fill("made-here");
  assert.deepEqual(await tab.violations(), []);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForURL(/#\/ns\/made-here\/streams/);
  assert.equal(await page.getByLabel("Namespace", { exact: true }).inputValue(), "made-here");
  await tab.go("#/namespaces");
  await page.getByRole("button", { name: "Delete made-here" }).click();
  const confirm = page.getByRole("button", { name: "Delete namespace" });
  assert.equal(await confirm.isDisabled(), true);
  await page.getByLabel("Name", { exact: true }).fill("made-here");
  await confirm.click();
  await page.locator(".list-row >> text=made-here").waitFor({ state: "detached" });
  assert.equal((await ask(`${server.url}/v1/namespaces/made-here`)).status, 404);
});

test("what the server refuses is shown with its reason, field and message", async () => {
  await using tab = await Tab.open(browser, server.url, "#/namespaces");
  const { page } = tab;
  await page.getByRole("button", { name: "Create namespace" }).click();
  await page.getByLabel("Name", { exact: true }).fill("shop");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const notice = page.getByRole("alert");
  await notice.waitFor();
  assert.match(await notice.innerText(), /already_exists\s+409[\s\S]*shop/);
  assert.deepEqual(await tab.violations(), []);
});

test("a stream is created and its retention changed", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/streams");
  const { page } = tab;
  await page.getByRole("button", { name: "Create stream" }).click();
  await page.getByLabel("Name", { exact: true }).fill("made");
  await page.getByLabel("Partitions", { exact: true }).fill("3");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForURL(/streams\/made/);
  await page.getByRole("button", { name: "Retention" }).click();
  await page.getByLabel("Keep for").fill("12h");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".stat", { hasText: "12h" }).waitFor();
  const { json } = await ask(`${server.url}/v1/namespaces/shop/streams/made`);
  assert.equal(json.partitions.length, 3);
  assert.equal(json.retention.max_age_ms, 43_200_000);
});

test("records are appended, seen live, and shown as JSON, text and hex", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/streams/orders?live=1");
  const { page } = tab;
  await page.locator(".list-row .offset >> text=149").waitFor();
  const records = [{ value: base64('{"live":true}') }];
  await ask(`${server.url}/v1/namespaces/shop/streams/orders/partitions/0/records`, { body: { records } });
  await page.locator(".list-row", { hasText: '{"live":true}' }).click();
  const view = page.locator(".record");
  await view.getByLabel("Value as JSON").waitFor();
  await view.getByRole("tab", { name: "Hex" }).click();
  assert.match(await view.getByLabel("Value as bytes").innerText(), /00000000 {2}7b 22 6c/);
  await page.keyboard.press("ArrowLeft");
  await view.getByLabel("Value as text").waitFor();
  assert.deepEqual(await tab.violations(), []);
  await page.getByRole("button", { name: "Append" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Key", { exact: true }).fill("bob");
  await dialog.getByLabel("Value", { exact: true }).fill("typed by hand");
  await dialog.getByLabel("Partition", { exact: true }).selectOption("0");
  await dialog.getByRole("button", { name: "Append", exact: true }).click();
  await page.locator(".list-row", { hasText: "typed by hand" }).waitFor();
});

test("a CloudEvent is shown as one, and another is sent", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/streams/orders?partition=1");
  const { page } = tab;
  await page.locator(".list-row", { hasText: "event" }).first().click();
  assert.match(
    await page.getByLabel("CloudEvent", { exact: true }).innerText(),
    /"type": "order\.placed"[\s\S]*"total": 12/,
  );
  await page.getByRole("button", { name: "Append" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("tab", { name: "CloudEvent" }).click();
  await dialog.getByLabel("Data as JSON").fill('{"total": 77}');
  await dialog.getByLabel("Partition", { exact: true }).selectOption("1");
  await dialog.getByRole("button", { name: "Append", exact: true }).click();
  await page.locator(".list-row", { hasText: "77" }).waitFor();
});

test("a stream is read from an offset and from a time, by its address", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/streams/history?offset=42");
  const { page } = tab;
  await page.locator(".list-row .offset").first().waitFor();
  assert.equal(await page.locator(".list-row .offset").first().innerText(), "42");
  const time = new Date(1_700_000_000_000 + 100_000).toISOString();
  await tab.go(`#/ns/shop/streams/history?time=${encodeURIComponent(time)}`);
  await page.locator(".list-row .offset", { hasText: "100" }).first().waitFor();
  assert.equal(await page.locator(".list-row .offset").first().innerText(), "100");
  await page.getByLabel("From offset").fill("9999");
  await page.getByRole("button", { name: "Seek" }).click();
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /offset_out_of_range/);
});

test("a link shows its counters and lag, and one is created and deleted", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/links/totals");
  const { page } = tab;
  await page.locator("td >> text=ada").waitFor();
  await tab.go("#/ns/shop/links");
  await page.getByRole("button", { name: "Create link" }).click();
  await page.getByLabel("Name", { exact: true }).fill("by-order");
  await page.getByLabel("Source stream").fill("history");
  await page.getByLabel("Options").fill('{"amount": "one"}');
  assert.deepEqual(await tab.violations(), []);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForURL(/links\/by-order/);
  await page.locator(".badge", { hasText: "running" }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByLabel("Name", { exact: true }).fill("by-order");
  await page.getByRole("button", { name: "Delete link" }).click();
  await page.waitForURL(/#\/ns\/shop\/links$/);
});

test("documents are scrolled, filtered, shown and written", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/collections/items");
  const { page } = tab;
  await page.locator(".rows .list-row").nth(49).waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.locator(".rows .offset", { hasText: "51" }).waitFor();
  await page.getByLabel("Filter").first().fill('{"term": {"kind": "tool"}}');
  await page.getByRole("button", { name: "Apply" }).click();
  await page.locator(".rows .offset").first().filter({ hasText: /^2$/ }).waitFor();
  assert.match(page.url(), /filter=/);
  await page.locator(".rows .list-row").first().click();
  assert.match(await page.getByLabel("Document", { exact: true }).innerText(), /"kind": "tool"/);
  assert.deepEqual(await tab.violations(), []);
});

test("a new document never takes the place of another, and an edit none that has changed since", async () => {
  const documents = `${server.url}/v1/namespaces/shop/collections/items/documents`;
  const text = async (id: number) => (await fetch(`${documents}/${id}`)).text();
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/collections/items");
  const { page } = tab;
  await page.getByRole("button", { name: "Write", exact: true }).click();
  const insert = page.getByRole("button", { name: "Insert" });
  assert.equal(await page.getByLabel("Id", { exact: true }).inputValue(), "");
  assert.ok(await insert.isDisabled());
  const before = await text(1);
  await page.getByLabel("Id", { exact: true }).fill("1");
  await page.getByLabel("Source", { exact: true }).fill('{"title":"by hand","large":12345678901234567890}');
  await insert.click();
  await page.getByRole("alert", { name: "" }).filter({ hasText: "already exists" }).waitFor();
  assert.equal(await text(1), before);
  await page.getByLabel("Id", { exact: true }).fill("900");
  await insert.click();
  await page.locator(".toast", { hasText: "Document 900: created" }).waitFor();
  assert.match(await text(900), /"large":12345678901234567890/);

  await page.getByLabel("By id").fill("900");
  await page.getByRole("button", { name: "Get" }).click();
  await page.getByRole("button", { name: "Edit" }).click();
  assert.deepEqual(await tab.violations(), []);
  const source = page.getByLabel("Source", { exact: true });
  assert.match(await source.innerText(), /12345678901234567890/);
  await ask(documents, { body: { ops: [{ patch: { id: 900, source: { title: "of another" } } }] } });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").filter({ hasText: "has changed since" }).waitFor();
  assert.match(await text(900), /of another/);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Get" }).click();
  await page.getByLabel("Document", { exact: true }).filter({ hasText: "of another" }).waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".toast", { hasText: "Document 900: updated" }).waitFor();
  assert.match(await text(900), /"version":3.*12345678901234567890/);
});

test("a namespace that does not exist is not offered afterwards", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/nowhere/streams");
  const { page } = tab;
  await page.getByRole("alert").waitFor();
  const chosen = page.getByLabel("Namespace", { exact: true });
  assert.ok(!(await chosen.innerText()).includes("nowhere"));
  await tab.go("#/namespaces");
  assert.notEqual(await chosen.inputValue(), "nowhere");
  assert.ok(!(await chosen.innerText()).includes("nowhere"));
});

test("a link that skips every record is not shown as well", async () => {
  await ask(`${server.url}/v1/namespaces/shop/links`, {
    body: { name: "skipping", source: "history", options: { by: { json: "/nothing" } } },
  });
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/links/skipping");
  await tab.page.locator(".badge.bad", { hasText: "skips every record" }).waitFor();
  assert.deepEqual(await tab.violations(), []);
});

test("a collection is created from its schema, kept hot and given an alias", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/collections");
  const { page } = tab;
  await page.getByRole("button", { name: "Create collection" }).click();
  await page.getByLabel("Name", { exact: true }).fill("fresh");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.waitForURL(/collections\/fresh/);
  await page.getByRole("button", { name: "Keep in memory" }).click();
  await page.locator('button[aria-pressed="true"]', { hasText: "Keep in memory" }).waitFor();
  await page.getByRole("button", { name: "Add alias" }).click();
  await page.getByLabel("Alias", { exact: true }).fill("newest");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("button", { name: "Remove the alias newest" }).click();
  await page.locator(".badge", { hasText: "newest" }).waitFor({ state: "detached" });
});

test("the keyboard goes to pages, to the search box and shows its keys", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/links");
  const { page } = tab;
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate("document.activeElement.textContent.trim()"), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate("document.activeElement.id"), "main");
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.waitForURL(/#\/ns\/shop\/streams/);
  await page.getByLabel("Filter by name").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("ord");
  await page.waitForURL(/filter=ord/);
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.evaluate("document.activeElement.blur()");
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  assert.deepEqual(await tab.violations(), []);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("the theme is chosen and kept", async () => {
  await using tab = await Tab.open(browser, server.url, "#/", { scheme: "light" });
  const { page } = tab;
  const background = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
  const light = await background();
  await page.getByRole("button", { name: "Use the dark theme" }).last().click();
  const dark = await background();
  assert.notEqual(dark, light);
  await page.reload();
  await page.locator("h1").waitFor();
  assert.equal(await background(), dark);
});

test("on a phone the menu opens and leads on", async () => {
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/streams", { width: 390, height: 844 });
  const { page } = tab;
  await page.getByRole("button", { name: "Menu" }).click();
  assert.deepEqual(await tab.violations(), []);
  await page.getByRole("link", { name: "Collections" }).click();
  await page.waitForURL(/collections/);
  await page.getByRole("link", { name: "Collections" }).waitFor({ state: "hidden" });
});

test("the guides are read in the console and link to each other", async () => {
  await using tab = await Tab.open(browser, server.url, "#/docs");
  const { page } = tab;
  await page.getByRole("link", { name: "Collections and documents" }).click();
  await page.waitForURL(/#\/docs\/collections/);
  await page.locator(".prose a", { hasText: "How search works" }).first().click();
  await page.waitForURL(/#\/docs\/search/);
});

test("the guides are searched, and a section that was found is shown", async () => {
  await using tab = await Tab.open(browser, server.url, "#/docs");
  const { page } = tab;
  await page.getByRole("searchbox").fill("quotas");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/docs\?q=quotas/);
  await page.getByRole("link", { name: /: Quotas$/ }).click();
  await page.waitForURL(/#\/docs\/security\?at=quotas/);
  await page.locator("#quotas").waitFor();
  assert.deepEqual(await tab.violations(), []);
});

test("a request of the API reference is filled in, sent and answered", async () => {
  await using tab = await Tab.open(browser, server.url, "#/docs");
  const { page } = tab;
  await page.locator("summary", { hasText: "Create a namespace" }).click();
  await page.locator("details[open]").getByRole("button", { name: "Try it" }).click();
  const form = page.getByRole("dialog", { name: "POST /v1/namespaces" });
  await form.getByLabel("Body").fill('{"name":"tried"}');
  assert.deepEqual(await tab.violations(), []);
  await form.getByRole("button", { name: "Send POST" }).click();
  await form.getByText("201 Created").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("summary", { hasText: "Get a namespace's quota" }).click();
  await page.locator("details[open]").getByRole("button", { name: "Try it" }).last().click();
  const quota = page.getByRole("dialog", { name: "GET /v1/namespaces/{ns}/quota" });
  await quota.getByLabel("ns").fill("tried");
  await quota.getByRole("button", { name: "Send GET" }).click();
  await quota.getByText('"used_bytes": 0').waitFor();
});
