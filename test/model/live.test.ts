import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import { SimulatedClock } from "../../src/adapter/simulated/clock.ts";
import { SeededRandom } from "../../src/adapter/simulated/random.ts";
import { devLoopback } from "../../src/engine/auth/principal.ts";
import { EngineError } from "../../src/engine/errors.ts";
import type { LiveObject, LiveValue } from "../../src/engine/live/value.ts";
import { StoreError, type WriteOp } from "../../src/port/store.ts";
import { startMemoryEngine } from "../support/memory-engine.ts";

/** A store whose commits take their time, and fail now and then. */
class ShakyStore extends MemoryStore {
  readonly #random: SeededRandom;
  failsOf = 0;

  constructor(random: SeededRandom) {
    super();
    this.#random = random;
  }

  override async commit(ops: readonly WriteOp[]): Promise<void> {
    await sleep(Math.floor(this.#random.next() * 3));
    if (this.#random.next() < this.failsOf) throw new StoreError("full", "no room");
    await super.commit(ops);
  }
}

const source = `import { query, mutation, v } from "native-engine/live";
const byName = (ctx, name) => ctx.db.query("accounts").withIndex("by_name", (r) => r.eq("name", name)).unique();
export const move = mutation({ args: { from: v.string(), to: v.string(), amount: v.number() }, handler: async (ctx, { from, to, amount }) => {
  const [a, b] = [await byName(ctx, from), await byName(ctx, to)];
  await ctx.db.patch(a._id, { balance: a.balance - amount });
  await ctx.db.patch(b._id, { balance: (from === to ? a.balance - amount : b.balance) + amount });
} });
export const open = mutation({ args: { name: v.string() }, handler: async (ctx, { name }) => {
  const rows = await ctx.db.query("accounts").collect();
  if (!rows.some((each) => each.name === name)) await ctx.db.insert("accounts", { name, balance: 100, made: rows.length });
} });
export const all = query({ args: {}, handler: async (ctx) =>
  Object.fromEntries((await ctx.db.query("accounts").collect()).map((each) => [each.name, each.balance])) });
`;

const names = ["a", "b", "c", "d", "e"];

for (const [seed, failsOf] of [
  [1, 0],
  [2, 0.2],
  [3, 0.2],
] as const) {
  test(`concurrent transactions are as if one after another, seed ${seed}, ${failsOf * 100} % of commits fail`, async () => {
    const random = new SeededRandom(seed);
    const store = new ShakyStore(random);
    const engine = await startMemoryEngine({}, store);
    const { live, metastore } = engine;
    await metastore.createNamespace("n");
    const request = (name: string, args: LiveObject) => ({
      namespace: "n",
      function: name,
      args,
      principal: devLoopback,
    });
    const schema = { tables: { accounts: { indexes: [{ name: "by_name", fields: ["name"] }] } } };
    const modules = [{ path: "bank", source, sourceMap: "" }];
    await live.deploy("n", { modules, schema, expectedVersion: 0, dryRun: false, allowDrops: false });
    const mutate = async (name: string, args: LiveObject) => {
      for (;;) {
        try {
          const done = await live.mutate(request(name, args), { requestId: "" });
          assert.equal(done.outcome.kind, "value", JSON.stringify(done.outcome));
          return done;
        } catch (error) {
          // Nothing was applied: it is safe to send it again.
          if (!(error instanceof EngineError && error.reason === "unavailable")) throw error;
        }
      }
    };
    await Promise.all(names.flatMap((name) => [mutate("bank:open", { name }), mutate("bank:open", { name })]));
    const stop = new AbortController();
    const query = { queryId: 1, knownDigest: "", call: request("bank:all", {}) };
    const session = await live.watch({ namespace: "n", principal: devLoopback, minTick: 0 }, [query], stop.signal);
    const states: { tick: number; value: LiveValue }[] = [];
    const watching = (async () => {
      while (!stop.signal.aborted) {
        const event = await session.next(stop.signal);
        if (event.kind !== "transition") continue;
        assert.ok(event.end.tick >= event.start.tick, "a session goes back");
        for (const change of event.changes) {
          if (change.kind !== "result" || change.result.outcome.kind !== "value") continue;
          states.push({ tick: event.end.tick, value: change.result.outcome.value });
        }
      }
    })().catch(() => undefined);
    store.failsOf = failsOf;
    const moves = Array.from({ length: 8 }, async () => {
      const done: { tick: number; from: string; to: string; amount: number }[] = [];
      for (let i = 0; i < 8; i++) {
        const pick = () => names[Math.floor(random.next() * names.length)]!;
        const move = { from: pick(), to: pick(), amount: 1 + Math.floor(random.next() * 9) };
        done.push({ ...move, tick: (await mutate("bank:move", move)).tick });
      }
      return done;
    });
    const history = (await Promise.all(moves)).flat().sort((a, b) => a.tick - b.tick);
    store.failsOf = 0;
    assert.equal(new Set(history.map(({ tick }) => tick)).size, history.length, "two commits have one tick");
    // The model: the moves one after another, in the order of their ticks.
    const model = new Map<number, LiveObject>();
    let balances: LiveObject = Object.fromEntries(names.map((name) => [name, 100]));
    model.set(history[0]!.tick - 1, balances);
    for (const { tick, from, to, amount } of history) {
      const next = { ...balances } as Record<string, number>;
      next[from]! -= amount;
      next[to]! += amount;
      balances = next;
      model.set(tick, next);
    }
    const last = history.at(-1)!.tick;
    while (states.at(-1)?.tick !== last) await sleep(5);
    for (const { tick, value } of states) assert.deepEqual(value, model.get(tick), `the state at the tick ${tick}`);
    for (const [tick, wanted] of model) {
      const { outcome } = await live.query(request("bank:all", {}), { tick }, []);
      assert.deepEqual(outcome.kind === "value" && outcome.value, wanted, `a query at the tick ${tick}`);
    }
    stop.abort();
    await watching;
    live.close(session);
    await engine.stop();
  });
}

/** A store whose commits wait until they are let go. */
class HeldStore extends MemoryStore {
  held: Promise<void> | undefined;

  override async commit(ops: readonly WriteOp[]): Promise<void> {
    await this.held;
    await super.commit(ops);
  }
}

test("unavailable means that nothing was applied: a disk that does not answer is another error, and its outcome stands", async () => {
  const clock = new SimulatedClock();
  const store = new HeldStore();
  const engine = await startMemoryEngine({}, store, clock);
  await engine.metastore.createNamespace("n");
  const call = (name: string, args: LiveObject) => ({ namespace: "n", function: name, args, principal: devLoopback });
  const insert = (n: number, requestId: string) =>
    engine.live.mutate(call("_tables:insert", { table: "t", document: { n } }), { requestId });
  await engine.live.mutate(call("_tables:create", { table: "t" }), { requestId: "" });
  const { promise, resolve } = Promise.withResolvers<void>();
  store.held = promise;
  const reasons = [insert(1, "one"), insert(2, "two")].map((each) =>
    each.then(
      () => "ok",
      (error: unknown) => (error as EngineError).reason,
    ),
  );
  const late = async () => (await Promise.all(reasons)).join();
  let told: string | undefined;
  void late().then((answers) => {
    told = answers;
  });
  while (told === undefined) {
    clock.advance(1_000);
    await new Promise(setImmediate);
  }
  assert.match(told, /deadline_exceeded/);
  const refused = insert(3, "three").catch((error: unknown) => (error as EngineError).reason);
  assert.equal(await refused, "unavailable");
  store.held = undefined;
  resolve();
  await new Promise(setImmediate);
  const again = [await insert(1, "one"), await insert(2, "two"), await insert(4, "four")];
  assert.deepEqual(
    again.map(({ tick }) => tick),
    [2, 3, 4],
  );
  const { outcome } = await engine.live.query(call("_tables:list", { table: "t" }), undefined, []);
  const rows = (outcome.kind === "value" ? outcome.value : []) as { n: number }[];
  assert.deepEqual(
    rows.map(({ n }) => n),
    [1, 2, 4],
  );
  await engine.stop();
});
