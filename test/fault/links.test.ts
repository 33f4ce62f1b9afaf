import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { EventClient, type Place } from "../support/events.ts";
import { type Answer, ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";
import { SeededRandom } from "./random.ts";

const rounds = Number(process.env["FAULT_ROUNDS"] ?? 20);
const partitions = 3;
const recordWriters = 4;
const eventWriters = 4;
const counterKeys = 7;
const checkedPerRound = 200;

interface SentEvent {
  readonly id: string;
  /** Undefined where the request was not answered. */
  place: Place | undefined;
}

/** Everything that the writers sent, over all rounds. */
class Sent {
  readonly events: SentEvent[] = [];
  records = 0;
}

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
  const sent = new Sent();
  for (let round = 0; round < rounds; round++) {
    const before = sent.events.length;
    {
      await using server = await ServerProcess.start({ dataDir });
      if (round === 0) await create(server.url);
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

async function create(url: string): Promise<void> {
  const client = await EventClient.create(url, "fault");
  await client.createStream("records", { partitions });
  await client.createStream("events", { partitions });
  for (const [name, source, options] of [
    ["sums", "records", {}],
    ["counts", "records", { amount: "one" }],
    ["events", "events", { amount: "one" }],
  ] as const) {
    const made = await ask(`${client.url}/links`, { body: { name, source, options } });
    assert.equal(made.status, 201, made.text);
  }
}

async function writeUntilKilled(server: ServerProcess, sent: Sent, random: SeededRandom, round: number): Promise<void> {
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

async function untilGone(write: () => Promise<void>, onAcknowledged: () => void): Promise<void> {
  for (;;) {
    try {
      await write();
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
    onAcknowledged();
  }
}

async function writeRecords(client: EventClient, sent: Sent, random: SeededRandom): Promise<void> {
  const count = random.between(1, 20);
  const records = Array.from({ length: count }, (_, i) => ({
    key: `k${random.between(0, counterKeys - 1)}`,
    value: i % 5 === 0 ? "no number" : String(random.between(-1000, 1000)),
  }));
  await client.records("records", records, random.between(0, partitions - 1));
  sent.records += count;
}

async function writeEvents(client: EventClient, sent: Sent, random: SeededRandom, name: string): Promise<void> {
  const count = random.chance(0.5) ? 1 : random.between(1, 10);
  const events: SentEvent[] = Array.from({ length: count }, (_, i) => ({ id: `${name}-${i}`, place: undefined }));
  sent.events.push(...events);
  const places = await client.append(
    "events",
    events.map(({ id }) => ({ id, partitionkey: `k${id.length % counterKeys}` })),
  );
  for (const [i, event] of events.entries()) event.place = places[i];
}

/** This round's events and some older ones, sent once more. */
async function checkDuplicates(client: EventClient, sent: Sent, random: SeededRandom, before: number): Promise<void> {
  const older = sent.events.slice(0, before).filter(() => random.chance(checkedPerRound / Math.max(1, before)));
  const again = [...older, ...sent.events.slice(before)];
  const places = await client.append(
    "events",
    again.map(({ id }) => ({ id, partitionkey: `k${id.length % counterKeys}` })),
  );
  for (const [i, event] of again.entries()) {
    const place = places[i]!;
    if (event.place === undefined) {
      // Its fate was unknown; now it is written, then or just now.
      event.place = { ...place, status: "appended" };
    } else {
      assert.equal(place.status, "duplicate", `event ${event.id} was acknowledged`);
      assert.deepEqual({ ...place, status: "appended" }, event.place);
    }
  }
}

interface StoredRecord {
  readonly key?: string;
  readonly value?: string;
  readonly headers?: { key: string; value: string }[];
}

async function readAll(client: EventClient, stream: string): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  for (let partition = 0; partition < partitions; partition++) {
    for (let offset = 0; ; ) {
      const url = `${client.url}/streams/${stream}/partitions/${partition}/records?offset=${offset}&max_bytes=16777216`;
      const { status, json, text } = await ask(url);
      assert.equal(status, 200, text);
      found.push(...json.records);
      offset = json.next_offset;
      if (offset === json.high_watermark) break;
    }
  }
  return found;
}

function decode(text: string | undefined): string {
  return Buffer.from(text ?? "", "base64").toString();
}

async function checkCounters(client: EventClient): Promise<void> {
  const caughtUp = (link: string): Promise<Answer["json"]> =>
    eventually(
      async () => (await ask(`${client.url}/links/${link}`)).json,
      ({ lag }) => lag.every(({ records }: { records: number }) => records === 0),
    );
  const records = await readAll(client, "records");
  const sums: Record<string, number> = {};
  const counts: Record<string, number> = {};
  let skipped = 0;
  for (const { key, value } of records) {
    const name = decode(key);
    const amount = Number(decode(value));
    counts[name] = (counts[name] ?? 0) + 1;
    if (Number.isNaN(amount)) skipped++;
    else sums[name] = (sums[name] ?? 0) + amount;
  }
  const shownSums = await caughtUp("sums");
  assert.deepEqual(shownSums.counters, sums);
  assert.equal(shownSums.skipped, skipped);
  assert.deepEqual((await caughtUp("counts")).counters, counts);

  const events = await readAll(client, "events");
  const ids = events.map(({ headers }) => decode(headers!.find(({ key }) => key === "ce_id")!.value));
  assert.equal(new Set(ids).size, ids.length, "no event is in the log twice");
  const keyed: Record<string, number> = {};
  for (const { key } of events) keyed[decode(key)] = (keyed[decode(key)] ?? 0) + 1;
  assert.deepEqual((await caughtUp("events")).counters, keyed);
}
