import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { goneState, PartitionStates } from "./partition-states.ts";

const partitions = 100;

function start(next: number) {
  const tail = { next, bytes: 2 * next, prefixTimestampMs: 3 * next, prefixRetentionMs: 4 * next };
  return { tail, storedStart: next >> 1 };
}

const place = fc.tuple(fc.nat(3), fc.nat(partitions - 1));
const act = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("add"), place, next: fc.nat(1_000) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("append"), place, next: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete"), place, next: fc.constant(0) }) },
);

test("partitions are kept apart and listed in order, whichever were forgotten before", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const states = new PartitionStates();
      const model = new Map<number, { next: number; first: number }>();
      for (const {
        kind,
        place: [stream, partition],
        next,
      } of acts) {
        const key = stream * partitions + partition;
        const known = model.get(key);
        if (kind === "add" && known === undefined) {
          states.add(stream, partition, start(next));
          model.set(key, { next, first: next });
        } else if (kind === "append" && known !== undefined) {
          const state = states.get(stream, partition)!;
          state.next += next;
          assert.equal(state.durableNext, known.next);
          states.get(stream, partition)!.publish();
          assert.equal(state.durableNext, known.next + next);
          known.next += next;
        } else if (kind === "delete") {
          states.forget(stream, partition);
          model.delete(key);
        }
      }
      const listed = [...states.values()].map((state) => {
        const { first } = model.get(state.stream * partitions + state.partition)!;
        assert.deepEqual(
          [state.bytes, state.prefixTimestampMs, state.prefixRetentionMs, state.storedStart],
          [2 * first, 3 * first, 4 * first, first >> 1],
        );
        return [state.stream * partitions + state.partition, state.next];
      });
      const expected = [...model].sort(([a], [b]) => a - b).map(([key, { next }]) => [key, next]);
      assert.deepEqual(listed, expected);
    }),
  );
});

test("each of thousands of partitions has a row of its own", () => {
  const states = new PartitionStates();
  for (let i = 0; i < 10_000; i++) states.add(1 + (i % 100), Math.floor(i / 100), start(i));
  const rows = new Set<number>();
  for (let i = 0; i < 10_000; i++) {
    const state = states.get(1 + (i % 100), Math.floor(i / 100))!;
    assert.equal(state.next, i);
    rows.add(state.row);
  }
  assert.equal(rows.size, 10_000);
});

test("what is put out of memory is neither waited for nor being appended to, and each time something else", () => {
  const states = new PartitionStates();
  for (const stream of [1, 2, 3, 4]) states.add(stream, 0, start(5));
  states.get(1, 0)!.addWaiter(() => undefined);
  states.get(2, 0)!.next++;
  const left = () => [...states.values()].map(({ stream }) => stream);
  states.evict(1);
  assert.deepEqual(left(), [1, 2, 4]);
  states.add(3, 0, start(5));
  states.evict(1);
  assert.deepEqual(left(), [1, 2, 3]);
  states.evict(3);
  assert.deepEqual(left(), [1, 2]);
  assert.equal(states.size, 2);
});

test("who waits at a partition that is forgotten is woken and sees that it is gone, whatever comes after it", () => {
  const states = new PartitionStates();
  const state = states.add(7, 3, start(5));
  const seen: [boolean, number][] = [];
  const waiter = () => seen.push([state.gone, state.durableNext]);
  state.addWaiter(waiter);
  states.forget(7, 3);
  assert.deepEqual(seen, [[true, 5]]);
  assert.equal(states.get(7, 3), undefined);
  for (let partition = 0; partition < 5; partition++) states.add(8, partition, start(9));
  assert.deepEqual([state.gone, state.durableNext], [true, 5]);
  state.deleteWaiter(waiter);
  const next = states.add(9, 0, start(1));
  assert.deepEqual([next.row, next.gone, next.durableNext], [state.row, false, 1]);
});

test("a partition of a dropped stream is gone from the start", () => {
  const { gone, next, storedStart, implied } = goneState(1, 2, start(6));
  assert.deepEqual([gone, next, storedStart, implied], [true, 6, 3, undefined]);
});
