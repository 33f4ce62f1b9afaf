import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MemoryStore } from "../../adapter/memory/store.ts";
import type { Range, WriteOp } from "../../port/store.ts";
import { Draft } from "./draft.ts";

const key = fc.constantFrom("a", "b", "c", "d", "e").map((text) => Buffer.from(text));
const op: fc.Arbitrary<WriteOp> = fc.oneof(
  fc.record({ kind: fc.constant("put" as const), key, value: fc.uint8Array({ maxLength: 2 }) }),
  fc.record({ kind: fc.constant("delete" as const), key }),
);
const ops = fc.array(op, { maxLength: 6 });
const range: fc.Arbitrary<Range> = fc.record(
  { from: key, to: key, reverse: fc.boolean(), limit: fc.nat(4) },
  { requiredKeys: [] },
);

function write(draft: Draft, each: WriteOp): void {
  if (each.kind === "put") draft.put(each.key, each.value);
  else draft.delete(each.key);
}

function shown(entries: Iterable<{ key: Uint8Array; value: Uint8Array }>): string[] {
  return Array.from(entries, ({ key, value }) => `${Buffer.from(key)}=${Buffer.from(value).toString("hex")}`);
}

test("a draft reads as the store will once its ops are committed, whatever was rolled back between", async () => {
  await fc.assert(
    fc.asyncProperty(ops, ops, ops, ops, range, async (stored, first, dropped, second, asked) => {
      const store = new MemoryStore();
      await store.commit(stored);
      const draft = new Draft(store);
      draft.begin();
      for (const each of first) write(draft, each);
      draft.begin();
      for (const each of dropped) write(draft, each);
      shown(draft.range({}));
      draft.rollback();
      draft.begin();
      for (const each of second) write(draft, each);
      const seen = shown(draft.range(asked));
      const got = ["a", "b", "c", "d", "e"].map((text) => draft.get(Buffer.from(text)));
      const has = draft.has(asked);
      await store.commit(draft.ops);
      assert.deepEqual(seen, shown(store.range(asked)));
      assert.deepEqual(
        got.map((value) => value && [...value]),
        ["a", "b", "c", "d", "e"].map((text) => {
          const value = store.get(Buffer.from(text));
          return value && [...value];
        }),
      );
      assert.equal(has, [...store.range({ ...asked, limit: 1 })].length > 0);
    }),
  );
});

test("hooks: a rollback undoes its own change, newest first, and forgets its commit hooks", () => {
  const draft = new Draft(new MemoryStore());
  const called: string[] = [];
  const hook = (name: string) => {
    draft.onUndo(() => called.push(`undo ${name}`));
    draft.onCommit(() => called.push(`commit ${name}`));
  };
  draft.begin();
  hook("a");
  draft.begin();
  hook("b1");
  hook("b2");
  draft.rollback();
  assert.deepEqual(called.splice(0), ["undo b2", "undo b1"]);
  draft.begin();
  hook("c");
  draft.committed();
  assert.deepEqual(called.splice(0), ["commit a", "commit c"]);
  draft.aborted();
  assert.deepEqual(called, ["undo c", "undo a"]);
});
