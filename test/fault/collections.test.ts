import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { CollectionClient } from "../support/collections.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { checkSealed, DocumentLedger, documentSchema, verifyDocuments, writeDocuments } from "./document-ledger.ts";
import { SeededRandom } from "./random.ts";

const rounds = Number(process.env["FAULT_ROUNDS"] ?? 20);
const writers = 4;
/** Small and often, so that a kill falls into seals, merges and commits of the dataset. */
const flags = ["--collection-seal-records", "60", "--collection-seal-idle", "100ms"];

/**
 * Proves: after the sudden death of the process, in the middle of writes, seals, merges and commits of the dataset,
 * every acknowledged document is there in its version, batches are whole, and the index says what the documents say.
 */
test(`kill -9 over ${rounds} rounds with ${writers} writers of documents loses and tears nothing`, async (t) => {
  const random = SeededRandom.fromEnvironment();
  const dataDir = await temporaryFolder();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const ledgers = Array.from({ length: writers }, (_, writer) => new DocumentLedger(writer));
  let acknowledged = 0;
  let landed = 0;
  try {
    for (let round = 0; round < rounds; round++) {
      await using server = await ServerProcess.start({ dataDir, flags });
      const c = round === 0 ? await CollectionClient.create(server.url, "n") : new CollectionClient(server.url, "n");
      if (round === 0) await c.made("docs", documentSchema);
      acknowledged += await writeUntilKilled(server, c, ledgers, random);
      await using restarted = await ServerProcess.start({ dataDir, flags });
      const d = new CollectionClient(restarted.url, "n");
      landed += await verifyDocuments(d, ledgers);
      await checkSealed(restarted, d);
      assert.equal(await restarted.stop(), 0);
    }
    await using last = await ServerProcess.start({ dataDir, flags });
    const c = new CollectionClient(last.url, "n");
    await verifyDocuments(c, ledgers);
    await c.sealed("docs");
    await verifyDocuments(c, ledgers);
  } catch (error) {
    t.diagnostic(`run again with FAULT_SEED=${random.seed}`);
    throw error;
  }
  t.diagnostic(`${acknowledged} batches acknowledged, ${landed} landed without, seed ${random.seed}`);
});

async function writeUntilKilled(
  server: ServerProcess,
  c: CollectionClient,
  ledgers: readonly DocumentLedger[],
  random: SeededRandom,
): Promise<number> {
  const enough = random.between(1, 60);
  const extraMs = random.between(0, 250);
  let acknowledged = 0;
  let reached: () => void = () => {};
  const killing = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const work = ledgers.map((ledger) =>
    writeDocuments(c, ledger, random.fork(), () => {
      if (++acknowledged === enough) reached();
    }),
  );
  await killing;
  // Long enough that seals and merges of what was written fall into it; which of them varies.
  await delay(extraMs);
  await server.kill();
  await Promise.all(work);
  return acknowledged;
}
