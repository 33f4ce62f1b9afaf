import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { root } from "../support/source.ts";
import { eventually } from "../support/streams.ts";

let server: ServerProcess;
const url = (path: string) => `${server.url}/v1/namespaces${path}`;
const scrape = async () => (await ask(`${server.url}/metrics`)).text;
/** The value of a metric with these labels; undefined where there is none. */
function metric(text: string, name: string): number | undefined {
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

before(async () => {
  server = await ServerProcess.start();
  await ask(url(""), { body: { name: "shop" } });
  const schema = { fields: [{ name: "t", kind: "text" }], vectors: [{ name: "v", dim: 2 }] };
  await ask(url("/shop/collections"), { body: { name: "items", schema } });
  await ask(url("/shop/streams"), { body: { name: "s" } });
  await ask(url("/shop/links"), { body: { name: "counts", source: "s" } });
});
after(() => server[Symbol.asyncDispose]());

test("the disk, backlogs, seals, links and queries are told", async () => {
  const op = { upsert: { id: 1, source: { t: "a" }, vectors: { v: [1, 0] } } };
  await ask(url("/shop/collections/items/documents"), { body: { ops: [op] } });
  const labels = '{namespace="shop",collection="items"}';
  assert.equal(metric(await scrape(), `service_collection_backlog_records${labels}`), 1);
  await eventually(scrape, (text) => metric(text, `service_collection_backlog_records${labels}`) === 0);
  const retrieve = {
    text: [{ text: { field: "t", query: "a" } }],
    vector: [{ vector: { field: "v", query: [1, 0] } }],
    hybrid: [{ text: { field: "t", query: "a" } }, { vector: { field: "v", query: [1, 0] } }],
    filter: [],
  };
  for (const each of Object.values(retrieve)) {
    assert.equal((await ask(url("/shop/query"), { body: { from: "items", retrieve: each } })).status, 200);
  }
  const text = await scrape();
  for (const kind of Object.keys(retrieve)) {
    assert.equal(metric(text, `service_query_seconds_count{kind="${kind}"}`), 1, kind);
  }
  assert.ok(metric(text, "service_collection_seals_total")! >= 1);
  assert.equal(metric(text, 'service_link_stuck{namespace="shop",link="counts"}'), 0);
  assert.equal(metric(text, 'service_link_skipped_records_total{namespace="shop",link="counts"}'), 0);
  const [free, size] = [metric(text, "service_disk_free_bytes")!, metric(text, "service_disk_size_bytes")!];
  assert.ok(free > 0 && free <= size);
});

/** Metrics that a text of rules or panels names, without the endings of histograms. */
function named(text: string): Set<string> {
  const names = text.match(/\b(?:service|nodejs|process)_[a-z0-9_]+/g) ?? [];
  return new Set(names.map((name) => name.replace(/_(?:bucket|count|sum)$/, "")));
}

for (const file of ["deploy/alerts.yml", "deploy/grafana-dashboard.json"]) {
  test(`${file} names metrics that there are`, async () => {
    const text = await scrape();
    const known = new Set(Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name!));
    const wanted = named(readFileSync(join(root, file), "utf8"));
    assert.ok(wanted.size > 8);
    for (const name of wanted) assert.ok(known.has(name), name);
  });
}

test("promtool takes the alert rules and the metrics", async (t) => {
  const isThere = spawnSync("promtool", ["--version"]).error === undefined;
  if (!isThere) return t.skip("promtool is not installed");
  const rules = spawnSync("promtool", ["check", "rules", join(root, "deploy/alerts.yml")], { encoding: "utf8" });
  assert.equal(rules.status, 0, rules.stdout + rules.stderr);
  const metrics = spawnSync("promtool", ["check", "metrics"], { encoding: "utf8", input: await scrape() });
  // 3 is advice on names, some of them the runtime's own; anything else is a text that can't be read.
  assert.ok(metrics.status === 0 || metrics.status === 3, metrics.stderr);
});
