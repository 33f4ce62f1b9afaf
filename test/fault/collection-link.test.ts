import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";
import { SeededRandom } from "./random.ts";

const rounds = Number(process.env["FAULT_ROUNDS"] ?? 10);
const writers = 4;
const partitions = 2;
/** Few, so that each is written often and its version counts the writes. */
const ids = 300;

/**
 * Proves: over sudden deaths a link applies each record of its source exactly once. The documents are those that the
 * log tells, and a document's version, which grows with each write, is the number of records that wrote it.
 */
test(`kill -9 over ${rounds} rounds: a collection holds what its link's source tells, nothing twice`, async (t) => {
  const random = SeededRandom.fromEnvironment();
  const dataDir = await temporaryFolder();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  let records = 0;
  try {
    for (let round = 0; round < rounds; round++) {
      await using server = await ServerProcess.start({ dataDir });
      const url = `${server.url}/v1/namespaces/fault`;
      if (round === 0) await setUp(server.url, url);
      await writeUntilKilled(server, url, random);
      await using restarted = await ServerProcess.start({ dataDir });
      records = await verify(`${restarted.url}/v1/namespaces/fault`);
      // Half of the rounds end in a second death, this time with nothing under way but the background.
      if (random.chance(0.5)) assert.equal(await restarted.stop(), 0);
    }
  } catch (error) {
    t.diagnostic(`run again with FAULT_SEED=${random.seed}`);
    throw error;
  }
  assert(records > rounds);
  t.diagnostic(`${records} records, seed ${random.seed}`);
});

async function setUp(serverUrl: string, url: string): Promise<void> {
  const fields = [{ name: "n", kind: "i64" }];
  const made = [
    await ask(`${serverUrl}/v1/namespaces`, { body: { name: "fault" } }),
    await ask(`${url}/streams`, { body: { name: "s", partitions } }),
    await ask(`${url}/collections`, { body: { name: "c", schema: { fields } } }),
    await ask(`${url}/links`, { body: { name: "l", source: "s", target: { kind: "collection", name: "c" } } }),
  ];
  assert.deepEqual(
    made.map(({ status }) => status),
    [201, 201, 200, 201],
  );
}

async function writeUntilKilled(server: ServerProcess, url: string, random: SeededRandom): Promise<void> {
  const enough = random.between(1, 200);
  const extraMs = random.between(0, 30);
  let acknowledged = 0;
  let reached: () => void = () => {};
  const killing = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const work = Array.from({ length: writers }, () =>
    write(url, random.fork(), () => {
      if (++acknowledged === enough) reached();
    }),
  );
  await killing;
  // The moment within a commit is what varies; nothing is waited for.
  await delay(extraMs);
  await server.kill();
  await Promise.all(work);
}

async function write(url: string, random: SeededRandom, onAcknowledged: () => void): Promise<void> {
  for (;;) {
    const partition = random.between(0, partitions - 1);
    const records = Array.from({ length: random.between(1, 40) }, () => recordFor(partition, random));
    let answer: Awaited<ReturnType<typeof ask>>;
    try {
      answer = await ask(`${url}/streams/s/partitions/${partition}/records`, { body: { records } });
    } catch {
      return;
    }
    assert.equal(answer.status, 200, answer.text);
    onAcknowledged();
  }
}

/** A document is written from one partition only, so that the log tells the order of its writes. */
function recordFor(partition: number, random: SeededRandom): object {
  const id = random.between(0, ids - 1) * partitions + partition;
  if (random.chance(0.1)) return { key: base64(String(id)) };
  // Some that are no document: they must be skipped once too.
  if (random.chance(0.05)) return { value: base64(`{"id":${id},"n":"no number"}`) };
  return { value: base64(JSON.stringify({ id, n: random.between(0, 1_000_000) })) };
}

interface Told {
  readonly version: number;
  readonly n: number;
}

/** What the source tells: each document's last state, and how many records are no document. */
async function readSource(url: string) {
  const documents = new Map<number, Told>();
  let records = 0;
  let skipped = 0;
  for (let partition = 0; partition < partitions; partition++) {
    for (let offset = 0; ; ) {
      const page = await ask(`${url}/streams/s/partitions/${partition}/records?offset=${offset}&max_bytes=16777216`);
      assert.equal(page.status, 200, page.text);
      for (const { key, value } of page.json.records as { key?: string; value?: string }[]) {
        if (value === undefined || value === null) documents.delete(Number(Buffer.from(key ?? "", "base64")));
        else {
          const { id, n } = JSON.parse(Buffer.from(value, "base64").toString());
          if (typeof n === "number") documents.set(id, { version: (documents.get(id)?.version ?? 0) + 1, n });
          else skipped++;
        }
      }
      records += page.json.records.length;
      offset = page.json.next_offset;
      if (offset >= page.json.high_watermark) break;
    }
  }
  return { documents, records, skipped };
}

async function verify(url: string): Promise<number> {
  const told = await readSource(url);
  const link = await eventually(
    async () => (await ask(`${url}/links/l`)).json,
    ({ lag }) => lag.every(({ records }: { records: number }) => records === 0),
  );
  assert.equal(link.skipped, told.skipped);
  const page = await ask(`${url}/collections/c/documents/scroll`, { body: { limit: 10_000 } });
  const found = page.json.documents.map(({ id, version, source }: { id: number; version: number; source: Told }) => [
    id,
    version,
    source.n,
  ]);
  const expected = [...told.documents].sort(([a], [b]) => a - b).map(([id, { version, n }]) => [id, version, n]);
  assert.deepEqual(found, expected);
  // The index, too, has each once.
  for (const filter of [{ match_all: {} }, { exists: { field: "n" } }]) {
    const counted = await ask(`${url}/collections/c/documents/count`, { body: { filter } });
    assert.equal(counted.json.count, expected.length, JSON.stringify(filter));
  }
  return told.records;
}
