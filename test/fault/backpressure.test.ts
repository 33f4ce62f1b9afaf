import assert from "node:assert/strict";
import { test } from "node:test";
import { ask } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { Ledger, type StreamShape, sendAppend } from "./ledger.ts";
import { MemoryWatch, MiB } from "./memory.ts";

const shape: StreamShape = { name: "s", partitions: 4 };
const appends = 48;
const appendBytes = 3 * MiB;
/** Of what may wait as bodies and for the sync, a request is several forms: bytes, text, records, batch. */
const growthBytesMax = 800 * MiB;

/**
 * Proves: more bytes than may wait for the sync are refused with 503 and Retry-After, not kept. What was acknowledged
 * is there, what was refused is not, and a retry of it succeeds.
 */
test("many large appends at once are refused in part, and none is lost", async (t) => {
  await using server = await ServerProcess.start();
  const { url } = server;
  const ledger = new Ledger("busy");
  assert.equal((await ask(`${url}/v1/namespaces`, { body: { name: "busy" } })).status, 201);
  assert.equal((await ask(`${url}/v1/namespaces/busy/streams`, { body: shape })).status, 201);

  const writes = Array.from({ length: appends }, (_, i) =>
    ledger.prepare(shape.name, i % shape.partitions, [`${i}-${"x".repeat(appendBytes)}`], `key ${i}`),
  );
  using memory = new MemoryWatch(server);
  let refused = await Promise.all(writes.map((written) => send(url, ledger, written)));
  const refusedAtFirst = refused.filter(Boolean).length;
  t.diagnostic(`${refusedAtFirst} of ${appends} refused`);
  assert(refusedAtFirst > 0, "the queue is bounded");
  assert(refusedAtFirst < appends, "what fits is taken");
  assert.equal(await ledger.verify(url, shape), 0, "nothing that was refused is stored");

  for (let left = writes.filter((_, i) => refused[i]); left.length > 0; left = left.filter((_, i) => refused[i])) {
    refused = [];
    for (const written of left) refused.push(await send(url, ledger, written));
  }
  assert.equal(await ledger.verify(url, shape), 0);
  assert.equal(ledger.acknowledged.length, appends);
  t.diagnostic(`grew by ${Math.round(memory.growth / MiB)} MiB at most`);
  assert(memory.growth < growthBytesMax, `the server grew by ${memory.growth} bytes`);
});

/** Whether the append was refused. */
async function send(url: string, ledger: Ledger, written: ReturnType<Ledger["prepare"]>): Promise<boolean> {
  assert(ledger.writes.includes(written));
  const answer = await sendAppend(url, written);
  if (answer.status === 200) {
    written.acknowledged = answer.text;
    return false;
  }
  assert.equal(answer.status, 503, answer.text);
  assert.equal(answer.json.error, "unavailable");
  assert.equal(answer.headers.get("retry-after"), "1");
  return true;
}
