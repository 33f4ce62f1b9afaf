import assert from "node:assert/strict";
import { test } from "node:test";
import { foldEntries } from "../../port/commit-entry.ts";
import type { Bytes, WriteOp } from "../../port/store.ts";
import { StoreError } from "../../port/store.ts";
import { MemoryCommitLog } from "../memory/commit-log.ts";
import { MemoryStore } from "../memory/store.ts";
import { SimulatedClock } from "../simulated/clock.ts";
import { type Applier, type LoggedSettings, LoggedStore } from "./store.ts";

const mark = Buffer.from("\xfe mark", "latin1");

/** Steps can be held back or made to fail. */
class HeldApplier implements Applier {
  readonly applied: number[] = [];
  readonly #view: MemoryStore;
  gate: () => Promise<void> = async () => {};

  constructor(view: MemoryStore) {
    this.#view = view;
  }

  async apply(entries: readonly Bytes[], mark: WriteOp): Promise<void> {
    await this.gate();
    await this.#view.commit([...foldEntries(entries), mark]);
    this.applied.push(entries.length);
  }

  async close(): Promise<void> {}
}

function put(key: string, value = key): WriteOp {
  return { kind: "put", key: Buffer.from(key), value: Buffer.from(value) };
}

function textOf(store: { get(key: Bytes): Bytes | undefined }, key: string): string | undefined {
  const value = store.get(Buffer.from(key));
  return value && Buffer.from(value).toString();
}

async function open(settings: Partial<LoggedSettings> = {}) {
  const view = new MemoryStore();
  const applier = new HeldApplier(view);
  const log = new MemoryCommitLog();
  const clock = new SimulatedClock();
  const errors: unknown[] = [];
  const options = { view, log, clock, mark, settings, onError: (error: unknown) => errors.push(error) };
  const store = await LoggedStore.open({ ...options, applier });
  const reopen = () => LoggedStore.open(options);
  return { view, applier, log, clock, store, errors, reopen };
}

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}

test("a commit is seen at once, and the view follows when it is asked to", async () => {
  const { view, store, applier } = await open();
  await store.commit([put("a")]);
  assert.deepEqual([textOf(store, "a"), textOf(view, "a")], ["a", undefined]);
  await store.commit([put("a", "2"), put("b")]);
  await store.checkpoint();
  assert.deepEqual([textOf(view, "a"), textOf(view, "b")], ["2", "b"]);
  assert.deepEqual(applier.applied, [2], "both in one step");
  assert.equal(store.stats().overlayBytes, 0);
});

test("the view follows by itself after a while, or once much is ahead of it", async () => {
  const { clock, store, view } = await open({ applyDelayMs: 500, applyBytes: 100 });
  await store.commit([put("a")]);
  await turns();
  assert.equal(textOf(view, "a"), undefined);
  clock.advance(501);
  await turns();
  assert.equal(textOf(view, "a"), "a");
  await store.commit([put("b", "x".repeat(200))]);
  await turns();
  assert.equal(textOf(view, "b")?.length, 200);
});

test("a checkpoint covers what was durable when it was asked for, and no more", async () => {
  const { store, applier, view } = await open();
  await store.commit([put("a")]);
  const held = Promise.withResolvers<void>();
  applier.gate = () => held.promise;
  let isDone = false;
  const checkpoint = store.checkpoint().then(() => {
    isDone = true;
  });
  await turns();
  assert.equal(isDone, false);
  await store.commit([put("later")]);
  held.resolve();
  await checkpoint;
  assert.deepEqual([textOf(view, "a"), textOf(view, "later")], ["a", undefined]);
});

test("commits wait while the overlay is full, and it is never larger than its bound", async () => {
  const { store, applier } = await open({ overlayBytesMax: 300 });
  const held = Promise.withResolvers<void>();
  applier.gate = () => held.promise;
  await store.commit([put("a", "x".repeat(200))]);
  let isDone = false;
  const waiting = store.commit([put("b", "x".repeat(200))]).then(() => {
    isDone = true;
  });
  await turns();
  assert.equal(isDone, false);
  assert.ok(store.stats().overlayBytes! <= 300);
  held.resolve();
  await waiting;
  assert.equal(textOf(store, "b")?.length, 200);
});

test("a snapshot stays as it is while later commits come and the view goes on", async () => {
  const { store } = await open();
  await store.commit([put("a", "1"), put("b", "1")]);
  using snapshot = store.snapshot();
  await store.commit([put("a", "2"), { kind: "delete", key: Buffer.from("b") }, put("c")]);
  await store.checkpoint();
  await store.commit([put("a", "3")]);
  assert.deepEqual([textOf(snapshot, "a"), textOf(snapshot, "b"), textOf(snapshot, "c")], ["1", "1", undefined]);
  assert.deepEqual(
    [...snapshot.keys({})].map((key) => Buffer.from(key).toString()),
    ["a", "b"],
  );
  assert.deepEqual(
    [...store.keys({ reverse: true })].map((key) => Buffer.from(key).toString()),
    ["c", "a"],
  );
});

test("what snapshots hold of applied commits is told until the last of them ends", async () => {
  const { store } = await open();
  await store.commit([put("a", "x".repeat(1_000))]);
  const [one, two] = [store.snapshot(), store.snapshot()];
  assert.equal(store.stats().heldBytes, 0);
  await store.checkpoint();
  const held = store.stats().heldBytes!;
  assert.ok(held > 1_000, `${held} bytes`);
  one[Symbol.dispose]();
  assert.equal(store.stats().heldBytes, held);
  two[Symbol.dispose]();
  assert.equal(store.stats().heldBytes, 0);
  await store.close();
});

test("a step that fails is tried again, and nothing is lost meanwhile", async () => {
  const { store, applier, clock, errors, view } = await open();
  let failures = 2;
  applier.gate = async () => {
    if (failures-- > 0) throw new StoreError("full", "no room");
  };
  await store.commit([put("a")]);
  const checkpoint = store.checkpoint();
  for (let i = 0; i < 3; i++) {
    await turns();
    assert.equal(textOf(store, "a"), "a");
    clock.advance(1_001);
  }
  await checkpoint;
  assert.equal(errors.length, 2);
  assert.equal(textOf(view, "a"), "a");
});

test("what the view lacks is replayed when the store is opened again", async () => {
  const { store, applier, reopen, view } = await open();
  await store.commit([put("a", "1")]);
  await store.checkpoint();
  applier.gate = () => new Promise(() => {});
  await store.commit([put("a", "2"), put("b")]);
  const again = await reopen();
  assert.deepEqual([textOf(again, "a"), textOf(again, "b"), textOf(view, "b")], ["2", "b", undefined]);
  await again.close();
  assert.deepEqual([textOf(view, "a"), textOf(view, "b")], ["2", "b"]);
});

test("a log that is not the store's is refused", async () => {
  const { store, reopen, log, view } = await open();
  await store.commit([put("a")]);
  await store.close();
  const other = new MemoryCommitLog();
  await assert.rejects(
    LoggedStore.open({ view, log: other, clock: new SimulatedClock(), mark }),
    /entries before position 2 of the commit log are gone/,
  );
  const empty = new MemoryStore();
  await assert.rejects(
    LoggedStore.open({ view: empty, log, clock: new SimulatedClock(), mark }),
    /the commit log belongs to another store/,
  );
  await view.commit([{ kind: "put", key: mark, value: Buffer.from("damaged") }]);
  await assert.rejects(reopen(), /mark of its commit log is damaged/);
});

test("a full device refuses a commit, and takes it once there is room", async () => {
  const view = new MemoryStore();
  let free = 0;
  const store = await LoggedStore.open({
    view,
    log: new MemoryCommitLog(),
    clock: new SimulatedClock(),
    mark,
    freeBytes: () => free,
  });
  await assert.rejects(store.commit([put("a")]), (error) => error instanceof StoreError && error.kind === "full");
  assert.equal(textOf(store, "a"), undefined);
  free = 1e9;
  await store.commit([put("a")]);
  assert.equal(textOf(store, "a"), "a");
  await store.close();
});

test("memory of applied commits is used again, but not while somebody reads them", async () => {
  const { store } = await open({ pieceBytes: 512 });
  await store.commit([put("a", "kept"), put("b", "too")]);
  using snapshot = store.snapshot();
  const walk = store.borrow({})[Symbol.iterator]();
  walk.next();
  for (let i = 0; i < 200; i++) {
    await store.commit([put(`c${i}`, "x".repeat(50))]);
    if (i % 50 === 0) await store.checkpoint();
  }
  assert.deepEqual([textOf(snapshot, "a"), textOf(store, "a")], ["kept", "kept"]);
  assert.equal(Buffer.from(walk.next().value.value).toString(), "too");
});
