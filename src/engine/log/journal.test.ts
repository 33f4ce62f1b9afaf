import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import type { CommitOptions, WriteOp } from "../../port/store.ts";
import { type CommitGroup, Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import { type JournalSettings, journalSettings } from "./journal.ts";
import { Log } from "./log.ts";
import { encodeBatch } from "./record-batch.ts";

/** A store in which a commit aside takes until the test lets it end. */
class SlowAside extends MemoryStore {
  until: Promise<void> | undefined;

  override async commit(ops: readonly WriteOp[], options?: CommitOptions): Promise<void> {
    if (options?.aside) await this.until;
    await super.commit(ops);
  }
}

const stream = { id: 7, partitions: 10, retention: undefined };

function open(settings: Partial<JournalSettings> = {}) {
  const store = new SlowAside();
  const clock = new SimulatedClock();
  const groups: CommitGroup[] = [];
  const limits = { queueBytesMax: 1e9, groupBytesMax: 1e9 };
  const committer = new Committer({ store, clock, ...limits, onGroup: (group) => groups.push(group) });
  const log = new Log(store, clock, { ...journalSettings, ...settings });
  const stage = (draft: Draft, partition: number, bytes: number) =>
    log.stageAppend(draft, stream, partition, encodeBatch([{ value: Buffer.alloc(bytes) }], 0));
  const append = (partition: number, bytes = 10) =>
    committer.submit((draft) => stage(draft, partition, bytes), bytes, "append");
  const move = (partition: number, until: number) => {
    const of = log.journal.of(stream.id, partition)!;
    return committer.submit((draft) => log.stageMove(draft, [{ of, until }]), 0, "move");
  };
  const offsets = (partition: number) =>
    [...log.read(stream, partition, 0)].map(({ header: { baseOffset } }) => baseOffset);
  return { store, committer, log, groups, stage, append, move, offsets };
}

test("appends go on while a part of what the journal holds of their partition is moved", async () => {
  const { store, log, append, move, offsets } = open();
  for (let i = 0; i < 5; i++) await append(0);
  const { promise, resolve } = Promise.withResolvers<void>();
  store.until = promise;
  const moving = move(0, 3);
  for (let i = 0; i < 3; i++) await append(0);
  assert.deepEqual(offsets(0), [0, 1, 2, 3, 4, 5, 6, 7]);
  resolve();
  await moving;
  assert.equal(log.journal.of(stream.id, 0)!.batches.base(0), 3);
  assert.deepEqual(offsets(0), [0, 1, 2, 3, 4, 5, 6, 7]);
});

test("an append that is taken back while the journal is moved harms nobody", async () => {
  const { store, committer, stage, append, move, offsets } = open();
  await append(0);
  const { promise, resolve } = Promise.withResolvers<void>();
  store.until = promise;
  const moving = move(0, 1);
  const refused = (draft: Draft) => {
    stage(draft, 0, 10);
    throw new Error("refused");
  };
  await assert.rejects(committer.submit(refused, 1, "append"), /refused/);
  await append(0);
  resolve();
  await moving;
  assert.deepEqual(offsets(0), [0, 1]);
});

test("a partition with much in a full journal goes on in it instead of moving everything at once", async () => {
  const { groups, append, log, offsets } = open({ takenAlongMax: 20, bytesMax: 5_000, batchBytesMax: 200 });
  for (let i = 0; i < 60; i++) await append(0);
  assert(log.journal.bytes > 5_000);
  assert.equal(Math.max(...groups.map(({ ops }) => ops)), 1);
  // Twice as large as it may be, it takes no more.
  for (let i = 0; i < 60; i++) await append(0);
  assert(log.journal.bytes < 10_500);
  assert.deepEqual(
    offsets(0),
    Array.from({ length: 120 }, (_, i) => i),
  );
});
