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
import { readRows } from "../../../test/support/lance-reader.ts";
import { earlySchema as early, numberedChange, writerSchema } from "../../../test/support/lance-writer.ts";
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
