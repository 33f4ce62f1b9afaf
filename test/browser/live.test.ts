import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { chatServer } from "../../demo/chat/serve.ts";
import { ask } from "../support/http.ts";
import { LiveNamespaceClient } from "../support/live.ts";
import { runCommand, ServerProcess } from "../support/process.ts";
import { root } from "../support/source.ts";
import { launch, Tab } from "./harness.ts";

test("two browsers see each other's messages in the sample app, and a reload sees them all", {
  timeout: 120_000,
}, async () => {
  // The page's address has to be known to the server, and the server's to the page.
  const pages = (await chatServer({ url: "", namespace: "chat" })).listen(0, "127.0.0.1");
  await once(pages, "listening");
  const { port } = pages.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  await using server = await ServerProcess.start({ env: { SERVICE_CORS_ORIGINS: origin } });
  pages.close();
  await once(pages, "close");
  const chat = (await chatServer({ url: server.live, namespace: "chat" })).listen(port, "127.0.0.1");
  await ask(`${server.url}/v1/namespaces`, { body: { name: "chat" } });
  const env = { SERVICE_LIVE_URL: server.live, SERVICE_URL: server.url };
  const deployed = await runCommand(["live", "deploy", join(root, "demo/chat/functions"), "-n", "chat"], env);
  assert.equal(deployed.code, 0, deployed.stderr);
  const browser = await launch();
  try {
    const open = async (name: string) => {
      const page = await (await browser.newContext()).newPage();
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(error.message));
      await page.goto(`${origin}/?name=${name}`);
      return { page, faults };
    };
    const [ann, bob] = [await open("ann"), await open("bob")];
    const say = async ({ page }: typeof ann, text: string) => {
      await page.getByLabel("message").fill(text);
      await page.getByRole("button", { name: "Send" }).click();
    };
    const sees = async ({ page }: typeof ann, text: string) => {
      await page.locator("li", { hasText: text }).waitFor();
    };
    await say(ann, "hello bob");
    await sees(bob, "ann hello bob");
    await say(bob, "hello ann");
    await sees(ann, "bob hello ann");
    await sees(bob, "bob hello ann");
    await ann.page.reload();
    await sees(ann, "ann hello bob");
    assert.deepEqual(await ann.page.locator("li").allTextContents(), ["ann hello bob", "bob hello ann"]);
    assert.deepEqual([ann.faults, bob.faults], [[], []]);
  } finally {
    await browser.close();
    chat.closeAllConnections();
    chat.close();
  }
});

test("the console makes a live table, edits its documents, runs functions, and shows what ran and who watches", {
  timeout: 120_000,
}, async () => {
  await using server = await ServerProcess.start();
  const live = await LiveNamespaceClient.create(server, "n");
  const source = `import { query, mutation, v } from "native-engine/live";
export const count = query({ args: { table: v.string() }, handler: async (ctx, { table }) => {
  console.log("counting", table);
  return "there are " + (await ctx.db.query(table).count());
} });`;
  await live.client.deploy({ namespace: "n", modules: [{ path: "f", source }] });
  const browser = await launch();
  try {
    await using tab = await Tab.open(browser, server.url, "#/ns/n/live");
    const { page } = tab;
    await page.getByRole("button", { name: "Create table" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("tasks");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.locator("text=No documents").waitFor();
    const write = async (text: string, submit: string) => {
      await page.locator("dialog .cm-content").click();
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(text);
      await page.getByRole("button", { name: submit, exact: true }).last().click();
      await page.locator("dialog").waitFor({ state: "detached" });
    };
    await page.getByRole("button", { name: "Insert" }).click();
    await write('{"title":"one"}', "Insert");
    await page.locator(".list-row", { hasText: "one" }).click();
    await write('{"title":"changed"}', "Save");
    await page.locator(".list-row", { hasText: "changed" }).waitFor();
    // What another writes shows by itself.
    await live.mutate("_tables:insert", { table: "tasks", document: { title: "from outside" } });
    await page.locator(".list-row", { hasText: "from outside" }).waitFor();
    assert.deepEqual(await tab.violations(), []);
    await page.getByRole("tab", { name: "Functions" }).click();
    await page.locator(".list-row", { hasText: "f:count" }).click();
    await page.locator(".cm-content").click();
    await page.keyboard.insertText('{"table":"tasks"}');
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator("text=there are 2").waitFor();
    await page.getByRole("tab", { name: "Runs" }).click();
    await page.locator("td", { hasText: "counting tasks" }).waitFor();
    await using watch = live.watch(["_tables:count", { table: "tasks" }], ["f:count", { table: "tasks" }]);
    await watch.until((shown) => shown.size === 2);
    await page.getByRole("tab", { name: "Sessions" }).click();
    await page.locator("td", { hasText: "_tables:count, f:count" }).waitFor();
    assert.deepEqual(await tab.violations(), []);
    assert.deepEqual(tab.faults, []);
  } finally {
    await browser.close();
  }
});
