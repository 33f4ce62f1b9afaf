import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { logKey, prefixRange, tables } from "../../src/engine/keys.ts";
import { EventClient } from "../support/events.ts";
import { type Answer, ask, base64 } from "../support/http.ts";
import { fill, linksOf } from "../support/links.ts";
import { Piped } from "../support/piped.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";

const { made, detail, caughtUp } = linksOf(() => assert.fail("each server has its client"));

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

test("a restart goes on where the link was", async () => {
  const dataDir = await temporaryFolder();
  let server = await ServerProcess.start({ dataDir });
  try {
    const piped = await Piped.create(server.url, "restart");
    await piped.createCollection();
    await piped.link();
    await piped.send([{ value: { id: 1 } }, { value: "misfit" }]);
    const first = await piped.drained();
    await server.stop();
    server = await ServerProcess.start({ dataDir });
    const url = `${server.url}/v1/namespaces/restart`;
    const again = await ask(`${url}/links/l`);
    assert.deepEqual(again.json, first);
    const records = [{ value: base64(JSON.stringify({ id: 2 })) }];
    await ask(`${url}/streams/s/partitions/0/records`, { body: { records } });
    const found = await eventually(
      () => ask(`${url}/collections/c/documents/scroll`, { body: {} }),
      ({ json }) => json.documents.length === 2,
    );
    assert.deepEqual(
      found.json.documents.map(({ id, version }: Record<string, unknown>) => [id, version]),
      [
        [1, 1],
        [2, 1],
      ],
    );
  } finally {
    await server.kill();
    await rm(dataDir, { recursive: true, force: true });
  }
});
