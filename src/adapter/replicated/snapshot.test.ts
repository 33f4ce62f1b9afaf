import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ObjectStore } from "../../port/object-store.ts";
import type { Reader, Store, WriteOp } from "../../port/store.ts";
import { LoggedStore, storedCursor, storedMark } from "../logged/store.ts";
import { MemoryObjectStore } from "../memory/object-store.ts";
import { MemorySharedLog } from "../memory/shared-log.ts";
import { MemoryStore } from "../memory/store.ts";
import { NodeClock } from "../node/clock.ts";
import { NodeRandom } from "../node/random.ts";
import { ReplicatedLog } from "./commit-log.ts";
import type { Cursor } from "./fold.ts";
import { Pace, Snapshots } from "./snapshot.ts";
import { SnapshotKeeper } from "./snapshot-keeper.ts";

const mark = Buffer.from("mark");
const markOf = (view: Reader) => storedMark(view, mark);
const clock = new NodeClock();
const pace = () => new Pace(clock, Infinity, new AbortController().signal);
let lives = 0;

/** A node on a shared log: the owner, where it is alone. */
async function startNode(
  log: MemorySharedLog,
  view: Store,
): Promise<{ store: LoggedStore; replicated: ReplicatedLog }> {
  const replicated = await ReplicatedLog.open({
    log,
    clock,
    writer: `life ${lives++}`,
    info: { node: "n", address: "127.0.0.1:1" },
    cursor: storedCursor(view, mark) as Cursor | undefined,
    settings: { claimMs: 10, claimStepMs: 1, pollMs: 5, retryMs: 2, leaseMs: 4, fenceMs: 5 },
  });
  const store = await LoggedStore.open({ view, log: replicated, clock, mark, settings: { applyDelayMs: 0 } });
  replicated.follow((position, parts) => store.ingest(position, parts));
  while (replicated.member.role !== "owner") await clock.sleep(1);
  return { store, replicated };
}

function contents(reader: Reader): [string, string][] {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
  return [...reader.range({})].map(({ key, value }) => [hex(key), hex(value)]);
}

async function filled(count: number, valueBytes = 20): Promise<{ log: MemorySharedLog; view: MemoryStore }> {
  const log = new MemorySharedLog();
  const view = new MemoryStore();
  const { store } = await startNode(log, view);
  for (let i = 0; i < count; i++) {
    await store.commit([{ kind: "put", key: Buffer.from(`k${i}`), value: Buffer.alloc(valueBytes, i) }]);
  }
  await store.checkpoint();
  await store.close();
  return { log, view };
}

test("a store from a snapshot at any position and the rest of the log is the store", async () => {
  const key = fc.integer({ min: 0, max: 5 }).map((i) => Buffer.of(0x60, i));
  const op: fc.Arbitrary<WriteOp> = fc.oneof(
    fc.record({ kind: fc.constant("put" as const), key, value: fc.uint8Array({ maxLength: 40 }) }),
    fc.record({ kind: fc.constant("delete" as const), key }),
  );
  const commits = fc.array(fc.array(op, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(commits, fc.nat(), async (all, at) => {
      const log = new MemorySharedLog();
      const snapshots = new Snapshots(new MemoryObjectStore(), log.id);
      const view = new MemoryStore();
      const { store } = await startNode(log, view);
      for (const [i, ops] of all.entries()) {
        await store.commit(ops);
        await store.checkpoint();
        if (i === at % all.length) await snapshots.write(view, markOf, "a", pace());
      }
      const wanted = contents(store);
      await store.close();
      const [found] = await snapshots.list();
      const restored = new MemoryStore();
      const { position, cursor } = await snapshots.restore(found!, restored);
      assert.equal(position, markOf(restored)!.applied);
      await log.trim(cursor.next);
      const next = await startNode(log, restored);
      assert.deepEqual(contents(next.store), wanted);
      await next.store.close();
    }),
    { numRuns: 15 },
  );
});

/** Everything a view holds, and that alone, whatever its size. */
test("a snapshot of several parts holds every entry", async () => {
  const { log, view } = await filled(60, 300_000);
  const objects = new MemoryObjectStore();
  const snapshots = new Snapshots(objects, log.id);
  const made = (await snapshots.write(view, markOf, "a", pace()))!;
  assert.ok(made.parts.length > 3, `${made.parts.length} parts`);
  assert.equal(made.entries, 61);
  const restored = new MemoryStore();
  await snapshots.restore((await snapshots.list())[0]!, restored);
  assert.deepEqual(contents(restored), contents(view));
});

test("a snapshot that is not whole, or of another log, is refused", async () => {
  const { log, view } = await filled(30, 300_000);
  const objects = new MemoryObjectStore();
  const snapshots = new Snapshots(objects, log.id);
  await snapshots.write(view, markOf, "a", pace());
  assert.deepEqual(await new Snapshots(objects, "another log").list(), []);
  const [found] = await snapshots.list();
  const restore = () => snapshots.restore(found!, new MemoryStore());
  const paths = (await objects.list("")).map(({ path }) => path);
  assert.ok(paths.length > 2);
  for (const path of paths) {
    const whole = (await objects.get(path))!;
    const changed = Buffer.from(whole);
    changed[changed.length >> 1]! ^= 1;
    await objects.put(path, changed);
    await assert.rejects(restore(), { kind: "damaged" }, `${path} differs in a bit`);
    await objects.put(path, whole.subarray(0, whole.length - 1));
    await assert.rejects(restore(), { kind: "damaged" }, `${path} is cut short`);
    await objects.delete(path);
    await assert.rejects(restore(), { kind: "damaged" }, `${path} is missing`);
    await objects.put(path, whole);
  }
  await restore();
});

test("what is read back otherwise than it was written becomes no snapshot", async () => {
  const { log, view } = await filled(3);
  class Forgetful extends MemoryObjectStore {
    override async put(path: string, data: Uint8Array): Promise<void> {
      await super.put(path, path.includes("/parts/") ? data.subarray(1) : data);
    }
  }
  const snapshots = new Snapshots(new Forgetful(), log.id);
  await assert.rejects(snapshots.write(view, markOf, "a", pace()), { kind: "damaged" });
  assert.deepEqual(await snapshots.list(), []);
});

function keeper(objects: ObjectStore, log: MemorySharedLog, view: Store, onMade: () => void): SnapshotKeeper {
  return new SnapshotKeeper({
    snapshots: new Snapshots(objects, log.id),
    view,
    markOf,
    log,
    member: { nodes: [], owner: undefined, isAlive: () => true },
    node: "n",
    clock,
    random: new NodeRandom(),
    intervalMs: 20,
    onMade,
    onError: (error) => assert.fail(error as Error),
  });
}

test("two snapshots stay, the log is trimmed below the older one, and nothing is made while nothing is new", async () => {
  const log = new MemorySharedLog();
  const view = new MemoryStore();
  const objects = new MemoryObjectStore();
  const { store } = await startNode(log, view);
  let made = Promise.withResolvers<void>();
  let count = 0;
  const keeping = keeper(objects, log, view, () => {
    count++;
    made.resolve();
  });
  const snapshots = new Snapshots(objects, log.id);
  const rounds = 5;
  for (let i = 0; i < rounds; i++) {
    made = Promise.withResolvers<void>();
    await store.commit([{ kind: "put", key: Buffer.of(i), value: Buffer.of(i) }]);
    await store.checkpoint();
    await made.promise;
  }
  await clock.sleep(100);
  await keeping.close();
  assert.equal(count, rounds);
  const found = await snapshots.list();
  assert.deepEqual(
    found.map(({ position }) => position),
    [rounds, rounds - 1],
  );
  const older = await snapshots.manifest(found[1]!.name);
  assert.equal((await log.bounds()).start, older!.cursor.next);
  const folders = (await objects.list("")).map(({ path }) => path.split("/").at(path.includes("/parts/") ? -2 : -1));
  assert.equal(new Set(folders).size, 2, "nothing is left of the others");
  await store.close();
});
