import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";

const partitions = 40;
const base = "/v1/namespaces/n/streams/wide";

/** One request that goes to every partition, by keys that are spread over them. */
function spread(round: number): object {
  return { records: Array.from({ length: 400 }, (_, i) => ({ key: base64(`k${i}`), value: base64(`${round}`) })) };
}

async function watermarks({ url }: ServerProcess): Promise<number[]> {
  const { json } = await ask(`${url}${base}`);
  return json.partitions.map(({ high_watermark }: { high_watermark: number }) => high_watermark);
}

async function valuesOf({ url }: ServerProcess, partition: number): Promise<string[]> {
  const { json } = await ask(`${url}${base}/partitions/${partition}/records?offset=0`);
  assert.deepEqual(
    json.records.map(({ offset }: { offset: number }) => offset),
    json.records.map((_: unknown, i: number) => i),
  );
  return json.records.map(({ value }: { value: string }) => Buffer.from(value, "base64").toString());
}

/** The link's detail once it has read everything. */
async function caughtUp({ url }: ServerProcess): Promise<{ counters: Record<string, number> }> {
  for (;;) {
    const { json } = await ask(`${url}/v1/namespaces/n/links/counted`);
    if (json.lag.every(({ records }: { records: number }) => records === 0)) return json;
  }
}

test("appends to many partitions at once are read, counted and kept like any other", async (t) => {
  const dataDir = await temporaryFolder();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  await using server = await ServerProcess.start({ dataDir });
  const { url } = server;
  await ask(`${url}/v1/namespaces`, { body: { name: "n" } });
  await ask(`${url}/v1/namespaces/n/streams`, { body: { name: "wide", partitions } });
  await ask(`${url}/v1/namespaces/n/links`, { body: { name: "counted", source: "wide" } });
  for (let round = 0; round < 5; round++) {
    const { status } = await ask(`${url}${base}/records`, { body: spread(round) });
    assert.equal(status, 200);
    const { json } = await ask(`${url}/v1/namespaces/n/sql`, {
      body: { query: "select count(*) as n from streams.wide" },
    });
    assert.equal(json.rows[0].n, 400 * (round + 1));
  }
  // Larger than what is written together: it must come after what is.
  const large = { records: [{ value: base64("x".repeat(20_000)) }] };
  await ask(`${url}${base}/records`, { body: spread(5) });
  const appended = await ask(`${url}${base}/partitions/3/records`, { body: large });
  const before = await watermarks(server);
  assert.equal(appended.json.last_offset, before[3]! - 1);
  const values = await Promise.all(before.map((_, partition) => valuesOf(server, partition)));
  await ask(`${url}${base}/records`, { body: spread(6) });
  const end = await watermarks(server);
  await server.kill();

  await using again = await ServerProcess.start({ dataDir });
  assert.deepEqual(await watermarks(again), end);
  assert.equal(
    end.reduce((sum, each) => sum + each),
    400 * 7 + 1,
  );
  for (const [partition, known] of values.entries()) {
    const found = await valuesOf(again, partition);
    assert.deepEqual(found.slice(0, known.length), known);
    assert.ok(found.slice(known.length).every((value) => value === "6"));
  }
  const link = await caughtUp(again);
  const counted = Object.values(link.counters).reduce((sum, each) => sum + each, 0);
  assert.equal(counted, (0 + 1 + 2 + 3 + 4 + 5 + 6) * 400);
  assert.equal((await ask(`${again.url}${base}`, { method: "DELETE" })).status < 300, true);
});

test("each of thousands of partitions has offsets of its own, also after a kill", async (t) => {
  const dataDir = await temporaryFolder();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const count = 1_100;
  /** Appends to every partition, a hundred at a time, and returns the offsets. */
  const appendAll = async (url: string): Promise<number[]> => {
    const offsets: number[] = [];
    for (let from = 0; from < count; from += 100) {
      const replies = Array.from({ length: 100 }, (_, i) =>
        ask(`${url}${base}/partitions/${from + i}/records`, { body: { records: [{ value: base64(`${from + i}`) }] } }),
      );
      for (const { json } of await Promise.all(replies)) offsets.push(json.base_offset);
    }
    return offsets;
  };
  await using server = await ServerProcess.start({ dataDir });
  await ask(`${server.url}/v1/namespaces`, { body: { name: "n" } });
  await ask(`${server.url}/v1/namespaces/n/streams`, { body: { name: "wide", partitions: count } });
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await appendAll(server.url), Array(count).fill(round));
  }
  await server.kill();

  await using again = await ServerProcess.start({ dataDir });
  assert.deepEqual(await watermarks(again), Array(count).fill(2));
  assert.deepEqual(await appendAll(again.url), Array(count).fill(2));
  for (const partition of [0, 511, 512, 513, 1_024, 1_099]) {
    assert.deepEqual(await valuesOf(again, partition), Array(3).fill(`${partition}`));
  }
});
