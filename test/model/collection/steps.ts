import fc from "fast-check";
import type { DynamicMode, FieldKindName, ModelField, ModelFilter, ModelOp, Source } from "./model.ts";

export interface ModelSchema {
  readonly fields: readonly ModelField[];
  readonly dynamic: DynamicMode;
}

export type Step =
  | { readonly kind: "write"; readonly ops: readonly ModelOp[]; readonly key: number | undefined }
  | { readonly kind: "seal" | "restart" | "drop" | "page" }
  /** Background work begins and goes on beside the steps that follow. */
  | { readonly kind: "stir"; readonly turns: number }
  | { readonly kind: "scroll"; readonly filter: ModelFilter | undefined }
  | { readonly kind: "add"; readonly field: number; readonly stale: boolean; readonly wait: boolean }
  | { readonly kind: "deleteBy"; readonly filter: ModelFilter; readonly max: number }
  | { readonly kind: "patchBy"; readonly filter: ModelFilter; readonly max: number; readonly source: Source };

/** The fields that a schema may have; the others may be added later or inferred. */
export const candidates: readonly { readonly path: string; readonly kind: FieldKindName }[] = [
  { path: "tag", kind: "keyword" },
  { path: "meta.cat", kind: "keyword" },
  { path: "body", kind: "text" },
  { path: "n", kind: "i64" },
  { path: "x", kind: "f64" },
  { path: "flag", kind: "bool" },
  { path: "at", kind: "date" },
];

const word = fc.constantFrom("ant", "bee", "cat", "elk", "red", "green", "re");
const phrase = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(" "));
const number = fc.integer({ min: -3, max: 3 });
const fraction = number.map((value) => value / 2);
const date = fc.constantFrom("2024-01-01T00:00:00Z", "2025-06-01T12:00:00Z", 1_704_067_200_000);
const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 3 });
const several = <T>(values: fc.Arbitrary<T>) => fc.oneof(values, fc.array(values, { maxLength: 3 }));

function present(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}

const source: fc.Arbitrary<Source> = fc
  .record({
    tag: optional(fc.oneof({ weight: 200, arbitrary: several(word) }, { weight: 1, arbitrary: number })),
    cat: optional(word),
    body: optional(several(phrase)),
    n: optional(fc.oneof({ weight: 200, arbitrary: several(number) }, { weight: 1, arbitrary: word })),
    x: optional(several(fraction)),
    flag: optional(fc.boolean()),
    at: optional(several(date)),
  })
  .map(({ cat, ...rest }) => present({ ...rest, meta: cat === undefined ? undefined : [{ cat }, { other: 1 }] }));

const patchSource: fc.Arbitrary<Source> = fc
  .record({ tag: optional(fc.oneof(word, fc.constant(null))), n: optional(number), body: optional(phrase) })
  .map(present);

const id = fc.nat(14);

const leaf: fc.Arbitrary<ModelFilter> = fc.oneof(
  fc.constant({ match_all: {} }),
  fc.tuple(fc.constantFrom("tag", "meta.cat", "body"), word).map(([field, value]) => ({ term: { [field]: value } })),
  fc.tuple(fc.constantFrom("n", "x"), number).map(([field, value]) => ({ term: { [field]: value } })),
  fc.boolean().map((value) => ({ term: { flag: value } })),
  fc.array(word, { maxLength: 3 }).map((values) => ({ terms: { tag: values } })),
  fc
    .tuple(fc.constantFrom("n", "x"), fc.constantFrom("gt", "gte"), number, fc.constantFrom("lt", "lte"), number)
    .map(([field, low, from, high, to]) => ({ range: { [field]: { [low]: from, [high]: to } } })),
  fc.tuple(fc.constantFrom("gt", "lte"), date).map(([op, bound]) => ({ range: { at: { [op]: bound } } })),
  fc.tuple(fc.constantFrom("gte", "lt"), word).map(([op, bound]) => ({ range: { tag: { [op]: bound } } })),
  fc.constantFrom(...candidates.map(({ path }) => path)).map((field) => ({ exists: { field } })),
  fc
    .tuple(fc.constantFrom("tag", "body"), fc.constantFrom("re", "", "c"))
    .map(([field, value]) => ({ prefix: { [field]: value } })),
  fc
    .tuple(fc.constantFrom("tag", "body"), fc.constantFrom("*e*", "r?d", "e*", "?"))
    .map(([field, value]) => ({ wildcard: { [field]: value } })),
  fc
    .tuple(fc.constantFrom("match", "phrase"), fc.constantFrom("body", "tag"), phrase)
    .map(([kind, field, value]) => ({ [kind]: { [field]: value } })),
  fc.array(id, { maxLength: 4 }).map((values) => ({ ids: { values } })),
);

export const { filter } = fc.letrec<{ filter: ModelFilter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    leaf,
    fc.array(tie("filter"), { maxLength: 3 }).map((list) => ({ and: list })),
    fc.array(tie("filter"), { maxLength: 3 }).map((list) => ({ or: list })),
    tie("filter").map((inner) => ({ not: inner })),
    fc
      .tuple(fc.array(tie("filter"), { maxLength: 2 }), fc.array(tie("filter"), { maxLength: 2 }))
      .map(([must, must_not]) => ({ bool: { must, must_not } })),
    fc.array(tie("filter"), { minLength: 1, maxLength: 2 }).map((should) => ({ bool: { should } })),
  ),
}));

const vector = fc.oneof(
  { weight: 100, arbitrary: fc.tuple(fraction, fraction) as fc.Arbitrary<number[]> },
  { weight: 1, arbitrary: fc.constant([1]) },
);
const conditions = {
  if: fc.option(filter, { nil: undefined, freq: 6 }),
  if_version: fc.option(fc.nat(2), { nil: undefined, freq: 6 }),
};

const op: fc.Arbitrary<ModelOp> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("upsert" as const),
      id,
      source,
      vectors: optional(fc.record({ v: vector })),
      ...conditions,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("insert" as const), id: fc.nat(60), source, ...conditions }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("patch" as const),
      id,
      source: patchSource,
      vectors: optional(fc.record({ v: fc.oneof(vector, fc.constant(null)) })),
      ...conditions,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), id, ...conditions }) },
);

const access = fc.constantFrom(
  { indexed: true, fast: false },
  { indexed: false, fast: true },
  { indexed: true, fast: true },
  { indexed: false, fast: false },
);

export const schema: fc.Arbitrary<ModelSchema> = fc
  .record({
    chosen: fc.array(fc.option(access, { nil: undefined, freq: 3 }), {
      minLength: candidates.length,
      maxLength: candidates.length,
    }),
    dynamic: fc.constantFrom("ignore", "ignore", "strict", "dynamic"),
  })
  .map(({ chosen, dynamic }) => ({
    dynamic,
    fields: candidates.flatMap(({ path, kind }, i) => {
      const access = chosen[i];
      return access === undefined ? [] : [{ name: path, path, kind, ...access }];
    }),
  }));

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      ops: fc.array(op, { minLength: 1, maxLength: 5 }),
      key: fc.option(fc.nat(5), { nil: undefined, freq: 3 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("seal" as const) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("stir" as const), turns: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drop" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("scroll" as const),
      filter: fc.option(filter, { nil: undefined, freq: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("page" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("add" as const),
      field: fc.nat(candidates.length - 1),
      stale: fc.boolean(),
      wait: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("deleteBy" as const), filter, max: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("patchBy" as const),
      filter,
      max: fc.integer({ min: 1, max: 4 }),
      source: patchSource,
    }),
  },
);

export const steps = fc.array(step, { minLength: 12, maxLength: 40, size: "max" });
