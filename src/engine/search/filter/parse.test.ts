import assert from "node:assert/strict";
import { test } from "node:test";
import { validateFilter } from "../../../../test/support/validate-filter.ts";
import { parseSchema } from "../../schema/schema-parse.ts";
import { extract } from "../document.ts";
import { openSegment, SegmentReader } from "../index/segment.ts";
import { mergeSegments } from "../index/segment-writer.ts";
import { TailIndex } from "../index/tail.ts";
import { textStatistics } from "../text/bm25.ts";
import { parseTextQuery } from "../text/query.ts";
import { searchTextSteps } from "../text/search.ts";
import { countMatchesSteps, matchesDocument } from "./evaluate.ts";
import type { Filter } from "./filter.ts";
import { parseFilter } from "./parse.ts";
import { wildcardMatcher } from "./wildcard.ts";

const schema = parseSchema({
  fields: [
    { name: "k", kind: "keyword" },
    { name: "t", kind: "text" },
    { name: "loose", kind: { text: { positions: false } } },
    { name: "column", kind: "text", indexed: false, fast: true },
    { name: "i", kind: "i64" },
    { name: "b", kind: "bool" },
    { name: "d", kind: "date" },
    { name: "dark", kind: "keyword", indexed: false },
    { name: "j", kind: "json" },
  ],
});

const parsed: [unknown, Filter][] = [
  [{ term: { k: "x" } }, { kind: "terms", field: "k", values: ["x"] }],
  [{ term: { b: true } }, { kind: "terms", field: "b", values: [1] }],
  [{ terms: { d: [5, "1970-01-01T00:00:00Z"] } }, { kind: "terms", field: "d", values: [5, 0] }],
  [{ range: { i: { gt: 1.5, lte: null } } }, { kind: "range", field: "i", range: { gt: 1.5 } }],
  [{ exists: { field: "t" } }, { kind: "exists", field: "t" }],
  [{ ids: { values: [1, 2] } }, { kind: "ids", ids: [1, 2] }],
  [{ bool: {} }, { kind: "and", filters: [] }],
  [
    { bool: { must: { match_all: {} }, must_not: [{ exists: { field: "k" } }] } },
    { kind: "and", filters: [{ kind: "all" }, { kind: "not", filter: { kind: "exists", field: "k" } }] },
  ],
];
for (const [given, want] of parsed) {
  test(`parses ${JSON.stringify(given)}`, () => {
    const filter = parseFilter(given, schema);
    assert.deepEqual(filter, want);
    validateFilter(schema, filter);
  });
}

const wrong: [unknown, string][] = [
  [null, "filter"],
  [[], "filter"],
  [{}, "filter"],
  [{ term: { k: "x" }, not: {} }, "filter"],
  [{ fuzzy: { k: "x" } }, "filter.fuzzy"],
  [{ term: { nowhere: 1 } }, "filter.term.nowhere"],
  [{ term: { k: "x", i: 1 } }, "filter.term"],
  [{ term: { k: 1 } }, "filter.term.k"],
  [{ term: { i: "1" } }, "filter.term.i"],
  [{ term: { dark: "x" } }, "filter.term.dark"],
  [{ exists: { field: "j" } }, "filter.exists.field"],
  [{ term: { column: "x" } }, "filter.term.column"],
  [{ terms: { k: "x" } }, "filter.terms.k"],
  [{ terms: { k: ["x", 1] } }, "filter.terms.k[1]"],
  [{ terms: { k: Array(70_000).fill("x") } }, "filter.terms.k"],
  [{ range: { t: { gt: "a" } } }, "filter.range.t"],
  [{ range: { b: { gt: true } } }, "filter.range.b"],
  [{ range: { i: {} } }, "filter.range.i"],
  [{ range: { i: { above: 1 } } }, "filter.range.i.above"],
  [{ range: { d: { gt: "soon" } } }, "filter.range.d.gt"],
  [{ exists: { name: "k" } }, "filter.exists.name"],
  [{ prefix: { i: "1" } }, "filter.prefix.i"],
  [{ wildcard: { k: "*".repeat(2000) } }, "filter.wildcard.k"],
  [{ ids: { values: [-1] } }, "filter.ids.values[0]"],
  [{ match: { i: "1" } }, "filter.match.i"],
  [{ phrase: { loose: "a b" } }, "filter.phrase.loose"],
  [{ match_all: { x: 1 } }, "filter.match_all"],
  [{ and: { term: { k: "x" } } }, "filter.and"],
  [{ and: [{ match_all: {} }, { or: [{ not: 1 }] }] }, "filter.and[1].or[0].not"],
  [{ bool: { may: [] } }, "filter.bool.may"],
];
for (const [given, path] of wrong) {
  test(`refuses ${JSON.stringify(given).slice(0, 60)} at ${path}`, () => {
    assert.throws(() => parseFilter(given, schema), { reason: "invalid_argument", details: { field: path } });
  });
}

test("a filter that is too deep or too large is refused", () => {
  let deep: Record<string, unknown> = { match_all: {} };
  let typed: Filter = { kind: "all" };
  for (let i = 0; i < 1000; i++) {
    deep = { not: deep };
    typed = { kind: "not", filter: typed };
  }
  assert.throws(() => parseFilter(deep, schema), /nested more than 64 levels/);
  assert.throws(() => validateFilter(schema, typed), /nested more than 64 levels/);
  const wide = { or: Array(20_000).fill({ match_all: {} }) };
  assert.throws(() => parseFilter(wide, schema), /more than 10000 clauses/);
  assert.throws(() => validateFilter(schema, { kind: "or", filters: Array(20_000).fill({ kind: "all" }) }), /clauses/);
});

const untyped: [Filter, RegExp][] = [
  [{ kind: "terms", field: "i", values: ["1"] }, /must be a number/],
  [{ kind: "terms", field: "k", values: [1] }, /must be a string/],
  [{ kind: "range", field: "i", range: { gt: Number.NaN } }, /must be a number/],
  [{ kind: "prefix", field: "i", prefix: "1" }, /keyword or text/],
  [{ kind: "exists", field: "dark" }, /neither indexed nor fast/],
  [{ kind: "match", field: "gone", text: "x" }, /no field/],
];
for (const [filter, message] of untyped) {
  test(`validation refuses ${JSON.stringify(filter)}`, () => {
    assert.throws(() => validateFilter(schema, filter), message);
  });
}

test("a filter is tested against one document", () => {
  const document = extract(schema, { k: "x", t: "one two", i: 5 });
  const matches = (filter: unknown) => matchesDocument(parseFilter(filter, schema), schema, 7, document);
  assert.ok(matches({ and: [{ phrase: { t: "One two" } }, { ids: { values: [7] } }, { range: { i: { gte: 5 } } }] }));
  assert.ok(!matches({ phrase: { t: "two one" } }));
  assert.ok(matches({ not: { exists: { field: "b" } } }));
});

test("a filter of many clauses, or over many terms, is evaluated with pauses", () => {
  const tail = new TailIndex(schema);
  for (let id = 0; id < 3_000; id++) tail.add(id, 1, extract(schema, { k: `${id}${"x".repeat(100)}`, i: id }));
  const leaf = (i: number) => ({ term: { i } });
  for (const [filter, count, pauses] of [
    [leaf(5), 1, 0],
    [{ or: [leaf(5), leaf(6), leaf(7)] }, 3, 0],
    [{ or: Array.from({ length: 500 }, (_, i) => leaf(i)) }, 500, 492],
    [{ and: Array.from({ length: 100 }, () => ({ not: { or: [leaf(1), leaf(2)] } })) }, 2_998, 92],
    [{ wildcard: { k: "*1x*" } }, 300, 4],
  ] as const) {
    const steps = countMatchesSteps(parseFilter(filter, schema), [tail]);
    let paused = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) paused++;
    assert.deepEqual([step.value, paused], [count, pauses], JSON.stringify(filter).slice(0, 80));
  }
});

/** Proves: words that stand in many documents, and many times in each, are looked through with pauses, in a segment too. */
test("a phrase, and words that must all be there, are found with pauses", () => {
  const tail = new TailIndex(schema);
  const add = (id: number) =>
    tail.add(id, 1, extract(schema, { t: `${"one two ".repeat(40)} ${id % 2 === 0 ? "end" : ""}` }));
  for (let id = 0; id < 3_000; id++) add(id);
  const pausesOf = <T>(steps: Generator<undefined, T, undefined>): [T, number] => {
    let paused = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) paused++;
    return [step.value, paused];
  };
  const segment = new SegmentReader(openSegment(mergeSegments(schema, [tail])));
  for (const reader of [tail, segment]) {
    for (const [filter, count] of [
      [{ phrase: { t: "two one two one" } }, 3_000],
      [{ phrase: { t: "two end" } }, 1_500],
      [{ phrase: { t: "end one" } }, 0],
      [{ match: { t: "one end two" } }, 1_500],
    ] as const) {
      const [found, paused] = pausesOf(countMatchesSteps(parseFilter(filter, schema), [reader]));
      assert.equal(found, count, JSON.stringify(filter));
      if ("phrase" in filter && count > 0) assert(paused > 0, `${paused} pauses`);
    }
    const query = parseTextQuery(schema, "t", '"one two one"');
    const [hits, paused] = pausesOf(searchTextSteps([reader], query, 5, undefined, textStatistics([reader], query)));
    assert.deepEqual([hits.length, paused > 2], [5, true]);
  }
  // What is written between two steps is not part of the answer, and does no harm to it.
  const steps = countMatchesSteps(parseFilter({ phrase: { t: "one two" } }, schema), [tail]);
  let step = steps.next();
  assert(!step.done);
  for (let id = 3_000; id < 3_100; id++) add(id);
  while (!step.done) step = steps.next();
  assert.equal(step.value, 3_000);
});

const wildcards: [string, string, boolean][] = [
  ["", "", true],
  ["*", "", true],
  ["?", "", false],
  ["a*b?", "axxbc", true],
  ["a*b?", "ab", false],
  ["a*b?", "abbb", true],
  ["*ab*ab", "abab", true],
  ["*ab*ab", "ab", false],
  ["?", "😀", true],
  ["\\*x", "*x", true],
  ["\\*x", "ax", false],
  ["a.c", "abc", false],
];
for (const [pattern, text, want] of wildcards) {
  test(`wildcard ${pattern} on ${text}`, () => assert.equal(wildcardMatcher(pattern).matches(text), want));
}
