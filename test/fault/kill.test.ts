import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { type Habits, Ledger, type StreamShape } from "./ledger.ts";
import { SeededRandom } from "./random.ts";

const rounds = Number(process.env["FAULT_ROUNDS"] ?? 20);
const writers = 8;
const replaysPerRound = 40;
const shapes: readonly StreamShape[] = [
  { name: "one", partitions: 1 },
  { name: "four", partitions: 4 },
  { name: "wide", partitions: 48 },
  { name: "trimmed", partitions: 2, retentionBytes: 64 * 1024 },
];
const habits: Habits = { shapes, single: 0.4, recordsMax: 20, fillMax: 400, keyed: 0.4 };

/** Streams that come and go while the writers write. */
interface Churned {
  readonly name: string;
  /** Undefined where the creation was not answered. */
  id: number | undefined;
  dropped: "no" | "asked" | "yes";
}

/**
 * Proves: what was acknowledged survives the sudden death of the process with its value and offset, a request is
 * stored as a whole or not at all, and an idempotency key still gives the reply that its writer got. One data folder
 * lives through all rounds, so that what a round leaves behind is checked again by those after it.
 */
test(`kill -9 over ${rounds} rounds with ${writers} writers loses and tears nothing`, async (t) => {
  const random = SeededRandom.fromEnvironment();
  const dataDir = await temporaryFolder();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const ledger = new Ledger("fault");
  const churned: Churned[] = [];
  let landed = 0;
  try {
    for (let round = 0; round < rounds; round++) {
      await using server = await ServerProcess.start({ dataDir });
      if (round === 0) await createStreams(server.url);
      const before = ledger.writes.length;
      await writeUntilKilled(server, ledger, churned, random, round);
      await using restarted = await ServerProcess.start({ dataDir });
      for (const shape of shapes) landed += await ledger.verify(restarted.url, shape);
      await checkChurned(restarted.url, ledger, churned);
      await replay(restarted.url, ledger, before, random);
      // What the replays made of unknown outcomes is checked with the next round.
      if (round === rounds - 1) for (const shape of shapes) await ledger.verify(restarted.url, shape);
      assert.equal(await restarted.stop(), 0);
    }
  } catch (error) {
    t.diagnostic(`run again with FAULT_SEED=${random.seed}`);
    throw error;
  }
  assert(ledger.acknowledged.length >= rounds, "every round got acknowledgements");
  t.diagnostic(
    `${ledger.acknowledged.length} of ${ledger.writes.length} requests acknowledged, ${landed} landed without, seed ${random.seed}`,
  );
});

async function createStreams(url: string): Promise<void> {
  assert.equal((await ask(`${url}/v1/namespaces`, { body: { name: "fault" } })).status, 201);
  for (const { name, partitions, retentionBytes } of shapes) {
    const retention = retentionBytes === undefined ? {} : { retention: { max_bytes: retentionBytes } };
    const body = { name, partitions, ...retention };
    assert.equal((await ask(`${url}/v1/namespaces/fault/streams`, { body })).status, 201);
  }
}

async function writeUntilKilled(
  server: ServerProcess,
  ledger: Ledger,
  churned: Churned[],
  random: SeededRandom,
  round: number,
): Promise<void> {
  const enough = random.between(1, 250);
  const extraMs = random.between(0, 15);
  let acknowledged = 0;
  let reached: () => void = () => {};
  const killing = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const onAcknowledged = () => {
    if (++acknowledged === enough) reached();
  };
  const work = Array.from({ length: writers }, (_, writer) =>
    ledger.write(server.url, random.fork(), `${round}-${writer}`, habits, onAcknowledged),
  );
  work.push(churn(server.url, ledger, churned, random.fork(), round));
  await killing;
  // The moment within a commit is what varies; nothing is waited for.
  await delay(extraMs);
  await server.kill();
  await Promise.all(work);
}

async function churn(url: string, ledger: Ledger, churned: Churned[], random: SeededRandom, round: number) {
  try {
    for (let n = 0; ; n++) {
      const stream: Churned = { name: `churn-${round}-${n}`, id: undefined, dropped: "no" };
      churned.push(stream);
      const created = await ask(`${url}/v1/namespaces/fault/streams`, { body: { name: stream.name, partitions: 3 } });
      stream.id = created.json.id;
      const records = Array.from({ length: 5 }, () => ({ value: "" }));
      await ask(`${url}${ledger.path(stream.name)}/records`, { body: { records } });
      if (!random.chance(0.8)) continue;
      stream.dropped = "asked";
      await ask(`${url}${ledger.path(stream.name)}`, { method: "DELETE" });
      stream.dropped = "yes";
    }
  } catch {
    // The server is gone.
  }
}

/** A stream whose creation was answered is there, one whose drop was answered is not, and ids are never used twice. */
async function checkChurned(url: string, ledger: Ledger, churned: Churned[]): Promise<void> {
  const listed = await ask(`${url}/v1/namespaces/fault/streams`);
  const names = new Set<string>((listed.json.streams as { name: string }[]).map(({ name }) => name));
  for (const stream of churned) {
    if (stream.dropped === "yes") assert(!names.has(stream.name), `${stream.name} was dropped`);
    if (stream.dropped === "no" && stream.id !== undefined) assert(names.has(stream.name), `${stream.name} is there`);
  }
  for (const stream of churned.slice(-20)) {
    if (!names.has(stream.name)) continue;
    const detail = await ask(`${url}${ledger.path(stream.name)}`);
    if (stream.id !== undefined) assert.equal(detail.json.id, stream.id);
  }
  const ids = churned.flatMap(({ id }) => id ?? []);
  assert.equal(new Set(ids).size, ids.length, "a stream's id is its own");
}

/** Sends requests with an idempotency key again: of this round and of earlier ones, and all whose fate is unknown. */
async function replay(url: string, ledger: Ledger, before: number, random: SeededRandom): Promise<void> {
  const recent = ledger.keyed(before);
  const older = ledger.keyed().filter(({ acknowledged }) => acknowledged !== undefined);
  await ledger.resend(url, [
    ...recent.filter(({ acknowledged }) => acknowledged !== undefined).slice(-replaysPerRound / 2),
    ...older.filter(() => random.chance(20 / older.length)),
    ...recent.filter(({ acknowledged }) => acknowledged === undefined),
  ]);
}
