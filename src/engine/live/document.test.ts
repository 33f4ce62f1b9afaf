import assert from "node:assert/strict";
import { test } from "node:test";
import { documentFields, documentText } from "./document.ts";
import { documentKey } from "./document-id.ts";

test("a document's text says what its fields do", () => {
  const owns = [{}, { a: 1 }, { 'ä"\\\n': ["{", "}"], n: { $int64: "1" } }, JSON.parse('{"__proto__":{"x":null}}')];
  for (const [i, own] of owns.entries()) {
    const key = documentKey(1_794_867_524_509_123 + i, Buffer.alloc(8, i));
    const found = { table: i, key, json: Buffer.from(JSON.stringify(own)) };
    assert.deepEqual(JSON.parse(documentText(found)), documentFields(found));
  }
});
