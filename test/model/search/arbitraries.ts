import fc from "fast-check";
import { parseDate } from "../../../src/engine/schema/date.ts";
import { findField } from "../../../src/engine/schema/schema.ts";
import { type Doc, fieldValues, Layout, phraseCount, positionsOf, schema } from "./model.ts";

export const words = ["ant", "bee", "cat", "dog", "elk", "fox", "running", "the", "日", "Été", "😀x"];
export const word = fc.constantFrom(...words);
export const text = fc.array(word, { maxLength: 9 }).map((list) => list.join(" "));
const texts = fc.oneof(text, fc.array(text, { maxLength: 3 }));
export const keyword = fc.constantFrom("red", "green", "blue", "re", "Rot", "\u{10000}", "\uffee");
export const number = fc.integer({ min: -3, max: 3 });
export const component = fc.integer({ min: -2, max: 2 }).map((value) => value / 4);
export const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 3 });
export const oneOrMore = <T>(values: fc.Arbitrary<T>) => fc.oneof(values, fc.array(values, { maxLength: 3 }));

export const doc: fc.Arbitrary<Doc> = fc
  .record({
    body: optional(texts),
    note: optional(text),
    tag: optional(oneOrMore(keyword)),
    cat: optional(keyword),
    plain: optional(oneOrMore(keyword)),
    n: optional(oneOrMore(number)),
    x: optional(oneOrMore(component)),
    flag: optional(fc.boolean()),
    at: optional(fc.constantFrom("2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00", 1_700_000_000_000)),
    c: optional(fc.array(component, { minLength: 3, maxLength: 3 })),
    d: optional(fc.array(component, { minLength: 2, maxLength: 2 })),
    l: optional(fc.array(component, { minLength: 6, maxLength: 6 })),
    s: optional(fc.uniqueArray(fc.nat(6), { maxLength: 4 })),
  })
  .map(({ cat, c, d, l, s, ...source }) => ({
    source: { ...source, meta: [{ cat }, { other: 1 }] },
    vectors: Object.fromEntries(
      Object.entries({ c, d, l }).filter(([, value]) => value !== undefined),
    ) as Doc["vectors"],
    sparse: s === undefined ? {} : { s: { indices: s, values: s.map((index) => (index % 3) - 1.5) } },
  }));

export const id = fc.nat(25);
export const step = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constant("upsert" as const), id, doc) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("delete" as const), id) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("seal" as const)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("merge" as const), fc.nat(3), fc.integer({ min: 1, max: 3 })) },
);

const leaf: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  fc.constant({ match_all: {} }),
  fc.tuple(fc.constantFrom("tag", "cat", "plain"), keyword).map(([field, value]) => ({ term: { [field]: value } })),
  fc.tuple(fc.constantFrom("tag", "cat"), fc.array(keyword, { maxLength: 3 })).map(([f, v]) => ({ terms: { [f]: v } })),
  number.map((value) => ({ term: { n: value } })),
  fc.boolean().map((value) => ({ term: { flag: value } })),
  fc
    .tuple(fc.constantFrom("gt", "gte"), number, fc.constantFrom("lt", "lte"), number)
    .map(([a, x, b, y]) => ({ range: { n: { [a]: x, [b]: y } } })),
  fc.tuple(fc.constantFrom("gt", "gte", "lt", "lte"), component).map(([a, x]) => ({ range: { x: { [a]: x } } })),
  fc
    .tuple(fc.constantFrom("gt", "gte", "lt", "lte"), keyword, fc.constantFrom("tag", "cat"))
    .map(([a, x, f]) => ({ range: { [f]: { [a]: x } } })),
  fc.constant({ range: { at: { gte: "2024-01-01T00:00:00Z" } } }),
  fc.constantFrom("body", "tag", "n", "flag", "at", "x").map((field) => ({ exists: { field } })),
  fc
    .tuple(fc.constantFrom("tag", "cat", "plain"), fc.constantFrom("re", "r", "", "\u{10000}"))
    .map(([f, v]) => ({ prefix: { [f]: v } })),
  fc
    .tuple(fc.constantFrom("tag", "body"), fc.constantFrom("*e*", "r?d", "b*", "?", "*", "re"))
    .map(([f, v]) => ({ wildcard: { [f]: v } })),
  fc.array(id, { maxLength: 4 }).map((values) => ({ ids: { values } })),
  fc.array(word, { minLength: 1, maxLength: 3 }).map((list) => ({ match: { body: list.join(" ") } })),
  fc.array(word, { minLength: 1, maxLength: 3 }).map((list) => ({ phrase: { body: list.join(" ") } })),
);

export const { filter } = fc.letrec<{ filter: Record<string, unknown> }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie("filter"), { maxLength: 3 }).map((list) => ({ and: list })),
    fc.array(tie("filter"), { maxLength: 3 }).map((list) => ({ or: list })),
    tie("filter").map((inner) => ({ not: inner })),
    fc
      .tuple(fc.array(tie("filter"), { maxLength: 2 }), fc.array(tie("filter"), { maxLength: 2 }))
      .map(([must, mustNot]) => ({ bool: { must, must_not: mustNot } })),
    fc.array(tie("filter"), { minLength: 1, maxLength: 2 }).map((should) => ({ bool: { should } })),
  ),
}));

function wildcard(pattern: string, value: string): boolean {
  return new RegExp(`^${pattern.replaceAll("*", ".*").replaceAll("?", ".")}$`, "su").test(value);
}

export const byCodePoint = (x: string, y: string) => Buffer.compare(Buffer.from(x), Buffer.from(y));

function inRange(field: string, value: unknown, range: Record<string, unknown>): boolean {
  const kind = findField(schema, field)!.kind.kind;
  const order = (bound: unknown) => {
    if (kind === "keyword") return byCodePoint(value as string, bound as string);
    return kind === "date" ? parseDate(value)! - parseDate(bound)! : (value as number) - (bound as number);
  };
  return Object.entries(range).every(([op, bound]) => {
    const sign = order(bound);
    return op === "gt" ? sign > 0 : op === "gte" ? sign >= 0 : op === "lt" ? sign < 0 : sign <= 0;
  });
}

/** The filter language on a plain document. */
export function matches(given: Record<string, unknown>, id: number, doc: Doc): boolean {
  const [kind, body] = Object.entries(given)[0]! as [string, never];
  const list = (value: unknown) => ((value ?? []) as Record<string, unknown>[]).map((entry) => matches(entry, id, doc));
  const [field, value] = (Object.entries(body)[0] ?? ["", undefined]) as [string, unknown];
  const terms = () => [...positionsOf(doc, "body").values()];
  switch (kind) {
    case "match_all":
      return true;
    case "and":
      return list(body).every(Boolean);
    case "or":
      return list(body).some(Boolean);
    case "not":
      return !matches(body, id, doc);
    case "bool": {
      const { must, should, must_not } = body as Record<string, unknown>;
      return (
        list(must).every(Boolean) &&
        (should === undefined || list(should).some(Boolean)) &&
        !list(must_not).some(Boolean)
      );
    }
    case "ids":
      return (value as number[]).includes(id);
    case "exists":
      return fieldValues(doc, value as string).length > 0;
    case "term":
      return fieldValues(doc, field).includes(value);
    case "terms":
      return fieldValues(doc, field).some((entry) => (value as unknown[]).includes(entry));
    case "range":
      return fieldValues(doc, field).some((entry) => inRange(field, entry, value as Record<string, unknown>));
    case "prefix":
      return fieldValues(doc, field).some((entry) => (entry as string).startsWith(value as string));
    case "wildcard":
      return (field === "body" ? terms() : (fieldValues(doc, field) as string[])).some((entry) =>
        wildcard(value as string, entry),
      );
    case "match":
      return (value as string).split(" ").every((wanted) => terms().includes(wanted.toLowerCase().replace("😀", "")));
    case "phrase": {
      const wanted = (value as string).split(" ").map((entry) => entry.toLowerCase().replace("😀", ""));
      return phraseCount(positionsOf(doc, "body"), wanted, [...wanted.keys()]) > 0;
    }
    default:
      throw new Error(kind);
  }
}

export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** One change to the layout, and to the model beside it. */
export function apply(entry: Step, docs: Map<number, Doc>, layout: Layout): void {
  if (entry[0] === "upsert") {
    docs.set(entry[1], entry[2]);
    layout.upsert(entry[1], entry[2]);
  } else if (entry[0] === "delete") {
    docs.delete(entry[1]);
    layout.delete(entry[1]);
  } else if (entry[0] === "seal") layout.seal();
  else layout.merge(entry[1], entry[2]);
}

export function build(steps: readonly Step[]): {
  docs: Map<number, Doc>;
  layout: Layout;
} {
  const docs = new Map<number, Doc>();
  const layout = new Layout();
  for (const entry of steps) apply(entry, docs, layout);
  return { docs, layout };
}

export const steps = fc.array(step, { minLength: 5, maxLength: 60 });
export const bounds = { numRuns: 150, seed: 5, interruptAfterTimeLimit: 60_000 } as const;

/** All documents in one segment, to compare answers bit by bit. */
export function oneSegment(docs: ReadonlyMap<number, Doc>): Layout {
  const layout = new Layout();
  for (const [id, doc] of docs) layout.upsert(id, doc);
  layout.seal();
  return layout;
}

export const fold = (word: string) => word.toLowerCase().replace("😀", "");
