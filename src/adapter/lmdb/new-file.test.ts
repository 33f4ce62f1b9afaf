import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { makeFile } from "./new-file.ts";
import { LmdbStore } from "./store.ts";

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), "native-engine-lmdb-"));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test("a file has its name only once it is whole", (t) => {
  const file = join(folder(t), "data.mdb");
  makeFile(file, (path) => {
    assert.ok(!existsSync(file));
    writeFileSync(path, "whole");
  });
  assert.ok(existsSync(file));
});

test("a file that can't be made leaves no name", (t) => {
  const file = join(folder(t), "data.mdb");
  const make = () =>
    makeFile(file, (path) => {
      writeFileSync(path, "half");
      throw new Error("the disk fails");
    });
  assert.throws(make, /the disk fails/);
  assert.ok(!existsSync(file));
});

/** Proves: what a first start left of a file that was not whole yet is no obstacle to the next one. */
for (const shared of [false, true]) {
  test(`a first start that was cut short is made again, ${shared ? "shared" : "exclusive"}`, async (t) => {
    const directory = join(folder(t), "store");
    mkdirSync(directory);
    writeFileSync(join(directory, "data.mdb.new"), Buffer.alloc(5000, 7));
    writeFileSync(join(directory, "data.mdb.new-lock"), "?");
    const store = new LmdbStore(directory, shared ? { shared } : { exclusive: true });
    await store.commit([{ kind: "put", key: Buffer.from("k"), value: Buffer.from("v") }]);
    assert.equal(store.get(Buffer.from("k"))?.toString(), "v");
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.includes(".new")),
      [],
    );
    await store.close();
  });
}
