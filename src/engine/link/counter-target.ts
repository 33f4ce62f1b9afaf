import { hash } from "node:crypto";
import { asBuffer } from "../../port/bytes.ts";
import { nextTurn } from "../../port/next-turn.ts";
import type { Reader, Store } from "../../port/store.ts";
import type { Draft } from "../commit/draft.ts";
import { makeKey, prefixRange, tables } from "../keys.ts";
import type { BatchCursor } from "../log/record-batch.ts";
import { openValue, sealValue } from "../stored-value.ts";
import { type CounterRule, parseCounterOptions } from "./counter-options.ts";
import { CounterSum } from "./counter-sum.ts";
import type { LinkContext, LinkStep, LinkTarget, LinkTotals } from "./target.ts";

/** A longer name is keyed by its digest and kept in the value. */
const keyedNameBytesMax = 400;
/** Counters that a detail reads before other requests run. */
const countersPerTurn = 2_000;

/** Sums by name. A counter is one key with an int64, followed by its name where that is too long for a key. */
export class CounterTarget implements LinkTarget {
  readonly kind = "counter";
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  checkOptions(options: unknown): void {
    parseCounterOptions(options);
  }

  async ready(): Promise<boolean> {
    return false;
  }

  holds(): boolean {
    return true;
  }

  begin(link: LinkContext): LinkStep {
    return new CounterStep(link.id, parseCounterOptions(link.options));
  }

  stageForget(draft: Draft, linkId: number, keysMax: number): boolean {
    let count = 0;
    for (const key of this.#store.keys({ ...prefixRange(tables.counter, linkId), limit: keysMax })) {
      draft.delete(key);
      count++;
    }
    return count === keysMax;
  }

  async detail(link: LinkContext, totals: LinkTotals, view: Reader): Promise<readonly string[]> {
    const counters: string[] = [];
    for (const { name, value } of this.counters(link.id, view)) {
      counters.push(`${JSON.stringify(name)}:${value}`);
      if (counters.length % countersPerTurn === 0) await nextTurn();
    }
    return [
      `"version":${totals.version}`,
      `"counters":{${counters.join(",")}}`,
      `"skipped":${totals.skipped}`,
      ...(totals.lost > 0 ? [`"lost":${totals.lost}`] : []),
    ];
  }

  /** A link's counters, in the order of their keys. */
  counters(linkId: number, view: Reader = this.#store): Iterable<{ name: string; value: bigint }> {
    return readCounters(linkId, view);
  }
}

export function* readCounters(linkId: number, view: Reader): Iterable<{ name: string; value: bigint }> {
  for (const { key, value } of view.range(prefixRange(tables.counter, linkId))) {
    const stored = openValue(value);
    const name = stored.length > 8 ? stored.toString("utf8", 8) : asBuffer(key).toString("utf8", 10);
    yield { name, value: stored.readBigInt64BE(0) };
  }
}

class CounterStep implements LinkStep {
  readonly #linkId: number;
  readonly #rule: CounterRule;
  readonly #sums = new Map<string, CounterSum>();
  #skipped = 0;

  constructor(linkId: number, rule: CounterRule) {
    this.#linkId = linkId;
    this.#rule = rule;
  }

  get size(): number {
    return this.#sums.size;
  }

  take(cursor: BatchCursor): boolean {
    const name = this.#rule.name(cursor);
    const amount = name === undefined ? undefined : this.#rule.amount(cursor);
    if (name === undefined || amount === undefined) {
      this.#skipped++;
      return true;
    }
    let sum = this.#sums.get(name);
    if (sum === undefined) {
      sum = new CounterSum();
      this.#sums.set(name, sum);
    }
    sum.add(amount);
    return true;
  }

  stage(draft: Draft): number {
    for (const [name, sum] of this.#sums) {
      const { key, longName } = counterKey(this.#linkId, name);
      const stored = draft.get(key);
      const before = stored === undefined ? 0n : openValue(stored).readBigInt64BE(0);
      const value = Buffer.allocUnsafe(8 + (longName?.length ?? 0));
      value.writeBigInt64BE(sum.applyTo(before), 0);
      longName?.copy(value, 8);
      draft.put(key, sealValue(value));
    }
    return this.#skipped;
  }
}

/** A flag byte tells a name from a digest; a name that is its own key need not be kept beside it. */
function counterKey(linkId: number, name: string): { key: Buffer; longName?: Buffer } {
  const bytes = Buffer.from(name);
  if (bytes.length <= keyedNameBytesMax) {
    return { key: makeKey(tables.counter, linkId, Buffer.concat([Buffer.of(0), bytes])) };
  }
  const digest = hash("sha256", bytes, "buffer");
  return { key: makeKey(tables.counter, linkId, Buffer.concat([Buffer.of(1), digest])), longName: bytes };
}
