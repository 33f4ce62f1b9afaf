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
export function* mergeWrites(stored: Iterable<Entry>, written: readonly WriteOp[], range: Range): Iterable<Entry> {
  const direction = range.reverse ? -1 : 1;
  let left = range.limit ?? Infinity;
  let next = 0;
  for (const entry of stored) {
    if (left <= 0) return;
    let hidden = false;
    while (next < written.length) {
      const op = written[next]!;
      const order = compareBytes(op.key, entry.key) * direction;
      if (order > 0) break;
      next++;
      if (order === 0) hidden = true;
      if (op.kind === "put") {
        yield op;
        if (--left <= 0) return;
      }
    }
    if (!hidden) {
      yield entry;
      left--;
    }
  }
  for (; next < written.length && left > 0; next++) {
    const op = written[next]!;
    if (op.kind !== "put") continue;
    yield op;
    left--;
  }
}
