import type { ClassCounts, Counts } from "./messages.ts";

/** What one request came to. */
export type Outcome =
  | { readonly kind: "ok" }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "wrong"; readonly detail: string };

export const ok: Outcome = { kind: "ok" };

const samplesMax = 3;
/** Buckets of latency, each a tenth wider than the one before, from 0.1 ms up to some minutes. */
const bucketGrowth = 1.1;
const bucketFirstMs = 0.1;
const buckets = 160;

class ClassTally {
  readonly counts: ClassCounts = {
    sent: 0,
    ok: 0,
    refused: {},
    dropped: 0,
    wrong: 0,
    samples: [],
    p50Ms: 0,
    p99Ms: 0,
    maxMs: 0,
  };
  readonly #latencies = new Uint32Array(buckets);

  add(outcome: Outcome, ms: number): void {
    const { counts } = this;
    if (outcome.kind === "ok") {
      counts.ok++;
      counts.maxMs = Math.max(counts.maxMs, ms);
      const bucket = Math.ceil(Math.log(Math.max(ms, bucketFirstMs) / bucketFirstMs) / Math.log(bucketGrowth));
      this.#latencies[Math.min(bucket, buckets - 1)]!++;
    } else if (outcome.kind === "refused") counts.refused[outcome.code] = (counts.refused[outcome.code] ?? 0) + 1;
    else {
      counts.wrong++;
      if (counts.samples.length < samplesMax) counts.samples.push(outcome.detail);
    }
  }

  finished(): ClassCounts {
    return { ...this.counts, p50Ms: this.#quantile(0.5), p99Ms: this.#quantile(0.99) };
  }

  /** The upper end of the bucket in which the quantile lies. */
  #quantile(q: number): number {
    let left = this.counts.ok * q;
    for (const [i, count] of this.#latencies.entries()) {
      left -= count;
      if (left <= 0) return Math.min(bucketFirstMs * bucketGrowth ** i, this.counts.maxMs);
    }
    return this.counts.maxMs;
  }
}

/** Counts what came of the requests of one phase, by class and namespace. */
export class Tally {
  readonly #classes = new Map<string, ClassTally>();

  of(name: string): ClassTally {
    let found = this.#classes.get(name);
    if (found === undefined) {
      found = new ClassTally();
      this.#classes.set(name, found);
    }
    return found;
  }

  okByClass(): Record<string, number> {
    return Object.fromEntries([...this.#classes].map(([name, { counts }]) => [name, counts.ok]));
  }

  finished(): Counts {
    return Object.fromEntries([...this.#classes].map(([name, tally]) => [name, tally.finished()]));
  }
}

/** The same class of several processes, together. */
export function sumCounts(all: readonly Counts[]): Counts {
  const sum: Counts = {};
  for (const counts of all) {
    for (const [name, one] of Object.entries(counts)) {
      const before = sum[name];
      sum[name] = before === undefined ? structuredClone(one) : added(before, one);
    }
  }
  return sum;
}

function added(a: ClassCounts, b: ClassCounts): ClassCounts {
  const refused = { ...a.refused };
  for (const [code, count] of Object.entries(b.refused)) refused[code] = (refused[code] ?? 0) + count;
  return {
    sent: a.sent + b.sent,
    ok: a.ok + b.ok,
    refused,
    dropped: a.dropped + b.dropped,
    wrong: a.wrong + b.wrong,
    samples: [...a.samples, ...b.samples].slice(0, samplesMax),
    // Of two processes with the same load; the larger one is never too good.
    p50Ms: Math.max(a.p50Ms, b.p50Ms),
    p99Ms: Math.max(a.p99Ms, b.p99Ms),
    maxMs: Math.max(a.maxMs, b.maxMs),
  };
}
