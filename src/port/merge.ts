import { compareBytes } from "./bytes.ts";
import type { Entry, Range, WriteOp } from "./store.ts";

/** Those of the writes that lie in a range, in its order. */
export function opsInRange(ops: Iterable<WriteOp>, { from, to, reverse }: Range): WriteOp[] {
  const found: WriteOp[] = [];
  for (const op of ops) {
    if (from !== undefined && compareBytes(op.key, from) < 0) continue;
    if (to !== undefined && compareBytes(op.key, to) >= 0) continue;
    found.push(op);
  }
  return found.sort((a, b) => (reverse ? compareBytes(b.key, a.key) : compareBytes(a.key, b.key)));
}

/** Stored entries and writes on top of them, both in the range's order, as one; a write hides the entry of its key. */
export function* mergeWrites(stored: Iterable<Entry>, written: Iterable<WriteOp>, range: Range): Iterable<Entry> {
  const direction = range.reverse ? -1 : 1;
  const writes = written[Symbol.iterator]();
  let left = range.limit ?? Infinity;
  let op = next(writes);
  for (const entry of stored) {
    if (left <= 0) return;
    let hidden = false;
    while (op !== undefined) {
      const order = compareBytes(op.key, entry.key) * direction;
      if (order > 0) break;
      if (order === 0) hidden = true;
      if (op.kind === "put") {
        yield op;
        if (--left <= 0) return;
      }
      op = next(writes);
    }
    if (!hidden) {
      yield entry;
      left--;
    }
  }
  for (; op !== undefined && left > 0; op = next(writes)) {
    if (op.kind !== "put") continue;
    yield op;
    left--;
  }
}

function next(writes: Iterator<WriteOp>): WriteOp | undefined {
  const step = writes.next();
  return step.done ? undefined : step.value;
}
