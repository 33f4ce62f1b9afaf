import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { MemoryStore } from "../../../adapter/memory/store.ts";
import { NodeRandom } from "../../../adapter/node/random.ts";
import { SimulatedClock } from "../../../adapter/simulated/clock.ts";
import { nextTurn } from "../../../port/next-turn.ts";
import type { Store, WriteOp } from "../../../port/store.ts";
import { Committer } from "../../commit/committer.ts";
import { prefixRange, tables } from "../../keys.ts";
import { DedupIndex } from "./dedup-index.ts";
import { digestWordCount, type EventPlace, eventDigest } from "./entry.ts";
import { doWork, type SegmentWork } from "./segment-work.ts";

const windowMs = 60_000;
const forever = new AbortController().signal;

/** A server's memory of events, and another one on the same store after a restart. */
class Remembered {
  readonly store = new MemoryStore();
  readonly clock = new SimulatedClock();
  /** Called when a commit is under way. */
  onWrite: () => void = () => undefined;
  /** The store answers a commit of a segment no earlier. */
  answered: Promise<void> | undefined;
  outcomeMsMax = Infinity;
  /** Commits that succeed before one fails. */
  commitsLeft = Infinity;
  /** The next time that it makes a segment. */
  losesThread = false;
  /** The thread is done no earlier. */
  worked: Promise<void> | undefined;
  committer!: Committer;
  index!: DedupIndex;
  windowMs = windowMs;
  next = 0;

  static async open(): Promise<Remembered> {
    const memory = new Remembered();
    await memory.restart();
    return memory;
  }

  async restart(): Promise<void> {
    const { clock, outcomeMsMax } = this;
    const bounds = { queueBytesMax: 1e9, groupBytesMax: 1e9, outcomeMsMax };
    this.committer = new Committer({ store: this.#failing(), clock, ...bounds });
    this.index = new DedupIndex({
      store: this.store,
      committer: this.committer,
      clock,
      random: new NodeRandom(),
      windowMs: this.windowMs,
      doWork: (work) => this.#work(work),
    });
    await this.index.open();
  }

  /** One request: the place of each id, and whether it is new. */
  append(ids: readonly string[], then?: () => void): Promise<{ place: EventPlace; isNew: boolean }[]> {
    const nowMs = this.clock.nowMs();
    const digests = new Uint32Array(ids.length * digestWordCount);
    for (const [i, id] of ids.entries()) eventDigest(this.index.key, 7, "/s", id, digests, i * digestWordCount);
    const arrived = this.index.arrive(digests, ids.length, nowMs);
    return this.committer.submit((draft) => {
      const own = this.index.begin(draft);
      const older = this.index.findOlder(digests, ids.length, nowMs, arrived);
      const run = older === undefined ? this.index.addRun(digests, ids.length, nowMs, 3, this.next) : 0;
      const done = ids.map((_, i) => {
        if (i < run) return { place: { partition: 3, offset: this.next++ }, isNew: true };
        const known = this.index.find(digests, i * digestWordCount, nowMs, own, arrived) ?? older?.get(i);
        if (known !== undefined) {
          return { place: { partition: known.partition, offset: known.offset }, isNew: false };
        }
        const place = { partition: 3, offset: this.next++ };
        this.index.add(digests, i * digestWordCount, nowMs, place.partition, place.offset);
        return { place, isNew: true };
      });
      then?.();
      this.index.end(own);
      return done;
    });
  }

  /** The store, but for commits that are to fail. */
  #failing(): Store {
    const { store } = this;
    return {
      get: (key) => store.get(key),
      peek: (key) => store.peek(key),
      head: (key, bytes) => store.head(key, bytes),
      range: (range) => store.range(range),
      borrow: (range) => store.borrow(range),
      keys: (range) => store.keys(range),
      commit: async (ops: readonly WriteOp[]) => {
        this.onWrite();
        if (this.commitsLeft-- > 0) {
          await store.commit(ops);
          if (ops.some(({ key }) => key[0] === tables.dedupSegment)) await this.answered;
          return;
        }
        this.commitsLeft = Infinity;
        throw new Error("no room");
      },
      checkpoint: () => store.checkpoint(),
      snapshot: () => store.snapshot(),
      stats: () => store.stats(),
      close: () => store.close(),
    };
  }

  /** Done in another turn, as by a thread, or by halves where the thread is to be lost. */
  async #work(work: SegmentWork): Promise<Uint32Array> {
    await nextTurn();
    await this.worked;
    if (!this.losesThread) return doWork(work);
    this.losesThread = false;
    doWork({ ...work, count: work.count >> 1 });
    throw new Error("lost");
  }

  maintain(): Promise<void> {
    return this.index.maintain(forever);
  }

  count(table: number): number {
    return [...this.store.keys(prefixRange(table as typeof tables.dedupRun))].length;
  }
}

type Op =
  | { kind: "append"; ids: string[] }
  | { kind: "append that fails"; ids: string[] }
  | { kind: "append whose commit fails"; ids: string[] }
  | { kind: "time passes"; ms: number }
  | { kind: "maintain" }
  | { kind: "appends around maintaining"; ids: string[][] }
  | { kind: "maintain, and the thread is lost" }
  | { kind: "maintain until a commit fails"; commits: number; restart: boolean }
  | { kind: "restart" };

const ids = fc.array(
  fc.nat(12).map((n) => `id-${n}`),
  { minLength: 1, maxLength: 5 },
);
const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("append" as const), ids }) },
  fc.record({ kind: fc.constant("append that fails" as const), ids }),
  fc.record({ kind: fc.constant("append whose commit fails" as const), ids }),
  fc.record({ kind: fc.constant("time passes" as const), ms: fc.integer({ min: 1, max: windowMs / 2 }) }),
  { weight: 3, arbitrary: fc.constant({ kind: "maintain" as const }) },
  fc.record({
    kind: fc.constant("appends around maintaining" as const),
    ids: fc.array(ids, { minLength: 2, maxLength: 6 }),
  }),
  fc.constant({ kind: "maintain, and the thread is lost" as const }),
  fc.record({
    kind: fc.constant("maintain until a commit fails" as const),
    commits: fc.nat(5),
    restart: fc.boolean(),
  }),
  fc.constant({ kind: "restart" as const }),
);

describe("remembered events", () => {
  test("any course of writes, failures, sealing and restarts remembers what a plain map would", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 60 }), async (ops) => {
        const memory = await Remembered.open();
        const model = new Map<string, { offset: number; atMs: number }>();
        for (const each of ops) await run(memory, model, each);
      }),
      { numRuns: 300 },
    );
  });

  test("sealed segments answer from their pages, before and after a restart", async () => {
    const memory = await Remembered.open();
    for (let segment = 0; segment < 4; segment++) {
      await memory.append(names(segment * 1_000, 1_000));
      memory.clock.advance(windowMs / 8);
      await memory.maintain();
    }
    assert.equal(memory.count(tables.dedupSegment), 4);
    assert.equal(memory.count(tables.dedupRun), 0, "the runs of sealed segments are gone");
    for (let again = 0; again < 2; again++) {
      const known = await memory.append(names(0, 4_000));
      assert.deepEqual(
        known.map(({ place, isNew }) => (isNew ? -1 : place.offset)),
        names(0, 4_000).map((_, i) => i),
      );
      assert((await memory.append([`new-${again}`]))[0]!.isNew);
      await memory.restart();
    }
  });

  test("what is older than the window leaves the store", async () => {
    const memory = await Remembered.open();
    await memory.append(names(0, 3_000));
    memory.clock.advance(windowMs / 8);
    await memory.maintain();
    assert(memory.count(tables.dedupPage) > 10);
    memory.clock.advance(windowMs);
    await memory.maintain();
    for (const table of [tables.dedupPage, tables.dedupSegment, tables.dedupRun]) assert.equal(memory.count(table), 0);
    assert((await memory.append(["id-0"]))[0]!.isNew);
  });

  test("a restart in the middle of sealing goes on with it", async () => {
    const memory = await Remembered.open();
    await memory.append(names(0, 3_000));
    memory.clock.advance(windowMs / 8);
    const stopped = new AbortController();
    const work = memory.index.maintain(stopped.signal);
    stopped.abort();
    await work;
    await memory.append(["later"]);
    await memory.restart();
    await memory.maintain();
    assert.equal(memory.count(tables.dedupSegment), 1);
    const known = await memory.append(["id-0", "id-2999", "later"]);
    assert.deepEqual(
      known.map(({ isNew }) => isNew),
      [false, false, false],
    );
  });

  test("an event that waits for its turn while its first one becomes part of a segment is known", async () => {
    const memory = await Remembered.open();
    await memory.append(names(0, 200));
    memory.clock.advance(windowMs / 8);
    const appends: Promise<{ place: EventPlace; isNew: boolean }[]>[] = [];
    memory.onWrite = () => appends.push(memory.append(["id-7"]));
    await memory.maintain();
    assert.equal(memory.count(tables.dedupSegment), 1);
    for (const [known] of await Promise.all(appends)) {
      assert.deepEqual(known, { place: { partition: 3, offset: 7 }, isNew: false });
    }
  });

  test("a segment whose commit is answered late is used, and others come after it", async () => {
    const memory = await Remembered.open();
    memory.outcomeMsMax = 1_000;
    await memory.restart();
    await memory.append(names(0, 200));
    memory.clock.advance(windowMs / 8);
    const { promise, resolve } = Promise.withResolvers<void>();
    memory.answered = promise;
    let failed = false;
    const work = memory.maintain().catch(() => {
      failed = true;
    });
    while (!failed) {
      memory.clock.advance(500);
      await nextTurn();
    }
    await work;
    resolve();
    memory.answered = undefined;
    const taken = () =>
      memory.append(["id-7"]).then(
        () => true,
        () => false,
      );
    for (const [at, segments] of [
      [200, 2],
      [400, 3],
    ] as const) {
      while (!(await taken())) await nextTurn();
      await memory.append(names(at, 200));
      memory.clock.advance(windowMs / 8);
      await memory.maintain();
      assert.equal(memory.count(tables.dedupSegment), segments);
    }
    const known = await memory.append(["id-7", "id-399", "id-599"]);
    assert.deepEqual(
      known.map(({ isNew }) => isNew),
      [false, false, false],
    );
  });

  test("a segment whose commit is answered while it is made again is there once", async () => {
    const memory = await Remembered.open();
    memory.outcomeMsMax = 1_000;
    await memory.restart();
    await memory.append(names(0, 200));
    memory.clock.advance(windowMs / 8);
    const commit = Promise.withResolvers<void>();
    memory.answered = commit.promise;
    let failed = false;
    const first = memory.maintain().catch(() => {
      failed = true;
    });
    while (!failed) {
      memory.clock.advance(500);
      await nextTurn();
    }
    await first;
    const work = Promise.withResolvers<void>();
    memory.worked = work.promise;
    const second = memory.maintain();
    await nextTurn();
    commit.resolve();
    memory.answered = undefined;
    for (let turns = 0; turns < 10; turns++) await nextTurn();
    await memory.append(names(200, 200));
    work.resolve();
    await second;
    memory.worked = undefined;
    memory.clock.advance(windowMs / 8);
    await memory.maintain();
    assert.equal(memory.count(tables.dedupSegment), 2);
    const known = await memory.append(names(0, 401));
    assert.deepEqual(
      known.map(({ isNew }) => isNew),
      names(0, 401).map((_, i) => i === 400),
    );
  });

  test("a table that makes way in the middle of a group loses nothing of it", async () => {
    const memory = await Remembered.open();
    await memory.append(names(0, 10));
    memory.clock.advance(windowMs / 8);
    const stopped = AbortSignal.abort();
    const group = [memory.append(names(10, 500)), memory.index.maintain(stopped), memory.append(names(510, 700))];
    await Promise.all(group);
    assert.equal(memory.count(tables.dedupRun), 3, "two before it and one after");
    for (let again = 0; again < 2; again++) {
      const known = await memory.append(names(0, 1_210));
      assert.deepEqual(
        known.map(({ place, isNew }) => (isNew ? -1 : place.offset)),
        names(0, 1_210).map((_, i) => i),
      );
      await memory.restart();
    }
  });

  test("another window counts from when an event was written", async () => {
    const memory = await Remembered.open();
    await memory.append(["a"]);
    memory.clock.advance(10_000);
    memory.windowMs = 5_000;
    await memory.restart();
    assert((await memory.append(["a"]))[0]!.isNew, "outside the shorter window");
    memory.clock.advance(4_999);
    assert(!(await memory.append(["a"]))[0]!.isNew);
    memory.windowMs = windowMs;
    await memory.restart();
    memory.clock.advance(50_000);
    assert(!(await memory.append(["a"]))[0]!.isNew, "inside the longer window");
  });

  test("without a window only the request itself is compared", async () => {
    const memory = await Remembered.open();
    memory.windowMs = 0;
    await memory.restart();
    assert.deepEqual(
      (await memory.append(["a", "a"])).map(({ isNew }) => isNew),
      [true, false],
    );
    assert((await memory.append(["a"]))[0]!.isNew);
    assert.equal(memory.count(tables.dedupRun), 0);
  });
});

async function run(memory: Remembered, model: Map<string, { offset: number; atMs: number }>, each: Op): Promise<void> {
  switch (each.kind) {
    case "time passes":
      memory.clock.advance(each.ms);
      return;
    case "maintain":
      return memory.maintain();
    case "appends around maintaining": {
      const half = each.ids.length >> 1;
      const before = each.ids.slice(0, half).map((ids) => memory.append(ids));
      const maintained = memory.maintain();
      const after = each.ids.slice(half).map((ids) => memory.append(ids));
      for (const [i, done] of (await Promise.all([...before, ...after])).entries())
        check(memory, model, each.ids[i]!, done);
      return maintained;
    }
    case "maintain, and the thread is lost":
      memory.losesThread = true;
      await memory.maintain().catch(() => {});
      memory.losesThread = false;
      return;
    case "maintain until a commit fails":
      memory.commitsLeft = each.commits;
      await memory.maintain().catch(() => {});
      memory.commitsLeft = Infinity;
      if (each.restart) await memory.restart();
      return;
    case "restart":
      return memory.restart();
    case "append that fails":
      await assert.rejects(
        memory.append(each.ids, () => {
          throw new Error("refused");
        }),
      );
      return;
    case "append whose commit fails": {
      const fresh = new Set(each.ids).isSubsetOf(new Set([...model].filter(isLive(memory)).map(([id]) => id)));
      // Nothing is written, so nothing can fail.
      if (fresh) return;
      memory.commitsLeft = 0;
      await assert.rejects(memory.append(each.ids));
      return;
    }
    case "append": {
      check(memory, model, each.ids, await memory.append(each.ids));
    }
  }
}

function check(
  memory: Remembered,
  model: Map<string, { offset: number; atMs: number }>,
  ids: readonly string[],
  done: Awaited<ReturnType<Remembered["append"]>>,
): void {
  for (const [i, id] of ids.entries()) {
    const { place, isNew } = done[i]!;
    const known = model.get(id);
    const live = known !== undefined && known.atMs > memory.clock.nowMs() - windowMs;
    assert.equal(isNew, !live, `${id} is ${live ? "known" : "new"}`);
    if (live) assert.deepEqual(place, { partition: 3, offset: known.offset });
    else model.set(id, { offset: place.offset, atMs: memory.clock.nowMs() });
  }
}

function isLive(memory: Remembered) {
  return ([, { atMs }]: [string, { atMs: number }]) => atMs > memory.clock.nowMs() - windowMs;
}

function names(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `id-${first + i}`);
}
