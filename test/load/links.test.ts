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
