import { tables } from "../../src/engine/keys.ts";
import type { WriteOp } from "../../src/port/store.ts";

/** A port that breaks its promise on purpose, to see that the checker finds out. */
export interface Sabotage {
  /** Operations of a commit that are dropped although it is answered as durable. */
  readonly drops?: (op: WriteOp) => boolean;
  /** Writes of the commit log that are answered as durable and never made. */
  readonly losesWrites?: () => boolean;
  /** Applies commits that it reports as failed. */
  readonly keepsFailed?: boolean;
  /** A crash that comes while a commit is applied leaves the first part of it. */
  readonly tearsCommit?: boolean;
  /** Messages that never reach their thread. */
  readonly losesMessage?: (message: unknown) => boolean;
}

function isPut(table: number): (op: WriteOp) => boolean {
  return ({ kind, key }) => kind === "put" && key[0] === table;
}

/** Every nth time. */
function each(n: number): () => boolean {
  let count = 0;
  return () => ++count % n === 0;
}

interface Weakness {
  readonly what: string;
  /** Made anew for each run, since some count. */
  readonly make: () => Sabotage;
  /** What the checker may say of it. */
  readonly found: RegExp;
}

export const weaknesses: readonly Weakness[] = [
  {
    what: "acknowledged records are lost",
    make: () => {
      const isDue = each(40);
      return { drops: (op) => isPut(tables.log)(op) && isDue() };
    },
    found: /is missing in the log|trimmed too early|was known|does not catch up/,
  },
  {
    what: "acknowledged commits are lost in the log",
    make: () => ({ losesWrites: each(3) }),
    found:
      /the store is refused|is missing in the log|trimmed too early|was known|does not catch up|ends at|is also at/,
  },
  {
    what: "acknowledged documents are lost",
    make: () => {
      const isDue = each(40);
      return { drops: (op) => isPut(tables.document)(op) && isDue() };
    },
    found: /no order explains|not what its source says|true of no state/,
  },
  {
    what: "refused writes are kept",
    make: () => ({ keepsFailed: true }),
    found: /no order explains|was refused|nobody|is also at|ends at/,
  },
  {
    what: "a crash leaves half a commit",
    make: () => ({ tearsCommit: true }),
    found: /no order explains|is missing|not what its source says|is also at|written twice|was done again/,
  },
  { what: "events are not remembered", make: () => ({ drops: isPut(tables.dedupRun) }), found: /was written twice/ },
  {
    what: "replies are not recorded",
    make: () => ({ drops: isPut(tables.idempotency) }),
    found: /was done again|is also at|another body was taken|is the recorded reply|written twice/,
  },
  {
    what: "links forget how far they are",
    make: () => ({ drops: isPut(tables.linkState) }),
    found: /^(?:counts|filled) (?:at|went back|does not catch up|is not what|was read without)/,
  },
  {
    what: "acknowledged live documents are lost",
    make: () => {
      const isDue = each(20);
      return { drops: (op) => isPut(tables.liveDocument)(op) && isDue() };
    },
    found: /^live: /,
  },
  {
    what: "an index misses a change",
    make: () => {
      const isDue = each(5);
      return { losesMessage: (message) => (message as { kind: string }).kind === "apply" && isDue() };
    },
    found: /true of no state|not answered any more/,
  },
];
