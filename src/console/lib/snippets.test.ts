import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { stripTypeScriptTypes } from "node:module";
import { test } from "node:test";
import type { QueryBody } from "./search-state.ts";
import { snippetsOf } from "./snippets.ts";

const body: QueryBody = {
  from: "collections.items",
  retrieve: [
    { text: { field: "title", query: 'Ada\'s "red" apple', k: 50 } },
    { vector: { field: "v", query: [1, 0.5, -0.25], k: 50 } },
  ],
  filter: { and: [{ term: { kind: "fruit" } }, { range: { price: { gte: 2, lt: 9.5 } } }] },
  fuse: { method: "rrf", k: 60 },
  limit: 10,
  explain: true,
};
const place = { origin: "http://localhost:8080", namespace: "shop", signedIn: false };

test("curl's words are the query, whatever quotes it has", () => {
  const { curl } = snippetsOf(body, place);
  const words = execFileSync("sh", ["-c", curl.replace(/^curl/, "printf '%s\\0'")], { encoding: "utf8" }).split("\0");
  assert.ok(words.includes("http://localhost:8080/v1/namespaces/shop/query"));
  assert.deepEqual(JSON.parse(words[words.indexOf("-d") + 1]!), body);
});

test("TypeScript is TypeScript", () => {
  const { typescript } = snippetsOf(body, { ...place, signedIn: true });
  assert.doesNotThrow(() => stripTypeScriptTypes(typescript));
  assert.match(typescript, /Bearer/);
});

test("Python has Python's words, and none in its texts are changed", () => {
  const { python } = snippetsOf({ ...body, filter: { term: { kind: "true" } } }, place);
  assert.match(python, /"explain": True/);
  assert.match(python, /"kind": "true"/);
});

test("groups and facets are printed as the answer has them", () => {
  const shaped = { ...body, group_by: { field: "kind", size: 2 }, facets: [{ field: "kind" }] };
  const { typescript, python } = snippetsOf(shaped, place);
  assert.doesNotThrow(() => stripTypeScriptTypes(typescript));
  assert.match(typescript, /of answer\.groups\)[\s\S]*console\.log\(answer\.facets\)/);
  assert.match(python, /in answer\["groups"\]:[\s\S]*print\(answer\["facets"\]\)$/);
});
