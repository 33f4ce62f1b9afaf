import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { SeededRandom } from "../fault/random.ts";
import { ask, base64 } from "../support/http.ts";
import { Machine } from "./machine.ts";

const outcomes = 40;

/**
 * Proves: what the first start of a server acknowledged outlives the power, however the disk chooses. LMDB syncs neither its
 * first pages nor the name of its file.
 */
test("the power fails soon after the first write of a new server", async (t) => {
  await using machine = await Machine.make();
  if (machine === undefined) return t.skip("needs a C compiler");
  {
    await using server = await machine.start();
    assert.equal((await ask(`${server.url}/v1/namespaces`, { body: { name: "n" } })).status, 201);
    assert.equal((await ask(`${server.url}/v1/namespaces/n/streams`, { body: { name: "s" } })).status, 201);
    const body = { records: [{ value: base64("first") }] };
    assert.equal((await ask(`${server.url}/v1/namespaces/n/streams/s/partitions/0/records`, { body })).status, 200);
    await server.kill();
  }
  for (let seed = 0; seed < outcomes; seed++) {
    const left = machine.outcome(new SeededRandom(seed));
    for (const store of ["store", "auth"]) {
      const file = left.get(join(machine.dataDir, store, "data.mdb"));
      assert.ok(file instanceof Buffer && file.length > 8192, `seed ${seed}: ${store} has its file`);
    }
  }
  machine.losePower(new SeededRandom(1));
  await using restarted = await machine.start();
  const page = await ask(`${restarted.url}/v1/namespaces/n/streams/s/partitions/0/records?offset=0`);
  assert.equal(page.status, 200, page.text);
  assert.deepEqual(
    page.json.records.map(({ value }: { value: string }) => Buffer.from(value, "base64").toString()),
    ["first"],
  );
});
