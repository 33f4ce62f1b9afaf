import { rmSync } from "node:fs";
import { join } from "node:path";
import { LmdbStore } from "../src/adapter/lmdb/store.ts";
import { NodeClock } from "../src/adapter/node/clock.ts";
import { Committer } from "../src/engine/commit/committer.ts";
import { Log } from "../src/engine/log/log.ts";
import { encodeBatch } from "../src/engine/log/record-batch.ts";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder } from "../test/support/process.ts";
import { cpuSeconds } from "./support/cpu.ts";
import { median } from "./support/peers.ts";
import { printTable, type Row } from "./support/table.ts";

const rounds = 3;
const records = 1_000_000;
const batchRecords = 100;
const distinctKeys = 1_000;
const perSecondMin = 200_000;
const shareMin = 0.5;
/** Filled without a server: what is measured is the reading. */
async function fill(dataDir: string): Promise<number> {
  const id = await createStream(dataDir);
  const store = new LmdbStore(join(dataDir, "store"));
  const clock = new NodeClock();
  const log = new Log(store, clock);
  const committer = new Committer({ store, clock, queueBytesMax: 2 ** 26, groupBytesMax: 2 ** 25 });
  const stream = { id, partitions: 1, retention: undefined };
  const value = Buffer.from("1");
  for (let first = 0; first < records; ) {
    const group: Promise<unknown>[] = [];
    for (; group.length < 64 && first < records; first += batchRecords) {
      const keys = Array.from({ length: batchRecords }, (_, i) => Buffer.from(`key-${(first + i) % distinctKeys}`));
      const batch = encodeBatch(
        keys.map((key) => ({ key, value })),
        clock.nowMs(),
      );
      group.push(committer.submit((draft) => log.stageAppend(draft, stream, 0, batch)));
    }
    await Promise.all(group);
  }
  await committer.close();
  await store.close();
  return id;
}

async function createStream(dataDir: string): Promise<number> {
  await using server = await ServerProcess.start({ dataDir });
  await ask(`${server.url}/v1/namespaces`, { body: { name: "bench" } });
  const made = await ask(`${server.url}/v1/namespaces/bench/streams`, { body: { name: "backlog" } });
  if (made.status !== 201) throw new Error(made.text);
  await server.stop();
  return made.json.id as number;
}

/** The peer: reads the same batches by the same code and sums them, and does nothing else. */
async function bareLoop(dataDir: string, stream: number): Promise<number> {
  const store = new LmdbStore(join(dataDir, "store"));
  const log = new Log(store, new NodeClock());
  const startedMs = performance.now();
  const sums = new Map<string, number>();
  for (const batch of log.read({ id: stream, partitions: 1, retention: undefined }, 0, 0)) {
    while (batch.next()) {
      const key = batch.bytes.latin1Slice(batch.keyStart, batch.keyStart + batch.keyLength);
      let amount = 0;
      for (let i = 0; i < batch.valueLength; i++) amount = amount * 10 + batch.bytes[batch.valueStart + i]! - 0x30;
      sums.set(key, (sums.get(key) ?? 0) + amount);
    }
  }
  const ms = performance.now() - startedMs;
  await store.close();
  let total = 0;
  for (const sum of sums.values()) total += sum;
  if (total !== records) throw new Error(`the bare loop counted ${total}`);
  return (records * 1000) / ms;
}

interface Drained {
  readonly perSecond: number;
  readonly cpuSeconds: number;
  /** The longest that a small request took meanwhile. */
  readonly slowestMs: number;
}

async function drain(dataDir: string, name: string): Promise<Drained> {
  await using server = await ServerProcess.start({ dataDir });
  const links = `${server.url}/v1/namespaces/bench/links`;
  const cpuBefore = cpuSeconds(server.child.pid!);
  const startedMs = performance.now();
  const made = await ask(links, { body: { name, source: "backlog" } });
  if (made.status !== 201) throw new Error(made.text);
  let over = false;
  const probe = probeHealth(server.url, () => over);
  for (;;) {
    // Waits by itself for the link to catch up, so this is no busy polling.
    const { json } = await ask(`${links}/${name}`);
    if (json.lag[0].records > 0) continue;
    const ms = performance.now() - startedMs;
    const used = cpuSeconds(server.child.pid!) - cpuBefore;
    over = true;
    const total = Object.values<number>(json.counters).reduce((sum, each) => sum + each, 0);
    if (total !== records) throw new Error(`the link counted ${total}`);
    const slowestMs = await probe;
    await server.stop();
    return { perSecond: (records * 1000) / ms, cpuSeconds: used, slowestMs };
  }
}

async function probeHealth(url: string, isOver: () => boolean): Promise<number> {
  let slowestMs = 0;
  while (!isOver()) {
    const startedMs = performance.now();
    await ask(`${url}/health`);
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return slowestMs;
}

export async function benchLinks(): Promise<void> {
  const dataDir = await temporaryFolder();
  const rows: Row[] = [];
  try {
    const stream = await fill(dataDir);
    const bare: number[] = [];
    const drained: Drained[] = [];
    for (let round = 0; round < rounds; round++) {
      bare.push(await bareLoop(dataDir, stream));
      drained.push(await drain(dataDir, `link-${round}`));
    }
    const ours = median(drained.map(({ perSecond }) => perSecond));
    const peer = median(bare);
    const cpu = median(drained.map((each) => each.cpuSeconds));
    const slowest = Math.max(...drained.map(({ slowestMs }) => slowestMs));
    rows.push({
      what: `a counter link drains a million records (${cpu.toFixed(2)} s of processor; /health took up to ${slowest.toFixed(0)} ms)`,
      ours: `${Math.round(ours)} records/s`,
      peer: `bare loop ${Math.round(peer)} records/s; enough is ${Math.min(perSecondMin, Math.round(peer * shareMin))}`,
      ratio: ours / Math.min(perSecondMin, peer * shareMin),
      bound: { atLeast: 1 },
    });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
  printTable("links", rows);
}
