import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { ApiKeys } from "../../src/engine/auth/keys.ts";
import type { Order, Reply } from "../support/keys-process.ts";

async function setup() {
  const folder = await mkdtemp(join(tmpdir(), "keys-"));
  const store = new LmdbStore(folder, { shared: true });
  const keys = new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() });
  const children: ChildProcess[] = [];
  return {
    folder,
    keys,
    child() {
      const child = fork(new URL("../support/keys-process.ts", import.meta.url), [folder]);
      children.push(child);
      return child;
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const exited = once(child, "exit");
        child.disconnect();
        await exited;
      }
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function tell(child: ChildProcess, order: Order): Promise<Reply> {
  const reply = once(child, "message");
  child.send(order);
  const [message] = await reply;
  return message as Reply;
}

test("a key that another process makes and revokes works and stops at once", async () => {
  await using it = await setup();
  const child = it.child();
  // A server under load reads the store all the time; the last view it took must not be what it answers from.
  let reading = true;
  let last = "";
  const load = () => {
    if (last !== "") it.keys.verify(last);
    if (reading) setImmediate(load);
  };
  load();
  for (let n = 0; n < 50; n++) {
    const made = await tell(child, { create: "ci", role: "writer" });
    assert.equal(made.failure, undefined);
    const key = made.printed!;
    const principal = it.keys.verify(key);
    assert.equal(typeof principal === "object" && principal.id, "apikey:ci");
    last = key;
    const revoked = await tell(child, { revoke: "ci" });
    assert.equal(revoked.failure, undefined);
    // The store is asked once in a millisecond. No command ends faster than that; the message of this one may come faster.
    const answeredMs = Date.now();
    while (Date.now() === answeredMs) await nextTurn();
    assert.equal(it.keys.verify(key), "revoked", `round ${n}`);
  }
  reading = false;
});

test("processes that race for a name leave one key at most, and whoever was shown one can use it", async () => {
  await using it = await setup();
  const children = [it.child(), it.child(), it.child()];
  for (let n = 0; n < 10; n++) {
    const name = `race-${n}`;
    const replies = await Promise.all(children.map((child) => tell(child, { create: name, role: "reader" })));
    const shown = replies.filter((reply) => reply.failure === undefined);
    const live = it.keys.list().filter((key) => key.name === name && key.status === "live");
    assert.ok(shown.length <= 1);
    assert.equal(live.length, shown.length);
    for (const reply of shown) assert.equal(typeof it.keys.verify(reply.printed!), "object");
  }
});

test("keys outlive the processes that made them", async () => {
  await using it = await setup();
  const child = it.child();
  const { printed } = await tell(child, { create: "ci", role: "writer" });
  child.kill("SIGKILL");
  await once(child, "exit");
  const list = await tell(it.child(), { list: true });
  assert.equal(JSON.parse(list.printed!)[0].name, "ci");
  assert.equal(typeof it.keys.verify(printed!), "object");
});
