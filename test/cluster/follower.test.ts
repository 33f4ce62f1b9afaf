import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createFlightSqlClient } from "@lakehouse-rs/flight-sql-client";
import { tableFromIPC } from "apache-arrow";
import { QueryService, SearchRequestSchema } from "../../src/gen/service/collection/v1/query_pb.ts";
import { hasChromium, launch, Tab } from "../browser/harness.ts";
import { NodeCluster } from "../support/cluster.ts";
import { type Ask, ask, base64 } from "../support/http.ts";
import { hasJava, KafkaCluster } from "../support/kafka.ts";
import { transports } from "../wire/rpc/clients.ts";

const body = { name: "body", source_path: "body", kind: { text: { analyzer: "standard" } }, indexed: true };
const triesMax = 200;

/** What a node has passed on and answered itself. */
async function counts(url: string): Promise<{ passedOn: number; answered: number }> {
  const { text } = await ask(`${url}/metrics`);
  const read = (name: string) => Number(new RegExp(`^service_cluster_${name}_total (\\d+)$`, "m").exec(text)?.[1]);
  return { passedOn: read("passed_on"), answered: read("answered") };
}

/** Asks again as long as nobody can answer: on a busy machine an owner loses its lease now and then. */
async function done(url: string, given: Ask = {}) {
  for (let tries = 1; ; tries++) {
    const { status, text, json } = await ask(url, given);
    if (status < 300) return json;
    assert.ok(status === 503 && tries < triesMax, `${url}: ${status} ${text}`);
    await sleep(50);
  }
}

const withToken = (token: unknown) => ({ "service-consistency-token": JSON.stringify(token) });

/** Where three nodes stand for a while. */
interface Stand {
  readonly owner: number;
  readonly standby: string;
  readonly other: string;
  readonly namespace: string;
  readonly records: string;
}

/** Runs a scenario again where the owner was another one by its end. */
async function calmly(cluster: NodeCluster, scenario: (stand: Stand) => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    const owner = await cluster.owner();
    const before = await cluster.readiness(owner);
    const standby = cluster.urlOf((owner + 1) % 3);
    const namespace = `${standby}/v1/namespaces/n`;
    const records = `${namespace}/streams/s/partitions/0/records`;
    let fault: unknown;
    try {
      await scenario({ owner, standby, other: cluster.urlOf((owner + 2) % 3), namespace, records });
    } catch (error) {
      fault = error;
    }
    const after = await cluster.readiness(await cluster.owner());
    if (after?.epoch === before?.epoch || tries === 5) {
      if (fault !== undefined) throw fault;
      return;
    }
  }
}

const name = "standbys answer eventual reads and reads with a token, and pass all else on";
test(name, { skip: !(await hasJava()) }, async (t) => {
  await using kafka = await KafkaCluster.start();
  await using cluster = await NodeCluster.start(kafka, `follower-${process.pid}`);
  await calmly(cluster, async ({ standby, namespace }) => {
    for (const [url, made] of [
      [`${standby}/v1/namespaces`, { name: "n" }],
      [`${namespace}/streams`, { name: "s" }],
      [`${namespace}/collections`, { name: "c", schema: { fields: [body] } }],
      [`${namespace}/links`, { name: "l", source: "s" }],
    ] as const) {
      // One whose outcome was not known may be there already.
      let reply = await ask(url, { body: made });
      while (reply.status === 503) reply = await ask(url, { body: made });
      assert.ok(reply.status < 300 || reply.status === 409, reply.text);
    }
  });
  let sent = 0;
  const append = async (url: string) => {
    const value = `${++sent}`;
    const { base_offset, token } = await done(url, { body: { records: [{ key: base64("k"), value: base64(value) }] } });
    return { value: base64(value), offset: base_offset as number, token };
  };

  await t.test("a read with the token of a write sees it, on either standby", () =>
    calmly(cluster, async ({ standby, other, records }) => {
      for (let i = 0; i < 10; i++) {
        const { value, offset, token } = await append(records);
        const headers = withToken(token);
        for (const url of [standby, other]) {
          const before = await counts(url);
          const page = await done(`${records.replace(standby, url)}?offset=${offset}`, { headers });
          assert.equal(page.records[0].value, value);
          const link = await done(`${url}/v1/namespaces/n/links/l`, { headers });
          assert.equal(link.lag[0].records, 0);
          assert.deepEqual(await counts(url), { ...before, answered: before.answered + 2 });
        }
      }
    }),
  );

  await t.test("documents, queries and SQL", () =>
    calmly(cluster, async ({ standby, namespace }) => {
      // So many that segments take the place of others meanwhile.
      for (let id = 0; id < 120; id++) {
        const ops = [{ upsert: { id, source: { body: `word${id} common` } } }];
        const { token } = await done(`${namespace}/collections/c/documents`, { body: { ops } });
        if (id % 10 > 0) continue;
        const headers = withToken(token);
        const before = await counts(standby);
        const got = await done(`${namespace}/collections/c/documents/get`, { body: { ids: [id] }, headers });
        assert.equal(got.documents[0].source.body, `word${id} common`);
        const retrieve = [{ text: { field: "body", query: `word${id}` } }];
        const { rows } = await done(`${namespace}/query`, { body: { from: "c", retrieve }, headers });
        assert.deepEqual(
          rows.map(({ _id }: { _id: number }) => _id),
          [id],
        );
        const query = `SELECT count(*) AS n FROM collections.c WHERE _id = ${id}`;
        const sql = await done(`${namespace}/sql`, { body: { query }, headers });
        assert.deepEqual(sql.rows, [{ n: 1 }]);
        assert.deepEqual(await counts(standby), { ...before, answered: before.answered + 3 });
      }
    }),
  );

  await t.test("eventual reads are answered where they come", () =>
    calmly(cluster, async ({ standby, namespace, records }) => {
      const query = "SELECT count(*) AS n FROM streams.s";
      for (const [url, given] of [
        [`${namespace}/query`, { body: { from: "c", consistency: "eventual", limit: 3 } }],
        [`${namespace}/sql`, { body: { query, consistency: "eventual" } }],
        [`${namespace}/streams/s?consistency=eventual`, {}],
        [`${namespace}/links/l?consistency=eventual`, {}],
        [`${records}?offset=0&consistency=eventual`, {}],
        [`${records}?offset=0`, { headers: { "service-consistency": "eventual" } }],
        [`${namespace}/collections`, { headers: { "service-consistency": "eventual" } }],
      ] as const) {
        const before = await counts(standby);
        // One that has fallen behind passes them on.
        for (let tries = 0; tries < triesMax && (await counts(standby)).answered === before.answered; tries++) {
          await done(url, given);
        }
        assert.ok((await counts(standby)).answered > before.answered, url);
      }
    }),
  );

  await t.test("searches over every protocol of RPC, and statements over Flight", () =>
    calmly(cluster, async ({ standby, namespace }) => {
      const ops = [{ upsert: { id: 1, source: { body: "word1 common" } } }];
      const { token } = await done(`${namespace}/collections/c/documents`, { body: { ops } });
      const request = create(SearchRequestSchema, { namespace: "n", from: "c", limit: 3 });
      for (const [name, transport] of transports(standby)) {
        const { search } = createClient(QueryService, transport);
        for (const headers of [withToken(token), { "service-consistency": "eventual" }]) {
          const before = await counts(standby);
          const { rows } = await search(request, { headers });
          assert.equal(rows.length, 3, name);
          assert.ok((await counts(standby)).answered > before.answered, `${name}: the standby answers`);
        }
        const before = await counts(standby);
        await search(request);
        const after = await counts(standby);
        assert.ok(after.answered === before.answered && after.passedOn > before.passedOn, `${name}: strong`);
      }
      const { hostname: host, port } = new URL(standby);
      for (const [consistency, counted] of [
        ["eventual", "answered"],
        ["strong", "passedOn"],
      ] as const) {
        const headers = Object.entries({ namespace: "n", consistency }).map(([key, value]) => ({ key, value }));
        const client = await createFlightSqlClient({ tls: false, host, port: Number(port), headers });
        const before = await counts(standby);
        assert.equal(tableFromIPC(await client.query("SELECT _id FROM collections.c LIMIT 2")).numRows, 2);
        assert.ok((await counts(standby))[counted] > before[counted], consistency);
      }
    }),
  );

  await t.test("strong reads and writes are the owner's", () =>
    calmly(cluster, async ({ standby, namespace, records }) => {
      const before = await counts(standby);
      const { token } = await append(records);
      const headers = { ...withToken(token), "service-consistency": "strong" };
      await done(`${records}?offset=0`);
      await done(`${records}?offset=0`, { headers });
      const strong = { body: { consistency: "strong" }, headers: withToken(token) };
      await done(`${namespace}/collections/c/documents/count`, strong);
      await done(`${namespace}/sql`, { body: { query: `SELECT '{"consistency":"eventual"}' AS x` } });
      const after = await counts(standby);
      assert.equal(after.answered, before.answered);
      assert.ok(after.passedOn >= before.passedOn + 5);
    }),
  );

  await t.test("long polls and tails are woken by what comes through another node", () =>
    calmly(cluster, async ({ standby, other, records }) => {
      const { offset, token } = await append(records);
      const headers = withToken(token);
      const before = await counts(standby);
      const polled = done(`${records}?offset=${offset + 1}&max_wait_ms=30000`, { headers });
      const stop = new AbortController();
      const tail = await fetch(`${records}?offset=${offset + 1}`, {
        headers: { ...headers, accept: "text/event-stream" },
        signal: stop.signal,
      });
      const { value } = await append(records.replace(standby, other));
      assert.equal((await polled).records[0].value, value);
      let told = "";
      for await (const piece of tail.body!) {
        told += Buffer.from(piece).toString();
        if (told.includes(value)) break;
      }
      stop.abort();
      assert.equal((await counts(standby)).answered, before.answered + 2);
    }),
  );

  await t.test("the console shows the nodes, live", { skip: !hasChromium }, () =>
    calmly(cluster, async ({ owner, standby, records }) => {
      const browser = await launch();
      try {
        await using tab = await Tab.open(browser, standby, "#/cluster");
        const { page } = tab;
        for (const i of [0, 1, 2]) await page.locator(`tbody >> text=n${i}`).first().waitFor();
        await page.locator(`dl.stats >> text=n${owner}`).first().waitFor();
        const position = page.locator("tbody tr", { hasText: "owner" }).locator("td.num").first();
        const before = await position.textContent();
        await append(records);
        while ((await position.textContent()) === before) await page.waitForTimeout(100);
        assert.deepEqual(await tab.violations(), []);
        await page.emulateMedia({ colorScheme: "dark" });
        assert.deepEqual(await tab.violations(), []);
        const shot = process.env["CLUSTER_SCREENSHOT"];
        if (shot !== undefined) await page.screenshot({ path: shot });
        await page.setViewportSize({ width: 390, height: 844 });
        assert.equal(await tab.overflow(), 0);
      } finally {
        await browser.close();
      }
    }),
  );

  await t.test("a standby that becomes the owner has all that was acknowledged, and others follow it", async () => {
    const owner = await cluster.owner();
    const { value, offset, token } = await append(
      `${cluster.urlOf(owner)}/v1/namespaces/n/streams/s/partitions/0/records`,
    );
    await cluster.kill(owner);
    await cluster.owner(owner);
    for (const i of [0, 1, 2].filter((each) => each !== owner)) {
      const url = `${cluster.urlOf(i)}/v1/namespaces/n/streams/s/partitions/0/records?offset=${offset}`;
      for (const given of [{}, { headers: withToken(token) }]) {
        assert.equal((await done(url, given)).records[0].value, value);
      }
    }
  });
});
