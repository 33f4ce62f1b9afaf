import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { logKey, prefixRange, tables } from "../../src/engine/keys.ts";
import { EventClient } from "../support/events.ts";
import { type Answer, ask } from "../support/http.ts";
import { linksOf } from "../support/links.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";

let server: ServerProcess;
let client: EventClient;
const { made, detail, caughtUp } = linksOf(() => client);

before(async () => {
  server = await ServerProcess.start();
  client = await EventClient.create(server.url, "links");
});
after(() => server[Symbol.asyncDispose]());

/** Many records in few requests: `count` for each of the keys k0 to k99. */
async function fill(at: EventClient, stream: string, batches: number): Promise<void> {
  const records = Array.from({ length: 5_000 }, (_, i) => ({ key: `k${i % 100}` }));
  for (let i = 0; i < batches; i++) await at.records(stream, records);
}

function sum(counters: Record<string, number>): number {
  return Object.values(counters).reduce((total, each) => total + each, 0);
}

describe("a backlog", () => {
  const batches = 60;
  before(async () => {
    await client.createStream("backlog");
    await fill(client, "backlog", batches);
  });

  function lagOf(metrics: string, link: string): number {
    const line = new RegExp(`^service_link_lag_records\\{namespace="links",link="${link}"\\} (\\d+)$`, "m");
    return Number(line.exec(metrics)?.[1]);
  }

  test("is drained while other requests are answered, and its lag is in the metrics", async () => {
    await made({ name: "drain", source: "backlog" });
    let answered = 0;
    for (;;) {
      const { text } = await ask(`${server.url}/metrics`);
      if (lagOf(text, "drain") === 0) break;
      assert.equal((await ask(`${server.url}/health`)).status, 200);
      answered++;
    }
    assert(answered > 0, "a request was answered while the link was behind");
    const { counters, lag, applied } = await detail("drain");
    assert.equal(sum(counters), batches * 5_000);
    assert.equal(Object.keys(counters).length, 100);
    assert.deepEqual(lag, [{ partition: 0, records: 0 }]);
    assert.deepEqual(applied, [{ partition: 0, offset: batches * 5_000 }]);
    const { text } = await ask(`${server.url}/metrics`);
    assert(Number(/^service_link_records_total (\d+)$/m.exec(text)?.[1]) >= batches * 5_000);
  });

  test("at every look, the counters are those of exactly the applied offsets", async () => {
    await made({ name: "looks", source: "backlog" });
    let last = { offset: -1, version: -1 };
    for (;;) {
      const { counters, applied, lag, version } = await detail("looks");
      const [{ offset }] = applied;
      assert.equal(sum(counters), offset);
      assert.equal(lag[0].records, batches * 5_000 - offset);
      assert(offset >= last.offset && version >= last.version);
      last = { offset, version };
      if (offset === batches * 5_000) break;
    }
  });

  test("a link that is deleted while it drains leaves nothing, and one made again starts from zero", async () => {
    for (let i = 0; i < 3; i++) {
      await made({ name: "short", source: "backlog" });
      assert.equal((await ask(`${client.url}/links/short`, { method: "DELETE" })).status, 200);
      assert.equal((await ask(`${client.url}/links/short`)).status, 404);
    }
    await made({ name: "short", source: "backlog" });
    assert.equal(sum((await caughtUp("short")).counters), batches * 5_000);
    assert.equal((await ask(`${client.url}/links/short`, { method: "DELETE" })).status, 200);
    await made({ name: "short", source: "backlog", options: { by: { header: "none" } } });
    const { counters, skipped } = await caughtUp("short");
    assert.deepEqual(counters, {});
    assert.equal(skipped, batches * 5_000);
  });

  test("many links on one stream all get there", async () => {
    const names = Array.from({ length: 8 }, (_, i) => `many-${i}`);
    await Promise.all(names.map((name) => made({ name, source: "backlog" })));
    for (const name of names) assert.equal(sum((await caughtUp(name)).counters), batches * 5_000);
  });

  test("two requests that delete one link: one of them finds it", async () => {
    await made({ name: "both", source: "backlog" });
    const answers = await Promise.all([1, 2].map(() => ask(`${client.url}/links/both`, { method: "DELETE" })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404]);
  });
});

describe("a source that changes", () => {
  test("retention that trims what the link has not read is told as lost", async () => {
    await client.createStream("trimmed");
    for (let i = 0; i < 10; i++) await client.records("trimmed", [{ key: "n" }, { key: "n" }]);
    const changed = await ask(`${client.url}/streams/trimmed`, {
      method: "PATCH",
      body: { retention: { max_bytes: 1 } },
    });
    assert.equal(changed.json.partitions[0].log_start_offset, 18);
    await made({ name: "trimmed", source: "trimmed" });
    const shown = await caughtUp("trimmed");
    assert.deepEqual(shown.counters, { n: 2 });
    assert.equal(shown.lost, 18);
    assert.deepEqual(shown.applied, [{ partition: 0, offset: 20 }]);
    await client.records("trimmed", [{ key: "n" }]);
    const later = await detail("trimmed");
    assert.deepEqual([later.counters, later.lost], [{ n: 3 }, 18]);
  });

  test("retention that trims what the link has read loses nothing", async () => {
    await client.createStream("followed", { retention: { max_bytes: 1 } });
    await made({ name: "followed", source: "followed" });
    for (let i = 0; i < 20; i++) {
      await client.records("followed", [{ key: "n" }]);
      assert.deepEqual((await detail("followed")).counters, { n: i + 1 });
    }
    assert.equal((await detail("followed")).lost, undefined);
  });

  test("a deleted source is told, and what was counted stays", async () => {
    await client.createStream("deleted");
    await made({ name: "deleted", source: "deleted" });
    await client.records("deleted", [{ key: "n" }, { key: "n" }]);
    assert.deepEqual((await detail("deleted")).counters, { n: 2 });
    assert.equal((await ask(`${client.url}/streams/deleted`, { method: "DELETE" })).status, 200);
    const shown = await detail("deleted");
    assert.match(shown.error, /source stream was deleted/);
    assert.deepEqual(shown.counters, { n: 2 });
    assert.deepEqual(shown.applied, [{ partition: 0, offset: 2 }]);
    assert.deepEqual(shown.lag, []);
    assert.equal(shown.status, "running");

    await client.createStream("deleted");
    await client.records("deleted", [{ key: "n" }]);
    const after = await detail("deleted");
    assert.match(after.error, /another one/);
    assert.deepEqual(after.counters, { n: 2 }, "the new stream is not the one that the link reads");
    await made({ name: "anew", source: "deleted" });
    assert.deepEqual((await detail("anew")).counters, { n: 1 });
    assert.equal((await ask(`${client.url}/links/deleted`, { method: "DELETE" })).status, 200);
  });

  test("a source deleted while the link drains it", async () => {
    await client.createStream("vanishing");
    await fill(client, "vanishing", 10);
    await made({ name: "vanishing", source: "vanishing" });
    assert.equal((await ask(`${client.url}/streams/vanishing`, { method: "DELETE" })).status, 200);
    const shown = await detail("vanishing");
    assert.match(shown.error, /deleted/);
    assert.equal(sum(shown.counters), shown.applied[0]?.offset ?? 0);
  });
});

describe("links in a process that ends", () => {
  test("go on where they were", async (t) => {
    const dataDir = await temporaryFolder();
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    const during = async (use: (at: EventClient) => Promise<void>) => {
      await using one = await ServerProcess.start({ dataDir });
      await use(new EventClient(one.url, "kept"));
      assert.equal(await one.stop(), 0);
    };
    let before: Answer["json"];
    await during(async (at) => {
      await EventClient.create(at.server, "kept");
      await at.createStream("s", { partitions: 2 });
      await made({ name: "l", source: "s" }, at);
      await at.records("s", [{ key: "a" }, { key: "b", value: "5" }, { value: "skipped" }]);
      before = await detail("l", at);
      await fill(at, "s", 20);
      // The process ends while the link is behind.
    });
    await during(async (at) => {
      const shown = await caughtUp("l", at);
      assert.equal(shown.id, before.id);
      assert.equal(shown.skipped, 1);
      assert.deepEqual([shown.counters.a, shown.counters.b, shown.counters.k7], [1, 5, 1_000]);
      assert(shown.version > before.version);
      await at.records("s", [{ key: "a" }], 1);
      assert.equal((await detail("l", at)).counters.a, 2);
    });
  });

  test("one that fails says why, and holds back neither the others nor its other partitions", async (t) => {
    const dataDir = await temporaryFolder();
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    const ids = { stream: 0, broken: 0 };
    {
      await using one = await ServerProcess.start({ dataDir });
      const at = await EventClient.create(one.url, "hurt");
      ids.stream = await at.createStream("s", { partitions: 2 });
      ids.broken = await made({ name: "broken", source: "s" }, at);
      await made({ name: "sound", source: "s" }, at);
      await at.records("s", [{ key: "a" }], 0);
      assert.deepEqual((await detail("broken", at)).counters, { a: 1 });
      await one.stop();
    }
    // A counter of one link is damaged on the disk, so that this link can't add to it.
    const store = new LmdbStore(join(dataDir, "store"));
    const [key] = [...store.keys(prefixRange(tables.counter, ids.broken))];
    await store.commit([{ kind: "put", key: key!, value: Buffer.from("bad") }]);
    await store.close();
    {
      await using one = await ServerProcess.start({ dataDir });
      const at = new EventClient(one.url, "hurt");
      for (let i = 0; i < 5; i++) {
        await at.records("s", [{ key: "a" }], i % 2);
        assert.deepEqual((await detail("sound", at)).counters, { a: 2 + i });
      }
      // Its detail has to read the damaged counter, so it can't be shown at all; the list shows the link.
      const shown = await ask(`${at.url}/links/broken`);
      assert.equal(shown.status, 500);
      assert.match(shown.json.message, /damaged.*restore the data from a backup/);
      const listed = await ask(`${at.url}/links`);
      assert.equal(listed.json.links.length, 2);
      const { text } = await ask(`${one.url}/metrics`);
      assert.match(text, /service_link_lag_records\{namespace="hurt",link="broken"\} 5/);
      assert.match(text, /service_link_lag_records\{namespace="hurt",link="sound"\} 0/);
      assert.equal((await ask(`${at.url}/links/broken`, { method: "DELETE" })).status, 200);
      await made({ name: "broken", source: "s" }, at);
      assert.deepEqual((await detail("broken", at)).counters, { a: 6 });
      await at.records("s", [{ key: "a" }], 0);
      await one.stop();
    }
    // A batch of one partition is damaged: offsets 0, 1 and 3 of partition 0 were written one by one.
    const again = new LmdbStore(join(dataDir, "store"));
    await again.commit([{ kind: "put", key: logKey(ids.stream, 0, 2), value: Buffer.from("bad batch") }]);
    await again.close();
    await using one = await ServerProcess.start({ dataDir });
    const at = new EventClient(one.url, "hurt");
    await made({ name: "third", source: "s", options: { by: { header: "none" } } }, at);
    const shown = await eventually(
      () => detail("third", at),
      ({ error }) => error !== undefined,
    );
    assert.match(shown.error, /^partition 0: .*damaged/);
    assert.deepEqual(shown.applied, [
      { partition: 0, offset: 2 },
      { partition: 1, offset: 2 },
    ]);
    assert.equal(shown.skipped, 4);
    await at.records("s", [{ key: "b" }], 1);
    assert.deepEqual((await detail("third", at)).applied[1], { partition: 1, offset: 3 });
    assert.deepEqual((await detail("broken", at)).counters.b, 1, "links that are past the damage go on");
  });
});
