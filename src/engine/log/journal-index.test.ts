import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { logKey } from "../keys.ts";
import { JournalIndex } from "./journal-index.ts";
import { type Put, ValueEncoder } from "./journal-value.ts";

interface Model {
  readonly stream: number;
  readonly partition: number;
  next: number;
  held: { readonly base: number; readonly value: { left: number } }[];
}

const encoder = new ValueEncoder();

/** As much of a batch as the journal reads, and its offset once more to be compared. */
function put({ stream, partition }: Model, base: number): Put {
  const value = Buffer.alloc(32);
  value.writeDoubleLE(base, 16);
  value.writeDoubleLE(base, 24);
  return { kind: "put", key: logKey(stream, partition, base), value };
}

function check(index: JournalIndex, { stream, partition, held }: Model): void {
  const batches = index.get(stream, partition)?.batches;
  const bases = Array.from({ length: batches?.length ?? 0 }, (_, i) => batches!.base(i));
  assert.deepEqual(
    bases,
    held.map(({ base }) => base),
  );
  for (const [i, { base }] of held.entries()) assert.equal(batches!.bytes(i).readDoubleLE(24), base);
}

const partitionsMax = 200;
const place = fc.tuple(fc.nat(2), fc.oneof(fc.constant(0), fc.nat(partitionsMax - 1)));
const act = fc.oneof(
  fc.record({ kind: fc.constant("push" as const), places: fc.array(place, { minLength: 1, maxLength: 30 }) }),
  fc.record({ kind: fc.constant("many" as const), place, count: fc.nat(900) }),
  fc.record({ kind: fc.constant("read" as const), place }),
  fc.record({ kind: fc.constant("remove" as const), place, share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ kind: fc.constant("removeAll" as const) }),
  fc.record({ kind: fc.constant("drop" as const) }),
);

test("each partition has its batches in their order, whatever was moved and dropped before", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
      const index = new JournalIndex();
      const models = new Map<number, Model>();
      /** Of each value, how many of its batches have not been removed. */
      const values: { left: number }[] = [];
      const modelOf = ([stream, partition]: [number, number]) => {
        const key = stream * partitionsMax + partition;
        const model = models.get(key) ?? { stream, partition, next: 0, held: [] };
        models.set(key, model);
        return model;
      };
      const push = (to: Model[]) => {
        const value = { left: to.length };
        values.push(value);
        const taken = to.map((model) => {
          model.held.push({ base: model.next, value });
          return put(model, model.next++);
        });
        index.push({ seq: 0, bytes: encoder.encode(taken), isBrief: true, batches: 0 });
      };
      const remove = (model: Model, count: number) => {
        if (count === 0) return;
        index.remove(index.get(model.stream, model.partition)!, count);
        for (const { value } of model.held.splice(0, count)) value.left--;
      };
      const checkValues = () => {
        assert.deepEqual(
          Array.from(values, (_, i) => index.isDead(i)),
          values.map(({ left }) => left === 0),
        );
        assert.equal(index.isDead(values.length), false);
      };
      for (const each of acts) {
        if (each.kind === "push") push(each.places.map(modelOf));
        if (each.kind === "many") for (let i = 0; i < each.count; i += 9) push(Array(9).fill(modelOf(each.place)));
        if (each.kind === "read") check(index, modelOf(each.place));
        if (each.kind === "remove") {
          const model = modelOf(each.place);
          remove(model, Math.round(each.share * model.held.length));
        }
        if (each.kind === "removeAll") for (const model of models.values()) remove(model, model.held.length);
        if (each.kind === "drop") {
          const alive = values.findIndex(({ left }) => left > 0);
          const dead = alive < 0 ? values.length : alive;
          values.splice(0, dead);
          index.drop(dead);
        }
        checkValues();
      }
      const holding = [...models.values()].filter(({ held }) => held.length > 0);
      const places = holding.map(({ stream, partition }) => ({ stream, partition }));
      places.sort((a, b) => a.stream - b.stream || a.partition - b.partition);
      assert.deepEqual(index.places(), places);
      for (const model of models.values()) check(index, model);
    }),
    { numRuns: 200 },
  );
});

test("a list that a reader has stays as it is when its head is moved", () => {
  const index = new JournalIndex();
  const model: Model = { stream: 1, partition: 3, next: 0, held: [] };
  for (let base = 0; base < 4; base++) {
    index.push({ seq: base, bytes: encoder.encode([put(model, base)]), isBrief: true, batches: 0 });
  }
  const known = index.get(1, 3)!;
  const before = known.batches;
  index.remove(known, 3);
  index.drop(3);
  assert.deepEqual([before.length, before.base(0), before.bytes(1).readDoubleLE(24)], [4, 0, 1]);
  assert.deepEqual([known.batches.length, known.batches.base(0), known.gone], [1, 3, 3]);
});

test("a partition that is never without batches does not hold on to the memory of those it has given up", () => {
  const index = new JournalIndex();
  const values = new ValueEncoder();
  const slow: Model = { stream: 1, partition: 0, next: 0, held: [] };
  const busy: Model = { stream: 1, partition: 1, next: 0, held: [] };
  const push = (model: Model, bytes: number) => {
    const { key, value } = put(model, model.next++);
    const large = Buffer.concat([value, Buffer.alloc(bytes)]);
    index.push({ seq: 0, bytes: values.encode([{ kind: "put", key, value: large }]), isBrief: true, batches: 0 });
  };
  push(slow, 100);
  for (let turn = 0; turn < 600; turn++) {
    for (let i = 0; i < 40; i++) push(busy, 4_000);
    push(slow, 100);
    index.remove(index.get(1, 0)!, 1);
    index.remove(index.get(1, 1)!, 40);
    index.drop(index.chunks.length - 1);
    // A piece for each that is left or was given up a moment ago, and an empty one for all before them.
    const pieces = index.get(1, 0)!.batches.memory.size;
    assert.ok(pieces <= 34, `${pieces} pieces after ${turn} turns`);
  }
  assert.equal(index.get(1, 0)!.batches.length, 1);
});
