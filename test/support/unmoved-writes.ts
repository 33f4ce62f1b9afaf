import assert from "node:assert/strict";
import { type Asker, type Question, root } from "./fixture-data.ts";
import { base64 } from "./http.ts";

/**
 * What builds of the formats 2 to 6 acknowledge before it is at its own key: small appends, alone, in groups and to many partitions, are moved there
 * a second after the last of them. A process that is killed before leaves them in the journal, in the store or in the file beside it.
 */

const partitions = 24;
/** More than one step of the migration that writes them anew takes. */
const rememberedEvents = 80;
const records = (partition: number) => `${root}/streams/j/partitions/${partition}/records`;
const events = `${root}/streams/late/events`;
const eventHeaders = { "content-type": "application/cloudevents+json" };
const idempotent = { "idempotency-key": "late key" };

function event(id: string): object {
  return { specversion: "1.0", type: "t", source: "/late", id, data: { id } };
}

function values(name: string, bytes: number): object {
  return { records: [{ value: base64(name.padEnd(bytes, ".")), timestamp_ms: 1_700_000_000_000 }] };
}

async function done(send: Asker, path: string, body: unknown, headers: Record<string, string> = {}): Promise<void> {
  const answer = await send(path, { body, headers });
  assert(answer.status < 300, `${path}: ${answer.text}`);
}

/** The streams, and events that are remembered. */
export async function prepareUnmoved(send: Asker): Promise<void> {
  await done(send, `${root}/streams`, { name: "j", partitions });
  await done(send, `${root}/streams`, { name: "late", partitions: 2 });
  for (let i = 0; i < rememberedEvents; i++) await done(send, events, event(`early-${i}`), eventHeaders);
}

/** One small append after another. */
export async function writeLone(send: Asker, name: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await done(send, records(i % partitions), values(`${name} ${i}`, 40));
}

async function writeTogether(send: Asker, name: string, count: number, bytes: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, i) => done(send, records((i * 7) % partitions), values(`${name} ${i}`, bytes))),
  );
}

/** Everything that may be waiting to be moved when the process ends. */
export async function writeUnmoved(send: Asker): Promise<void> {
  await writeLone(send, "lone", 2 * partitions);
  for (const wave of ["first", "second", "third"]) await writeTogether(send, wave, partitions, 60);
  // Larger than what the file beside the store takes at once, and one that takes along what is before it in its partition.
  await writeTogether(send, "large", 2 * partitions, 900);
  await done(send, records(3), values("alone", 6_000));
  await done(send, records(4), values("once", 40), idempotent);
  await Promise.all(Array.from({ length: 10 }, (_, i) => done(send, events, event(`late-${i}`), eventHeaders)));
  await writeTogether(send, "fourth", partitions, 200);
  await writeLone(send, "last", partitions);
}

export const unmovedQuestions: readonly Question[] = [
  ...Array.from({ length: partitions }, (_, p) => ({ name: `late records of ${p}`, path: `${records(p)}?offset=0` })),
  ...[0, 1].map((p) => ({
    name: `late events of ${p}`,
    path: `${root}/streams/late/partitions/${p}/events?offset=0`,
  })),
];

export const unmovedRepeats: readonly Question[] = [
  { name: "late append replayed", path: records(4), body: values("once", 40), headers: idempotent },
  ...["early-0", `early-${rememberedEvents - 1}`, "late-0", "late-9"].map((id) => ({
    name: `event ${id} known`,
    path: events,
    body: event(id),
    headers: eventHeaders,
  })),
];
