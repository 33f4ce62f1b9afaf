import assert from "node:assert/strict";
import { copyFile, mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { checkPages, everyPage, PageDamage } from "./pages.ts";
import { LmdbStore } from "./store.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "native-engine-pages-"));
});
after(() => rm(folder, { recursive: true, force: true }));

const put = (key: number, bytes: number) => ({
  kind: "put" as const,
  key: Buffer.from(String(key).padStart(20, "0")),
  value: Buffer.alloc(bytes, key),
});

test("what LMDB writes is never taken for damage", async () => {
  const directory = join(folder, "sound");
  const store = new LmdbStore(directory);
  const op = fc.record({
    kind: fc.constantFrom("put" as const, "put" as const, "delete" as const),
    key: fc.integer({ min: 0, max: 400 }),
    bytes: fc.oneof(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 1_500, max: 30_000 })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 1, maxLength: 80 }), async (given) => {
      await store.commit(
        given.map(({ kind, key, bytes }) => {
          const written = put(key, bytes);
          return kind === "put" ? written : { kind, key: written.key };
        }),
      );
      assert.equal(checkPages(join(directory, "data.mdb"), everyPage).complete, true);
    }),
    { numRuns: 60 },
  );
  await store.close();
});

test("the check stops where its budget ends, and says so", async () => {
  const directory = join(folder, "budget");
  const store = new LmdbStore(directory);
  await store.commit(Array.from({ length: 5_000 }, (_, i) => put(i, 200)));
  await store.close();
  const file = join(directory, "data.mdb");
  const all = checkPages(file, everyPage);
  assert.equal(all.complete, true);
  assert(all.pagesChecked > 200);
  assert.deepEqual(checkPages(file, { pages: 50, morePages: 0, moreMs: 0 }), { pagesChecked: 50, complete: false });
  assert.deepEqual(checkPages(file, { pages: 50, morePages: 20, moreMs: 600_000 }), {
    pagesChecked: 70,
    complete: false,
  });
});

test("each kind of damage to a page is named", async () => {
  const directory = join(folder, "kinds");
  const store = new LmdbStore(directory);
  await store.commit([...Array.from({ length: 3_000 }, (_, i) => put(i, 100)), put(9_000, 50_000)]);
  await store.close();
  const file = join(directory, "data.mdb");
  const bytes = await readFile(file);
  const newest = bytes.readUInt32LE(24 + 128) > bytes.readUInt32LE(4096 + 24 + 128) ? 0 : 4096;
  const root = bytes.readUInt32LE(newest + 24 + 72 + 40) * 4096;
  const firstNode = root + 24 + bytes.readUInt16LE(root + 24);
  const lastNode = root + 24 + bytes.readUInt16LE(root + 24 + bytes.readUInt16LE(root + 20) - 2);
  const leaf = bytes.readUInt32LE(firstNode) * 4096;
  const leafNode = leaf + 24 + bytes.readUInt16LE(leaf + 24);
  const cases: readonly [string, number, number[], RegExp][] = [
    ["page number", root, [9], /is not the page that belongs there/],
    ["flags", root + 18, [2], /is not the page that belongs there/],
    ["number of nodes", root + 20, [2, 0], /has no valid bounds/],
    ["upper bound", root + 22, [255, 255], /has no valid bounds/],
    ["node position", root + 24, [255, 255], /has a stray entry/],
    ["key length", lastNode + 6, [255, 255], /has a stray key/],
    ["child", firstNode, [255, 255, 255, 0], /points outside the file/],
    ["order of keys", lastNode + 8, [0], /is out of order/],
    ["value length", leafNode, [255, 255], /has a stray value/],
    ["value kind", leafNode + 4, [6], /an unknown kind/],
    ["map size", newest + 24 + 16, [1], /a meta page is damaged/],
    ["transaction", newest + 24 + 128, [255, 255], /its meta pages disagree/],
  ];
  for (const [name, position, patch, message] of cases) {
    const copy = join(folder, "kinds.mdb");
    await copyFile(file, copy);
    const handle = await open(copy, "r+");
    await handle.write(Buffer.from(patch), 0, patch.length, position);
    await handle.close();
    assert.throws(
      () => checkPages(copy, everyPage),
      (error: Error) => error instanceof PageDamage && message.test(error.message),
      name,
    );
  }
});
