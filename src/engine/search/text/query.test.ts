import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSchema } from "../../schema/schema-parse.ts";
import { highlight } from "./highlight.ts";
import { parseTextQuery, queryTerms } from "./query.ts";

const schema = parseSchema({
  fields: [
    { name: "body", kind: { text: { analyzer: "english" } } },
    { name: "flat", kind: { text: { positions: false } } },
    { name: "whole", kind: { text: { analyzer: "keyword" } } },
    { name: "tag", kind: "keyword" },
    { name: "dark", kind: "text", indexed: false, fast: true },
  ],
});

const term = (text: string) => ({ kind: "term", term: text });

const queries: [string, string, unknown[]][] = [
  ["body", "Dogs dog the DOGS cats", [term("dog"), term("cat")]],
  ["body", 'cats "dogs of the sea" cats', [term("cat"), { kind: "phrase", terms: ["dog", "sea"], offsets: [0, 3] }]],
  ["body", '"dogs"', [term("dog")]],
  ["body", 'dogs "cats', [term("dog"), term("cat")]],
  ["body", '"a b" "x y" "x y"', [term("b"), { kind: "phrase", terms: ["x", "y"], offsets: [0, 1] }]],
  ["body", "the of", []],
  ["body", "", []],
  ["flat", '"one two"', [term("one"), term("two")]],
  ["whole", 'Say "hi" now', [term('Say "hi" now')]],
];
for (const [field, text, clauses] of queries) {
  test(`${field}: ${text}`, () => assert.deepEqual(parseTextQuery(schema, field, text).clauses, clauses));
}

test("a query's terms are those of its phrases too", () => {
  assert.deepEqual(queryTerms(parseTextQuery(schema, "flat", "b a b")), ["b", "a"]);
  assert.deepEqual(queryTerms(parseTextQuery(schema, "body", 'x "y x"')), ["x", "y"]);
});

for (const field of ["nowhere", "tag", "dark"]) {
  test(`no text query on ${field}`, () => {
    assert.throws(() => parseTextQuery(schema, field, "x"), { details: { field: "text.field" } });
  });
}

test("a text of a megabyte is analysed up to the limits", () => {
  const text = Array.from({ length: 200_000 }, (_, i) => `w${i}`).join(" ");
  assert.equal(parseTextQuery(schema, "flat", text).clauses.length, 1024);
});

const terms = (list: readonly string[]) => list.map((term) => ({ kind: "term" as const, term }));

test("highlights mark the words that matched, in their text", () => {
  const text = "The dogs run. Nothing here. A dog and a cat.";
  assert.deepEqual(highlight(text, "english", terms(["dog", "cat"])), [
    "The <em>dogs</em> run. Nothing here. A <em>dog</em> and a <em>cat</em>.",
  ]);
  assert.deepEqual(highlight(text, "english", terms(["bird"])), []);
  const phrase = { kind: "phrase" as const, terms: ["dog", "run"], offsets: [0, 1] };
  assert.deepEqual(highlight(text, "english", [phrase]), [
    "The <em>dogs</em> <em>run</em>. Nothing here. A dog and a cat.",
  ]);
});

test("a long text gives its best fragments, cut between words, in order", () => {
  const filler = "lorem ipsum dolor sit amet ".repeat(20);
  const text = `dog ${filler}dog cat ${filler}cat ${filler}dog dog`;
  const fragments = highlight(text, "standard", terms(["dog", "cat"]), { fragments: 2, fragmentLength: 40 });
  assert.equal(fragments.length, 2);
  assert.match(fragments[0]!, /<em>dog<\/em> <em>cat<\/em>/);
  assert.match(fragments[1]!, /<em>dog<\/em> <em>dog<\/em>$/);
  for (const fragment of fragments) {
    const shown = fragment.replaceAll(/<\/?em>/g, "");
    assert.ok(shown.length <= 40 && ` ${text} `.includes(` ${shown} `), fragment);
  }
});

test("a text without spaces is cut between characters, with as much around a match as fits", () => {
  const filler = "𠮷漢字".repeat(100);
  const [fragment, ...more] = highlight(`${filler}東${filler}`, "standard", terms(["東"]));
  assert.deepEqual(more, []);
  const shown = fragment!.replaceAll(/<\/?em>/g, "");
  assert.ok(shown.length > 150 && shown.length <= 160, `${shown.length} units`);
  assert.ok(shown.isWellFormed());
  assert.match(fragment!, /字<em>東<\/em>𠮷/);
});
