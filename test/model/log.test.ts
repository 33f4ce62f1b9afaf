import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { FileCommitLog } from "../../src/adapter/file-log/commit-log.ts";
import { pageBytes } from "../../src/adapter/file-log/format.ts";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { LoggedStore } from "../../src/adapter/logged/store.ts";
import { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import { MemoryStore } from "../../src/adapter/memory/store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { SimulatedClock } from "../../src/adapter/simulated/clock.ts";
import { SeededRandom } from "../../src/adapter/simulated/random.ts";
import { SingleOwnership } from "../../src/adapter/single/ownership.ts";
import { openMainStore } from "../../src/composition/main-store.ts";
import { Engine } from "../../src/engine/engine.ts";
import { EngineError } from "../../src/engine/errors.ts";
import { makeKey, prefixRange, tables } from "../../src/engine/keys.ts";
import type { Retention } from "../../src/engine/log/log.ts";
import { fingerprint } from "../../src/engine/stream/idempotency.ts";
import type { FetchResult } from "../../src/engine/stream/streams.ts";
import type { Store } from "../../src/port/store.ts";
import { inlineSqlChildren, inlineThreads, testSettings } from "../support/engine.ts";
import { MemoryLogDisk } from "../support/memory-log-disk.ts";
import { temporaryFolder } from "../support/process.ts";
import { FillingStore } from "./filling-store.ts";
import { type Appending, bodyOf, LogModel, type Outcome, toInputs } from "./log-model.ts";
import { type Step, startMs, step, type Write } from "./log-steps.ts";

const namespace = "n";

async function outcomeOf(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { reply: await work() };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return Object.keys(error.details).length === 0 && error.reason === "not_found"
      ? { reason: error.reason }
      : { reason: error.reason, details: error.details };
  }
}

interface Compared {
  readonly outcome: Promise<Outcome>;
  readonly expected: Outcome;
}

/** The engine beside its model; a step runs on both, and what they answer must be the same. */
class World {
  readonly clock = new SimulatedClock(startMs);
  readonly model = new LogModel(startMs);
  readonly #folder: string;
  readonly #reopen: (store: Store | undefined) => Promise<Store>;
  readonly #errors: unknown[] = [];
  #keyed: [Write, Appending] | undefined;
  #disk!: FillingStore;
  #store!: Store;
  #engine!: Engine;

  constructor(folder: string, reopen: (store: Store | undefined) => Promise<Store>) {
    this.#folder = folder;
    this.#reopen = reopen;
  }

  async start(): Promise<void> {
    this.#store = await this.#reopen(undefined);
    await this.#startEngine();
    await this.#engine.metastore.createNamespace(namespace);
    await this.run({ kind: "create", stream: "a", partitions: 2, retention: { maxAgeMs: null, maxBytes: null } });
  }

  async stop(): Promise<void> {
    await this.#engine?.stop();
    await this.#store?.close();
  }

  assertNoErrors(): void {
    // The background may have shared a group that failed; it tries again.
    const unexpected = this.#errors.filter(
      (error) => !(error instanceof EngineError && error.reason === "unavailable"),
    );
    assert.deepEqual(unexpected, []);
  }

  async run(given: Step): Promise<void> {
    const { streams } = this.#engine;
    switch (given.kind) {
      case "create": {
        const ref = { namespace, stream: given.stream };
        const retention = orNone(given.retention);
        const work = () => streams.create(ref, given.partitions, retention);
        return this.#same(work, this.model.create(given.stream, given.partitions, retention));
      }
      case "drop":
        return this.#compare([this.#drop(given.stream)]);
      case "retain": {
        const retention = orNone(given.retention);
        const work = () => streams.setRetention({ namespace, stream: given.stream }, retention);
        return this.#same(work, this.model.setRetention(given.stream, retention));
      }
      case "write":
        return given.fails ? this.#writeInVain(given.writes) : this.#write(given.writes, given.dropAfter);
      case "again":
        if (this.#keyed !== undefined) await this.#compare([this.#append(...this.#keyed)]);
        return;
      case "fetch": {
        const end = this.model.streams.get(given.stream)?.partitions[given.partition]?.next ?? 0;
        return this.#fetch(given.stream, given.partition, { offset: Math.max(0, end - given.fromEnd) });
      }
      case "seek":
        return this.#fetch(given.stream, given.partition, { timestampMs: startMs - given.agoMs });
      case "detail": {
        const ref = { namespace, stream: given.stream };
        return this.#same(() => streams.detail(ref, []), this.model.detail(given.stream));
      }
      case "advance":
        // A leap of the clock over a commit would be a disk that stands still.
        await this.#disk.idle();
        this.clock.advance(given.ms);
        this.model.nowMs += given.ms;
        return;
      case "settle":
        return this.#settle();
      case "restart":
        await this.#engine.stop();
        this.#store = await this.#reopen(this.#store);
        return this.#startEngine();
    }
  }

  /** Reads everything once more. */
  async readAll(): Promise<void> {
    for (const [name, { partitions }] of this.model.streams) {
      await this.run({ kind: "detail", stream: name });
      for (const index of partitions.keys()) await this.#fetch(name, index, { timestampMs: 0 });
    }
  }

  async #startEngine(): Promise<void> {
    this.#disk = new FillingStore(this.#store);
    const objects = new MemoryObjectStore();
    this.#engine = new Engine(
      {
        store: this.#disk,
        objects,
        threads: inlineThreads(objects),
        sqlChildren: inlineSqlChildren(),
        ownership: new SingleOwnership(this.#folder),
        clock: this.clock,
        random: new SeededRandom(1),
      },
      testSettings,
      { onBackgroundError: (error) => this.#errors.push(error) },
    );
    await this.#engine.own();
  }

  async #same(work: () => Promise<unknown>, expected: Outcome): Promise<void> {
    assert.deepEqual(await outcomeOf(work), expected);
  }

  async #write(writes: readonly Write[], dropAfter: number | undefined): Promise<void> {
    const made: Compared[] = [];
    for (const [i, each] of writes.entries()) {
      const given = this.#appending(each);
      made.push(this.#append(each, given));
      if (given.idempotencyKey !== undefined) this.#keyed = [each, given];
      if (i === dropAfter) made.push(this.#drop(each.stream));
    }
    await this.#compare(made);
  }

  /** Every write of the group fails with it, and leaves nothing behind in the engine's memory. */
  async #writeInVain(writes: readonly Write[]): Promise<void> {
    const before = this.model.copyStreams();
    this.#disk.full = true;
    const made = writes.map((each) => this.#append(each, this.#appending(each)));
    const isWrite = (expected: Outcome) => "reply" in expected && !isReplay(expected);
    const first = made.findIndex(({ expected }) => isWrite(expected));
    const failed: Outcome = { reason: "unavailable", details: {} };
    for (const [i, { outcome, expected }] of made.entries()) {
      const found = await outcome;
      if ("reply" in expected) assert.deepEqual(found, first >= 0 ? failed : expected);
      // A conflict with a write that never was is none. Retention may have put one of its own into the same commit.
      else if (expected.reason !== "aborted") assert.deepEqual(found, expected);
      else if (first >= 0 && i > first) assert.deepEqual(found, failed);
      else assert.ok(isDeepStrictEqual(found, expected) || isDeepStrictEqual(found, failed));
    }
    this.#disk.full = false;
    this.model.restoreStreams(before);
  }

  #drop(name: string): Compared {
    const outcome = outcomeOf(async () => this.#engine.streams.drop({ namespace, stream: name }));
    return { outcome, expected: this.model.drop(name) };
  }

  #append(write: Write, given: Appending): Compared {
    const { streams } = this.#engine;
    const { stream, partition, routed } = write;
    const command = this.#command(write, given);
    return {
      outcome: outcomeOf(async () =>
        routed ? streams.appendRouted(command) : streams.append({ ...command, partition }),
      ),
      expected: routed ? this.model.appendRouted(stream, given) : this.model.append(stream, partition, given),
    };
  }

  async #compare(made: readonly Compared[]): Promise<void> {
    assert.deepEqual(
      await Promise.all(made.map(({ outcome }) => outcome)),
      made.map(({ expected }) => expected),
    );
  }

  #appending({ stream, partition, routed, records, matchDelta, idempotencyKey }: Write): Appending {
    const next = this.model.streams.get(stream)?.partitions[partition]?.next ?? 0;
    const matchOffset = routed || matchDelta === undefined ? undefined : Math.max(0, next + matchDelta);
    return { target: routed ? "routed" : partition, records, matchOffset, idempotencyKey };
  }

  #command({ stream }: Write, given: Appending) {
    const { records, matchOffset, idempotencyKey: key } = given;
    return {
      namespace,
      stream,
      records: toInputs(records),
      ...(matchOffset === undefined ? {} : { matchOffset }),
      ...(key === undefined ? {} : { idempotency: { key, fingerprint: fingerprint(bodyOf(given)) } }),
    };
  }

  async #fetch(name: string, index: number, from: { offset: number } | { timestampMs: number }): Promise<void> {
    const command = { namespace, stream: name, partition: index, from, waitMs: 0, token: [] };
    await this.#same(
      async () => readPage(await this.#engine.streams.fetch(command)),
      this.model.fetch(name, index, from),
    );
  }

  /** Lets the background work, until what is stored is what the model keeps. */
  async #settle(): Promise<void> {
    const deadlineMs = performance.now() + 20_000;
    for (;;) {
      // Whatever the background does now, it sleeps at most this long before it looks again.
      this.clock.advance(500);
      this.model.nowMs += 500;
      for (let turn = 0; turn < 20; turn++) {
        if (this.#storedBatches === this.model.keptBatches()) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (performance.now() > deadlineMs) break;
    }
    assert.fail(`${this.#storedBatches} batches are stored, the model keeps ${this.model.keptBatches()}`);
  }

  get #storedBatches(): number {
    return [...this.#store.keys(prefixRange(tables.log))].length;
  }
}

function isReplay(outcome: Outcome): boolean {
  return "reply" in outcome && (outcome.reply as { replayed: boolean }).replayed;
}

function orNone(given: Retention): Retention | undefined {
  return given.maxAgeMs === null && given.maxBytes === null ? undefined : given;
}

function readPage({ offset, highWatermark, logStartOffset, read }: FetchResult) {
  const records: unknown[] = [];
  let next = offset;
  for (const batch of read(offset)) {
    if (!batch.seek(next)) continue;
    do {
      assert.equal(batch.offset, next);
      const { key, value, timestampMs } = batch;
      records.push({ offset: next, key: key?.toString(), value: value?.toString(), timestampMs });
      next++;
    } while (batch.next());
  }
  return { offset, logStartOffset, highWatermark, records };
}

async function check(
  runs: number,
  stepsMax: number,
  open: (folder: string) => (store: Store | undefined) => Promise<Store>,
) {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: stepsMax, size: "max" }), async (steps) => {
      const folder = await temporaryFolder();
      const world = new World(folder, open(folder));
      try {
        await world.start();
        for (const each of steps) await world.run(each);
        await world.readAll();
      } finally {
        await world.stop();
        await rm(folder, { recursive: true, force: true });
      }
      world.assertNoErrors();
    }),
    { numRuns: runs, seed: 31 },
  );
}

test("the log on memory does as its model does", { timeout: 600_000 }, () =>
  check(400, 80, () => async (store) => store ?? new MemoryStore()),
);

/** Small enough that a few steps fill a segment, pass the overlay's bound and leave the view far behind. */
const busy = { applyBytes: 600, applyDelayMs: 300, stepBytesMax: 400, stepKeysMax: 5, overlayBytesMax: 3_000 };

for (const [what, settings] of [
  ["that follows at once", { ...busy, applyBytes: 1 }],
  ["that is always behind", busy],
  ["that follows when it is asked to", { ...busy, applyBytes: 1e6, applyDelayMs: 1e6, overlayBytesMax: 1e6 }],
] as const) {
  test(`the log on a commit log with a view ${what} does as its model does`, { timeout: 600_000 }, () =>
    check(200, 80, () => {
      const disk = new MemoryLogDisk();
      const view = new MemoryStore();
      return async (store) => {
        await store?.close();
        const log = await FileCommitLog.open(disk, { segmentBytes: 6 * pageBytes, firstBytes: pageBytes });
        const mark = makeKey(tables.commitLog);
        return LoggedStore.open({ view, log, clock: new NodeClock(), mark, settings });
      };
    }),
  );
}

test("the log on LMDB does as its model does, over restarts that open the files anew", { timeout: 600_000 }, () =>
  check(40, 60, (folder) => async (store) => {
    await store?.close();
    return new LmdbStore(folder);
  }),
);

test("the log on the server's store does as its model does", { timeout: 600_000 }, () =>
  check(20, 60, (folder) => async (store) => {
    await store?.close();
    return openMainStore(folder);
  }),
);
