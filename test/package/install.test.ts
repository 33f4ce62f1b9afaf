/** The packages as people get them: packed, installed from the files into an empty folder, and used from there. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { listeningUrl, temporaryFolder } from "../support/process.ts";
import { root } from "../support/source.ts";
import { eventually } from "../support/streams.ts";

const run = promisify(execFile);
let folder: string;
let server: ChildProcess | undefined;
let url: string;
let live: string;

/** What a shell of the user's has: nothing of this project's, in particular not its Node. */
const env: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: (process.env["PATH"] ?? "")
    .split(":")
    .filter((part) => !part.includes("node_modules"))
    .join(":"),
  npm_config_audit: "false",
  npm_config_fund: "false",
};

async function pack(from: string): Promise<string> {
  const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: from, env });
  return join(folder, stdout.trim().split("\n").at(-1)!);
}

async function emptyProject(name: string, packages: readonly string[]): Promise<string> {
  const project = join(folder, name);
  await mkdir(project);
  await writeFile(join(project, "package.json"), JSON.stringify({ name, version: "1.0.0", type: "module" }));
  await run("npm", ["install", "--silent", ...packages], { cwd: project, env });
  return project;
}

before(async () => {
  folder = await temporaryFolder();
  const project = await emptyProject("service", [await pack(root)]);
  server = spawn(join(project, "node_modules/.bin/native-engine"), ["serve", "--listen", "127.0.0.1:0"], {
    cwd: project,
    env: {
      ...env,
      SERVICE_POSTGRES_LISTEN: "127.0.0.1:0",
      SERVICE_MYSQL_LISTEN: "off",
      SERVICE_LIVE_LISTEN: "127.0.0.1:0",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const logs: string[] = [];
  url = await listeningUrl(server, logs);
  live = `http://${/"live":"([^"]+)"/.exec(logs.join("\n"))![1]}`;
});
after(async () => {
  if (server !== undefined && server.exitCode === null) {
    server.kill("SIGTERM");
    await once(server, "exit");
  }
  await rm(folder, { recursive: true, force: true });
});

const bin = () => join(folder, "service/node_modules/.bin/native-engine");

test("the command line works, with the package's own version", async () => {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  assert.equal((await run(bin(), ["--version"], { env })).stdout, `${version}\n`);
  const cli = (...args: string[]) => run(bin(), [...args, "--url", url], { env });
  await cli("ns", "create", "shop");
  await cli("stream", "create", "orders", "-n", "shop");
  assert.match((await cli("ns", "list")).stdout, /shop/);
});

test("live functions are deployed from a folder of the user's and run", async () => {
  const project = join(folder, "service");
  await mkdir(join(project, "functions"));
  await writeFile(
    join(project, "functions/schema.ts"),
    `import { defineSchema, defineTable, v } from "native-engine/live";
const schema = defineSchema({ notes: defineTable({ text: v.string() }) });
export { schema as default };
`,
  );
  await writeFile(
    join(project, "functions/notes.ts"),
    `import { mutation, query, v } from "native-engine/live";
export const add = mutation({
  args: { text: v.string() },
  handler: async (ctx, { text }) => await ctx.db.insert("notes", { text }),
});
export const count = query({ args: {}, handler: async (ctx) => await ctx.db.query("notes").count() });
`,
  );
  const cli = (...args: string[]) =>
    run(bin(), ["live", ...args, "-n", "shop", "--url", url, "--live-url", live], { cwd: project, env });
  assert.match((await cli("deploy", "functions")).stdout, /^version 1, 2 functions\n/);
  await cli("run", "notes:add", '{"text":"first"}');
  assert.equal((await cli("run", "notes:count")).stdout, "1\n");
  assert.match(await readFile(join(project, "functions/_generated/api.ts"), "utf8"), /notes/);
});

test("what browsers only need is not installed, nor anything that a user's machine would have to build", async () => {
  const installed = await readdir(join(folder, "service/node_modules"));
  for (const name of ["preact", "@codemirror", "uplot", "typescript", "openai", "@huggingface"]) {
    assert.ok(!installed.includes(name), name);
  }
});

test("the console, the docs and the API's description are there", async () => {
  const page = await (await fetch(`${url}/`)).text();
  const [script] = /\/console\/main-[^"]+\.js/.exec(page) ?? [];
  assert.ok(script !== undefined, page.slice(0, 500));
  assert.equal((await fetch(url + script)).status, 200);
  assert.match(await (await fetch(`${url}/docs`)).text(), /streams/i);
  assert.equal((await fetch(`${url}/openapi.json`)).status, 200);
});

test("documents are written, sealed into the columnar dataset, searched and read with SQL", async () => {
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    assert.ok(response.ok, `${path} ${response.status} ${await response.clone().text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  await post("/v1/namespaces/shop/collections", {
    name: "items",
    schema: { fields: [{ name: "t", kind: "text" }], vectors: [{ name: "v", dim: 2, distance: "cosine" }] },
  });
  const op = { upsert: { id: 1, source: { t: "an apple" }, vectors: { v: [1, 0] } } };
  await post("/v1/namespaces/shop/collections/items/documents", { ops: [op] });
  const scan = () => post("/v1/namespaces/shop/collections/items/scan", {});
  await eventually(scan, ({ lance }) => lance !== null);
  const retrieve = [{ text: { field: "t", query: "apple" } }, { vector: { field: "v", query: [1, 0] } }];
  const found = await post("/v1/namespaces/shop/query", { from: "items", retrieve });
  assert.equal((found["rows"] as unknown[]).length, 1);
  const counted = await post("/v1/namespaces/shop/sql", { query: "SELECT count(*) AS n FROM items" });
  assert.deepEqual(counted["rows"], [{ n: 1 }]);
});

test("the client works from its own package, and as a vector store of LangChain", async () => {
  const client = await pack(join(root, "build/client"));
  const langchain = JSON.parse(await readFile(join(root, "package.json"), "utf8")).devDependencies["@langchain/core"];
  const project = await emptyProject("program", [client, `@langchain/core@${langchain}`]);
  await writeFile(
    join(project, "program.js"),
    `import assert from "node:assert/strict";
import { Client } from "@native-engine/client";
import { NativeEngineVectorStore } from "@native-engine/client/langchain";
import { Embeddings } from "@langchain/core/embeddings";

const client = new Client(process.argv[2]);
const orders = client.namespace("shop").stream("orders");
await orders.append(0, [{ key: "ada", value: { total: 12 } }], { format: "json" });
for await (const { key, value } of orders.tail({ from: "start", format: "json" })) {
  assert.deepEqual([key, value], ["ada", { total: 12 }]);
  break;
}

class Letters extends Embeddings {
  async embedQuery(text) {
    const vector = new Array(26).fill(0);
    for (const letter of text.toLowerCase()) if (letter >= "a" && letter <= "z") vector[letter.charCodeAt(0) - 97]++;
    return vector;
  }
  embedDocuments(texts) {
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}
const store = await NativeEngineVectorStore.fromTexts(
  ["the tide tables", "a book of moons", "moons and tides"],
  [{ topic: "sea" }, { topic: "sky" }, { topic: "sea" }],
  new Letters({}),
  { client, namespace: "shop", collection: "passages", metadataFields: { topic: "keyword" }, hybrid: true },
);
const texts = (documents) => documents.map(({ pageContent }) => pageContent);
assert.deepEqual(texts(await store.similaritySearch("moons", 1, { topic: "sky" })), ["a book of moons"]);
assert.deepEqual(texts(await store.similaritySearch("moons", 5, { term: { topic: "sea" } })).sort(), ["moons and tides", "the tide tables"]);
const diverse = await store.maxMarginalRelevanceSearch("moons", { k: 2, fetchK: 3 });
assert.equal(diverse.length, 2);
assert.deepEqual(diverse[0].metadata, { topic: "sky" });
const [id] = await store.addDocuments([{ pageContent: "first", metadata: {} }], { ids: ["doc-1"] });
await store.addDocuments([{ pageContent: "second", metadata: {} }], { ids: [id] });
assert.deepEqual(texts(await store.asRetriever(1).invoke("second")), ["second"]);
await store.delete({ ids: [id] });
await store.delete({ filter: { topic: "sea" } });
assert.deepEqual(texts(await store.similaritySearch("moons", 5)), ["a book of moons"]);
console.log("done");
`,
  );
  const { stdout } = await run(process.execPath, ["program.js", url], { cwd: project, env });
  assert.equal(stdout, "done\n");
});
