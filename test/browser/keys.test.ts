import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { launch, Tab } from "./harness.ts";

const boss = "boss-key-0123456789abcdef";
const reader = "reader-key-0123456789abcdef";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

async function signedIn(url: string, key: string, path: string): Promise<Tab> {
  const tab = await Tab.open(browser, url, path);
  await tab.page.getByLabel("API key").fill(key);
  await tab.page.getByRole("button", { name: "Sign in" }).click();
  return tab;
}

test("an admin makes a key, which is shown once and works, revokes it, and sets a quota", async () => {
  await using server = await ServerProcess.start({
    env: { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `boss:admin:${boss},bob:reader:${reader}` },
  });
  const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
  await ask(`${server.url}/v1/namespaces`, { body: { name: "shop" }, ...as(boss) });
  await using tab = await signedIn(server.url, boss, "#/keys");
  const { page } = tab;
  await page.getByText("No keys yet").waitFor();
  assert.deepEqual(await tab.violations(), []);
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByLabel("Name", { exact: true }).fill("till");
  await page.getByLabel("Role").selectOption("writer");
  await page.getByRole("dialog").getByLabel("Namespace").selectOption("shop");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const shown = page.getByRole("dialog").locator("pre, code").first();
  await shown.waitFor();
  const key = /nek_[\w-]+/.exec(await shown.innerText())![0];
  assert.equal((await ask(`${server.url}/v1/namespaces/shop/streams`, as(key))).status, 200);
  await page.keyboard.press("Escape");
  await page.locator(".list-row >> text=till").waitFor();
  assert.deepEqual(await tab.violations(), []);
  assert.ok(!(await page.content()).includes(key), "once");
  await page.getByRole("button", { name: "Revoke till" }).click();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.locator(".list-row >> text=revoked").waitFor();
  assert.equal((await ask(`${server.url}/v1/namespaces/shop/streams`, as(key))).status, 401);

  await page.goto(`${server.url}/#/namespaces`);
  await page.getByRole("button", { name: "Quota of shop" }).click();
  await page.getByText("take 0 B").waitFor();
  assert.deepEqual(await tab.violations(), []);
  await page.getByLabel("Bytes at most").fill("2 KiB");
  await page.getByLabel("Requests per second at most").fill("100");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Quota of shop changed").waitFor();
  const quota = await ask(`${server.url}/v1/namespaces/shop/quota`, as(boss));
  assert.deepEqual(quota.json, { max_bytes: 2048, max_requests_per_second: 100, used_bytes: 0 });

  await using other = await signedIn(server.url, reader, "#/namespaces");
  await other.page.locator(".list-row >> text=shop").waitFor();
  assert.equal(await other.page.getByRole("link", { name: "API keys" }).count(), 0);
});
