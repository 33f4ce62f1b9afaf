import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSchema } from "../../schema/schema-parse.ts";
import { extract } from "../document.ts";
import { countMatches } from "../filter/evaluate.ts";
import { parseFilter } from "../filter/parse.ts";
import { valuesOf } from "../values.ts";
import { TailIndex } from "./tail.ts";

const schema = parseSchema({
  fields: [
    { name: "k", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
    { name: "column", source_path: "n", kind: "i64", indexed: false, fast: true },
  ],
});

for (const count of [1, 16, 17, 100_000]) {
  test(`of ${count} values of a document each is kept once, as they came`, () => {
    const values = Array.from({ length: count }, (_, i) => `v${count - i}`);
    const tail = new TailIndex(schema);
    tail.add(1, 1, extract(schema, { k: [...values, ...values] }));
    assert.deepEqual(valuesOf(tail, "k", 0), values);
  });
}

test("many numbers are looked for at once", () => {
  const tail = new TailIndex(schema);
  for (let id = 0; id < 5_000; id++) tail.add(id, 1, extract(schema, { n: id % 2 === 0 ? id : [id, -id] }));
  for (const field of ["n", "column"]) {
    const count = (values: readonly number[]) =>
      countMatches(parseFilter({ terms: { [field]: values } }, schema), [tail]);
    assert.equal(count([]), 0);
    assert.equal(count([7]), 1);
    assert.equal(count([-7, 7, 8, 8, 6_000]), 2);
    assert.equal(count(Array.from({ length: 60_000 }, (_, i) => 30_000 - i)), 5_000);
  }
});
