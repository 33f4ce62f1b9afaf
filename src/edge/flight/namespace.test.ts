import assert from "node:assert/strict";
import { test } from "node:test";
import { namespaceIn, namespacesIn } from "./namespace.ts";

for (const [query, namespaces, readsTables] of [
  ["select 1", [], false],
  ["select * from docs", [], true],
  ["select * from collections.docs", [], true],
  ["select * from shop.collections.docs", ["shop"], true],
  ['select * from "my-shop" . "collections" . "docs"', ["my-shop"], true],
  ['select * from "a""b".Streams.s', ['a"b'], true],
  ["select count(*) from shop.streams.s join shop.links.l on true", ["shop"], true],
  ["select * from a.collections.x, b.collections.y", ["a", "b"], true],
  ["select 'from a.collections.x' /* from b.collections.y */ -- join c.collections.z", [], false],
  ["select $$ from a.collections.x $$, $t$ b.collections.y $t$", [], false],
  ["select * from text_search(shop.collections.docs, 'x', title, 5)", ["shop"], true],
  ["select a.b.collections.c", [], false],
  ["select x.collections", [], false],
  ["describe shop.collections.docs", ["shop"], true],
  ["select 'unclosed from a.collections.b", [], false],
  ['select "unclosed', [], false],
  ["", [], false],
] as const) {
  test(`the namespaces of ${query}`, () => {
    assert.deepEqual(namespacesIn(query), { namespaces: [...namespaces], readsTables });
  });
}

test("one namespace that exists, or none where none is needed", () => {
  assert.equal(namespaceIn("select 1", ["shop"]), undefined);
  assert.equal(namespaceIn("select t.links.a from shop.collections.docs t", ["shop"]), "shop");
  assert.throws(() => namespaceIn("select * from docs", ["shop"]), /^EngineError: namespace: send the call header/);
  assert.throws(() => namespaceIn("select * from no.collections.docs", ["shop"]), /namespace: send the call header/);
  assert.throws(() => namespaceIn("select * from a.streams.s, b.streams.s", ["a", "b"]), /query: names 2 namespaces/);
});
