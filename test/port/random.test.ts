import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { SeededRandom } from "../../src/adapter/simulated/random.ts";
import type { Random } from "../../src/port/random.ts";

const adapters: Readonly<Record<string, () => Random>> = {
  node: () => new NodeRandom(),
  seeded: () => new SeededRandom(42),
};

for (const [name, open] of Object.entries(adapters)) {
  describe(`random on ${name}`, () => {
    test("numbers lie from 0 up to 1 and are spread", () => {
      const random = open();
      const tenths = new Array<number>(10).fill(0);
      for (let i = 0; i < 10_000; i++) {
        const number = random.next();
        assert.ok(number >= 0 && number < 1);
        tenths[Math.floor(number * 10)]!++;
      }
      // 1,000 are expected in each; 300 fewer is ten deviations away.
      for (const count of tenths) assert.ok(count > 700, `${tenths}`);
    });

    test("bytes are as many as asked for, and spread", () => {
      const random = open();
      for (const count of [0, 1, 16, 1_000]) assert.equal(random.bytes(count).length, count);
      assert.ok(new Set(random.bytes(10_000)).size > 250);
      assert.notDeepEqual(random.bytes(16), random.bytes(16));
    });
  });
}

test("seeded: the same seed gives the same, another gives other numbers", () => {
  const draw = (seed: number) => {
    const random = new SeededRandom(seed);
    return [random.next(), random.next(), ...random.bytes(8)];
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
});
