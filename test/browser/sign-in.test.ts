import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { openAuthStore } from "../../src/composition/auth-store.ts";
import { ApiKeys } from "../../src/engine/auth/keys.ts";
import { IdentityProvider } from "../support/identity-provider.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { launch, seed, Tab } from "./harness.ts";

const keys = { admin: "admin-key-0123456789abcdef", reader: "reader-key-0123456789abcdef" } as const;

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

test("an API key lets in, stays for the tab and is forgotten by signing out", async () => {
  await using server = await ServerProcess.start({
    env: { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `ada:admin:${keys.admin},bob:reader:${keys.reader}` },
  });
  await seed(server.url, { authorization: `Bearer ${keys.admin}` });
  for (const scheme of ["light", "dark"] as const) {
    await using first = await Tab.open(browser, server.url, "#/ns/shop/streams", { scheme });
    assert.equal(await first.page.locator("h1").innerText(), "Sign in");
    assert.deepEqual(await first.violations(), []);
  }
  await using tab = await Tab.open(browser, server.url, "#/ns/shop/streams");
  const { page } = tab;
  await page.getByLabel("API key").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /unauthenticated/);
  await page.getByLabel("API key").fill(keys.reader);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".list-row >> text=orders").waitFor();
  assert.ok(!page.url().includes(keys.reader));
  await page.reload();
  await page.locator(".list-row >> text=orders").waitFor();
  assert.equal(
    await page.evaluate("localStorage.length === 0 || !JSON.stringify(localStorage).includes('reader-key')"),
    true,
  );
  // A reader may look; what more there is, is not offered.
  assert.equal(await page.getByRole("button", { name: "Create stream" }).count(), 0);
  await page.locator(".list-row >> text=orders").click();
  await page.getByRole("button", { name: "Live tail" }).click();
  await page.locator(".list-row .offset >> text=149").waitFor();
  for (const name of ["Append", "Retention", "Delete"]) {
    assert.equal(await page.getByRole("button", { name }).count(), 0, name);
  }
  await tab.go("#/docs/query");
  await page.getByText("Fields of a query").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("a key for one namespace lands there and is offered what its role allows", async () => {
  const dataDir = await temporaryFolder();
  const store = openAuthStore(dataDir);
  const made = new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() });
  const { key } = await made.create({ name: "carol", role: "writer", namespaces: ["shop"] });
  await store.close();
  await using server = await ServerProcess.start({
    dataDir,
    env: { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `ada:admin:${keys.admin}` },
  });
  await seed(server.url, { authorization: `Bearer ${keys.admin}` });
  await using tab = await Tab.open(browser, server.url, "");
  const { page } = tab;
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".list-row >> text=orders").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.equal(await page.getByRole("link", { name: "Overview" }).count(), 0);
  assert.deepEqual(await page.getByLabel("Namespace", { exact: true }).locator("option").allInnerTexts(), ["shop"]);
  assert.equal(await page.getByRole("button", { name: "Create stream" }).count(), 0);
  await page.locator(".list-row >> text=orders").click();
  await page.getByRole("button", { name: "Append" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Delete" }).count(), 0);
});

/** The part of a provider that people and browsers see, in front of the one that servers see. */
async function startProvider(provider: IdentityProvider) {
  const asked: URLSearchParams[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    response.setHeader("access-control-allow-origin", "*");
    if (url.pathname === "/authorize") {
      asked.push(url.searchParams);
      const back = new URL(url.searchParams.get("redirect_uri")!);
      back.searchParams.set("code", "the-code");
      back.searchParams.set("state", url.searchParams.get("state")!);
      response.writeHead(302, { location: back.href }).end();
      return;
    }
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    asked.push(new URLSearchParams(Buffer.concat(parts).toString()));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ access_token: await provider.token() }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    asked,
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test("people sign in at the identity provider, with a proof, and come back to where they were", async () => {
  await using provider = await IdentityProvider.start(new NodeClock());
  await using front = await startProvider(provider);
  await using server = await ServerProcess.start({
    env: {
      SERVICE_AUTH_MODE: "oidc",
      SERVICE_OIDC_ISSUER: provider.issuer,
      SERVICE_OIDC_AUDIENCE: provider.audience,
      SERVICE_OIDC_CLIENT_ID: "console",
      SERVICE_OIDC_DEFAULT_ROLE: "admin",
    },
  });
  await using tab = await Tab.open(browser, server.url, "#/namespaces");
  const { page } = tab;
  // The test's provider has no pages: its discovery is answered here, and its token endpoint stands on its own origin.
  const tokenEndpoint = `${new URL(provider.issuer).origin}/token`;
  await page.route(`${provider.issuer}/.well-known/openid-configuration`, (route) =>
    route.fulfill({
      json: { authorization_endpoint: `${front.url}/authorize`, token_endpoint: tokenEndpoint },
      headers: { "access-control-allow-origin": "*" },
    }),
  );
  await page.route(tokenEndpoint, async (route) => {
    const response = await route.fetch({ url: `${front.url}/token` });
    await route.fulfill({ response });
  });
  await page.getByRole("button", { name: /^Sign in with/ }).click();
  await page.getByRole("heading", { name: "Namespaces", exact: true }).waitFor();
  assert.match(page.url(), /\/#\/namespaces$/);
  await page.getByText("Ada Example").waitFor();
  const [authorize, token] = front.asked;
  assert.equal(authorize?.get("client_id"), "console");
  assert.equal(authorize?.get("code_challenge_method"), "S256");
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token?.get("code_verifier") ?? ""));
  assert.equal(Buffer.from(digest).toString("base64url"), authorize?.get("code_challenge"));
  assert.equal(token?.get("code"), "the-code");
});

test("a sign-in that this tab did not begin is refused", async () => {
  await using provider = await IdentityProvider.start(new NodeClock());
  await using server = await ServerProcess.start({
    env: {
      SERVICE_AUTH_MODE: "oidc",
      SERVICE_OIDC_ISSUER: provider.issuer,
      SERVICE_OIDC_AUDIENCE: provider.audience,
      SERVICE_OIDC_CLIENT_ID: "console",
    },
  });
  await using tab = await Tab.open(browser, server.url, "?code=stolen&state=guessed");
  await tab.page.getByText("This sign-in was not begun in this tab.").waitFor();
  assert.ok(!tab.page.url().includes("stolen"));
});

test("a token that is pasted lets in too", async () => {
  await using provider = await IdentityProvider.start(new NodeClock());
  await using server = await ServerProcess.start({
    env: { SERVICE_AUTH_MODE: "oidc", SERVICE_OIDC_ISSUER: provider.issuer, SERVICE_OIDC_AUDIENCE: provider.audience },
  });
  await using tab = await Tab.open(browser, server.url, "#/namespaces");
  const { page } = tab;
  assert.equal(await page.getByRole("button", { name: /^Sign in with/ }).count(), 0);
  await page.getByLabel("Access token").fill(await provider.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Namespaces", exact: true }).waitFor();
});
