import assert from "node:assert/strict";
import type { EventClient, Place } from "../support/events.ts";
import { type Answer, ask } from "../support/http.ts";
import { eventually } from "../support/streams.ts";
import type { SeededRandom } from "./random.ts";

const partitions = 3;
const counterKeys = 7;
const checkedPerRound = 200;

interface SentEvent {
  readonly id: string;
  /** Undefined where the request was not answered. */
  place: Place | undefined;
}

/** Everything that the writers sent, over all rounds. */
export class SentEvents {
  readonly events: SentEvent[] = [];
  records = 0;
}

/** What the writers write to and the links that count it, in the order in which they can be made. */
export const linkedParts: readonly { readonly path: string; readonly body: object }[] = [
  { path: "/v1/namespaces", body: { name: "fault" } },
  ...["records", "events"].map((name) => ({ path: "/v1/namespaces/fault/streams", body: { name, partitions } })),
  ...[
    { name: "sums", source: "records", options: {} },
    { name: "counts", source: "records", options: { amount: "one" } },
    { name: "events", source: "events", options: { amount: "one" } },
  ].map((body) => ({ path: "/v1/namespaces/fault/links", body })),
];

export async function createLinked(url: string): Promise<void> {
  for (const { path, body } of linkedParts) {
    const made = await ask(`${url}${path}`, { body });
    assert.equal(made.status, 201, made.text);
  }
}

export async function writeRecords(client: EventClient, sent: SentEvents, random: SeededRandom): Promise<void> {
  const count = random.between(1, 20);
  const records = Array.from({ length: count }, (_, i) => ({
    key: `k${random.between(0, counterKeys - 1)}`,
    value: i % 5 === 0 ? "no number" : String(random.between(-1000, 1000)),
  }));
  await client.records("records", records, random.between(0, partitions - 1));
  sent.records += count;
}

export async function writeEvents(
  client: EventClient,
  sent: SentEvents,
  random: SeededRandom,
  name: string,
): Promise<void> {
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
export async function checkDuplicates(
  client: EventClient,
  sent: SentEvents,
  random: SeededRandom,
  before: number,
): Promise<void> {
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

export async function checkCounters(client: EventClient): Promise<void> {
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
