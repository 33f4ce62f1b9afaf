import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTick } from "node:timers/promises";
import { startMemoryEngine } from "../../../test/support/memory-engine.ts";
import { NodeClock } from "../../adapter/node/clock.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import type { EngineError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { RecordInput } from "../log/record-batch.ts";

/** A clock on which every look takes a millisecond, so that the work of each step fills a turn. */
class SlowClock extends NodeClock {
  #looks = 0;

  override steadyMs(): number {
    return ++this.#looks;
  }
}

/** Counts turns of the event loop until the work is done. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isDone = true;
  return turns;
}

/** Proves: however many records a request has, others get their turns while it is encoded. */
test("a large append is encoded in turns, and is the same as a small one", async () => {
  const engine = await startMemoryEngine({}, undefined, new SlowClock());
  try {
    const { streams } = engine;
    await engine.metastore.createNamespace("n");
    const records = Array.from(
      { length: 20_000 },
      (_, i): RecordInput => ({
        ...(i % 5 === 0 ? {} : { key: Buffer.from(`k${i % 50}`) }),
        value: Buffer.from(String(i)),
        headers: [{ key: "h", value: "v" }],
      }),
    );
    for (const stream of ["large", "small", "one"]) await streams.create({ namespace: "n", stream }, 8, undefined);
    const whole = streams.appendRouted({ namespace: "n", stream: "large", records });
    assert((await turnsOf(whole)) > 100, "a routed append");
    const one = streams.append({ namespace: "n", stream: "one", partition: 0, records });
    assert((await turnsOf(one)) > 100, "an append to a partition");
    assert.equal((await one).reply.lastOffset, records.length - 1);

    const valuesOf = async (stream: string, partition: number) => {
      const command = { namespace: "n", stream, partition, from: { offset: 0 }, waitMs: 0, token: [] };
      const values: string[] = [];
      for (const batch of (await streams.fetch(command)).read(0)) {
        assert(batch.seek(values.length));
        do {
          values.push(batch.value!.toString());
        } while (batch.next());
      }
      return values;
    };
    const keyless = records.filter(({ key }) => key === undefined);
    for (let at = 0; at < records.length; at += 500) {
      await streams.appendRouted({
        namespace: "n",
        stream: "small",
        records: records.slice(at, at + 500).filter(({ key }) => key !== undefined),
      });
    }
    let found = 0;
    for (let partition = 0; partition < 8; partition++) {
      const inLarge = await valuesOf("large", partition);
      const keyed = inLarge.filter((value) => Number(value) % 5 !== 0);
      assert.deepEqual(keyed, await valuesOf("small", partition));
      assert([0, keyless.length].includes(inLarge.length - keyed.length), "the keyless ones are together");
      found += inLarge.length;
    }
    assert.equal(found, records.length);
  } finally {
    await engine.stop();
  }
});

/** Ticks in which everything that may happen by now does. */
const settledTicks = 20;

for (const [what, asked, waitMs, outcome] of [
  ["a long poll that sees nothing answers", { waitMs: 300 }, 300, "empty"],
  [
    "a token whose offset does not come is refused",
    { waitMs: 0, offset: 0 },
    limits.tokenWaitMsMax,
    "deadline_exceeded",
  ],
] as const) {
  test(`${what} when its time is over, and no sooner`, async () => {
    const clock = new SimulatedClock();
    const engine = await startMemoryEngine({}, undefined, clock);
    try {
      await engine.metastore.createNamespace("n");
      const { id } = await engine.streams.create({ namespace: "n", stream: "s" }, 1, undefined);
      const token = "offset" in asked ? [{ stream: id, partition: 0, offset: asked.offset }] : [];
      const command = { namespace: "n", stream: "s", partition: 0, from: { offset: 0 }, waitMs: asked.waitMs, token };
      const answers: string[] = [];
      void engine.streams.fetch(command).then(
        ({ highWatermark }) => answers.push(highWatermark === 0 ? "empty" : "records"),
        (error: EngineError) => answers.push(error.reason),
      );
      for (const [ms, wanted] of [
        [0, []],
        [waitMs - 1, []],
        [1, [outcome]],
      ] as const) {
        clock.advance(ms);
        for (let i = 0; i < settledTicks; i++) await nextTick();
        assert.deepEqual(answers, wanted);
      }
    } finally {
      await engine.stop();
    }
  });
}
