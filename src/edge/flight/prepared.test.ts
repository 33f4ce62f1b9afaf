import assert from "node:assert/strict";
import { test } from "node:test";
import { NodeRandom } from "../../adapter/node/random.ts";
import type { Clock } from "../../port/clock.ts";
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

const limits = { preparedMax: 4, preparedOfOneMax: 3, preparedIdleMs: 1_000, parameterBytesAllMax: 100 };

function setUp() {
  const clock = new HandClock();
  return { clock, prepared: new PreparedStatements(clock, new NodeRandom(), limits) };
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

test("no more than so many, of one caller and of all", () => {
  const { prepared } = setUp();
  const handles = [1, 2, 3].map(() => prepared.add("ada", "shop", "q"));
  assert.throws(() => prepared.add("ada", "shop", "q"), { reason: "resource_exhausted" });
  prepared.add("bob", "shop", "q");
  assert.throws(() => prepared.add("eve", "shop", "q"), { reason: "resource_exhausted" });
  prepared.close("ada", handles[0]!);
  prepared.add("eve", "shop", "q");
  assert.equal(prepared.size, 4);
});

test("what nobody uses is forgotten, the rest is not", () => {
  const { clock, prepared } = setUp();
  const [idle, used] = [prepared.add("ada", "shop", "idle"), prepared.add("ada", "shop", "used")];
  clock.ms = 900;
  prepared.get("ada", used);
  clock.ms = 1_500;
  assert.throws(() => prepared.get("ada", idle), { reason: "not_found" });
  assert.equal(prepared.get("ada", used).query, "used");
  assert.equal(prepared.size, 1);
});

test("parameters are bounded over all statements, and given back", () => {
  const { prepared } = setUp();
  const [first, second] = [prepared.add("ada", "shop", "q"), prepared.add("ada", "shop", "q")];
  prepared.bind("ada", first, [], 80);
  assert.throws(() => prepared.bind("ada", second, [], 30), { reason: "resource_exhausted" });
  prepared.bind("ada", first, [], 60);
  prepared.bind("ada", second, [], 30);
  prepared.close("ada", first);
  prepared.bind("ada", second, [], 100);
});
