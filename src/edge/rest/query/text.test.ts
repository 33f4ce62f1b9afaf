import assert from "node:assert/strict";
import { test } from "node:test";
import { answerParts, isLong, type QueryAnswer } from "./text.ts";

const end = { token: [{ stream: 1, partition: 0, offset: 2 }], took_ms: 1.5 };
const rows = (count: number) => Array.from({ length: count }, (_, i) => ({ _id: i, _score: 0, t: '"ü\n' }));
const groups = [
  { key: "a", rows: rows(2) },
  { key: 1.5, rows: rows(60) },
  { key: true, rows: [] },
];

for (const [what, answer, long] of [
  ["no rows", { rows: [], ...end }, false],
  ["a hundred rows", { rows: rows(100), ...end }, false],
  ["more rows", { rows: rows(101), facets: { f: [{ value: "x", count: 1 }] }, ...end, stats: {} }, true],
  ["groups", { groups, ...end }, false],
  [
    "several results",
    {
      results: [
        { rows: rows(50), ...end },
        { groups, ...end },
      ],
    },
    true,
  ],
] as const satisfies readonly (readonly [string, QueryAnswer, boolean])[]) {
  test(`the parts of ${what} are the text of the whole`, () => {
    assert.equal([...answerParts(answer)].join(""), JSON.stringify(answer));
    assert.equal(isLong(answer), long);
  });
}
