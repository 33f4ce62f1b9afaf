import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { nextTurn } from "../../port/next-turn.ts";
import { Committer } from "./committer.ts";
import { takeBetween } from "./take-between.ts";

/** A store whose commits fail, or are answered late. */
class TroubledStore extends MemoryStore {
  answered: Promise<void> = Promise.resolve();

  override async commit(): Promise<void> {
    await this.answered;
    throw new Error("no room");
  }
}

const bounds = { queueBytesMax: 1e9, groupBytesMax: 1e9 };
const key = Buffer.from("k");

function start(store: MemoryStore, outcomeMsMax?: number) {
  const clock = new SimulatedClock();
  const committer = new Committer({ store, clock, ...bounds, ...(outcomeMsMax === undefined ? {} : { outcomeMsMax }) });
  let held = 0;
  const take = () => {
    held++;
    return { snapshot: { [Symbol.dispose]: () => void held-- } };
  };
  const write = () => committer.submit((draft) => draft.put(key, key));
  return { clock, committer, take, write, held: () => held };
}

test("what was taken between two commits is the taker's", async () => {
  const { committer, take, write, held } = start(new MemoryStore());
  const [, taken] = await Promise.all([write(), takeBetween(committer, take)]);
  assert.equal(held(), 1);
  taken?.snapshot[Symbol.dispose]();
  assert.equal(held(), 0);
  assert.equal(await takeBetween(committer, () => undefined), undefined);
});

test("a snapshot taken beside a commit that fails is let go", async () => {
  const { committer, take, write, held } = start(new TroubledStore());
  const [written, taken] = await Promise.allSettled([write(), takeBetween(committer, take)]);
  assert.equal(written.status, "rejected");
  assert.equal(taken.status, "rejected");
  assert.equal(held(), 0);
});

test("a snapshot taken beside a commit that is not answered in time is let go", async () => {
  const store = new TroubledStore();
  store.answered = new Promise(() => {});
  const { clock, committer, take, write, held } = start(store, 1_000);
  const both = Promise.allSettled([write(), takeBetween(committer, take)]);
  for (let turns = 0; held() === 0; turns++) {
    assert.ok(turns < 100, "it is taken");
    await nextTurn();
  }
  for (let look = 0; look < 4; look++) {
    clock.advance(500);
    await nextTurn();
  }
  const [, taken] = await both;
  assert.equal(taken.status, "rejected");
  assert.equal(held(), 0);
});
