import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, test } from "node:test";
import { ChildProcesses } from "../../src/adapter/children/children.ts";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { temporaryFolder } from "../support/process.ts";

const MiB = 1024 * 1024;

/** An idle child does not keep a process alive, so a test that waits for one has to. */
const alive = setInterval(() => {}, 1000);
after(() => clearInterval(alive));

test("what is mapped from the store's file does not count as its memory", async () => {
  const folder = await temporaryFolder();
  const store = new LmdbStore(folder);
  for (let key = 0; key < 40; key++) {
    await store.commit([{ kind: "put", key: Uint8Array.of(key), value: Buffer.alloc(8 * MiB, key) }]);
  }
  await store.close();
  const children = new ChildProcesses({
    entry: new URL("../support/children-process.ts", import.meta.url),
    data: { name: "given" },
    dataBytesMax: 2048 * MiB,
    residentBytesMax: 192 * MiB,
    nodeArgs: ["--max-old-space-size=64"],
  });
  assert.equal(await children.take().request({ kind: "map", value: folder }), 40 * 8 * MiB);
  await children.close();
  await rm(folder, { recursive: true });
});
