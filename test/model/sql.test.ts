import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { WriteOp } from "../../src/engine/collection/ops.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { parseSchema } from "../../src/engine/schema/schema-parse.ts";
import type { SqlValue } from "../../src/engine/sql/sql.ts";
import { readValue } from "../../src/engine/sql/value.ts";
import { startMemoryEngine } from "../support/memory-engine.ts";

/** Tables follow their collections through writes of all kinds, whatever columns were asked for before. */

type Row = { readonly tag: string | null; readonly n: number | null };
type Step =
  | { readonly kind: "write"; readonly ops: readonly { readonly id: number; readonly row: Row | undefined }[] }
  | { readonly kind: "read"; readonly query: number };

const row: fc.Arbitrary<Row> = fc.record({
  tag: fc.constantFrom("a", "b", "c", null),
  n: fc.option(fc.integer({ min: -5, max: 5 }), { nil: null }),
});
const op = fc.record({ id: fc.integer({ min: 0, max: 12 }), row: fc.option(row, { nil: undefined, freq: 3 }) });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("write" as const),
    ops: fc.uniqueArray(op, { selector: ({ id }) => id, minLength: 1, maxLength: 5 }),
  }),
  fc.record({ kind: fc.constant("read" as const), query: fc.nat(4) }),
);

const queries: readonly (readonly [string, (rows: ReadonlyMap<number, Row>) => SqlValue[][]])[] = [
  ["select count(*) from docs", (rows) => [[BigInt(rows.size)]]],
  ["select _id, tag from docs order by _id", (rows) => sorted(rows).map(([id, { tag }]) => [BigInt(id), tag])],
  ["select _id, n from docs order by _id", (rows) => sorted(rows).map(([id, { n }]) => [BigInt(id), big(n)])],
  [
    "select tag, count(*) as c, sum(n) as s from docs group by tag order by tag nulls last",
    (rows) => grouped([...rows.values()]),
  ],
  [
    "select _id, _source->>'$.tag' from docs order by _id",
    (rows) => sorted(rows).map(([id, { tag }]) => [BigInt(id), tag]),
  ],
];

function sorted(rows: ReadonlyMap<number, Row>): [number, Row][] {
  return [...rows].sort(([a], [b]) => a - b);
}

function big(n: number | null): bigint | null {
  return n === null ? null : BigInt(n);
}

function grouped(rows: readonly Row[]): SqlValue[][] {
  const tags = [...new Set(rows.map(({ tag }) => tag))].sort((a, b) => ((a ?? "z") < (b ?? "z") ? -1 : 1));
  return tags.map((tag) => {
    const numbers = rows.filter((each) => each.tag === tag).map(({ n }) => n);
    const there = numbers.filter((n) => n !== null);
    return [tag, BigInt(numbers.length), there.length === 0 ? null : BigInt(there.reduce((sum, n) => sum + n, 0))];
  });
}

const schema = parseSchema({
  fields: [
    { name: "tag", kind: "keyword" },
    { name: "n", kind: "i64" },
  ],
});

test("every statement sees every write", async () => {
  const engine = await startMemoryEngine();
  await engine.metastore.createNamespace("m");
  try {
    let made = 0;
    const steps = fc.array(step, { minLength: 5, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(steps, async (given) => {
        // A collection of its own for each run, under the name that the statements use.
        await engine.collections.create("m", `docs${made++}`, schema);
        await follow(engine, `docs${made - 1}`, given);
      }),
      { numRuns: 40 },
    );
  } finally {
    await engine.stop();
  }
});

async function follow(engine: Engine, collection: string, steps: readonly Step[]): Promise<void> {
  const model = new Map<number, Row>();
  for (const each of steps) {
    if (each.kind === "write") {
      await engine.documents.write({ namespace: "m", collection }, each.ops.map(writeOp), 100);
      for (const { id, row } of each.ops) {
        if (row === undefined) model.delete(id);
        else model.set(id, row);
      }
    } else {
      const [query, expected] = queries[each.query]!;
      assert.deepEqual(await rowsOf(engine, query.replace("docs", collection)), expected(model), query);
    }
  }
}

function writeOp({ id, row }: { readonly id: number; readonly row: Row | undefined }): WriteOp {
  const unconditional = { condition: undefined, ifVersion: undefined };
  if (row === undefined) return { kind: "delete", id, ...unconditional };
  return { kind: "upsert", id, source: { ...row }, vectors: undefined, sparseVectors: undefined, ...unconditional };
}

async function rowsOf(engine: Engine, query: string): Promise<SqlValue[][]> {
  await using result = await engine.sql.run({ namespace: "m", query, params: [], token: [], consistency: "strong" });
  const rows: SqlValue[][] = [];
  for (let batch = await result.next(); batch !== undefined; batch = await result.next()) {
    for (let i = 0; i < batch.rows; i++) rows.push(batch.columns.map((column) => readValue(column, i)));
  }
  return rows;
}
