import assert from "node:assert/strict";
import { test } from "node:test";
import { nameOf, tokenize } from "./lexer.ts";

const cases: readonly (readonly [string, readonly string[]])[] = [
  ["select 1", ["word select", "number 1"]],
  ["a.b", ["word a", "sign .", "word b"]],
  ["'it''s' \"a\"\"b\"", ["text 'it''s'", 'quoted "a""b"']],
  ["-- c\nx /* a /* b */ c */ y", ["word x", "word y"]],
  ["$1 ? ?2 $name", ["parameter $1", "parameter ?", "parameter ?2", "parameter $name"]],
  ["$$a;b$$ $t$ $$ $t$", ["text $$a;b$$", "text $t$ $$ $t$"]],
  ["E'a\\'b' c", ["text E'a\\'b'", "word c"]],
  [
    "1.5e-3 .5 k := 2 a::int",
    ["number 1.5e-3", "number .5", "word k", "sign :=", "number 2", "word a", "sign ::", "word int"],
  ],
  ["'never ends", ["text 'never ends"]],
  ["/* never ends", []],
  ["日本 x", ["word 日本", "word x"]],
];
for (const [query, want] of cases) {
  test(`tokens of ${JSON.stringify(query)}`, () => {
    assert.deepEqual(
      tokenize(query).map(({ kind, start, end }) => `${kind} ${query.slice(start, end)}`),
      want,
    );
  });
}

test("a quoted name loses its quotes", () => {
  const query = '"a""b"';
  assert.equal(nameOf(query, tokenize(query)[0]!), 'a"b');
});
