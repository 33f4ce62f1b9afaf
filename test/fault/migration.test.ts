import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
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
import { ServerProcess, temporaryFolder } from "../support/process.ts";

const source = fileURLToPath(new URL("dying-process.c", import.meta.url));
/** A start that was killed leaves less to do to the next, so that later ones may go on for longer. A short run takes larger steps. */
const growth = Number(process.env["FAULT_ROUNDS"] ?? 20) < 10 ? 3 : 1.3;
const changesMax = 1_000;

describe("a first start on an older format that is killed", () => {
  let folder: string;
  let library: string | undefined;

  before(async () => {
    folder = await temporaryFolder();
    const built = join(folder, "dying-process.so");
    const { status } = spawnSync("cc", ["-shared", "-fPIC", "-o", built, source, "-ldl"], { stdio: "ignore" });
    library = status === 0 ? built : undefined;
  });

  after(() => rm(folder, { recursive: true, force: true }));

  /** Whether the process listened before it was killed at that change of the disk. */
  async function starts(dataDir: string, diesAt: number): Promise<boolean> {
    const env = { ...fixtureEnv, LD_PRELOAD: library!, DIES_AT: String(diesAt) };
    try {
      await using _ = await ServerProcess.start({ dataDir, flags: fixtureFlags, env });
      return true;
    } catch (error) {
      assert.match((error as Error).message, /ended \(SIGKILL\)/);
      return false;
    }
  }

  /** Proves: wherever a migration is cut off, and again when it goes on, the next start comes to the same end and nothing is lost. */
  for (const format of formats) {
    test(`format ${format}: killed at the first change of the disk, then at later ones, until it listens`, async (t) => {
      if (library === undefined) {
        t.skip("needs a C compiler");
        return;
      }
      const dataDir = join(folder, format);
      await unpack(format, dataDir);
      let deaths = 0;
      for (let diesAt = 1; diesAt < changesMax && !(await starts(dataDir, diesAt)); deaths++) {
        diesAt = Math.ceil(diesAt * growth);
      }
      assert(deaths > 0, "it was killed");
      t.diagnostic(`killed ${deaths} times`);
      const recorded = await recordedAnswers(format);
      const { questions, repeats } = questionsOf(format);
      await using server = await ServerProcess.start({ dataDir, flags: fixtureFlags, env: fixtureEnv });
      const send = asker(server.url, recorded.key);
      assertHolds(await answersOf(send, questions), recorded.answers, "the last start");
      assertHolds(await answersOf(send, repeats), recorded.repeats, "the last start");
      assert.equal(await server.stop(), 0);
    });
  }
});
