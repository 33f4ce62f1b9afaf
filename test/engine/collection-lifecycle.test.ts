import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFilterField, parseOps } from "../../src/edge/rest/documents/json.ts";
import type { DocumentRef, ReadOptions } from "../../src/engine/collection/documents.ts";
import { pinLimits } from "../../src/engine/collection/pins.ts";
import { EngineError } from "../../src/engine/errors.ts";
import { parseQuery } from "../../src/engine/retrieval/parse.ts";
import { parseFields, parseSchema } from "../../src/engine/schema/schema-parse.ts";
import { nextTurn } from "../../src/port/next-turn.ts";
import { EngineHarness } from "../model/collection/harness.ts";

const strong: ReadOptions = { token: [], eventual: false };
const ref: DocumentRef = { namespace: "n", collection: "c" };
const schema = parseSchema({ fields: [{ name: "tag", kind: "keyword" }], vectors: [{ name: "v", dim: 2 }] });

async function create(harness: EngineHarness): Promise<void> {
  await harness.engine.collections.create("n", "c", schema);
}

/** Upserts documents with these ids; the tag says whether the id is odd. */
async function put(harness: EngineHarness, ids: readonly number[]): Promise<void> {
  const ops = ids.map((id) => ({ upsert: { id, source: { tag: id % 2 === 0 ? "even" : "odd", late: id } } }));
  await harness.engine.documents.write(ref, await parseOps(ops, schema), 100);
}

async function remove(harness: EngineHarness, ids: readonly number[]): Promise<void> {
  const ops = ids.map((id) => ({ delete: { id } }));
  await harness.engine.documents.write(ref, await parseOps(ops, schema), 100);
}

function count(harness: EngineHarness, filter: unknown): Promise<number> {
  const parsed = parseFilterField("filter", filter, harness.engine.documents.find(ref).schema);
  return harness.engine.documents.count(ref, parsed, strong).then(({ count }) => count);
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

const odd = { term: { tag: "odd" } };

async function isUnavailable(run: () => Promise<unknown>): Promise<void> {
  await assert.rejects(run, (error) => error instanceof EngineError && error.reason === "unavailable");
}

async function paths(harness: EngineHarness): Promise<string[]> {
  return (await harness.objects.list("collections/")).map(({ path }) => path);
}

test("objects that could not be deleted are deleted later, with nothing written meanwhile", async () => {
  await using harness = await EngineHarness.start("memory");
  await create(harness);
  await put(harness, numbers(0, 10));
  await harness.sealed("c");
  const { objects } = harness;
  const remove = objects.delete.bind(objects);
  let failures = 0;
  objects.delete = async () => {
    failures++;
    throw new Error("the store does not answer");
  };
  await put(harness, numbers(0, 10));
  await harness.sealed("c");
  await harness.until("a delete has failed", () => failures > 0);
  objects.delete = remove;
  const named = () =>
    harness.engine.collections.get("n", "c").manifest.segments.flatMap(({ path, deletesPath }) => [path, deletesPath]);
  let left = await paths(harness);
  for (let turn = 0; left.some((path) => !named().includes(path)); turn++) {
    assert.ok(turn < 1_000, `${left} are left of ${named()}`);
    harness.clock.advance(250);
    await new Promise((resolve) => setImmediate(resolve));
    left = await paths(harness);
  }
  assert.ok(left.length > 0);
  harness.errors.splice(0);
});

test("objects that other nodes may open are kept for the grace, and then deleted with nothing written meanwhile", async () => {
  const objectGraceMs = 60_000;
  await using harness = await EngineHarness.start("memory", { objectGraceMs });
  await create(harness);
  await put(harness, numbers(0, 10));
  await harness.sealed("c");
  const [first] = harness.engine.collections.get("n", "c").manifest.segments;
  await put(harness, numbers(0, 10));
  await harness.sealed("c");
  for (let turn = 0; turn < 100; turn++) {
    harness.clock.advance(objectGraceMs / 200);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok((await paths(harness)).includes(first!.path), "kept");
  }
  for (let turn = 0; (await paths(harness)).includes(first!.path); turn++) {
    assert.ok(turn < 1_000, "deleted");
    harness.clock.advance(objectGraceMs / 100);
    await new Promise((resolve) => setImmediate(resolve));
  }
});

test("a lost index thread is opened anew and the question asked again", async () => {
  await using harness = await EngineHarness.start("memory");
  await create(harness);
  await put(harness, numbers(0, 10));
  assert.equal(await count(harness, odd), 5);
  await harness.sealed("c");
  await put(harness, numbers(10, 14));
  const asked = count(harness, odd);
  harness.lose("index");
  assert.equal(await asked, 7, "a question under way");
  harness.lose("index");
  await put(harness, [15]);
  assert.equal(await count(harness, odd), 8, "a question after it");
});

test("a seal whose index was lost between freeze and publish leaves no document out or in twice", async () => {
  await using harness = await EngineHarness.start("memory");
  await create(harness);
  await put(harness, numbers(0, 10));
  for (const turns of [1, 3, 6, 10, 15, 21, 28, 40]) {
    await remove(harness, [turns]);
    await put(harness, numbers(100 + turns, 104 + turns));
    harness.clock.advance(5_000);
    for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
    harness.lose("index");
    if (turns % 2 === 0) harness.lose("build");
    const { documents } = harness.engine;
    const wanted = (await documents.count(ref, undefined, strong)).count;
    assert.equal(await count(harness, { match_all: {} }), wanted);
    await harness.sealed("c");
    assert.equal(await count(harness, { match_all: {} }), wanted);
    const eventual = await documents.count(ref, undefined, { token: [], eventual: true });
    assert.equal(eventual.count, wanted);
  }
});

test("damaged and missing index objects are made again from the documents", async () => {
  await using harness = await EngineHarness.start("memory");
  await create(harness);
  await put(harness, numbers(0, 50));
  await harness.sealed("c");
  await put(harness, numbers(50, 60));
  await remove(harness, [1, 3, 50]);
  await harness.sealed("c");
  for (const kind of ["segments", "deletes"]) {
    for (const harm of ["flip", "cut", "gone"]) {
      await remove(harness, [await firstId(harness)]);
      await harness.sealed("c");
      const wanted = { all: await count(harness, { match_all: {} }), odd: await count(harness, odd) };
      await harness.restart();
      const path = (await paths(harness)).find((each) => each.includes(`/${kind}/`))!;
      if (path === undefined) continue;
      const bytes = (await harness.objects.get(path))!;
      if (harm === "gone") await harness.objects.delete(path);
      else if (harm === "cut") await harness.objects.put(path, bytes.subarray(0, bytes.length - 8));
      else await harness.objects.put(path, bytes.with(bytes.length - 3, bytes.at(-3)! ^ 4));
      await isUnavailable(() => count(harness, odd));
      await harness.until(
        "the index is made again",
        () => harness.engine.collections.get("n", "c").hot.state === "cold",
      );
      let found: number | undefined;
      while (found === undefined) {
        harness.clock.advance(3_000);
        await new Promise((resolve) => setImmediate(resolve));
        found = await count(harness, odd).catch((error: EngineError) => {
          assert.equal(error.reason, "unavailable");
          return undefined;
        });
      }
      assert.equal(found, wanted.odd, `${kind} ${harm}`);
      assert.equal(await count(harness, { match_all: {} }), wanted.all);
    }
  }
  assert.ok(harness.errors.length > 0, "the operator is told");
});

async function firstId(harness: EngineHarness): Promise<number> {
  const page = await harness.engine.documents.scroll(ref, { filter: undefined, limit: 1, cursor: undefined }, strong);
  return page.documents[0]!.id;
}

test("what a build wrote and no manifest names is deleted at the next start", async () => {
  await using harness = await EngineHarness.start("memory");
  await create(harness);
  await put(harness, [1, 2]);
  await harness.sealed("c");
  const named = await paths(harness);
  await harness.objects.put("collections/1/segments/77", new Uint8Array(10));
  await harness.objects.put("collections/1/deletes/77-1", new Uint8Array(10));
  await harness.restart();
  let left: string[] = [];
  while (left.length !== named.length) {
    left = await paths(harness);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(left, named);
});

test("a collection dropped during a seal or merge leaves nothing behind", async () => {
  for (const turns of [0, 2, 4, 8, 16, 24]) {
    await using harness = await EngineHarness.start("memory");
    await create(harness);
    for (let seal = 0; seal < 3; seal++) {
      await put(harness, numbers(seal * 10, seal * 10 + 10));
      await harness.sealed("c");
    }
    await put(harness, numbers(100, 110));
    harness.clock.advance(5_000);
    for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
    await harness.engine.collections.drop("n", "c");
    const leftKeys = () => [...harness.store.keys({ from: Buffer.of(0x30), to: Buffer.of(0x40) })].length;
    await harness.until("everything is freed", () => leftKeys() === 0);
    assert.deepEqual(await paths(harness), []);
    await create(harness);
    assert.equal(await count(harness, { match_all: {} }), 0);
  }
});

test("an index that nobody uses is closed, a hot one is not", async () => {
  await using harness = await EngineHarness.start("memory", { openIdleMs: 60_000 });
  await create(harness);
  await put(harness, numbers(0, 4));
  await harness.sealed("c");
  const state = () => harness.engine.collections.get("n", "c").hot.state;
  assert.equal(state(), "hot");
  harness.clock.advance(61_000);
  await harness.until("the index is closed", () => state() === "cold");
  assert.equal(await count(harness, odd), 2, "and opened again when it is asked");
  await harness.engine.collections.setHot("n", "c", true);
  harness.clock.advance(61_000);
  await put(harness, [5]);
  await harness.sealed("c");
  assert.equal(state(), "hot");
  await harness.restart();
  await harness.until("a hot index is loaded at the start", () => state() === "hot");
});

test("an index is opened while others write without a pause", async () => {
  await using harness = await EngineHarness.start("memory", { sealIdleMs: 1e12, sealAgeMs: 1e12 });
  await create(harness);
  await put(harness, numbers(0, 3_000));
  await harness.restart();
  let next = 3_000;
  let isDone = false;
  const write = async () => {
    for (let writes = 0; !isDone && writes < 400; writes++) {
      await put(harness, [next++]);
      await nextTurn();
    }
  };
  const writers = Array.from({ length: 64 }, write);
  const before = next;
  const found = await count(harness, { match_all: {} });
  isDone = true;
  assert.ok(next < before + 20_000, "it is open before the last write");
  await Promise.all(writers);
  assert.ok(found >= before && found <= next);
  assert.equal(await count(harness, { match_all: {} }), next);
});

test("an opening that fails leaves nothing in its thread", async () => {
  await using harness = await EngineHarness.start("memory", { sealIdleMs: 1e12, sealAgeMs: 1e12 });
  await create(harness);
  await put(harness, numbers(0, 10));
  const earlier = harness.held.length;
  await harness.restart();
  const held = () => harness.held.slice(earlier).map((collections) => collections.size);
  const { store } = harness;
  const peek = store.peek.bind(store);
  store.peek = () => {
    assert.ok(held().includes(1), "the thread has the index before documents are read");
    throw new Error("the disk does not answer");
  };
  await assert.rejects(count(harness, odd), /the disk does not answer/);
  assert.ok(!held().includes(1));
  store.peek = peek;
  assert.equal(await count(harness, odd), 5);
  assert.ok(held().includes(1));
});

test("a query that was given up while its index is opened is not run", async () => {
  await using harness = await EngineHarness.start("memory", { sealIdleMs: 1e12, sealAgeMs: 1e12 });
  await create(harness);
  await put(harness, numbers(0, 10));
  await harness.restart();
  const earlier = harness.searches.reduce((sum, count) => sum + count, 0);
  const plan = parseQuery({ from: "c", limit: 5 }, () => schema);
  const given = new AbortController();
  const { store } = harness;
  const peek = store.peek.bind(store);
  // Documents are read while the index is opened.
  store.peek = (key) => {
    given.abort();
    return peek(key);
  };
  const asked = harness.engine.queries.run("n", plan, [], given.signal);
  await assert.rejects(asked, (error) => error instanceof EngineError && error.reason === "deadline_exceeded");
  assert.equal(
    harness.searches.reduce((sum, count) => sum + count, 0),
    earlier,
  );
  store.peek = peek;
  assert.equal((await harness.engine.queries.run("n", plan, [])).rows?.length, 5);
});

test("documents with fields that were added while the index is opened are found by them", async () => {
  await using harness = await EngineHarness.start("memory", { sealIdleMs: 1e12, sealAgeMs: 1e12 });
  await create(harness);
  await put(harness, numbers(0, 3_000));
  await put(harness, numbers(3_000, 6_000));
  await harness.restart();
  const opening = count(harness, odd);
  await nextTurn();
  await harness.engine.collections.addFields("n", "c", parseFields("fields", [{ name: "late", kind: "i64" }]), 1);
  await put(harness, numbers(6_000, 6_010));
  await opening;
  assert.equal(await count(harness, { range: { late: { gte: 6_000 } } }), 10);
});

test("the least recently used index is closed when the open ones take too much", async () => {
  await using harness = await EngineHarness.start("memory", { openBytesMax: 1 });
  await create(harness);
  await put(harness, numbers(0, 4));
  await harness.sealed("c");
  await harness.until("it is closed", () => harness.engine.collections.get("n", "c").hot.state === "cold");
  assert.equal(await count(harness, odd), 2);
});

test("a scroll that was given up goes on over what there is, and says so by its token", async () => {
  await using harness = await EngineHarness.start("memory");
  await create(harness);
  await put(harness, numbers(0, 6));
  const { documents } = harness.engine;
  const first = await documents.scroll(ref, { filter: undefined, limit: 2, cursor: undefined }, strong);
  await remove(harness, [2]);
  const second = await documents.scroll(ref, { filter: undefined, limit: 2, cursor: first.nextCursor }, strong);
  assert.deepEqual([second.documents.map(({ id }) => id), second.token], [[2, 3], first.token]);
  harness.clock.advance(pinLimits.idleMsMax + 1);
  const third = await documents.scroll(ref, { filter: undefined, limit: 3, cursor: first.nextCursor }, strong);
  assert.deepEqual(
    third.documents.map(({ id }) => id),
    [3, 4, 5],
  );
  assert.notDeepEqual(third.token, first.token);
  for (let i = 0; i < pinLimits.pinsMax + 5; i++) {
    await documents.scroll(ref, { filter: undefined, limit: 1, cursor: undefined }, strong);
  }
  const other = parseFilterField("filter", odd, schema);
  await assert.rejects(
    documents.scroll(ref, { filter: other, limit: 1, cursor: first.nextCursor }, strong),
    (error) => error instanceof EngineError && error.details["field"] === "cursor",
  );
});

test("fields that are added are filled from the stored sources, in tail and segments", async () => {
  await using harness = await EngineHarness.start("memory");
  await create(harness);
  await put(harness, numbers(0, 10));
  await harness.sealed("c");
  await put(harness, numbers(10, 15));
  await harness.engine.collections.addFields("n", "c", parseFields("fields", [{ name: "late", kind: "i64" }]), 1);
  const late = { range: { late: { gte: 5 } } };
  await put(harness, [20]);
  assert.ok((await count(harness, late)) >= 1, "new documents have it at once");
  await harness.sealed("c");
  assert.equal(await count(harness, late), 11);
});

test("a field that is added while a segment is made, which is merged right after, is filled in", async () => {
  await using harness = await EngineHarness.start("memory");
  await create(harness);
  for (const from of [0, 10, 20]) {
    await put(harness, numbers(from, from + 10));
    await harness.sealed("c");
  }
  const { objects } = harness;
  const store = objects.put.bind(objects);
  let isAdded = false;
  objects.put = async (path, bytes) => {
    if (path.includes("/segments/") && !isAdded) {
      isAdded = true;
      await harness.engine.collections.addFields("n", "c", parseFields("fields", [{ name: "late", kind: "i64" }]), 1);
    }
    return store(path, bytes);
  };
  await put(harness, numbers(30, 40));
  await harness.sealed("c");
  assert.equal(await count(harness, { range: { late: { gte: 5 } } }), 35);
});

test("conditions on a document that a batch changes see each change", async () => {
  await using harness = await EngineHarness.start("memory");
  await create(harness);
  const write = async (ops: readonly object[]) => {
    const { results } = await harness.engine.documents.write(ref, await parseOps(ops, schema), 100);
    return results.map(({ status }) => status);
  };
  const upsert = (tag: string, wanted?: string) => ({
    upsert: { id: 1, source: { tag }, ...(wanted === undefined ? {} : { if: { term: { tag: wanted } } }) },
  });
  assert.deepEqual(await write([upsert("a")]), ["created"]);
  const ops = [upsert("x", "b"), upsert("b", "a"), upsert("y", "a"), upsert("c", "b"), { delete: { id: 1 } }];
  assert.deepEqual(await write([...ops, upsert("y", "c"), upsert("d"), upsert("y", "c"), upsert("e", "d")]), [
    ...["condition_failed", "updated", "condition_failed", "updated", "deleted"],
    ...["condition_failed", "created", "condition_failed", "updated"],
  ]);
});
