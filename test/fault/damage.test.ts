import assert from "node:assert/strict";
import { cp, mkdtemp, open, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { SeededRandom } from "./random.ts";

const rounds = Number(process.env["FAULT_ROUNDS"] ?? 20);
const pageBytes = 4096;
const records = "/v1/namespaces/d/streams/s/partitions";

/** The records of each partition by offset, as they were acknowledged. */
type Truth = readonly string[][];

interface Outcome {
  readonly started: boolean;
  /** What the refused start said. */
  readonly refusal: string;
  /** Offsets that answered 500. */
  readonly damaged: number;
  readonly served: number;
}

let folder: string;
let pristine: string;
const truth: Truth = [[], [], []];
let bytes: Buffer;

before(async () => {
  folder = await temporaryFolder();
  pristine = join(folder, "pristine");
  await using server = await ServerProcess.start({ dataDir: pristine });
  await populate(server.url);
  assert.equal(await server.stop(), 0);
  bytes = await readFile(join(pristine, "store", "data.mdb"));
});

after(() => rm(folder, { recursive: true, force: true }));

/** Small batches that share leaf pages, batches on pages of their own, and single large records. */
async function populate(url: string): Promise<void> {
  assert.equal((await ask(`${url}/v1/namespaces`, { body: { name: "d" } })).status, 201);
  assert.equal((await ask(`${url}/v1/namespaces/d/streams`, { body: { name: "s", partitions: 3 } })).status, 201);
  const append = async (partition: number, values: string[], key?: string) => {
    const answer = await ask(`${url}${records}/${partition}/records`, {
      body: { records: values.map((value) => ({ value: base64(value) })) },
      ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
    });
    assert.equal(answer.status, 200, answer.text);
    for (const [i, value] of values.entries()) truth[partition]![answer.json.base_offset + i] = value;
  };
  const small = Array.from({ length: 800 }, (_, i) => () => append(0, [`small-${i}-${"s".repeat(150)}`], `key-${i}`));
  await inParallel(32, small);
  for (let i = 0; i < 20; i++) {
    await append(
      1,
      Array.from({ length: 100 }, (_, r) => `batch-${i}-${r}-${"b".repeat(200)}`),
    );
  }
  for (let i = 0; i < 5; i++) await append(2, [`large-${i}-${"l".repeat(100_000)}`]);
}

async function inParallel(width: number, tasks: (() => Promise<void>)[]): Promise<void> {
  const left = [...tasks];
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let task = left.pop(); task !== undefined; task = left.pop()) await task();
    }),
  );
}

/** A copy of the pristine data; the caller damages its file. */
async function copyData(): Promise<{ dataDir: string; file: string }> {
  const dataDir = await mkdtemp(join(folder, "case-"));
  await cp(pristine, dataDir, { recursive: true });
  return { dataDir, file: join(dataDir, "store", "data.mdb") };
}

/** As if nobody had touched the file: what the store noted about it when it closed is made to fit. */
async function hideChange(dataDir: string, file: string): Promise<void> {
  const { size, mtimeNs } = await stat(file, { bigint: true });
  await writeFile(join(dataDir, "store", "closed"), `${size} ${mtimeNs}\n`);
}

async function overwrite(file: string, position: number, patch: Uint8Array): Promise<void> {
  await using handle = await open(file, "r+");
  await handle.write(patch, 0, patch.length, position);
}

function flipped(position: number, length = 1): Buffer {
  return Buffer.from(bytes.subarray(position, position + length).map((byte) => byte ^ 0x41));
}

/** Starts on the data and reads all of it: whatever is served is true, whatever is not says why and what to do. */
async function examine(dataDir: string): Promise<Outcome> {
  let server: ServerProcess;
  try {
    server = await ServerProcess.start({ dataDir });
  } catch (error) {
    return { started: false, refusal: (error as Error).message, damaged: 0, served: 0 };
  }
  await using _ = server;
  const read = await readAll(server.url);
  assert.equal(read.missing, 0, "nothing is left out in silence");
  assert.equal((await ask(`${server.url}/health`)).status, 200);
  return { started: true, refusal: "", ...read };
}

async function readAll(url: string): Promise<{ damaged: number; served: number; missing: number }> {
  const counts = { damaged: 0, served: 0, missing: 0 };
  for (const [partition, values] of truth.entries()) {
    let next = 0;
    while (next < values.length) {
      const answer = await ask(`${url}${records}/${partition}/records?offset=${next}&max_bytes=16777216`);
      const served = answer.status === 200 ? (answer.json.records as { offset: number; value: string }[]) : [];
      for (const record of served) {
        assert.equal(record.offset, next);
        assert(Buffer.from(record.value, "base64").toString() === values[next], `offset ${next} has its true value`);
        next++;
        counts.served++;
      }
      if (served.length > 0) continue;
      if (answer.status === 500) {
        assert.equal(answer.json.error, "internal");
        assert.match(answer.json.message, /restore the data from a backup/);
        counts.damaged++;
      } else counts.missing++;
      // A reader that goes on behind the damage is served what is whole there.
      next += Math.max(1, Math.floor((values.length - next) / 20));
    }
  }
  return counts;
}

/** Every place of some bytes in the file: pages that were replaced keep theirs until they are used again. */
function placesOf(text: string): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) places.push(at);
  assert(places.length > 0, `${text} is stored`);
  return places;
}

/** The batches whose first record has a value: their headers end where a record's fixed part begins. */
function headersOf(value: string): number[] {
  return placesOf(value.slice(0, 60)).map((place) => place - 24 - 72);
}

function bodiesOf(value: string): number[] {
  return placesOf(value.slice(0, 60));
}

async function flipAll(file: string, places: readonly number[], distance: number): Promise<void> {
  for (const place of places) await overwrite(file, place + distance, flipped(place + distance));
}

describe("damage to batches is found when they are read, and nowhere else", () => {
  const cases: readonly [string, () => number[], number][] = [
    ["the body of a small batch", () => bodiesOf(truth[0]![400]!), 20],
    ["the header of a small batch", () => headersOf(truth[0]![401]!), 13],
    ["the checksum of a small batch", () => headersOf(truth[0]![402]!), 5],
    ["the body of a batch on pages of its own", () => bodiesOf(truth[1]![500]!), 9000],
    ["the header of a batch on pages of its own", () => headersOf(truth[1]![600]!), 17],
    ["the body of a large record", () => bodiesOf(truth[2]![2]!), 50_000],
    ["the body of the newest batch", () => bodiesOf(truth[2]![4]!), 70_000],
  ];
  for (const [name, places, distance] of cases) {
    test(name, async () => {
      const { dataDir, file } = await copyData();
      await flipAll(file, places(), distance);
      const { started, damaged, served } = await examine(dataDir);
      assert(started);
      assert(damaged > 0, "the damaged batch is refused");
      assert(served > 0, "the others are served");
    });
  }
});

describe("damage to small values never changes an answer", () => {
  /** Requests that must fail, or give the true answer, after a byte at the given place has changed. */
  async function withDamage(text: string, distance: number, check: (url: string) => Promise<void>): Promise<void> {
    const { dataDir, file } = await copyData();
    await flipAll(file, placesOf(text), distance);
    await using server = await ServerProcess.start({ dataDir });
    await check(server.url);
  }

  test("a stream's description", async () => {
    await withDamage('"partitions":3', 13, async (url) => {
      const answer = await ask(`${url}/v1/namespaces/d/streams/s`);
      assert.equal(answer.status, 500);
      assert.match(answer.json.message, /restore the data from a backup/);
    });
  });

  test("a recorded reply of an idempotency key", async () => {
    // The offset of one reply, found as the digits behind its name.
    const value = truth[0]!.findIndex((each) => each.startsWith("small-7-"));
    await withDamage(`"baseOffset":${value},`, 13, async (url) => {
      const answer = await ask(`${url}${records}/0/records`, {
        headers: { "idempotency-key": "key-7" },
        body: { records: [{ value: base64(truth[0]![value]!) }] },
      });
      assert.equal(answer.status, 500);
      assert.match(answer.json.message, /restore the data from a backup/);
    });
  });

  test("the key under which a batch lies", async () => {
    const { dataDir, file } = await copyData();
    // The low byte of its base offset, the last of the key.
    await flipAll(file, headersOf(truth[0]![300]!), -1);
    const outcome = await examine(dataDir);
    assert(!outcome.started || outcome.damaged > 0);
  });
});

describe("a file that is no store any more is refused at the start", () => {
  const refusal = /can't be opened .*restore it from a backup, or move it away/;
  const newestMeta = () => (bytes.readUInt32LE(24 + 128) > bytes.readUInt32LE(pageBytes + 24 + 128) ? 0 : pageBytes);
  const cases: readonly [string, (file: string) => Promise<void>][] = [
    ["cut off in the middle", (file) => truncate(file, Math.floor(bytes.length / 2 / pageBytes) * pageBytes)],
    ["cut off in its meta pages", (file) => truncate(file, 5000)],
    ["empty", (file) => truncate(file, 0)],
    ["gone", (file) => rename(file, `${file}.elsewhere`)],
    ["a text", (file) => writeFile(file, "This is no store.\n".repeat(1000))],
    ["noise", (file) => writeFile(file, noise(1_000_000))],
    ["zeroes", (file) => writeFile(file, Buffer.alloc(1_000_000))],
    ["without its first magic number", (file) => overwrite(file, 24, flipped(24, 4))],
    ["with a root outside the file", (file) => overwrite(file, newestMeta() + 24 + 72 + 42, Buffer.from([7]))],
    ["with a root that is no page of a tree", (file) => overwrite(file, newestMeta() + 24 + 72 + 40, Buffer.from([1]))],
  ];
  for (const [name, damage] of cases) {
    test(name, async () => {
      const { dataDir, file } = await copyData();
      await damage(file);
      const outcome = await examine(dataDir);
      assert(!outcome.started, "the start is refused");
      assert.match(outcome.refusal, refusal);
      assert.throws(() => new LmdbStore(join(dataDir, "store"), { exclusive: true }), refusal, "and again");
    });
  }

  test("a format version of a newer build is refused, and named", async () => {
    const { dataDir } = await copyData();
    const store = new LmdbStore(join(dataDir, "store"));
    await store.commit([{ kind: "put", key: Buffer.from([0]), value: Buffer.from('{"version":99}') }]);
    await store.close();
    const { started, refusal } = await examine(dataDir);
    assert(!started);
    assert.match(refusal, /format version 99; this build reads up to \d+: start it with a newer build/);
  });
});

function noise(length: number): Buffer {
  const random = new SeededRandom(3);
  return Buffer.from(Array.from({ length }, () => random.between(0, 255)));
}

/**
 * Proves: whatever bytes changed while the server was down, noticed or not by the file's time of change, the start is
 * refused or every read gives the truth or an error. The process does not die of it.
 */
describe(`random damage before the start, ${rounds} places`, () => {
  const random = SeededRandom.fromEnvironment();
  for (let round = 0; round < rounds; round++) {
    const { seed } = random.fork();
    const hidden = round % 2 === 1;
    test(`${hidden ? "hidden" : "plain"}, FAULT_SEED=${random.seed}, place ${round}`, async (t) => {
      const { dataDir, file } = await copyData();
      t.diagnostic(await damageSomewhere(file, new SeededRandom(seed)));
      if (hidden) await hideChange(dataDir, file);
      const outcome = await examine(dataDir);
      t.diagnostic(outcome.started ? `${outcome.damaged} refused reads` : "refused to start");
      if (!outcome.started) assert.match(outcome.refusal, /restore/);
    });
  }
});

/**
 * Proves: bytes that change under a running server never make it serve a wrong value. LMDB may end the process over
 * them; then the next start is refused, or all is as above: no loop of crashes.
 */
describe(`random damage under a running server, ${Math.ceil(rounds / 2)} places`, () => {
  const random = SeededRandom.fromEnvironment();
  for (let round = 0; round < Math.ceil(rounds / 2); round++) {
    const { seed } = random.fork();
    test(`FAULT_SEED=${random.seed}, place ${round}`, async (t) => {
      const { dataDir, file } = await copyData();
      await using server = await ServerProcess.start({ dataDir });
      t.diagnostic(await damageSomewhere(file, new SeededRandom(seed)));
      try {
        const { damaged, missing } = await readAll(server.url);
        t.diagnostic(`${damaged} refused reads, ${missing} without an answer`);
      } catch (error) {
        t.diagnostic(server.logs.at(-1) ?? "");
        if (error instanceof assert.AssertionError) throw error;
        t.diagnostic("the process ended");
      }
      await server.kill();
      const { started, refusal } = await examine(dataDir);
      if (!started) assert.match(refusal, /restore/);
    });
  }
});

async function damageSomewhere(file: string, random: SeededRandom): Promise<string> {
  const pages = bytes.length / pageBytes;
  // Half of the places are pages of the tree, which are few among the pages of large values.
  const tree = Array.from({ length: pages }, (_, page) => page).filter((page) => {
    const flags = bytes.readUInt16LE(page * pageBytes + 18);
    return page < 2 || (bytes.readUInt32LE(page * pageBytes) === page && (flags === 1 || flags === 2));
  });
  const page = random.chance(0.7) ? random.pick(tree) : random.between(0, pages - 1);
  const kind = random.pick(["bytes", "bytes", "bytes", "zeroed", "copied"] as const);
  if (kind === "zeroed") await overwrite(file, page * pageBytes, Buffer.alloc(pageBytes));
  if (kind === "copied") {
    const other = random.pick(tree) * pageBytes;
    await overwrite(file, page * pageBytes, bytes.subarray(other, other + pageBytes));
  }
  if (kind === "bytes") {
    // The first bytes of a page steer how the rest of it is read.
    const start = random.chance(0.5) ? random.between(0, 80) : random.between(0, pageBytes - 64);
    const length = random.between(1, 16);
    await overwrite(file, page * pageBytes + start, noiseOf(random, length));
    return `${length} bytes at ${start} of page ${page}`;
  }
  return `page ${page} ${kind}`;
}

function noiseOf(random: SeededRandom, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.between(0, 255)));
}
