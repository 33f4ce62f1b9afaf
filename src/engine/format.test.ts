import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../adapter/memory/store.ts";
import { type Store, StoreError, type WriteOp } from "../port/store.ts";
import { checkFormat, formatVersion, objectsVersion, readFormat } from "./format.ts";
import { makeKey, prefixRange, tables } from "./keys.ts";
import type { Migration } from "./migrations.ts";

const names = 40;
const stepMax = 7;

/** A chain of its own: the second version keeps names under another tag, the third in upper case. */
const moved: Migration = {
  to: 2,
  step(reader, from) {
    const { to, from: start } = prefixRange(tables.namespace);
    const ops: WriteOp[] = [];
    for (const { key, value } of reader.range({ from: from ?? start, to, limit: stepMax })) {
      const target = Buffer.from(key);
      target[0] = tables.stream;
      ops.push({ kind: "put", key: target, value }, { kind: "delete", key });
    }
    return { ops, next: ops.length === 0 ? undefined : start };
  },
};

const raised: Migration = {
  to: 3,
  objects: objectsVersion,
  step(reader, from) {
    const { to, from: start } = prefixRange(tables.stream);
    const ops: WriteOp[] = [];
    let next: Uint8Array | undefined;
    for (const { key, value } of reader.range({ from: from ?? start, to, limit: stepMax })) {
      ops.push({ kind: "put", key, value: Buffer.concat([value, Buffer.from("!")]) });
      next = Buffer.concat([key, Buffer.of(0)]);
    }
    return { ops, next };
  },
};

const chain = { version: 3, migrations: [moved, raised] };

async function firstVersion(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await checkFormat(store, { version: 1 });
  const ops = Array.from({ length: names }, (_, i): WriteOp => {
    return { kind: "put", key: makeKey(tables.namespace, i), value: Buffer.from(`name ${i}`) };
  });
  await store.commit(ops);
  return store;
}

function contentOf(store: Store): string[] {
  return [...store.range({})].map(({ key, value }) => `${Buffer.from(key).toString("hex")} ${Buffer.from(value)}`);
}

/** A store that does so many commits and then fails, once before and once after the commit was applied. */
class DyingStore {
  readonly store: Store;
  left: number;

  constructor(inner: MemoryStore, left: number, isApplied: boolean) {
    this.left = left;
    this.store = Object.create(inner, {
      commit: {
        value: async (ops: readonly WriteOp[]) => {
          if (this.left-- > 0) return inner.commit(ops);
          if (isApplied) await inner.commit(ops);
          throw new StoreError("failed", "the process ended");
        },
      },
    }) as Store;
    for (const name of ["get", "head", "range", "borrow", "keys"] as const) {
      Object.defineProperty(this.store, name, { value: inner[name].bind(inner) });
    }
  }
}

test("a new store has the version of the build", async () => {
  const store = new MemoryStore();
  await checkFormat(store);
  assert.deepEqual(readFormat(store), { version: formatVersion, objects: objectsVersion });
});

test("every version before the build's has a way to it", async () => {
  const store = new MemoryStore();
  await checkFormat(store, { version: 1 });
  await checkFormat(store);
  assert.deepEqual(readFormat(store), { version: formatVersion, objects: objectsVersion });
});

test("a store is brought up one version after another, each record once", async () => {
  const store = await firstVersion();
  await checkFormat(store, chain);
  assert.deepEqual(readFormat(store), { version: 3, objects: objectsVersion });
  const content = contentOf(store);
  assert.equal(content.length, names + 1);
  assert.equal(content.filter((each) => /name \d+!$/.test(each)).length, names);
  await checkFormat(store, chain);
  assert.deepEqual(contentOf(store), content, "a second start changes nothing");
});

test("wherever the process ends, the next start goes on to the same end", async () => {
  const whole = await firstVersion();
  await checkFormat(whole, chain);
  let deaths = 0;
  for (const isApplied of [false, true]) {
    for (let commits = 0; ; commits++) {
      const store = await firstVersion();
      const dying = new DyingStore(store, commits, isApplied);
      const died = await checkFormat(dying.store, chain).then(
        () => false,
        () => true,
      );
      if (!died) break;
      deaths++;
      const underWay = readFormat(store)!;
      if (underWay.migrating !== undefined) {
        await assert.rejects(checkFormat(store, { version: underWay.version - 1 }), /start it with a newer build/);
      }
      await checkFormat(store, chain);
      assert.deepEqual(contentOf(store), contentOf(whole), `after ${commits} commits`);
    }
  }
  assert(deaths > 20, `${deaths} deaths`);
});

test("what this build can't read is refused, with what to do", async () => {
  const format = makeKey(tables.format);
  const refusals: readonly (readonly [unknown, RegExp])[] = [
    [{ version: 9 }, /the store has format version 9; this build reads up to \d+: start it with a newer build/],
    [{ version: 1, objects: 9 }, /the objects of the store have format version 9.*start it with a newer build/],
    ["{", /can't be read: restore the data from a backup/],
    [{ version: "1" }, /can't be read: restore the data from a backup/],
  ];
  for (const [stored, expected] of refusals) {
    const store = new MemoryStore();
    const value = Buffer.from(typeof stored === "string" ? stored : JSON.stringify(stored));
    await store.commit([{ kind: "put", key: format, value }]);
    await assert.rejects(checkFormat(store), expected);
  }
  const stranger = new MemoryStore();
  await stranger.commit([{ kind: "put", key: makeKey(tables.namespace, 1), value: Buffer.from("x") }]);
  await assert.rejects(checkFormat(stranger), /no format version/);
  await checkFormat(stranger, { adopts: true, version: 1 });
  assert.equal(readFormat(stranger)!.version, 1, "a store that had none at first is of the first");
  const old = await firstVersion();
  await assert.rejects(checkFormat(old, { version: 2, migrations: [] }), /can't read any more/);
});
