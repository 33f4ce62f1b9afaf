import assert from "node:assert/strict";
import { readdir, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { FilesObjectStore } from "../../src/adapter/files/object-store.ts";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { Committer } from "../../src/engine/commit/committer.ts";
import { prefixRange, type Table, tables } from "../../src/engine/keys.ts";
import { Log } from "../../src/engine/log/log.ts";
import { Metastore } from "../../src/engine/metastore/metastore.ts";
import { Repair } from "../../src/engine/repair.ts";
import { answersOf, asker, questions } from "../support/fixture-data.ts";
import { fixtureEnv, fixtureFlags, recordedAnswers, unpack } from "../support/formats.ts";
import { runCommand, ServerProcess, temporaryFolder } from "../support/process.ts";

/** Everything that is derived, each with what is done to it. */
const damages: Readonly<Record<string, (dataDir: string) => Promise<void>>> = {
  "segments and datasets cut short, counters and a link's offsets gone": async (dataDir) => {
    await damageFiles(join(dataDir, "objects/collections"));
    await damageValues(dataDir, tables.counter, "delete");
    await damageValues(dataDir, tables.linkState, "delete", countLink);
  },
  "all objects gone; manifests, totals and counters damaged": async (dataDir) => {
    await rm(join(dataDir, "objects"), { recursive: true });
    for (const table of [tables.manifest, tables.collectionTotals, tables.counter]) await damageValues(dataDir, table);
  },
};

/** The id of the one link that counts. */
const countLink = 1;

async function damageFiles(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    await truncate(file, Math.floor((await stat(file)).size / 2));
  }
}

async function damageValues(
  dataDir: string,
  table: Table,
  how: "flip" | "delete" = "flip",
  ...of: number[]
): Promise<void> {
  const store = new LmdbStore(join(dataDir, "store"), { exclusive: true });
  const found = [...store.range(prefixRange(table, ...of))];
  assert(found.length > 0, "there is something to damage");
  await store.commit(
    found.map(({ key, value }) => {
      if (how === "delete") return { kind: "delete", key };
      const flipped = Buffer.from(value);
      flipped[flipped.length - 1]! ^= 0x55;
      return { kind: "put", key, value: flipped };
    }),
  );
  await store.close();
}

/** Versions of links and manifests tell how often something was made; what they hold must be the same. */
function comparable(answers: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(answers), (name, value: unknown) =>
    name === "version" && typeof value === "number" ? undefined : value,
  );
}

async function answers(dataDir: string): Promise<unknown> {
  const { key, answers: recorded } = await recordedAnswers("1");
  await using server = await ServerProcess.start({ dataDir, flags: fixtureFlags, env: fixtureEnv });
  const send = asker(server.url, key);
  const expected = comparable(recorded);
  // An index that is being made anew says so; queries are refused meanwhile and never wrong.
  const query = questions.find(({ name }) => name === "text query")!;
  while ((await send(query.path, { body: query.body })).status === 503) await delay(100);
  const given = comparable(await answersOf(send, questions));
  assert.deepEqual(given, expected);
  const scan = await send("/v1/namespaces/first/collections/c/scan", { body: {} });
  assert.equal(scan.json.tail_records + (scan.json.lance === null ? 0 : 1) > 0, true);
  return given;
}

/** Proves: whatever derived thing is damaged or lost, `doctor --rebuild` makes it anew and every answer is as before. */
test("doctor --rebuild makes everything derived anew", async (t) => {
  for (const [what, damage] of Object.entries(damages)) {
    await t.test(what, async () => {
      const dataDir = await temporaryFolder();
      try {
        await unpack("1", dataDir);
        await damage(dataDir);
        const done = await runCommand(["doctor", "--data-dir", dataDir, "--rebuild", "--json"]);
        assert.equal(done.code, 0, done.stderr);
        assert.deepEqual(JSON.parse(done.stdout).rebuilt, [
          { namespace: "first", collection: "c", documents: 60 },
          { namespace: "first", collection: "filled", documents: 10 },
          { namespace: "first", link: "count", counters: "counted again" },
        ]);
        const looked = await runCommand(["doctor", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--json"]);
        const { findings } = JSON.parse(looked.stdout) as { findings: { check: string; state: string }[] };
        assert.deepEqual(
          findings.filter(({ check, state }) => state !== "ok" && check !== "disk"),
          [],
        );
        await answers(dataDir);
      } finally {
        await rm(dataDir, { recursive: true, force: true });
      }
    });
  }
});

/** Proves: a rebuild that is cut short after it gave up what there was is finished by the next start of a server. */
test("a rebuild that ends half-way is made good by the server", async () => {
  const dataDir = await temporaryFolder();
  try {
    await unpack("1", dataDir);
    const store = new LmdbStore(join(dataDir, "store"), { exclusive: true });
    const clock = new NodeClock();
    const committer = new Committer({ store, clock, queueBytesMax: 1, groupBytesMax: 1, onGroup: () => {} });
    const objects = new FilesObjectStore(join(dataDir, "objects"));
    const metastore = new Metastore(store, committer);
    const log = new Log(store, clock);
    const deps = { store, objects, clock, metastore, log };
    const repair = new Repair(deps);
    await repair.forgetIndexes();
    for await (const { kept } of repair.forgetCounters()) assert.equal(kept, undefined);
    await committer.close();
    await store.close();
    await answers(dataDir);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
