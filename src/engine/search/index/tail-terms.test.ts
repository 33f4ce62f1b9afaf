import assert from "node:assert/strict";
import { test } from "node:test";
import { asciiWords } from "../../schema/analysis/tokenize.ts";
import { hashOf, WordBuffer } from "../../schema/analysis/tokens.ts";
import { TailTerms } from "./tail-terms.ts";

/** Words whose hashes end alike, so that a table of up to some thousand places has the same place for all of them. */
function colliding(count: number): string[] {
  const found: string[] = [];
  for (let i = 0; found.length < count; i++) {
    const word = `w${i.toString(36)}`;
    const hash = hashOf(word);
    if (((hash ^ (hash >>> 15)) & 0xfff) === 0) found.push(word);
  }
  return found;
}

test("every term keeps its number, however its hash falls", () => {
  const terms = new TailTerms();
  const numbers = new Map<string, number>();
  const buffer = new WordBuffer();
  const given = [...colliding(120), ...Array.from({ length: 500 }, (_, i) => `größe${i}`), "x".repeat(300), "日本"];
  const words = given.flatMap((word, i) => [word, `plain${i}`, `p${i % 7}`]);
  for (const round of [1, 2]) {
    for (const word of words) {
      const expected = numbers.get(word) ?? numbers.size;
      if (round === 1) assert.equal(terms.ordinal(word), numbers.has(word) ? expected : -1);
      numbers.set(word, expected);
      // A word may come by itself or within a text.
      const isWithin = expected % 2 === round % 2 && word.length < 200 && asciiWords(word, buffer);
      assert.equal(isWithin ? terms.addWord(buffer, 0) : terms.add(word), expected, word);
      assert.equal(terms.ordinal(word), expected);
      assert.equal(terms.term(expected), word);
    }
  }
  assert.equal(terms.termCount, numbers.size);
  const sorted = [...terms.sortedOrdinals()].map((ordinal) => terms.term(ordinal));
  assert.deepEqual(sorted, [...numbers.keys()].sort());
});

test("words are found where tokens are, and cut alike", () => {
  const buffer = new WordBuffer();
  const long = "Q".repeat(400);
  assert.ok(asciiWords(`It's 3.14, __ _A_ e.g. a:b ${long}`, buffer));
  const found = Array.from({ length: buffer.count }, (_, i) => {
    const start = buffer.starts[i]!;
    const word = buffer.units.latin1Slice(start, start + buffer.lengths[i]!);
    assert.equal(buffer.hashes[i], hashOf(word));
    return word;
  });
  assert.deepEqual(found, ["it's", "3.14", "_a_", "e.g", "a:b", "q".repeat(255)]);
  assert.equal(asciiWords("größe", buffer), false);
});
