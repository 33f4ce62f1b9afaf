import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CollectionClient, upserts } from "../support/collections.ts";
import { ask, base64 } from "../support/http.ts";
import { LiveNamespaceClient } from "../support/live.ts";
import { ServerProcess } from "../support/process.ts";
import { eventually, StreamClient } from "../support/streams.ts";

/** What is done on a server before it ends, and then looked at on another one with the same data. */
type Case = (first: ServerProcess) => Promise<(second: ServerProcess) => Promise<void>>;

function outlives(how: string, end: (server: ServerProcess) => Promise<void>, cases: Readonly<Record<string, Case>>) {
  describe(how, () => {
    let first: ServerProcess;
    let second: ServerProcess;
    const looks = new Map<string, Awaited<ReturnType<Case>>>();

    before(async () => {
      first = await ServerProcess.start();
      for (const [name, prepare] of Object.entries(cases)) looks.set(name, await prepare(first));
      await end(first);
      second = await ServerProcess.start({ dataDir: first.dataDir });
    });
    after(async () => {
      await second?.[Symbol.asyncDispose]();
      await first?.[Symbol.asyncDispose]();
    });

    for (const name of Object.keys(cases)) test(name, { timeout: 50_000 }, () => looks.get(name)!(second));
  });
}

interface Marks {
  readonly log_start_offset: number;
  readonly high_watermark: number;
}

const kilobyte = "x".repeat(1000);

outlives("a stop", async (server) => assert.equal(await server.stop(), 0), {
  "names, ids and records outlive a restart": async (first) => {
    const before = await StreamClient.create(first.url, "kept");
    const id = await before.createStream("s", { partitions: 2, retention: { max_bytes: 1_000_000 } });
    await before.append("s", ["a", "b"], 1);
    const detail = (await ask(before.streamUrl("s"))).json;
    return async (second) => {
      const url = `${second.url}/v1/namespaces/kept/streams`;
      assert.deepEqual((await ask(`${url}/s`)).json, detail);
      const next = await ask(`${url}/s/partitions/1/records`, { body: { records: [{}] } });
      assert.equal(next.json.base_offset, 2);
      assert.ok((await ask(url, { body: { name: "t" } })).json.id > id);
    };
  },

  "the start, and an emptied partition's end, are the same after a restart": async (first) => {
    const writer = await StreamClient.create(first.url, "trimmed");
    await writer.createStream("b", { retention: { max_bytes: 5_000 } });
    await writer.createStream("a", { retention: { max_age_ms: 100 } });
    for (let i = 0; i < 20; i++) await writer.append("b", [kilobyte]);
    await writer.append("a", ["x", "y", "z"]);
    const detail = async (url: string, stream: string) => {
      const { json } = await ask(`${url}/v1/namespaces/trimmed/streams/${stream}`);
      return json.partitions[0] as Marks;
    };
    const aged = await eventually(
      () => detail(first.url, "a"),
      (seen) => seen.log_start_offset === 3,
    );
    const bytes = await detail(first.url, "b");
    return async (second) => {
      assert.deepEqual(await detail(second.url, "a"), aged);
      assert.deepEqual(await detail(second.url, "b"), bytes);
      const next = await ask(`${second.url}/v1/namespaces/trimmed/streams/a/partitions/0/records`, {
        body: { records: [{}] },
      });
      assert.equal(next.json.base_offset, 3);
    };
  },

  "everything about a collection is there after a restart": async (first) => {
    const c = await CollectionClient.create(first.url, "collections");
    await c.made("docs", { fields: [{ name: "a", kind: "i64" }], dynamic: "dynamic" });
    await ask(`${c.url}/aliases`, { body: { actions: [{ add: { alias: "x", collection: "docs" } }] } });
    await ask(`${c.of("docs")}/hot`, { method: "PUT", body: { enabled: true } });
    await c.written(
      "docs",
      upserts([1, 2], (a) => ({ a, b: "w" })),
    );
    await c.sealed("docs");
    const info = await c.info("docs");
    return async (second) => {
      const d = new CollectionClient(second.url, "collections");
      await eventually(
        async () => (await d.info("docs")).hot.state,
        (state) => state === "hot",
      );
      assert.deepEqual(await d.info("x"), { ...info, hot: { enabled: true, state: "hot" } });
      assert.equal(await d.count("docs", { term: { b: "w" } }), 2);
    };
  },
});

outlives("a kill", (server) => server.kill(), {
  "a write's token holds for the same data after a restart": async (first) => {
    const writer = await StreamClient.create(first.url, "token");
    await writer.createStream("s");
    const token = (await writer.append("s", ["a"])).headers.get("service-consistency-token")!;
    return async (second) => {
      const url = `${second.url}/v1/namespaces/token/streams/s/partitions/0/records?offset=0`;
      const page = await ask(url, { headers: { "service-consistency-token": token } });
      assert.equal(page.json.records.length, 1);
    };
  },

  "tables outlive a restart": async (first) => {
    const live = await LiveNamespaceClient.create(first, "kept");
    await live.mutate("_tables:create", { table: "things" });
    const before = await live.mutateAt("_tables:insert", {
      table: "things",
      document: { n: { $int64: "9007199254740993" } },
    });
    return async (second) => {
      const again = new LiveNamespaceClient((await LiveNamespaceClient.create(second, "kept")).client, "kept");
      const rows = (await again.query("_tables:list", { table: "things" })) as { n: unknown }[];
      assert.deepEqual(
        rows.map(({ n }) => n),
        [{ $int64: "9007199254740993" }],
      );
      const after = await again.mutateAt("_tables:insert", { table: "things", document: {} });
      assert.equal(after.tick, before.tick + 1);
    };
  },

  // The last one, so that the kill comes right after its answer.
  "a batch near the body's limit is taken whole, and is there after a kill": async (first) => {
    const writer = await StreamClient.create(first.url, "large");
    await writer.createStream("large");
    const value = Buffer.alloc(3 * 1024 * 1024, "x").toString("base64");
    const records = Array.from({ length: 3 }, (_, i) => ({ key: base64(String(i)), value }));
    const body = JSON.stringify({ records });
    const full = body + " ".repeat(16 * 1024 * 1024 - body.length);
    const done = await ask(writer.recordsUrl("large"), { body: full });
    assert.equal(done.status, 200, done.text);
    assert.equal(done.json.last_offset, 2);
    return async (second) => {
      const url = `${second.url}/v1/namespaces/large/streams/large/partitions/0/records`;
      const page = await ask(`${url}?offset=0&max_bytes=16777216`);
      assert.deepEqual(
        page.json.records.map(({ offset, key }: { offset: number; key: string }) => [offset, key]),
        records.map(({ key }, offset) => [offset, key]),
      );
      for (const record of page.json.records) assert.equal(record.value, value);
    };
  },
});
