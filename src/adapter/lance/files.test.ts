import assert from "node:assert/strict";
import { cp, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/process.ts";
import { LanceColumnar } from "./columnar.ts";
import { filesOfVersion } from "./files.ts";

const schema = { columns: [{ name: "n", type: "f64" }], vectors: [] } as const;
const row = (id: number) => ({ id, version: 1, values: [[id]], vectors: [], source: "{}" });

test("the files of a version, copied alone, are the dataset as it was then", async () => {
  const folder = await temporaryFolder();
  try {
    const path = join(folder, "a.lance");
    const columnar = new LanceColumnar();
    const dataset = await columnar.open(path, schema);
    await dataset.apply({ upserts: [row(1), row(2)], deletes: [] });
    const version = await dataset.apply({ upserts: [row(3)], deletes: [1] });
    await dataset.apply({ upserts: [row(4), row(5)], deletes: [2] });
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const files = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
    const needed = filesOfVersion(files, version);
    assert.equal(needed.filter((each) => each.includes("/_versions/")).length, 1);
    assert.deepEqual(filesOfVersion(files, 99), []);
    const copy = join(folder, "b.lance");
    for (const file of needed) {
      const target = file.replace(path, copy);
      await cp(file, target, { recursive: true });
      assert.ok(dirname(target).startsWith(copy));
    }
    const restored = await columnar.open(copy, schema);
    assert.deepEqual({ version: await restored.version(), rows: (await restored.stats()).rows }, { version, rows: 2 });
    // It goes on from there, although files of later versions may lie beside it.
    await restored.apply({ upserts: [row(6)], deletes: [] });
    assert.equal((await restored.stats()).rows, 3);
    await restored.close();
    await dataset.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});
