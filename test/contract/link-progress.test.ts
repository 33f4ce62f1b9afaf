import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { EventClient } from "../support/events.ts";
import { ask } from "../support/http.ts";
import { fill, linksOf, sum } from "../support/links.ts";
import { ServerProcess } from "../support/process.ts";

let server: ServerProcess;
let client: EventClient;
const { made, detail, caughtUp } = linksOf(() => client);

before(async () => {
  server = await ServerProcess.start();
  client = await EventClient.create(server.url, "links");
});
after(() => server[Symbol.asyncDispose]());

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
