import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeCluster } from "../support/cluster.ts";
import { type Answer, ask, base64 } from "../support/http.ts";
import { hasJava, KafkaCluster } from "../support/kafka.ts";

const body = { name: "body", source_path: "body", kind: { text: { analyzer: "standard" } }, indexed: true };

/** What a node has passed on and answered itself. */
async function counts(url: string): Promise<{ passedOn: number; answered: number }> {
  const { text } = await ask(`${url}/metrics`);
  const read = (name: string) => Number(new RegExp(`^service_cluster_${name}_total (\\d+)$`, "m").exec(text)?.[1]);
  return { passedOn: read("passed_on"), answered: read("answered") };
}

test("standbys answer eventual reads and reads with a token, and pass all else on", {
  skip: !(await hasJava()),
}, async (t) => {
  await using kafka = await KafkaCluster.start();
  await using cluster = await NodeCluster.start(kafka, `follower-${process.pid}`);
  const owner = await cluster.owner();
  const standby = cluster.urlOf((owner + 1) % 3);
  const other = cluster.urlOf((owner + 2) % 3);
  const ns = `${standby}/v1/namespaces/n`;
  const done = async (asked: Promise<Answer>) => {
    const { status, text, json } = await asked;
    assert.ok(status < 300, text);
    return json;
  };
  const post = (url: string, given: object, headers = {}) => done(ask(url, { body: given, headers }));
  await post(`${standby}/v1/namespaces`, { name: "n" });
  await post(`${ns}/streams`, { name: "s" });
  await post(`${ns}/collections`, { name: "c", schema: { fields: [body] } });
  await post(`${ns}/links`, { name: "l", source: "s", options: { by: "key" } });
  const records = `${ns}/streams/s/partitions/0/records`;

  await t.test("a read with the token of a write sees it, on either standby", async () => {
    for (let i = 0; i < 20; i++) {
      const { token } = await post(records, { records: [{ key: base64("k"), value: base64(`${i}`) }] });
      const headers = { "service-consistency-token": JSON.stringify(token) };
      for (const url of [standby, other]) {
        const before = await counts(url);
        const page = await done(ask(`${url}/v1/namespaces/n/streams/s/partitions/0/records?offset=${i}`, { headers }));
        assert.equal(page.records[0].value, base64(`${i}`));
        assert.deepEqual(await counts(url), { ...before, answered: before.answered + 1 });
        const link = await done(ask(`${url}/v1/namespaces/n/links/l`, { headers }));
        assert.equal(link.counters.k, (i * (i + 1)) / 2);
      }
    }
  });

  await t.test("documents, queries and SQL", async () => {
    for (let id = 0; id < 120; id++) {
      const ops = [{ upsert: { id, source: { body: `word${id} common` } } }];
      const { token } = await post(`${ns}/collections/c/documents`, { ops });
      if (id % 10 > 0) continue;
      const headers = { "service-consistency-token": JSON.stringify(token) };
      const before = await counts(standby);
      const { count } = await post(`${ns}/collections/c/documents/count`, {}, headers);
      assert.equal(count, id + 1);
      const retrieve = [{ text: { field: "body", query: `word${id}` } }];
      const { rows } = await post(`${ns}/query`, { from: "c", retrieve }, headers);
      assert.deepEqual(
        rows.map(({ _id }: { _id: number }) => _id),
        [id],
      );
      const sql = await post(`${ns}/sql`, { query: "SELECT count(*) AS n FROM collections.c" }, headers);
      assert.deepEqual(sql.rows, [{ n: id + 1 }]);
      assert.deepEqual(await counts(standby), { ...before, answered: before.answered + 3 });
    }
    const before = await counts(standby);
    await post(`${ns}/query`, { from: "c", consistency: "eventual", limit: 3 });
    await post(`${ns}/sql`, { query: "SELECT count(*) AS n FROM streams.s", consistency: "eventual" });
    await done(ask(`${ns}/collections`, { headers: { "service-consistency": "eventual" } }));
    assert.equal((await counts(standby)).answered, before.answered + 3);
  });

  await t.test("strong reads and writes are the owner's", async () => {
    const before = await counts(standby);
    const { token } = await post(records, { records: [{ value: base64("x") }] });
    const headers = { "service-consistency-token": JSON.stringify(token), "service-consistency": "strong" };
    await done(ask(`${records}?offset=0`));
    await done(ask(`${records}?offset=0`, { headers }));
    await post(`${ns}/collections/c/documents/count`, { consistency: "strong" }, headers);
    await post(`${ns}/sql`, { query: `SELECT '{"consistency":"eventual"}' AS x` });
    assert.deepEqual(await counts(standby), { ...before, passedOn: before.passedOn + 5 });
  });

  await t.test("long polls and tails are woken by what comes through another node", async () => {
    const detail = await done(ask(`${ns}/streams/s`));
    const { high_watermark: end } = detail.partitions[0];
    const before = await counts(standby);
    const polled = done(ask(`${records}?offset=${end}&max_wait_ms=20000&consistency=eventual`));
    const stop = new AbortController();
    const tail = await fetch(`${records}?offset=${end}&consistency=eventual`, {
      headers: { accept: "text/event-stream" },
      signal: stop.signal,
    });
    await post(records.replace(standby, other), { records: [{ value: base64("woken") }] });
    assert.equal((await polled).records[0].value, base64("woken"));
    let told = "";
    for await (const piece of tail.body!) {
      told += Buffer.from(piece).toString();
      if (told.includes(base64("woken"))) break;
    }
    stop.abort();
    assert.equal((await counts(standby)).answered, before.answered + 2);
  });

  await t.test(
    "a standby that becomes the owner answers with all that was acknowledged, and others follow it",
    async () => {
      const { token } = await post(records, { records: [{ value: base64("last") }] });
      await cluster.kill(owner);
      const next = await cluster.owner(owner);
      const left = [0, 1, 2].find((i) => i !== owner && i !== next)!;
      for (const i of [next, left]) {
        const url = `${cluster.urlOf(i)}/v1/namespaces/n/streams/s/partitions/0/records?offset=0`;
        const strong = await done(ask(url));
        const eventual = await done(ask(url, { headers: { "service-consistency-token": JSON.stringify(token) } }));
        for (const page of [strong, eventual]) {
          assert.equal(page.records.at(-1).value, base64("last"));
        }
      }
    },
  );
});
