import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ObjectStore } from "../../src/port/object-store.ts";

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

async function paths(store: ObjectStore, prefix: string): Promise<string[]> {
  return (await store.list(prefix)).map(({ path }) => path);
}

/** What every object store has to do. `open` gives an empty one. */
export function objectStoreSuite(name: string, open: () => ObjectStore): void {
  describe(`object store on ${name}`, () => {
    test("an object is put, got, replaced whole and deleted", async () => {
      const store = open();
      assert.equal(await store.get("a/b"), undefined);
      await store.put("a/b", bytes("a long first text"));
      await store.put("a/b", bytes("short"));
      assert.equal(Buffer.from((await store.get("a/b"))!).toString(), "short");
      const pieces = await Array.fromAsync(store.pieces("a/b"));
      assert.equal(Buffer.concat(pieces).toString(), "short");
      await store.delete("a/b");
      assert.equal(await store.get("a/b"), undefined);
      await assert.rejects(Array.fromAsync(store.pieces("a/b")));
    });

    test("deleting what is missing is no error", async () => {
      const store = open();
      await store.delete("nothing");
      await store.delete("no/folder/");
      await store.put("a", bytes("x"));
      await store.delete("a/below");
      assert.deepEqual(await paths(store, ""), ["a"]);
    });

    test("a list is sorted, holds whole paths and sizes, and takes any prefix", async () => {
      const store = open();
      for (const path of ["seg/2/data", "seg/10/data", "seg/1/data", "seg/1/meta", "other", "seg-x"]) {
        await store.put(path, bytes(path));
      }
      assert.deepEqual(await store.list("seg/1/"), [
        { path: "seg/1/data", bytes: 10 },
        { path: "seg/1/meta", bytes: 10 },
      ]);
      assert.deepEqual(await paths(store, "seg/1"), ["seg/1/data", "seg/1/meta", "seg/10/data"]);
      assert.deepEqual(await paths(store, "seg"), ["seg-x", "seg/1/data", "seg/1/meta", "seg/10/data", "seg/2/data"]);
      assert.deepEqual(await paths(store, ""), ["other", ...(await paths(store, "seg"))]);
      assert.deepEqual(await paths(store, "none/"), []);
      assert.deepEqual(await paths(store, "other/below"), []);
    });

    test("a folder is deleted with all below it, and nothing beside it", async () => {
      const store = open();
      for (const path of ["a/1", "a/b/2", "ab", "c"]) await store.put(path, bytes("x"));
      await store.delete("a/");
      assert.deepEqual(await paths(store, ""), ["ab", "c"]);
    });

    test("a folder is no object", async () => {
      const store = open();
      await store.put("a/b", bytes("x"));
      assert.equal(await store.get("a"), undefined);
      assert.equal(await store.get("a/b/c"), undefined);
      await store.delete("a");
      assert.deepEqual(await paths(store, ""), ["a/b"]);
    });

    test("objects may be empty or large", async () => {
      const store = open();
      const large = Buffer.alloc(5_000_000, "0123456789");
      await store.put("empty", Buffer.alloc(0));
      await store.put("large", large);
      assert.equal((await store.get("empty"))!.length, 0);
      assert.ok(large.equals((await store.get("large"))!));
    });

    test("bytes given and got are the caller's own", async () => {
      const store = open();
      const given = bytes("mine");
      await store.put("a", given);
      given.fill(0);
      const got = (await store.get("a"))!;
      assert.equal(Buffer.from(got).toString(), "mine");
      got.fill(0);
      assert.equal(Buffer.from((await store.get("a"))!).toString(), "mine");
    });

    test("puts at once to one path leave one of them whole", async () => {
      const store = open();
      const texts = Array.from({ length: 20 }, (_, i) => String(i).repeat(10_000 - i));
      await Promise.all(texts.map((text) => store.put("deep/same", bytes(text))));
      assert.ok(texts.includes(Buffer.from((await store.get("deep/same"))!).toString()));
      assert.deepEqual(await paths(store, "deep/"), ["deep/same"]);
    });

    test("an object's address names its path", () => {
      const store = open();
      assert.ok(store.uri("a/b").endsWith("/a/b"));
      assert.match(store.uri("a/b"), /^[a-z0-9]+:\/\//);
    });
  });
}
