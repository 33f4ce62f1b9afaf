import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { makeKey, tables } from "../../src/engine/keys.ts";
import { answersOf, asker } from "../support/fixture-data.ts";
import {
  assertHolds,
  fixtureEnv,
  fixtureFlags,
  formats,
  questionsOf,
  recordedAnswers,
  unpack,
} from "../support/formats.ts";
import { ask } from "../support/http.ts";
import { runCommand, ServerProcess, temporaryFolder } from "../support/process.ts";

let folder: string;

before(async () => {
  folder = await temporaryFolder();
});

after(() => rm(folder, { recursive: true, force: true }));

/**
 * Proves: what a build of each format has acknowledged is there with this build, to the last byte, also where that build was killed:
 * records, events, documents, links with their counters, aliases, remembered events and replies, keys and the instance's id.
 */
for (const format of formats) {
  test(`a data folder of format ${format} answers as it did`, async () => {
    const dataDir = join(folder, format);
    await unpack(format, dataDir);
    const recorded = await recordedAnswers(format);
    const { questions, repeats } = questionsOf(format);
    for (const round of ["first", "second"]) {
      await using server = await ServerProcess.start({ dataDir, flags: fixtureFlags, env: fixtureEnv });
      const send = asker(server.url, recorded.key);
      assertHolds(await answersOf(send, questions), recorded.answers, `${round} start`);
      assertHolds(await answersOf(send, repeats), recorded.repeats, `${round} start`);
      const instance = await ask(`${server.url}/service.instance.v1.InstanceService/GetInstance`, { body: {} });
      assert.equal(instance.json.instanceId, recorded.instanceId);
      assert.equal((await ask(`${server.url}/v1/namespaces`)).status, 401);
      assert.equal(await server.stop(), 0);
    }
    const looked = await runCommand(["doctor", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--json"]);
    const { findings } = JSON.parse(looked.stdout) as { findings: { check: string; state: string; detail: string }[] };
    assert.deepEqual(
      findings.filter(({ check, state }) => state !== "ok" && check !== "disk"),
      [],
    );
  });
}

/** Proves: what a newer build has written is not opened, and the refusal says what to do. */
test("each store of a newer format is refused", async () => {
  for (const [store, record, expected] of [
    [
      "store",
      { version: 99 },
      /the store has format version 99; this build reads up to \d+: start it with a newer build/,
    ],
    ["store", { version: 1, objects: 99 }, /the objects of the store have format version 99.*newer build/],
    ["auth", { version: 99 }, /the instance's store \(auth\) has format version 99.*start it with a newer build/],
  ] as const) {
    const dataDir = join(folder, `newer-${store}-${JSON.stringify(record).length}`);
    await unpack("6", dataDir);
    const opened = new LmdbStore(join(dataDir, store), store === "store" ? { exclusive: true } : { shared: true });
    const value = Buffer.from(JSON.stringify(record));
    await opened.commit([{ kind: "put", key: makeKey(tables.format), value }]);
    await opened.close();
    await assert.rejects(ServerProcess.start({ dataDir, env: fixtureEnv }), (error: Error) => {
      assert.match(error.message, expected);
      return true;
    });
  }
});
