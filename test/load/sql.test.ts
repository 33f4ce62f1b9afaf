import assert from "node:assert/strict";
import { test } from "node:test";
import { CollectionClient } from "../support/collections.ts";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";

test("a batch is seen whole or not at all, however many are written meanwhile", async () => {
  await using server = await ServerProcess.start();
  const client = await CollectionClient.create(server.url, "f");
  const rows = async (query: string): Promise<Record<string, unknown>[]> => {
    const done = await ask(`${client.url}/sql`, { body: { query } });
    assert.equal(done.status, 200, done.text);
    return done.json.rows;
  };
  await client.made("pairs", { fields: [{ name: "n", kind: "i64" }] });
  const batch = (n: number) => [1, 2, 3, 4].map((id) => ({ upsert: { id, source: { n: id % 2 === 0 ? n : -n } } }));
  await client.written("pairs", batch(1));
  let written = 1;
  let isOver = false;
  const writing = (async () => {
    while (written < 150) await client.written("pairs", batch(++written));
    isOver = true;
  })();
  let last = 0;
  while (!isOver) {
    const [row] = await rows("select sum(n) as s, max(n) as m, count(*) as c from pairs");
    assert.equal(row!["s"], 0);
    assert.equal(row!["c"], 4);
    assert.ok((row!["m"] as number) >= last, "what was seen stays seen");
    last = row!["m"] as number;
  }
  await writing;
  assert.deepEqual(await rows("select max(n) as m from pairs"), [{ m: 150 }]);
});
