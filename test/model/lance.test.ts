import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { columnName, listName } from "../../src/adapter/lance/batch.ts";
import { LanceColumnar } from "../../src/adapter/lance/columnar.ts";
import type { ColumnarChange, ColumnarRow, ColumnarSchema, ColumnValues } from "../../src/port/columnar.ts";
import { readRows } from "../support/lance-reader.ts";
import { earlySchema as early } from "../support/lance-writer.ts";

let folder: string;
let count = 0;
const fresh = () => join(folder, `d${count++}.lance`);
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lance-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** Names that schemas no longer take, and that those of earlier builds may have. */
const refused = ["a.", "a..b", ".a", "c\u0001d", "nul\u0000", "\ud800", "\udfff"];
/** Names that lance, SQL or the mapping could stumble over. */
const late: ColumnarSchema = {
  columns: [
    ...early.columns,
    { name: "at", type: "date" },
    { name: "a.b", type: "i64" },
    { name: "a/b", type: "i64" },
    ...['a"b', "a`b", "a b", "a,b[0]", "a'b\\", "ünï", "a~1b", "SELECT", ...refused].map((name) => ({
      name,
      type: "i64" as const,
    })),
    { name: "title[]", type: "string" },
    { name: "sparse", type: "json" },
  ],
  vectors: [...early.vectors, { name: "later", dim: 2 }],
};

const integer = fc.maxSafeInteger();
const valuesOf = {
  string: fc.array(fc.string({ unit: "grapheme", maxLength: 8 }), { maxLength: 3 }),
  json: fc.array(fc.json({ maxDepth: 1 }), { maxLength: 1 }),
  i64: fc.array(integer, { maxLength: 3 }),
  date: fc.array(fc.integer({ min: -62135596800000, max: 253402300799999 }), { maxLength: 2 }),
  f64: fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { maxLength: 2 }),
  bool: fc.array(fc.integer({ min: 0, max: 1 }), { maxLength: 2 }),
} as const;

function rowOf(schema: ColumnarSchema, id: number): fc.Arbitrary<ColumnarRow> {
  return fc.record({
    id: fc.constant(id),
    version: fc.integer({ min: 1, max: 2 ** 40 }),
    source: fc.json({ maxDepth: 2 }),
    values: fc.tuple(...schema.columns.map(({ type }) => valuesOf[type] as fc.Arbitrary<ColumnValues>)) as fc.Arbitrary<
      ColumnValues[]
    >,
    vectors: fc.tuple(
      ...schema.vectors.map(({ dim }) =>
        fc.option(fc.float32Array({ minLength: dim, maxLength: dim, noNaN: true, noDefaultInfinity: true }), {
          nil: undefined,
        }),
      ),
    ) as fc.Arbitrary<(Float32Array | undefined)[]>,
  });
}

function changeOf(schema: ColumnarSchema): fc.Arbitrary<ColumnarChange> {
  const ids = fc.subarray(Array.from({ length: 12 }, (_, i) => (i === 11 ? Number.MAX_SAFE_INTEGER : i)));
  return ids.chain((chosen) => {
    const split = Math.ceil(chosen.length * 0.7);
    return fc.record({
      upserts: fc.tuple(...chosen.slice(0, split).map((id) => rowOf(schema, id))),
      deletes: fc.constant(chosen.slice(split)),
    });
  });
}

/** What a reader makes of a row: all values of a field, from the list where it is there, else from the scalar. */
function checkRow(schema: ColumnarSchema, stored: Record<string, unknown>, row: ColumnarRow): void {
  assert.equal(stored["_version"], row.version);
  assert.equal(stored["_source"], row.source);
  schema.columns.forEach(({ name, type }, c) => {
    const scalar = stored[columnName(name)];
    const seen = stored[listName(name)] ?? (scalar === null ? [] : [scalar]);
    const want = (row.values[c] ?? []).map((value) => (type === "bool" ? value === 1 : value));
    assert.deepEqual(seen, JSON.parse(JSON.stringify(want)), name);
    assert.deepEqual(scalar, JSON.parse(JSON.stringify(want[0] ?? null)), name);
  });
  schema.vectors.forEach(({ name }, v) => {
    const want = row.vectors[v];
    const seen = stored[columnName(name)];
    assert.deepEqual(seen, want === undefined ? null : JSON.parse(JSON.stringify([...want])), name);
  });
}

async function check(path: string, version: number, schema: ColumnarSchema, model: Map<number, ColumnarRow>) {
  const rows = JSON.parse(JSON.stringify(await readRows(path, version))) as Record<string, unknown>[];
  assert.deepEqual(
    rows.map((row) => row["_id"]),
    [...model.keys()].sort((a, b) => a - b),
  );
  for (const row of rows) checkRow(schema, row, model.get(row["_id"] as number)!);
}

function applyTo(model: Map<number, ColumnarRow>, change: ColumnarChange): void {
  for (const row of change.upserts) model.set(row.id, row);
  for (const id of change.deletes) model.delete(id);
}

test("random changes, columns added, changes applied twice, compaction and reopening agree with a model", async () => {
  const run = fc.asyncProperty(
    fc.array(changeOf(early), { minLength: 1, maxLength: 3 }),
    fc.array(changeOf(late), { minLength: 1, maxLength: 3 }),
    async (before, later) => {
      const path = fresh();
      const columnar = new LanceColumnar();
      const model = new Map<number, ColumnarRow>();
      let dataset = await columnar.open(path, early);
      for (const change of before) {
        applyTo(model, change);
        await check(path, await dataset.apply(change), early, model);
        await dataset.apply(change);
      }
      await dataset.addColumns(late);
      for (const change of later) {
        applyTo(model, change);
        await check(path, await dataset.apply(change), late, model);
        await dataset.close();
        dataset = await columnar.open(path, late);
        await check(path, await dataset.apply(change), late, model);
        const { version } = await dataset.maintain({ keepFromMs: Date.now(), pinned: [], force: true });
        await check(path, version, late, model);
      }
      await dataset.close();
      await columnar.drop(path);
    },
  );
  await fc.assert(run, { numRuns: 6 });
});
