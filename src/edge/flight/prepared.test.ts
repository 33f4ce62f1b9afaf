import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeRandom } from "../../adapter/node/random.ts";
import type { Clock } from "../../port/clock.ts";
import { ByteBudget } from "../wire/byte-budget.ts";
import { PreparedStatements } from "./prepared.ts";

class HandClock implements Clock {
  ms = 0;
  nowMs(): number {
    return this.ms;
  }
  steadyMs(): number {
    return this.ms;
  }
  async sleep(): Promise<void> {}
}

const limits = {
  preparedMax: 4,
  preparedOfOneMax: 3,
  preparedBytesMax: 150,
  preparedBytesOfOneMax: 100,
  preparedIdleMs: 1_000,
};

function setUp() {
  const clock = new HandClock();
  return { clock, prepared: new PreparedStatements(clock, new NodeRandom(), limits, new ByteBudget(1).account()) };
}

test("a statement is its owner's alone, until it is closed", () => {
  const { prepared } = setUp();
  const handle = prepared.add("ada", "shop", "select 1");
  assert.equal(prepared.get("ada", handle).query, "select 1");
  assert.throws(() => prepared.get("bob", handle), { reason: "not_found" });
  prepared.close("bob", handle);
  prepared.bind("ada", handle, [[{ value: 1 }]], 10);
  assert.deepEqual(prepared.get("ada", handle).rows, [[{ value: 1 }]]);
  prepared.close("ada", handle);
  prepared.close("ada", handle);
  assert.throws(() => prepared.get("ada", handle), { reason: "not_found" });
});

test("a full table forgets the least recently used, the caller's own first", () => {
  const { clock, prepared } = setUp();
  const add = (owner: string) => {
    clock.ms += 1;
    return prepared.add(owner, "shop", "q");
  };
  const others = add("bob");
  const [first, second] = [add("ada"), add("ada"), add("ada")];
  prepared.get("ada", first!);
  add("ada");
  assert.throws(() => prepared.get("ada", second!), { reason: "not_found" });
  assert.equal(prepared.get("ada", first!).query, "q");
  assert.equal(prepared.size, 4);
  clock.ms += 1;
  prepared.get("ada", first!);
  add("eve");
  assert.equal(prepared.size, 4);
  assert.throws(() => prepared.get("bob", others), { reason: "not_found" });
});

test("what nobody uses is forgotten, the rest is not", () => {
  const { clock, prepared } = setUp();
  const [idle, used] = [prepared.add("ada", "shop", "idle"), prepared.add("ada", "shop", "used")];
  clock.ms = 900;
  prepared.get("ada", used);
  clock.ms = 1_500;
  assert.throws(() => prepared.get("ada", idle), { reason: "not_found" });
  assert.equal(prepared.get("ada", used).query, "used");
  prepared.add("bob", "shop", "new");
  assert.equal(prepared.size, 2);
});

test("what statements hold is bounded, and given back", () => {
  const { prepared } = setUp();
  const [first, second] = [prepared.add("ada", "shop", "q"), prepared.add("ada", "shop", "q")];
  prepared.bind("ada", first, [], 80);
  prepared.bind("ada", first, [], 60);
  prepared.bind("ada", second, [], 30);
  assert.equal(prepared.get("ada", first).query, "q");
  prepared.bind("ada", first, [], 80);
  assert.throws(() => prepared.get("ada", second), { reason: "not_found" });
  prepared.close("ada", first);
  prepared.bind("ada", prepared.add("ada", "shop", "q"), [], 98);
  assert.equal(prepared.size, 1);
  const large = prepared.add("bob", "shop", "q".repeat(40));
  assert.equal(prepared.size, 1);
  assert.equal(prepared.get("bob", large).query.length, 40);
});

test("a table without room among what all edges keep forgets its own, and refuses what alone is too much", () => {
  const bytes = new ByteBudget(300_000);
  const others = bytes.account();
  const wide = { ...limits, preparedBytesMax: 1_000_000, preparedBytesOfOneMax: 1_000_000 };
  const prepared = new PreparedStatements(new HandClock(), new NodeRandom(), wide, bytes.account());
  const query = "x".repeat(50_000);
  const [first, second] = [prepared.add("ada", "shop", query), prepared.add("bob", "shop", query)];
  assert.ok(others.hold(100_000));
  const third = prepared.add("eve", "shop", query);
  assert.throws(() => prepared.get("ada", first), { reason: "not_found" });
  assert.equal(prepared.get("bob", second).query, query);
  assert.equal(bytes.held, 300_000);
  prepared.close("bob", second);
  prepared.close("eve", third);
  assert.equal(bytes.held, 100_000);
  assert.throws(() => prepared.add("eve", "shop", "x".repeat(150_000)), { reason: "resource_exhausted" });
  assert.equal(prepared.size, 0);
});
