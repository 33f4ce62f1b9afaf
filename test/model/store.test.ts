import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareBytes } from "../../src/port/bytes.ts";
import type { Range } from "../../src/port/store.ts";
import { bytes, entries, stores, text } from "../port/stores.ts";

for (const [name, open] of Object.entries(stores)) {
  test(`random commits and ranges are as in a sorted map: store on ${name}`, async () => {
    const byte = fc.constantFrom(0x00, 0x01, 0x61, 0xfe, 0xff);
    const key = fc.array(byte, { minLength: 1, maxLength: 4 }).map((given) => Buffer.from(given));
    const op = fc.oneof(
      fc.record({ kind: fc.constant("put" as const), key, value: fc.uint8Array({ maxLength: 8 }) }),
      fc.record({ kind: fc.constant("delete" as const), key }),
    );
    const range = fc.record({ from: key, to: key, reverse: fc.boolean(), limit: fc.nat(6) }, { requiredKeys: [] });
    const commits = fc.array(fc.array(op, { minLength: 1, maxLength: 6 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(commits, fc.array(range, { minLength: 1, maxLength: 8 }), async (all, ranges) => {
        await using opened = await open();
        const model = new Map<string, string>();
        for (const ops of all) {
          await opened.store.commit(ops);
          for (const each of ops) {
            if (each.kind === "put") model.set(text(each.key), text(each.value));
            else model.delete(text(each.key));
          }
        }
        for (const each of ranges) assert.deepEqual(entries(opened.store, each), inModel(model, each));
      }),
      { numRuns: name === "memory" ? 300 : 60 },
    );
  });
}

function inModel(model: ReadonlyMap<string, string>, { from, to, reverse, limit }: Range): [string, string][] {
  const found = [...model]
    .filter(([key]) => from === undefined || compareBytes(bytes(key), from) >= 0)
    .filter(([key]) => to === undefined || compareBytes(bytes(key), to) < 0)
    .sort(([a], [b]) => compareBytes(bytes(a), bytes(b)));
  if (reverse) found.reverse();
  return found.slice(0, limit);
}
