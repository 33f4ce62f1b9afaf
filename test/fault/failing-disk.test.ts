import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";
import { Ledger, type StreamShape, sendAppend } from "./ledger.ts";

const source = fileURLToPath(new URL("failing-disk.c", import.meta.url));
const shape: StreamShape = { name: "s", partitions: 1 };

describe("a disk that fails", () => {
  let folder: string;
  let library: string | undefined;

  before(async () => {
    folder = await temporaryFolder();
    const built = join(folder, "failing-disk.so");
    const { status } = spawnSync("cc", ["-shared", "-fPIC", "-o", built, source, "-ldl"], { stdio: "ignore" });
    library = status === 0 ? built : undefined;
  });

  after(() => rm(folder, { recursive: true, force: true }));

  /** A server on the failing disk with one acknowledged append; undefined where none can be made. */
  async function prepare(t: TestContext, name: string) {
    if (library === undefined) {
      t.skip("needs a C compiler");
      return undefined;
    }
    const dataDir = join(folder, `data-${name}`);
    const server = await ServerProcess.start({ dataDir, env: { LD_PRELOAD: library, FAULT_SWITCHES: folder } });
    const ledger = new Ledger("f");
    assert.equal((await ask(`${server.url}/v1/namespaces`, { body: { name: "f" } })).status, 201);
    assert.equal((await ask(`${server.url}/v1/namespaces/f/streams`, { body: shape })).status, 201);
    const first = ledger.prepare(shape.name, 0, ["first"], undefined);
    first.acknowledged = (await sendAppend(server.url, first)).text;
    return { server, ledger, dataDir };
  }

  /** Proves: while LMDB can't be brought up to date writes are acknowledged all the same, and none of them is lost. */
  test("syncs of LMDB that fail: writing goes on, over a kill too", async (t) => {
    const made = await prepare(t, "sync");
    if (made === undefined) return;
    const { ledger, dataDir } = made;
    await using server = made.server;
    await writeFile(join(folder, "sync"), "");
    for (const value of ["second", "third"]) {
      const sent = ledger.prepare(shape.name, 0, [value], undefined);
      const answer = await sendAppend(server.url, sent);
      assert.equal(answer.status, 200, answer.text);
      sent.acknowledged = answer.text;
    }
    const told = async () => server.logs.filter((line) => line.includes("the commit log could not be applied")).length;
    await eventually(told, (lines) => lines > 0);
    assert.equal(await ledger.verify(server.url, shape), 0);
    const exit = once(server.child, "exit");
    server.child.kill("SIGKILL");
    await exit;
    await rm(join(folder, "sync"));
    await using restarted = await ServerProcess.start({ dataDir });
    assert.equal(await ledger.verify(restarted.url, shape), 0);
  });

  /**
   * Proves: where LMDB can't go on, because the page that makes a commit valid was not written, the process ends with
   * a reason instead of hanging, and a new one has every acknowledged record.
   */
  test("a commit whose last write fails: the process ends, a new one goes on", async (t) => {
    const made = await prepare(t, "meta");
    if (made === undefined) return;
    const { ledger, dataDir } = made;
    await using server = made.server;
    await writeFile(join(folder, "meta"), "");
    const exit = once(server.child, "exit");
    const unknown = ledger.prepare(shape.name, 0, ["unknown"], "key");
    await sendAppend(server.url, unknown).catch(() => {});
    const [code, signal] = await exit;
    await rm(join(folder, "meta"));
    // Seldom LMDB finds its state broken before it is asked, and aborts.
    if (signal !== null) assert.equal(signal, "SIGABRT");
    else {
      assert.equal(code, 1);
      assert(server.logs.some((line) => /the store gave up .*restart the server/.test(line)));
    }

    await using restarted = await ServerProcess.start({ dataDir });
    await ledger.verify(restarted.url, shape);
    const again = await sendAppend(restarted.url, unknown);
    assert.equal(again.status, 200, again.text);
    unknown.acknowledged = again.text;
    assert.equal(await ledger.verify(restarted.url, shape), 0);
  });

  /**
   * Proves: a write of the commit log that fails is no acknowledgement, and what may be left of it is gone before anything
   * else is acknowledged.
   */
  test("a write of the commit log that fails: 503, and nothing of it is left when writing goes on", async (t) => {
    const made = await prepare(t, "log");
    if (made === undefined) return;
    const { ledger, dataDir } = made;
    await using server = made.server;
    const append = async (url: string, value: string, key?: string) => {
      const sent = ledger.prepare(shape.name, 0, [value], key);
      const answer = await sendAppend(url, sent);
      if (answer.status === 200) sent.acknowledged = answer.text;
      return answer;
    };
    await writeFile(join(folder, "log"), "");
    for (const [i, key] of [undefined, "key", undefined].entries()) {
      const refused = await append(server.url, `refused-${i}`, key);
      assert.equal(refused.status, 503, refused.text);
      assert.equal(refused.headers.get("retry-after"), "1");
    }
    await ledger.verify(server.url, shape);
    await rm(join(folder, "log"));
    // The disk is tried again now and then.
    await eventually(
      async () => (await append(server.url, "again")).status,
      (status) => status === 200,
    );
    for (const [i, key] of ["key-2", undefined, undefined].entries()) {
      assert.equal((await append(server.url, `taken-${i}`, key)).status, 200);
    }
    await ledger.verify(server.url, shape);
    const exit = once(server.child, "exit");
    server.child.kill("SIGKILL");
    await exit;
    await using restarted = await ServerProcess.start({ dataDir });
    await ledger.verify(restarted.url, shape);
    assert.equal((await append(restarted.url, "after")).status, 200);
    await ledger.verify(restarted.url, shape);
  });
});
