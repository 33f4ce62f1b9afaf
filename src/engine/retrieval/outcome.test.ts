import assert from "node:assert/strict";
import { test } from "node:test";
import { packOutcome, type QueryOutcome, unpackOutcome } from "./outcome.ts";

const timesMs = { statistics: 0, filters: 0, retrievers: [], ranking: 0, facets: 0, explain: 0 };
const hits = [
  { id: 7, version: 3, score: 0.25 },
  { id: 2 ** 52, version: 1, score: -1e-300 },
];

test("hits alone cross as numbers and come out as they went in", () => {
  for (const retrieved of [[], [2], [10, 50, 0]]) {
    for (const shown of [hits, []]) {
      const outcome: QueryOutcome = { hits: shown, facets: [], stats: { retrieved, candidates: 61, timesMs } };
      const packed = packOutcome(outcome);
      assert.ok(packed instanceof Float64Array);
      assert.deepEqual(unpackOutcome(structuredClone(packed)), outcome);
    }
  }
});

test("an outcome with more than hits crosses as it is", () => {
  const stats = { retrieved: [2], candidates: 2, timesMs };
  const more: QueryOutcome[] = [
    { hits, facets: [[{ value: "a", count: 1 }]], stats },
    { hits: [], groups: [{ key: "a", hits }], facets: [], stats },
    { hits: [{ ...hits[0]!, sources: [{ rank: 1 }] }], facets: [], stats: { ...stats, parts: [] } },
  ];
  for (const outcome of more) assert.deepEqual(unpackOutcome(structuredClone(packOutcome(outcome))), outcome);
});
