import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { readRows } from "../../../test/support/lance-reader.ts";
import { numberedChange, writerSchema } from "../../../test/support/lance-writer.ts";
import { LanceColumnar } from "./columnar.ts";

function place(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "native-engine-lance-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "c.lance");
}

/** Makes the newest version one that was never reported, as if the power had failed while it was made. */
async function applied(path: string): Promise<number> {
  const dataset = await new LanceColumnar().open(path, writerSchema);
  const version = await dataset.apply(numberedChange(0));
  await dataset.apply(numberedChange(1));
  await dataset.close();
  writeFileSync(`${path}.synced`, `${version}\n`);
  return version;
}

function versionFiles(path: string): string[] {
  const folder = join(path, "_versions");
  const names = readdirSync(folder).filter((name) => name.endsWith(".manifest"));
  return names.sort().map((name) => join(folder, name));
}

for (const [what, damage] of [
  ["empty", (file: string) => truncateSync(file, 0)],
  ["zeros", (file: string) => writeFileSync(file, Buffer.alloc(statSync(file).size))],
  ["whole", () => {}],
] as const) {
  test(`a version that was not synced and is ${what} is not in the way`, async (t) => {
    const path = place(t);
    const version = await applied(path);
    const before = await readRows(path, version);
    damage(versionFiles(path)[0]!);
    const dataset = await new LanceColumnar().open(path, writerSchema);
    assert.equal(await dataset.version(), version);
    assert.deepEqual(await readRows(path, version), before, "the synced version is as it was");
    const again = await dataset.apply(numberedChange(1));
    await dataset.close();
    const rows = await readRows(path, again);
    for (const { id } of numberedChange(1).upserts) assert.ok(rows.some((row) => row["_id"] === id));
  });
}

test("a dataset whose making was cut off is made again", async (t) => {
  const path = place(t);
  await applied(path);
  for (const file of versionFiles(path)) truncateSync(file, 0);
  writeFileSync(`${path}.synced`, "0\n");
  const dataset = await new LanceColumnar().open(path, writerSchema);
  const version = await dataset.apply(numberedChange(0));
  await dataset.close();
  assert.equal((await readRows(path, version)).length, numberedChange(0).upserts.length);
});

test("a dataset from a backup, without the note, is taken as it is", async (t) => {
  const path = place(t);
  await applied(path);
  rmSync(`${path}.synced`);
  const dataset = await new LanceColumnar().open(path, writerSchema);
  assert.equal(await dataset.version(), versionFiles(path).length);
  await dataset.close();
});
