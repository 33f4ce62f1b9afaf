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

/**
 * Proves: a first start that the power ends can be made again. The store must not tell of a commit log whose folder the
 * disk may not have.
 */
test("the power fails during the first start of a new server", async (t) => {
  for (let killAt = 38; killAt < 60; killAt += 4) {
    await using machine = await Machine.make();
    if (machine === undefined) return t.skip("needs a C compiler");
    await assert.rejects(machine.start(killAt), /SIGKILL/);
    machine.losePower(worstOf(machine));
    await using server = await machine.start();
    assert.equal((await ask(`${server.url}/health`)).status, 200, `cut at change ${killAt}`);
  }
});

/** The choice of those tried that loses the most names. */
function worstOf(machine: Machine): SeededRandom {
  const names = Array.from({ length: 20 }, (_, seed) => machine.outcome(new SeededRandom(seed)).size);
  return new SeededRandom(names.indexOf(Math.min(...names)));
}
