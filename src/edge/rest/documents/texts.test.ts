import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DocumentTexts, documentTextLimits } from "./texts.ts";

/** A document of which the store holds some bytes; counts how often it was decoded. */
function document(id: number, version: number, word: string) {
  const counted = { decoded: 0 };
  const found = {
    collection: 1,
    bytes: new TextEncoder().encode(`${version}${word}`),
    decode: () => {
      counted.decoded++;
      return { id, version, source: JSON.stringify({ word }), vectors: new Map(), sparse: new Map() };
    },
  };
  return { counted, found };
}

describe("texts of documents", () => {
  test("one that is asked for again is kept, and made no more", () => {
    const texts = new DocumentTexts();
    const { counted, found } = document(7, 1, "red");
    const wanted = '{"id":7,"version":1,"source":{"word":"red"},"vectors":{}}';
    for (let i = 0; i < 4; i++) assert.equal(texts.of(7, found).toString(), wanted);
    assert.equal(counted.decoded, 2);
  });

  test("other bytes in the store are another answer", () => {
    const texts = new DocumentTexts();
    for (let i = 0; i < 3; i++) texts.of(7, document(7, 1, "red").found);
    assert.match(texts.of(7, document(7, 1, "blue").found).toString(), /blue/);
    assert.match(texts.of(7, document(7, 2, "red").found).toString(), /"version":2/);
    assert.match(texts.of(7, { ...document(7, 1, "grey").found, collection: 2 }).toString(), /grey/);
  });

  test("what is kept is bounded, the oldest use goes first", () => {
    const texts = new DocumentTexts();
    const word = "x".repeat(documentTextLimits.textBytesMax / 2);
    const count = Math.ceil((documentTextLimits.bytesMax / word.length) * 2);
    for (let id = 0; id < count; id++) for (let i = 0; i < 2; i++) texts.of(id, document(id, 1, word).found);
    assert.ok(texts.bytes <= documentTextLimits.bytesMax && texts.bytes > documentTextLimits.bytesMax / 2);
    const newest = document(count - 1, 1, word);
    texts.of(count - 1, newest.found);
    assert.equal(newest.counted.decoded, 0);
    const long = document(count, 1, "x".repeat(documentTextLimits.textBytesMax));
    for (let i = 0; i < 3; i++) texts.of(count, long.found);
    assert.equal(long.counted.decoded, 3);
  });
});
