import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { EventClient } from "../support/events.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { checkCounters, checkDuplicates, createLinked, SentEvents, writeEvents, writeRecords } from "./event-ledger.ts";
import { untilGone } from "./ledger.ts";
import { SeededRandom } from "./random.ts";

const rounds = Number(process.env["FAULT_ROUNDS"] ?? 20);
const recordWriters = 4;
const eventWriters = 4;

/**
 * Proves: over sudden deaths each counter is the sum of what its stream's log holds, no record counted twice and none
 * left out, and an event whose write was acknowledged is known for ever after as a duplicate with the same place. One
 * data folder lives through all rounds.
 */
test(`kill -9 over ${rounds} rounds: counters equal the log, and acknowledged events are duplicates`, async (t) => {
  const dataDir = await temporaryFolder();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const random = SeededRandom.fromEnvironment();
  t.diagnostic(`FAULT_SEED=${random.seed}`);
  const sent = new SentEvents();
  for (let round = 0; round < rounds; round++) {
    const before = sent.events.length;
    {
      await using server = await ServerProcess.start({ dataDir });
      if (round === 0) await createLinked(server.url);
      await writeUntilKilled(server, sent, random, round);
    }
    await using restarted = await ServerProcess.start({ dataDir });
    const client = new EventClient(restarted.url, "fault");
    await checkDuplicates(client, sent, random, before);
    await checkCounters(client);
    assert.equal(await restarted.stop(), 0);
  }
  const acknowledged = sent.events.filter(({ place }) => place !== undefined).length;
  assert(sent.records > 0 && acknowledged > 0, "something was acknowledged");
  t.diagnostic(`${sent.records} records and ${acknowledged} of ${sent.events.length} events acknowledged`);
});

async function writeUntilKilled(
  server: ServerProcess,
  sent: SentEvents,
  random: SeededRandom,
  round: number,
): Promise<void> {
  const client = new EventClient(server.url, "fault");
  let acknowledged = 0;
  let reached: () => void = () => {};
  const killing = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const enough = random.between(20, 220);
  const onAcknowledged = () => {
    if (++acknowledged === enough) reached();
  };
  const work = [
    ...Array.from({ length: recordWriters }, () => {
      const own = random.fork();
      return untilGone(() => writeRecords(client, sent, own), onAcknowledged);
    }),
    ...Array.from({ length: eventWriters }, (_, writer) => {
      const own = random.fork();
      let n = 0;
      return untilGone(() => writeEvents(client, sent, own, `${round}-${writer}-${n++}`), onAcknowledged);
    }),
  ];
  await killing;
  // The moment within a commit is what varies; nothing is waited for.
  await delay(random.next() * 15);
  await server.kill();
  await Promise.all(work);
}
