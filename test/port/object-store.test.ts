import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, test } from "node:test";
import { FilesObjectStore } from "../../src/adapter/files/object-store.ts";
import { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import type { ObjectStore } from "../../src/port/object-store.ts";
import { temporaryFolder } from "../support/process.ts";
import { objectStoreSuite } from "./object-store-suite.ts";

let folder: string;
before(async () => {
  folder = await temporaryFolder();
});
after(() => rm(folder, { recursive: true, force: true }));

let opened = 0;
const adapters: Readonly<Record<string, () => ObjectStore>> = {
  memory: () => new MemoryObjectStore(),
  files: () => new FilesObjectStore(`${folder}/${opened++}`),
};

function bytes(text: string): Buffer {
  return Buffer.from(text);
}

for (const [name, open] of Object.entries(adapters)) objectStoreSuite(name, open);

test("files: an object is on this machine, and no path leaves the store", async () => {
  const store = new FilesObjectStore(`${folder}/local`);
  await store.put("a/b", bytes("x"));
  assert.equal(store.localPath("a/b"), `${folder}/local/a/b`);
  for (const path of ["../x", "a/../../x", "/etc/passwd"]) {
    assert.throws(() => store.localPath(path), /leaves the store/);
    await assert.rejects(() => store.put(path, bytes("x")), /leaves the store/);
  }
});

test("files: objects are there when the store is opened again", async () => {
  await new FilesObjectStore(`${folder}/again`).put("a", bytes("x"));
  assert.deepEqual(await new FilesObjectStore(`${folder}/again`).list(""), [{ path: "a", bytes: 1 }]);
});
