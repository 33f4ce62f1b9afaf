import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { NodeClock } from "../../adapter/node/clock.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import type { Clock } from "../../port/clock.ts";
import { nextTurn } from "../../port/next-turn.ts";
import { StoreError, type WriteOp } from "../../port/store.ts";
import { EngineError } from "../errors.ts";
import { type CommitGroup, Committer } from "./committer.ts";
import type { Draft } from "./draft.ts";

/** A store whose commits end when the test says so, and fail when it says so. */
class HeldStore extends MemoryStore {
  readonly commits: {
    readonly ops: readonly WriteOp[];
    readonly finish: (error?: Error) => Promise<void>;
  }[] = [];
  #arrived: (() => void) | undefined;

  override commit(ops: readonly WriteOp[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = async (error?: Error) => {
        if (error !== undefined) return reject(error);
        await super.commit(ops);
        resolve();
      };
      this.commits.push({ ops, finish });
      this.#arrived?.();
    });
  }

  async next() {
    while (this.commits.length === 0) await new Promise<void>((resolve) => (this.#arrived = resolve));
    return this.commits.shift()!;
  }
}

interface TestLimits {
  readonly queueBytesMax?: number;
  readonly groupBytesMax?: number;
  readonly readyBytes?: number;
  readonly readyChanges?: number;
  readonly outcomeMsMax?: number;
}

function open(limits: TestLimits = {}, clock: Clock = new NodeClock()) {
  const store = new HeldStore();
  const groups: CommitGroup[] = [];
  const committer = new Committer({
    store,
    clock,
    queueBytesMax: 1_000,
    groupBytesMax: 1_000,
    ...limits,
    onGroup: (group) => groups.push(group),
  });
  const put = (name: string, bytes = 0) => {
    const change = (draft: Draft) => {
      draft.put(Buffer.from(name), Buffer.from("1"));
      return name;
    };
    return committer.submit(change, bytes);
  };
  return { store, committer, groups, put };
}

function names(ops: readonly WriteOp[]): string {
  return ops.map(({ key }) => Buffer.from(key).toString()).join("");
}

function isReason(reason: string): (error: unknown) => boolean {
  return (error) => error instanceof EngineError && error.reason === reason;
}

test("changes of one turn share a commit, and those that come during its sync share the next", async () => {
  const { store, put, groups } = open();
  const first = [put("a"), put("b")];
  const held = await store.next();
  assert.equal(names(held.ops), "ab");
  const second = [put("c"), put("d"), put("e")];
  await held.finish();
  assert.deepEqual(await Promise.all(first), ["a", "b"]);
  const next = await store.next();
  assert.equal(names(next.ops), "cde");
  await next.finish();
  assert.deepEqual(await Promise.all(second), ["c", "d", "e"]);
  assert.deepEqual(
    groups.map(({ changes, ops, failed }) => [changes, ops, failed]),
    [
      [2, 2, false],
      [3, 3, false],
    ],
  );
});

test("no change is told of before its commit is durable", async () => {
  const { store, put } = open();
  let told = false;
  const done = put("a").then(() => {
    told = true;
  });
  const held = await store.next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(told, false);
  await held.finish();
  await done;
});

test("a change that was refused for a write of its group is not told so when the group fails", async () => {
  const { store, committer, put } = open();
  const refuse = () =>
    committer.submit(() => {
      throw new EngineError("already_exists", "taken");
    });
  const checks = [
    assert.rejects(refuse(), isReason("already_exists")),
    assert.rejects(put("a"), isReason("unavailable")),
    assert.rejects(refuse(), isReason("unavailable")),
  ];
  const held = await store.next();
  await held.finish(new StoreError("full", "no room"));
  await Promise.all(checks);
});

test("a change sees those before it in its group; one that throws takes back its own writes only", async () => {
  const { store, committer, put } = open();
  const undone: string[] = [];
  const before = put("a");
  const failed = committer.submit((draft) => {
    draft.put(Buffer.from("x"), Buffer.from("1"));
    draft.onUndo(() => undone.push("x"));
    throw new EngineError("aborted", "no");
  });
  const after = committer.submit((draft) => [draft.get(Buffer.from("a")), draft.get(Buffer.from("x"))]);
  const refused = assert.rejects(failed, isReason("aborted"));
  const held = await store.next();
  assert.equal(names(held.ops), "a");
  assert.deepEqual(undone, ["x"]);
  await held.finish();
  assert.equal(await before, "a");
  assert.deepEqual(await after, [Buffer.from("1"), undefined]);
  await refused;
});

test("a commit that fails fails its whole group, and the next one goes on from the state before it", async () => {
  const { store, committer, put, groups } = open();
  let staged = 0;
  const count = () =>
    committer.submit((draft) => {
      const before = staged++;
      draft.onUndo(() => (staged = before));
      draft.put(Buffer.from("n"), Buffer.from(String(staged)));
      return staged;
    });
  const doomed = [count(), count()];
  const refused = doomed.map((each) => assert.rejects(each, isReason("unavailable")));
  await (await store.next()).finish(new StoreError("full", "no room"));
  await Promise.all(refused);
  assert.equal(staged, 0);
  const next = count();
  await (await store.next()).finish();
  assert.equal(await next, 1);
  assert.equal(Buffer.from(store.get(Buffer.from("n"))!).toString(), "1");
  assert.deepEqual(
    groups.map(({ failed }) => failed),
    [true, false],
  );
  const last = put("z");
  await (await store.next()).finish();
  await last;
});

test("a change that only reads needs no commit", async () => {
  const { store, committer } = open();
  assert.equal(await committer.submit((draft) => draft.get(Buffer.from("a"))), undefined);
  assert.equal(store.commits.length, 0);
});

test("backpressure: what would pass the queue's bound is refused until there is room again", async () => {
  const { store, committer, put } = open({ queueBytesMax: 100 });
  const first = put("a", 60);
  await assert.rejects(put("b", 60), isReason("unavailable"));
  const second = put("c", 40);
  assert.equal(committer.queuedBytes, 100);
  await assert.rejects(put("d", 1), isReason("unavailable"));
  const free = put("e");
  for (const want of ["a", "ce"]) {
    const held = await store.next();
    assert.equal(names(held.ops), want);
    await held.finish();
  }
  await Promise.all([first, second, free]);
  assert.equal(committer.queuedBytes, 0);
  const large = put("f", 500);
  await (await store.next()).finish();
  assert.equal(await large, "f", "one that is larger than the bound passes an empty queue");
});

test("a change that comes alone does not wait for the others of its turn, after one that came alone", async () => {
  const { store, put } = open();
  const rounds = [["a"], ["b"], ["c", "d"], ["e", "f"]];
  for (const [round, turn] of rounds.entries()) {
    const done: Promise<string>[] = [];
    for (const name of turn) {
      done.push(put(name));
      // Still the same turn of the event loop.
      await Promise.resolve();
    }
    const wanted = round === 2 ? ["c", "d"] : [turn.join("")];
    for (const want of wanted) {
      const held = await store.next();
      assert.equal(names(held.ops), want);
      await held.finish();
    }
    await Promise.all(done);
    // Two that share a group tell that more come together.
    if (round === 2) {
      const both = [put("x"), put("y")];
      const held = await store.next();
      assert.equal(names(held.ops), "xy");
      await held.finish();
      await Promise.all(both);
    }
    await nextTurn();
  }
});

test("a change that comes in the turn in which another was durable waits for the others of that turn", async () => {
  const { store, put } = open();
  const first = put("a");
  await (await store.next()).finish();
  await first;
  const others = [put("b")];
  await Promise.resolve();
  others.push(put("c"));
  const held = await store.next();
  assert.equal(names(held.ops), "bc");
  await held.finish();
  await Promise.all(others);
});

test("a group takes at most its bytes, and at least one change", async () => {
  const { store, put } = open({ groupBytesMax: 50 });
  const all = [put("a", 30), put("b", 30), put("c", 10), put("d", 200), put("e", 1)];
  for (const want of ["a", "bc", "d", "e"]) {
    const held = await store.next();
    assert.equal(names(held.ops), want);
    await held.finish();
  }
  await Promise.all(all);
});

test("a group with much in it does not wait for the end of the turn, and leaves some to the next while commits are quick", async () => {
  const clock = new SimulatedClock();
  const { store, put } = open({ readyBytes: 10 }, clock);
  const all: Promise<string>[] = [];
  const finish = async (want: string, ms: number) => {
    const held = await store.next();
    assert.equal(names(held.ops), want);
    clock.advance(ms);
    await held.finish();
  };
  all.push(put("a"), put("b"));
  await finish("ab", 1);
  let turnsOver = 0;
  setImmediate(() => turnsOver++);
  all.push(put("c", 4), put("d", 4), put("e", 4));
  const held = await store.next();
  assert.equal(turnsOver, 0);
  for (const name of ["f", "g", "h"]) all.push(put(name, 15));
  assert.equal(names(held.ops), "cde");
  await held.finish();
  await finish("fg", 50);
  for (const name of ["i", "j", "k"]) all.push(put(name, 15));
  await finish("hijk", 1);
  await Promise.all(all);
});

test("a group of many changes does not wait for the end of the turn while commits are quick", async () => {
  for (const [ms, isEarly] of [
    [1, true],
    [50, false],
  ] as const) {
    const clock = new SimulatedClock();
    const { store, put } = open({ readyChanges: 3 }, clock);
    const all = [put("a"), put("b")];
    const first = await store.next();
    clock.advance(ms);
    await first.finish();
    await Promise.all(all);
    let turnsOver = 0;
    setImmediate(() => turnsOver++);
    const more = [put("c"), put("d"), put("e")];
    const held = await store.next();
    assert.equal(turnsOver, isEarly ? 0 : 1);
    assert.equal(names(held.ops), "cde");
    await held.finish();
    await Promise.all(more);
  }
});

test("close waits for what was accepted and refuses what comes after", async () => {
  const { store, committer, put } = open();
  const accepted = put("a");
  const closed = committer.close();
  await assert.rejects(put("b"), isReason("unavailable"));
  await (await store.next()).finish();
  await closed;
  assert.equal(await accepted, "a");
  await committer.close();
});

test("a store that does not answer is told as unavailable, to those that wait and those that come, until it does", async () => {
  const clock = new SimulatedClock();
  const { store, put, committer } = open({ outcomeMsMax: 100 }, clock);
  const undecided = assert.rejects(put("a"), /the outcome is not known yet/);
  const held = await store.next();
  const queued = assert.rejects(put("b", 10), /nothing was written/);
  for (let i = 0; i < 4; i++) {
    clock.advance(50);
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  }
  await undecided;
  await queued;
  await assert.rejects(put("c"), /nothing was written/);
  assert.equal(committer.queuedBytes, 0);
  await held.finish();
  await new Promise(setImmediate);
  const next = put("d");
  await (await store.next()).finish();
  assert.equal(await next, "d");
  assert.equal(store.get(Buffer.from("a"))?.length, 1, "what was undecided has come about");
  await committer.close();
});

test("a group that can't be completed fails alone", async () => {
  const { store, put, committer } = open();
  const failing = committer.submit((draft) => {
    draft.put(Buffer.from("x"), Buffer.from("1"));
    draft.beforeCommit(() => assert.fail("on purpose"));
  });
  await assert.rejects(failing, isReason("unavailable"));
  const next = put("a");
  await (await store.next()).finish();
  assert.equal(await next, "a");
});
