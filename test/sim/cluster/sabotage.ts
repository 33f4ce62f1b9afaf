import type { LogRecord } from "../../../src/adapter/replicated/entry.ts";
import { Fold } from "../../../src/adapter/replicated/fold.ts";
import type { ClusterSabotage } from "./node.ts";

/** Counts every copy of an entry. */
class FoldWithoutSeq extends Fold {
  protected override accepts({ kind, epoch, writer }: LogRecord): boolean {
    return kind === "begin" ? epoch === this.epoch + 1 : epoch === this.epoch && writer === this.writer;
  }
}

/** Counts what an owner sends that was deposed. */
class FoldWithoutEpoch extends Fold {
  protected override accepts(record: LogRecord): boolean {
    if (record.kind === "begin") return super.accepts(record);
    return super.accepts(record) || (record.epoch < this.epoch && record.position === this.position + 1);
  }
}

/** Counts a claim that was made on an older state. */
class FoldOfAnyBegin extends Fold {
  protected override accepts(record: LogRecord): boolean {
    return record.kind === "begin" ? record.epoch >= this.epoch : super.accepts(record);
  }
}

/** Keeps the parts of a commit whose owner was deposed. */
class FoldOfLooseParts extends Fold {
  protected override dropParts(): void {}
}

interface Weakness {
  readonly what: string;
  readonly sabotage: ClusterSabotage;
  /** What the checker may say of it. */
  readonly found: RegExp;
}

const eager = { claimMs: 150, claimStepMs: 5, beatMs: 40 };

export const weaknesses: readonly Weakness[] = [
  {
    what: "copies of an entry count",
    sabotage: { makeFold: (cursor) => new FoldWithoutSeq(cursor) },
    found: /comes after commit|was acknowledged|twice|has what the log has/,
  },
  {
    what: "entries of a deposed owner count",
    sabotage: { makeFold: (cursor) => new FoldWithoutEpoch(cursor), settings: eager },
    found: /comes after commit|was acknowledged|has what the log has|takes commits in their order|is there|JSON/,
  },
  {
    what: "a claim counts that was made on an older state",
    sabotage: { makeFold: (cursor) => new FoldOfAnyBegin(cursor), settings: eager },
    found: /comes after commit|was acknowledged|has what the log has|another state|stale|one owner/,
  },
  {
    what: "parts of an unfinished commit count",
    sabotage: { makeFold: (cursor) => new FoldOfLooseParts(cursor), settings: eager },
    found: /JSON|has what the log has|was acknowledged/,
  },
  {
    what: "a snapshot forgets an entry of its owner",
    sabotage: { snapshotCursor: (cursor) => ({ ...cursor, seq: cursor.seq - 1 }) },
    found: /a stale read|comes after commit|has what the log has|one owner/,
  },
  {
    what: "a late owner answers",
    sabotage: { ignoresLease: true },
    found: /a stale read/,
  },
  {
    what: "a new owner does not wait for the lease of the one before",
    sabotage: { settings: { ...eager, fenceMs: 0 } },
    found: /a stale read/,
  },
  {
    what: "clocks drift by more than the fence allows for",
    sabotage: { settings: { ...eager, fenceMs: 1_000 } },
    found: /a stale read/,
  },
];
