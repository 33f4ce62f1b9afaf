import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeClock } from "../../adapter/node/clock.ts";
import { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import { Log } from "../log/log.ts";
import { parseSchema } from "../schema/schema-parse.ts";
import { emptyManifest, noTotals, readCollectionTotals } from "./collection-store.ts";
import { IndexThreads } from "./index-threads.ts";
import { CollectionRuntime } from "./runtime.ts";
import { WriteGroup } from "./write-group.ts";
import { changedIds } from "./write-record.ts";

test("a change that fails after its write takes it back: the others keep their offsets and totals", async () => {
  const store = new MemoryStore();
  const clock = new NodeClock();
  const log = new Log(store, clock);
  const committer = new Committer({ store, clock, queueBytesMax: 1e6, groupBytesMax: 1e6 });
  const meta = {
    ...{ id: 7, namespaceId: 1, namespace: "n", name: "c", streamId: 3 },
    ...{ schema: parseSchema({}), schemaVersion: 1, fillVersion: 1, hot: false },
  };
  const runtime = new CollectionRuntime(meta, emptyManifest, noTotals, new IndexThreads([]), log, store, () => {});
  const told: number[][] = [];
  runtime.followers.set(told, (changes, next, total) => told.push([...changedIds(changes), next, total]));
  const group = new WriteGroup(runtime, noTotals, 0);
  const write = (id: number, fails: boolean) => {
    return committer.submit((draft: Draft) => {
      if (id === 0) {
        draft.beforeCommit(() => {
          group.stageLog(draft, log);
          return undefined;
        });
      }
      const changes = [{ id, version: 1, document: Buffer.from("x") }];
      group.add(draft, { changes, documentsAdded: 1, nowMs: 5 });
      if (fails) throw new Error("after its write");
      return group.next - 1;
    });
  };
  // They are decided in one group: what the first has left is gone before the second is decided.
  const outcomes = await Promise.allSettled([write(0, true), write(1, false), write(2, true), write(3, false)]);
  assert.deepEqual(
    outcomes.map((each) => (each.status === "fulfilled" ? each.value : "failed")),
    ["failed", 0, "failed", 1],
  );
  assert.deepEqual(told, [[1, 3, 2, 2]]);
  assert.equal(log.highWatermark(runtime.stream, 0), 2);
  const batch = [...log.read(runtime.stream, 0, 0)][0]!;
  assert(batch.seek(0));
  assert.deepEqual([...changedIds(batch.value!)], [1]);
  assert(batch.next());
  assert.deepEqual([...changedIds(batch.value!)], [3]);
  const { changes, documents } = readCollectionTotals(store, meta.id);
  assert.deepEqual({ changes, documents }, { changes: 2, documents: 2 });
});
