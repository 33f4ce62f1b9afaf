import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, test } from "node:test";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import type { Range, Reader, WriteOp } from "../../src/port/store.ts";
import { temporaryFolder } from "../support/process.ts";
import { bytes, entries, stores, text } from "./stores.ts";

function put(key: string, value = key): WriteOp {
  return { kind: "put", key: bytes(key), value: bytes(value) };
}

function remove(key: string): WriteOp {
  return { kind: "delete", key: bytes(key) };
}

function keys(reader: Reader, range: Range = {}): string[] {
  return [...reader.keys(range)].map(text);
}

for (const [name, open] of Object.entries(stores)) {
  describe(`store on ${name}`, () => {
    test("what is put is got, replaced and deleted", async () => {
      await using opened = await open();
      const { store } = opened;
      assert.equal(store.get(bytes("a")), undefined);
      assert.equal(store.head(bytes("a"), 5), undefined);
      await store.commit([put("a", "1"), put("b", "2")]);
      assert.equal(text(store.get(bytes("a"))!), "1");
      await store.commit([put("a", "one"), remove("b"), remove("missing")]);
      assert.deepEqual(entries(store), [["a", "one"]]);
      await store.checkpoint();
      assert.equal(store.stats().entries, 1);
      assert.ok(store.stats().diskBytes > 0);
    });

    test("an empty commit is no error", async () => {
      await using opened = await open();
      await opened.store.commit([]);
      assert.deepEqual(entries(opened.store), []);
    });

    test("ops of one commit apply in order", async () => {
      await using opened = await open();
      await opened.store.commit([put("a", "1"), remove("a"), put("b", "1"), put("b", "2"), remove("c"), put("c", "3")]);
      assert.deepEqual(entries(opened.store), [
        ["b", "2"],
        ["c", "3"],
      ]);
    });

    test("keys are ordered as unsigned bytes, a prefix before its extensions", async () => {
      await using opened = await open();
      const ordered = [
        "\x00",
        "\x00\x00",
        "\x00\xff",
        "\x01",
        "A",
        "a",
        "a\x00",
        "a\x00\x00",
        "aa",
        "b",
        "\x80",
        "\xff",
        "\xff\x00",
        "\xff\xff",
      ];
      await opened.store.commit([...ordered].reverse().map((key) => put(key)));
      assert.deepEqual(keys(opened.store), ordered);
      assert.deepEqual(keys(opened.store, { reverse: true }), [...ordered].reverse());
      for (const key of ordered) assert.equal(text(opened.store.get(bytes(key))!), key);
    });

    test("a range holds its start and not its end, in both directions and with limits", async () => {
      await using opened = await open();
      const { store } = opened;
      await store.commit(["a", "b", "c", "d", "e"].map((key) => put(key)));
      for (const [from, to, want] of [
        ["b", "d", "bc"],
        ["b", "bb", "b"],
        ["aa", "cc", "bc"],
        ["b", "b", ""],
        ["d", "b", ""],
        ["", "z", "abcde"],
        ["f", "z", ""],
        [undefined, "c", "ab"],
        ["c", undefined, "cde"],
        [undefined, undefined, "abcde"],
      ] as const) {
        const bounds = {
          ...(from === undefined || from === "" ? {} : { from: bytes(from) }),
          ...(to === undefined ? {} : { to: bytes(to) }),
        };
        assert.equal(keys(store, bounds).join(""), want, `${from} to ${to}`);
        const reversed = [...want].reverse().join("");
        assert.equal(keys(store, { ...bounds, reverse: true }).join(""), reversed, `${from} to ${to} reversed`);
        for (const limit of [0, 1, 2, 5, Number.POSITIVE_INFINITY]) {
          assert.equal(keys(store, { ...bounds, limit }).join(""), want.slice(0, limit));
          assert.equal(keys(store, { ...bounds, limit, reverse: true }).join(""), reversed.slice(0, limit));
        }
      }
    });

    test("a snapshot and a range under way see no later commit", async () => {
      await using opened = await open();
      const { store } = opened;
      await store.commit([put("a", "1"), put("b", "1"), put("c", "1")]);
      using snapshot = store.snapshot();
      const walking = store.range({})[Symbol.iterator]();
      assert.equal(text(walking.next().value!.key), "a");
      await store.commit([put("a", "2"), remove("b"), put("bb", "2"), put("d", "2")]);
      assert.deepEqual(entries(snapshot), [
        ["a", "1"],
        ["b", "1"],
        ["c", "1"],
      ]);
      assert.equal(text(snapshot.get(bytes("b"))!), "1");
      assert.equal(snapshot.get(bytes("d")), undefined);
      assert.equal(text(snapshot.head(bytes("a"), 9)!), "1");
      assert.deepEqual(keys(snapshot, { reverse: true, limit: 1 }), ["c"]);
      const rest: string[] = [];
      for (let step = walking.next(); !step.done; step = walking.next()) rest.push(text(step.value.key));
      assert.deepEqual(rest, ["b", "c"]);
      assert.deepEqual(keys(store), ["a", "bb", "c", "d"]);
      using later = store.snapshot();
      assert.deepEqual(keys(later), ["a", "bb", "c", "d"]);
    });

    test("two snapshots of different times live side by side", async () => {
      await using opened = await open();
      const { store } = opened;
      using empty = store.snapshot();
      await store.commit([put("a", "1")]);
      using first = store.snapshot();
      await store.commit([put("a", "2")]);
      assert.deepEqual([entries(empty), entries(first), entries(store)], [[], [["a", "1"]], [["a", "2"]]]);
    });

    test("many snapshots can come and go", async () => {
      await using opened = await open();
      await opened.store.commit([put("a")]);
      for (let i = 0; i < 2_000; i++) {
        using snapshot = opened.store.snapshot();
        assert.equal(text(snapshot.get(bytes("a"))!), "a");
      }
    });

    test("a commit that is under way is seen whole or not at all", async () => {
      await using opened = await open();
      const { store } = opened;
      const pairs = Array.from({ length: 50 }, (_, i) => i);
      let committing = true;
      const commits = (async () => {
        for (const i of pairs) await store.commit([put("x", String(i)), put("y", String(i))]);
        committing = false;
      })();
      while (committing) {
        using snapshot = store.snapshot();
        const [x, y] = [snapshot.get(bytes("x")), snapshot.get(bytes("y"))];
        assert.deepEqual(x, y);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await commits;
    });

    test("commits at once all arrive, and those to one key in the order they were made", async () => {
      await using opened = await open();
      const { store } = opened;
      await Promise.all(
        Array.from({ length: 500 }, (_, i) => store.commit([put(`key-${i}`, "v"), put("last", String(i))])),
      );
      assert.equal(keys(store).length, 501);
      assert.equal(text(store.get(bytes("last"))!), "499");
    });

    test("what a commit wrote is there when it resolves", async () => {
      await using opened = await open();
      for (let i = 0; i < 20; i++) {
        await opened.store.commit([put("n", String(i))]);
        assert.equal(text(opened.store.get(bytes("n"))!), String(i));
      }
    });

    test("values may be empty or large, and keys as long as the engine's", async () => {
      await using opened = await open();
      const { store } = opened;
      const large = Buffer.alloc(20 * 1024 * 1024, 1).fill(2, 1_000_000);
      await store.commit([
        { kind: "put", key: bytes("empty"), value: Buffer.alloc(0) },
        { kind: "put", key: bytes("large"), value: large },
        put("k".repeat(400), "long key"),
      ]);
      assert.equal(store.get(bytes("empty"))!.length, 0);
      assert.equal(store.head(bytes("empty"), 10)!.length, 0);
      assert.ok(large.equals(store.get(bytes("large"))!));
      assert.deepEqual([...store.head(bytes("large"), 3)!], [1, 1, 1]);
      assert.equal(text(store.get(bytes("k".repeat(400)))!), "long key");
      for (const { key, value } of store.range({ from: bytes("large"), limit: 1 })) {
        assert.equal(text(key), "large");
        assert.ok(large.equals(value));
      }
    });

    test("bytes given and got are the caller's own", async () => {
      await using opened = await open();
      const { store } = opened;
      const key = bytes("mine");
      const value = bytes("value");
      await store.commit([{ kind: "put", key, value }, put("other", "thing")]);
      key.fill(0);
      value.fill(0);
      const got = store.get(bytes("mine"))!;
      const head = store.head(bytes("mine"), 3)!;
      const ranged = [...store.range({})];
      store.get(bytes("other"));
      store.head(bytes("other"), 3);
      assert.deepEqual([text(got), text(head)], ["value", "val"]);
      assert.deepEqual(
        ranged.map((entry) => [text(entry.key), text(entry.value)]),
        [
          ["mine", "value"],
          ["other", "thing"],
        ],
      );
      got.fill(0);
      for (const entry of ranged) entry.value.fill(0);
      assert.equal(text(store.get(bytes("mine"))!), "value");
    });

    test("a range can be left early and another run inside it", async () => {
      await using opened = await open();
      const { store } = opened;
      await store.commit(["a", "b", "c"].map((key) => put(key)));
      const pairs: string[] = [];
      for (const outer of store.keys({})) {
        for (const inner of store.keys({ reverse: true })) {
          pairs.push(text(outer) + text(inner));
          if (text(inner) === "b") break;
        }
        if (text(outer) === "b") break;
      }
      assert.deepEqual(pairs, ["ac", "ab", "bc", "bb"]);
    });
  });
}

test("an LMDB store keeps its entries when it is opened again", async () => {
  const folder = await temporaryFolder();
  try {
    const first = new LmdbStore(folder);
    await first.commit([put("a", "1"), put("\x00\xff", "2"), { kind: "put", key: bytes("e"), value: Buffer.alloc(0) }]);
    const before = entries(first);
    await first.close();
    const second = new LmdbStore(folder);
    assert.deepEqual(entries(second), before);
    await second.commit([remove("a")]);
    await second.close();
    const third = new LmdbStore(folder);
    assert.deepEqual(keys(third), ["\x00\xff", "e"]);
    await third.close();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
