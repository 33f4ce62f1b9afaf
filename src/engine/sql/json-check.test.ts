import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runSteps } from "../turns.ts";
import { isJson } from "./json-check.ts";

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("a text is JSON where JSON.parse says so", () => {
  const edges = [
    "",
    " ",
    "1",
    " 1 ",
    "01",
    "-",
    "-0",
    "1.",
    "1e",
    "1e+5",
    '"',
    '"\\u12"',
    '"\\u12aF"',
    '"\t"',
    "tru",
    "[1,]",
    "[,]",
  ];
  const more = [
    "{}",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{"a":1 , "b" :[ ] }',
    "{1:2}",
    "[1 2]",
    "]",
    "[}",
    '{"a":[{}]}',
    "1 2",
    "[[]",
    '"\u2028"',
    "\ufeff1",
  ];
  for (const text of [...edges, ...more]) assert.equal(runSteps(isJson(text)), parses(text), JSON.stringify(text));
  fc.assert(
    fc.property(
      fc.json(),
      fc.nat(),
      fc.constantFrom("", ",", '"', "\\", "}", "[", "1", "\u0001", ":"),
      (text, at, put) => {
        assert.equal(runSteps(isJson(text)), true);
        const from = at % (text.length + 1);
        const damaged = text.slice(0, from) + put + text.slice(from + (at % 2));
        assert.equal(runSteps(isJson(damaged)), parses(damaged), damaged);
      },
    ),
    { numRuns: 2_000 },
  );
});

test("a long text takes many steps", () => {
  for (const text of [`[${"[],".repeat(200_000)}[]]`, JSON.stringify("\n".repeat(400_000))]) {
    let steps = 0;
    const checking = isJson(text);
    let step = checking.next();
    for (; !step.done; step = checking.next()) steps++;
    assert.equal(step.value, true);
    assert(steps >= 9, `${steps}`);
  }
});
