import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { ask, base64 } from "../support/http.ts";

const executablePath = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
export const hasChromium = existsSync(executablePath);
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function launch(): Promise<Browser> {
  assert.ok(
    hasChromium,
    `no Chromium at ${executablePath}: install the package chromium, or name its path in CHROMIUM_PATH`,
  );
  const quiet = ["gpu", "quic", "background-networking", "component-update", "sync"].map((each) => `--disable-${each}`);
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--no-first-run", ...quiet] });
}

/** Chromium itself styles what is written over a selection, and its own policy keeps it from that: no fault of ours. */
const policyWatch = `addEventListener("securitypolicyviolation", (event) => {
  if (event.target.className !== "editor") console.error("policy: " + event.violatedDirective + " " + event.blockedURI);
});`;

export interface Visit {
  readonly scheme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
}

/** A tab that fails the test when the page throws or breaks its own policy. */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  readonly faults: string[] = [];
  readonly #context: BrowserContext;
  readonly #url: string;

  private constructor(context: BrowserContext, page: Page, url: string) {
    this.#context = context;
    this.page = page;
    this.#url = url;
    page.on("pageerror", (error) => this.faults.push(error.message));
    page.on("console", (message) => {
      // A refused request is shown by the page itself; what breaks the policy is told by the script below.
      const isTold = /^Failed to load resource|Content Security Policy/.test(message.text());
      if (message.type() === "error" && !isTold) this.faults.push(message.text());
    });
    page.setDefaultTimeout(60_000);
  }

  static async open(browser: Browser, url: string, hash: string, visit: Visit = {}): Promise<Tab> {
    const { scheme = "light", width = 1280, height = 800 } = visit;
    const context = await browser.newContext({
      colorScheme: scheme,
      viewport: { width, height },
      permissions: ["clipboard-read", "clipboard-write"],
      reducedMotion: "reduce",
    });
    await context.addInitScript(policyWatch);
    const tab = new Tab(context, await context.newPage(), url);
    await tab.go(hash);
    return tab;
  }

  async go(hash: string): Promise<void> {
    await this.page.goto(`${this.#url}/${hash}`);
    await this.page.locator("h1, .empty h2").first().waitFor();
  }

  /** What axe finds; every rule counts. */
  async violations(): Promise<string[]> {
    if ((await this.page.evaluate("typeof axe")) === "undefined") await this.page.evaluate(axeSource);
    const found = (await this.page.evaluate("axe.run()")) as {
      violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
    };
    return found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
  }

  /** Whether the page is wider than the window, which a phone would have to scroll sideways. */
  async overflow(): Promise<number> {
    return Number(await this.page.evaluate("document.documentElement.scrollWidth - innerWidth"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    assert.deepEqual(this.faults, []);
  }
}

const fruits = ["apple", "pear", "corer", "knife", "basket", "orchard", "press", "ladder"];

/** A namespace with a stream, a link and a collection. */
export async function seed(url: string, headers: Record<string, string> = {}): Promise<void> {
  const post = async (path: string, body: unknown, more: Record<string, string> = {}) => {
    const { status, text } = await ask(url + path, { body, headers: { ...headers, ...more } });
    assert.ok(status < 300, `${path}: ${status} ${text}`);
  };
  await post("/v1/namespaces", { name: "shop" });
  await post("/v1/namespaces", { name: "empty" });
  const shop = "/v1/namespaces/shop";
  await post(`${shop}/streams`, { name: "orders", partitions: 2, retention: { max_age_ms: 604_800_000 } });
  const records = Array.from({ length: 150 }, (_, i) => ({
    key: base64("ada"),
    value: base64(JSON.stringify({ order: i, total: 5 + (i % 7) })),
    timestamp_ms: 1_700_000_000_000 + i * 1_000,
  }));
  await post(`${shop}/streams`, { name: "history" });
  await post(`${shop}/streams/history/partitions/0/records`, { records });
  await post(`${shop}/streams/orders/partitions/0/records`, {
    records: records.map(({ timestamp_ms: _, ...each }) => each),
  });
  await post(
    `${shop}/streams/orders/events?partition=1`,
    { specversion: "1.0", id: "e1", source: "/shop", type: "order.placed", data: { total: 12 } },
    { "content-type": "application/cloudevents+json" },
  );
  await post(`${shop}/links`, { name: "totals", source: "orders", options: { amount: { json: "/total" } } });
  await post(`${shop}/collections`, {
    name: "items",
    schema: {
      fields: [
        { name: "title", kind: { text: { analyzer: "english", positions: true } } },
        { name: "kind", kind: "keyword", fast: true },
        { name: "price", kind: "f64" },
      ],
      vectors: [{ name: "v", dim: 4, distance: "cosine" }],
    },
  });
  const ops = Array.from({ length: 120 }, (_, i) => ({
    upsert: {
      id: i + 1,
      source: {
        title: `${i % 3 === 0 ? "red" : "green"} ${fruits[i % 8]} number ${i}`,
        kind: i % 2 === 0 ? "fruit" : "tool",
        price: i / 2,
      },
      vectors: { v: [Math.cos(i), Math.sin(i), i % 2, 0.5] },
    },
  }));
  await post(`${shop}/collections/items/documents`, { ops });
  await post(`${shop}/aliases`, { actions: [{ add: { alias: "catalogue", collection: "items" } }] });
}
