import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeClock } from "../../adapter/node/clock.ts";
import { Committer } from "../commit/committer.ts";
import { EngineError } from "../errors.ts";
import { KeptStream, Metastore } from "./metastore.ts";

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

test("what was found under a name holds for the metastore that found it", async () => {
  const first = await open({ x: 1, s: 8 });
  const second = await open({ s: 1, x: 1 });
  const kept = new KeptStream("n", "s");
  for (const { metastore } of [first, second, first]) {
    assert.deepEqual(metastore.keptStream(kept), metastore.stream("n", "s"));
    assert.equal(metastore.keptStream(kept), metastore.keptStream(kept));
  }
});

test("what was found under a name is looked for again once any stream changes", async () => {
  const { committer, metastore, create } = await open({ s: 1 });
  const kept = new KeptStream("n", "s");
  const before = metastore.keptStream(kept);
  const version = metastore.streamsVersion;
  await committer.submit((draft) => {
    assert.equal(metastore.stagedStream(draft, before, version), before);
    metastore.stageDropStream(draft, before);
    // Decided, but not durable: readers still see it, a change does not.
    assert.deepEqual(metastore.keptStream(kept), before);
    assert.throws(() => metastore.stagedStream(draft, before, version), isMissing);
    assert.throws(() => metastore.stagedStream(draft, before, metastore.streamsVersion), isMissing);
  });
  assert.throws(() => metastore.keptStream(kept), isMissing);
  await create("s", 3);
  assert.equal(metastore.keptStream(kept).partitions, 3);
  assert.notEqual(metastore.keptStream(kept).id, before.id);
  const after = metastore.streamsVersion;
  await committer.submit((draft) => {
    assert.throws(() => metastore.stagedStream(draft, before, version), isMissing);
    assert.equal(metastore.stagedStream(draft, metastore.keptStream(kept), after), metastore.keptStream(kept));
  });
});

test("a change that is taken back leaves what was found in use", async () => {
  const { committer, metastore } = await open({ s: 1 });
  const kept = new KeptStream("n", "s");
  const before = metastore.keptStream(kept);
  const failed = committer.submit((draft) => {
    metastore.stageDropStream(draft, before);
    throw new Error("no");
  });
  await assert.rejects(failed, /no/);
  assert.deepEqual(metastore.keptStream(kept), before);
  assert.equal(metastore.keptStream(kept), metastore.keptStream(kept));
  assert.equal(metastore.streamsVersion, metastore.streamsVersion, "no change is under way");
});
