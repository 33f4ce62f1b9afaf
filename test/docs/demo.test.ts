import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { promisify } from "node:util";
import { Client } from "../../src/client/index.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { root } from "../support/source.ts";

const run = promisify(execFile);

test("the demo loads its articles, shows where to search them, and changes nothing when run again", async () => {
  await using server = await ServerProcess.start();
  const env = { ...process.env, SERVICE_URL: server.url };
  const demo = () => run(process.execPath, ["scripts/demo.ts", "--no-open"], { cwd: root, env });
  const first = await demo();
  assert.match(first.stdout, /A server runs at http/);
  const ns = new Client(server.url).namespace("demo");
  const count = await ns.collection("articles").count();
  assert.ok(count >= 300 && count <= 600, `${count} articles`);
  const links = [...first.stdout.matchAll(/http:\S+#\/ns\/demo\/search\?(\S+)/g)].map(([, query]) => query!);
  const queries = JSON.parse(readFileSync(`${root}/demo/queries.json`, "utf8")) as { text: string }[];
  assert.deepEqual(
    links.map((query) => new URLSearchParams(query).get("text")),
    queries.map(({ text }) => text),
  );
  const before = (await ns.stream("reads").get()).partitions;
  assert.equal((await demo()).stdout, first.stdout);
  assert.equal(await ns.collection("articles").count(), count);
  assert.deepEqual((await ns.stream("reads").get()).partitions, before);
});

test("the demo starts a server where the settings of serve say, and ends it when told to", async (t) => {
  const dataDir = await temporaryFolder();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const env = {
    ...process.env,
    SERVICE_URL: "",
    SERVICE_LISTEN: "127.0.0.1:0",
    SERVICE_DATA_DIR: dataDir,
    SERVICE_POSTGRES_LISTEN: "off",
    SERVICE_MYSQL_LISTEN: "off",
    SERVICE_LIVE_LISTEN: "off",
  };
  const { stdout } = await run(process.execPath, ["scripts/demo.ts", "--no-open", "--once"], { cwd: root, env });
  const [, url, data] =
    /^Started a server at (http:\/\/127\.0\.0\.1:\d+), with its data in (.+)\.$/m.exec(stdout) ?? [];
  assert.ok(url !== undefined, stdout);
  assert.equal(data, dataDir);
  assert.match(stdout, new RegExp(`--url ${url}$`, "m"));
  assert.ok(readdirSync(dataDir).includes("store"));
  await assert.rejects(fetch(`${url}/health`), "the server has ended");
});

test("the demo's data are small, and every vector has the schema's length", () => {
  const folder = `${root}/demo`;
  const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(`${folder}/${name}`).size, 0);
  assert.ok(bytes < 2 * 1024 * 1024, `${bytes} bytes`);
  const { vectors } = JSON.parse(readFileSync(`${folder}/schema.json`, "utf8"));
  for (const line of readFileSync(`${folder}/articles.jsonl`, "utf8").trim().split("\n")) {
    assert.equal(JSON.parse(line).vectors.meaning.length, vectors[0].dim);
  }
});
