import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeClock } from "../../adapter/node/clock.ts";
import { Committer } from "../commit/committer.ts";
import { EngineError } from "../errors.ts";
import { Metastore } from "./metastore.ts";

async function open(streams: Readonly<Record<string, number>>) {
  const store = new MemoryStore();
  const committer = new Committer({ store, clock: new NodeClock(), queueBytesMax: 1e6, groupBytesMax: 1e6 });
  const metastore = new Metastore(store, committer);
  await metastore.createNamespace("n");
  const create = (name: string, partitions: number) =>
    committer.submit((draft) =>
      metastore.stageCreateStream(draft, "n", name, { partitions, retention: undefined, backing: false }),
    );
  for (const [name, partitions] of Object.entries(streams)) await create(name, partitions);
  return { committer, metastore, create };
}

const isMissing = (error: unknown) => error instanceof EngineError && error.reason === "not_found";

test("what was found under a name is looked for again once any stream changes", async () => {
  const { committer, metastore, create } = await open({ s: 1 });
  const before = metastore.stream("n", "s");
  await committer.submit((draft) => {
    assert.equal(metastore.stagedStream(draft, before), before);
    metastore.stageDropStream(draft, before);
    // Decided, but not durable: readers still see it, a change does not.
    assert.deepEqual(metastore.stream("n", "s"), before);
    assert.throws(() => metastore.stagedStream(draft, before), isMissing);
  });
  assert.throws(() => metastore.stream("n", "s"), isMissing);
  await create("s", 3);
  assert.equal(metastore.stream("n", "s").partitions, 3);
  assert.notEqual(metastore.stream("n", "s").id, before.id);
  await committer.submit((draft) => {
    assert.throws(() => metastore.stagedStream(draft, before), isMissing);
    assert.equal(metastore.stagedStream(draft, metastore.stream("n", "s")), metastore.stream("n", "s"));
  });
});

test("a change that is taken back leaves what was found in use", async () => {
  const { committer, metastore } = await open({ s: 1 });
  const before = metastore.stream("n", "s");
  const failed = committer.submit((draft) => {
    metastore.stageDropStream(draft, before);
    throw new Error("no");
  });
  await assert.rejects(failed, /no/);
  assert.deepEqual(metastore.stream("n", "s"), before);
  assert.equal(metastore.stream("n", "s"), metastore.stream("n", "s"));
});
