import fc from "fast-check";
import type { Retention } from "../../src/engine/log/log.ts";
import type { ModelRecord } from "./log-model.ts";

export interface Write {
  readonly stream: string;
  readonly partition: number;
  readonly routed: boolean;
  readonly records: readonly ModelRecord[];
  /** How far from the right one the expected offset is. */
  readonly matchDelta: number | undefined;
  readonly idempotencyKey: string | undefined;
}

export type Step =
  | { readonly kind: "create"; readonly stream: string; readonly partitions: number; readonly retention: Retention }
  | { readonly kind: "drop"; readonly stream: string }
  | { readonly kind: "retain"; readonly stream: string; readonly retention: Retention }
  /** Writes that are made at once, so that they share a group commit; one of them may be a drop. */
  | {
      readonly kind: "write";
      readonly writes: readonly Write[];
      readonly dropAfter: number | undefined;
      /** The disk takes nothing of it. */
      readonly fails: boolean;
    }
  /** The last write that had an idempotency key, word for word. */
  | { readonly kind: "again" }
  | { readonly kind: "fetch"; readonly stream: string; readonly partition: number; readonly fromEnd: number }
  | { readonly kind: "seek"; readonly stream: string; readonly partition: number; readonly agoMs: number }
  | { readonly kind: "detail"; readonly stream: string }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "settle" }
  | { readonly kind: "restart" };

export const startMs = 1_700_000_000_000;
const stream = fc.constantFrom("a", "b");
/** Streams have 2 or 3 partitions: the last one is missing now and then. */
const partition = fc.constantFrom(0, 0, 0, 1, 1, 2);
/** A record of plain objects: the answers they are compared with have a prototype. */
const plain = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(model, { noNullPrototype: true });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const retention: fc.Arbitrary<Retention> = plain({
  maxAgeMs: fc.option(fc.constantFrom(1, 50, 1_000, 100_000)),
  maxBytes: fc.option(fc.constantFrom(1, 150, 400, 1_500)),
});
const record = plain({
  key: fc.constantFrom("k1", "k2", "k3", ""),
  value: fc.string({ maxLength: 60 }),
  timestampMs: maybe(fc.integer({ min: -2_000, max: 2_000 }).map((delta) => startMs + delta)),
}).map(({ timestampMs, ...rest }): ModelRecord => (timestampMs === undefined ? rest : { ...rest, timestampMs }));
const write: fc.Arbitrary<Write> = plain({
  stream,
  partition,
  routed: fc.boolean(),
  records: fc.array(record, { minLength: 1, maxLength: 4 }),
  matchDelta: maybe(fc.constantFrom(0, 0, 0, -1, 1)),
  idempotencyKey: maybe(fc.constantFrom("x", "y")),
});
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: plain({
      kind: fc.constant("create"),
      stream,
      partitions: fc.constantFrom(2, 3),
      retention,
    }),
  },
  { weight: 1, arbitrary: plain({ kind: fc.constant("drop"), stream }) },
  { weight: 2, arbitrary: plain({ kind: fc.constant("retain"), stream, retention }) },
  { weight: 3, arbitrary: plain({ kind: fc.constant("again") }) },
  {
    weight: 12,
    arbitrary: plain({
      kind: fc.constant("write"),
      writes: fc.array(write, { minLength: 1, maxLength: 5 }),
      fails: fc.constantFrom(false, false, false, false, false, true),
      dropAfter: fc.oneof({ weight: 25, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat(4) }),
    }),
  },
  {
    weight: 4,
    arbitrary: plain({ kind: fc.constant("fetch"), stream, partition, fromEnd: fc.integer({ min: -1, max: 12 }) }),
  },
  {
    weight: 3,
    arbitrary: plain({
      kind: fc.constant("seek"),
      stream,
      partition,
      agoMs: fc.integer({ min: -2_500, max: 2_500 }),
    }),
  },
  { weight: 2, arbitrary: plain({ kind: fc.constant("detail"), stream }) },
  {
    weight: 2,
    arbitrary: plain({ kind: fc.constant("advance"), ms: fc.constantFrom(1, 1, 49, 1_000, 86_400_000, 90_000_000) }),
  },
  { weight: 1, arbitrary: plain({ kind: fc.constant("settle") }) },
  { weight: 1, arbitrary: plain({ kind: fc.constant("restart") }) },
) as fc.Arbitrary<Step>;
