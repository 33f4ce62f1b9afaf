import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { readRows } from "../../../test/support/lance-reader.ts";
import { numberedChange, writerSchema } from "../../../test/support/lance-writer.ts";
import type { ColumnarChange, ColumnarRow, ColumnarSchema, ColumnValues } from "../../port/columnar.ts";
import { columnName, listName } from "./batch.ts";
import { LanceColumnar } from "./columnar.ts";
import { lanceLimits } from "./limits.ts";

let folder: string;
let count = 0;
const fresh = () => join(folder, `d${count++}.lance`);
const support = join(import.meta.dirname, "../../../test/support");

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lance-"));
});
after(() => rm(folder, { recursive: true, force: true }));

const early: ColumnarSchema = {
  columns: [
    { name: "Title", type: "string" },
    { name: "title", type: "string" },
    { name: "n", type: "i64" },
    { name: "x", type: "f64" },
    { name: "ok", type: "bool" },
  ],
  vectors: [{ name: "v", dim: 3 }],
};
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

test("an empty dataset opens, and a change of nothing keeps its version", async () => {
  const path = fresh();
  const dataset = await new LanceColumnar().open(path, early);
  const version = await dataset.version();
  assert.equal(await dataset.apply({ upserts: [], deletes: [] }), version);
  assert.deepEqual(await readRows(path, version), []);
  assert.equal((await dataset.stats()).rows, 0);
  await dataset.close();
  await assert.rejects(dataset.version(), { kind: "closed" });
});

test("a column of another type, or one that is unknown, is refused", async () => {
  const path = fresh();
  const columnar = new LanceColumnar();
  await (await columnar.open(path, early)).close();
  const columns = early.columns.map((column) => (column.name === "n" ? { name: "n", type: "f64" as const } : column));
  await assert.rejects(columnar.open(path, { columns, vectors: early.vectors }), { kind: "schema" });
  await assert.rejects(columnar.open(path, { columns: early.columns, vectors: [] }), { kind: "schema" });
  await assert.rejects(columnar.open(path, { columns: early.columns, vectors: [{ name: "v", dim: 4 }] }), {
    kind: "schema",
  });
});

test("an id that is there twice in one change is refused", async () => {
  const dataset = await new LanceColumnar().open(fresh(), writerSchema);
  const [row] = numberedChange(1).upserts;
  await assert.rejects(dataset.apply({ upserts: [row!, row!], deletes: [] }), /twice/);
  await assert.rejects(dataset.apply({ upserts: [row!], deletes: [row!.id] }), /twice/);
  await dataset.close();
});

test("a change larger than a commit is whole in the version it returns", async () => {
  const path = fresh();
  const dataset = await new LanceColumnar().open(path, { columns: [], vectors: [] });
  const upserts = Array.from({ length: 40_000 }, (_, id) => ({
    id,
    version: 1,
    source: "{}",
    values: [],
    vectors: [],
  }));
  await dataset.apply({ upserts, deletes: [] });
  assert.equal((await dataset.stats()).rows, 40_000);
  await dataset.apply({ upserts: [], deletes: upserts.slice(0, 25_000).map(({ id }) => id) });
  assert.equal((await dataset.stats()).rows, 15_000);
  await dataset.close();
});

/** Lance counts the names of its manifests down, so that the newest is listed first. */
function manifest(path: string, version: number): string {
  return join(path, "_versions", `${2n ** 64n - 1n - BigInt(version)}.manifest`);
}

test("pinned versions outlive compaction and clean-up, others do not", async () => {
  const path = fresh();
  const dataset = await new LanceColumnar().open(path, writerSchema);
  const versions: number[] = [];
  const contents: unknown[] = [];
  for (let step = 0; step < 24; step++) {
    const { upserts } = numberedChange(step);
    const change = { upserts: upserts.map((row) => ({ ...row, id: step * 1_000 + row.id })), deletes: [step * 999] };
    versions.push(await dataset.apply(change));
    contents.push(await readRows(path, versions[step]));
    // The clean-up keeps what is a little older than the pinned version too.
    if (step === 11) await sleep(lanceLimits.cleanupSlackMs * 2);
  }
  const newest = versions[23]!;
  const pinned = versions[12]!;
  const { version, done } = await dataset.maintain({ keepFromMs: Date.now(), pinned: [newest, pinned] });
  assert.equal(done, true, "24 commits are due");
  assert.deepEqual(await readRows(path, pinned), contents[12]);
  assert.deepEqual(await readRows(path, newest), contents[23]);
  assert.deepEqual(await readRows(path, version), contents[23]);
  assert.equal((await dataset.stats()).fragments, 1);
  // Old versions go once they are old enough, which the next clean-ups see.
  while (existsSync(manifest(path, versions[11]!))) {
    await dataset.maintain({ keepFromMs: Date.now(), pinned: [newest, pinned], force: true });
  }
  assert.deepEqual(await readRows(path, pinned), contents[12]);
  await assert.rejects(readRows(path, versions[11]));

  const again = await dataset.maintain({ keepFromMs: Date.now() - 3_600_000, pinned: [] });
  assert.deepEqual(again, { version, done: false }, "nothing is due");
  await dataset.maintain({ keepFromMs: Date.now() - 3_600_000, pinned: [], force: true });
  assert.deepEqual(await readRows(path, pinned), contents[12], "an hour is kept");
  while (existsSync(manifest(path, pinned))) {
    await dataset.maintain({ keepFromMs: Date.now(), pinned: [version], force: true });
  }
  assert.deepEqual(await readRows(path, version), contents[23]);
  await dataset.close();
});

test("a version that was the newest until lately is kept, however old it is", async () => {
  const path = fresh();
  const dataset = await new LanceColumnar().open(path, writerSchema);
  const first = await dataset.apply(numberedChange(0));
  const rows = await readRows(path, first);
  await sleep(lanceLimits.cleanupSlackMs * 2);
  const keepFromMs = Date.now();
  const second = await dataset.apply(numberedChange(1));
  for (let round = 0; round < 3; round++) {
    await dataset.maintain({ keepFromMs, pinned: [second], force: true });
    assert.deepEqual(await readRows(path, first), rows);
  }
  await dataset.close();
});

test("a worker thread writes, another process reads the pinned version while newer ones are written", async () => {
  const path = fresh();
  const inWorker = (step: number) =>
    new Promise<number>((resolve, reject) => {
      const worker = new Worker(join(support, "lance-worker.ts"), { workerData: { path, step } });
      worker.once("message", resolve);
      worker.once("error", reject);
    });
  const first = await inWorker(0);
  const rows = await readRows(path, first);
  assert.equal(rows.length, 50);
  const second = await inWorker(1);
  assert.ok(second > first);
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(support, "lance-reader.ts"),
    path,
    String(first),
  ]);
  assert.deepEqual(JSON.parse(stdout), rows);
});

const python = (() => {
  try {
    execFileSync("python3", ["-c", "import lance"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

test("Python's pylance reads the same rows", { skip: python ? false : "pylance is not installed" }, async () => {
  const path = fresh();
  const dataset = await new LanceColumnar().open(path, writerSchema);
  const version = await dataset.apply(numberedChange(3));
  await dataset.close();
  const { stdout } = await promisify(execFile)("python3", [join(support, "lance-reader.py"), path, String(version)]);
  assert.deepEqual(JSON.parse(stdout), await readRows(path, version));
});
