import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder, thisBuild } from "../test/support/process.ts";
import { compare, latency } from "./support/by-turns.ts";
import type { LoadPlan, LoadRequest } from "./support/load-plan.ts";
import { median, runLoad, startBareServer, syncMs } from "./support/peers.ts";
import { printTable, type Row } from "./support/table.ts";

const latencyRounds = 9;
/** Before the process is killed. */
const loadedMs = 5_000;
const value = Buffer.alloc(200, "v").toString("base64");

type Requests = LoadPlan["requests"];

export function port(url: string): number {
  return Number(new URL(url).port);
}

export function recordsPath(stream: string, partition: number): string {
  return `/v1/namespaces/bench/streams/${stream}/partitions/${partition}/records`;
}

export function appends(path: string, records: number): [LoadRequest] {
  return [
    { method: "POST", path, body: JSON.stringify({ records: Array.from({ length: records }, () => ({ value })) }) },
  ];
}

export async function createStream(url: string, name: string, partitions: number): Promise<void> {
  const { status, text } = await ask(`${url}/v1/namespaces/bench/streams`, { body: { name, partitions } });
  if (status !== 201) throw new Error(text);
}

const answerBytes = 90;

async function measureAppends(server: ServerProcess, rows: Row[]): Promise<void> {
  await using bare = await startBareServer(answerBytes);
  const target = port(server.url);
  const path = recordsPath("one", 0);
  for (const [what, records, connections, atLeast] of [
    ["append of one 200-byte record, 64 connections", 1, 64, 0.6],
    ["append of 100 records, 16 connections", 100, 16, 0.5],
  ] as const) {
    const requests = appends(path, records);
    rows.push(await compare(what, atLeast, connections, { port: target, requests }, { port: bare.port, requests }));
  }
}

async function measureLatency(server: ServerProcess, folder: string, rows: Row[]): Promise<void> {
  await using bare = await startBareServer(answerBytes);
  const requests = appends(recordsPath("one", 0), 1);
  const differences: { ours: number; bare: number; sync: number }[] = [];
  let text = "";
  // Short and many: how long a sync takes differs more between two minutes than between two servers.
  for (let round = 0; round < latencyRounds; round++) {
    const before = syncMs(folder);
    const ours = await runLoad({ warmUpMs: 300, durationMs: 700, port: port(server.url), requests, connections: 1 });
    const sync = (before + syncMs(folder)) / 2;
    const peer = await runLoad({ warmUpMs: 300, durationMs: 700, port: bare.port, requests, connections: 1 });
    text = latency(ours);
    differences.push({ ours: ours.p50Ms, bare: peer.p50Ms, sync });
  }
  const allowed = differences.map(({ bare: base, sync }) => base + 2 * sync);
  const ratios = differences.map(({ ours }, i) => ours / allowed[i]!);
  const middle = differences.at(-1)!;
  rows.push({
    what: "one client's append latency against bare + 2 fdatasync (p50)",
    ours: text,
    peer: `bare ${middle.bare.toFixed(3)} ms + 2 × ${middle.sync.toFixed(3)} ms`,
    ratio: median(ratios),
    bound: { atMost: 1 },
  });
}

async function measureFetch(server: ServerProcess, rows: Row[]): Promise<void> {
  await createStream(server.url, "pages", 1);
  const path = recordsPath("pages", 0);
  const body = { records: Array.from({ length: 100 }, () => ({ value })) };
  for (let i = 0; i < 100; i++) await ask(`${server.url}${path}`, { body });
  const pagePath = `${path}?offset=0`;
  const page = await ask(`${server.url}${pagePath}`);
  await using bare = await startBareServer(Buffer.byteLength(page.text));
  const requests = [{ method: "GET", path: pagePath }];
  const ours = { port: port(server.url), requests };
  rows.push(await compare("fetch of 1 MiB pages, 4 connections", 0.4, 4, ours, { port: bare.port, requests }));
}

/** Single appends over 10,000 partitions, spread over the streams instead of walking them in order. */
export async function manyPartitions(url: string): Promise<Requests> {
  const many: LoadRequest[] = [];
  for (let stream = 0; stream < 100; stream++) {
    await createStream(url, `many-${stream}`, 100);
    for (let partition = 0; partition < 100; partition++) {
      many.push(...appends(recordsPath(`many-${stream}`, partition), 1));
    }
  }
  return many.map((_, i) => many[(i * 7_919) % many.length]!);
}

async function measurePartitions(server: ServerProcess, rows: Row[]): Promise<void> {
  const target = port(server.url);
  const ours = { port: target, requests: await manyPartitions(server.url) };
  // As many texts as the others, so that the load itself costs the same.
  const one = { port: target, requests: ours.requests.flatMap(() => appends(recordsPath("one", 0), 1)) };
  rows.push(await compare("appends over 10,000 partitions against one partition, 64 connections", 0.8, 64, ours, one));
}

async function timedStart(build: string, dataDir: string, what: string, secondsMax: number): Promise<Row> {
  const startedMs = performance.now();
  await using server = await ServerProcess.start({ build, dataDir });
  await ask(`${server.url}/ready`);
  const seconds = (performance.now() - startedMs) / 1000;
  const metrics = await ask(`${server.url}/metrics`);
  const resident = Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics.text)?.[1]) / 1024 / 1024;
  await server.stop();
  return {
    what: `start on ${what}, process launch included (resident ${Math.round(resident)} MB)`,
    ours: `${seconds.toFixed(2)} s`,
    peer: `${secondsMax} s`,
    ratio: seconds / secondsMax,
    bound: { atMost: 1 },
  };
}

/** Fills a store, then times its start after a clean stop, and after a kill under load. */
export async function measureStart(folder: string, gigabytes: number, build = thisBuild): Promise<Row[]> {
  const dataDir = join(folder, "large");
  mkdirSync(dataDir);
  const filled = await ServerProcess.start({ build, dataDir });
  await ask(`${filled.url}/v1/namespaces`, { body: { name: "bench" } });
  await createStream(filled.url, "large", 16);
  const blob = Buffer.alloc(8 * 1024 * 1024, "x").toString("base64");
  const count = Math.round((gigabytes * 1024) / 8);
  for (let i = 0; i < count; i++) {
    const { status, text } = await ask(`${filled.url}${recordsPath("large", i % 16)}`, {
      body: { records: [{ value: blob }] },
    });
    if (status !== 200) throw new Error(text);
  }
  await filled.stop();
  const stopped = await timedStart(build, dataDir, `a store of ${gigabytes} GB after a clean stop`, 2);
  await using loaded = await ServerProcess.start({ build, dataDir });
  const clients = Array.from({ length: 64 }, async (_, i) => {
    const [{ path, body }] = appends(recordsPath("large", i % 16), 1);
    while ((await ask(`${loaded.url}${path}`, { body })).status === 200);
  });
  const ended = Promise.allSettled(clients);
  await sleep(loadedMs);
  await loaded.kill();
  await ended;
  return [stopped, await timedStart(build, dataDir, `the same after kill -9 under load`, 4)];
}

export async function benchStreams(argv: readonly string[]): Promise<void> {
  const folder = await temporaryFolder();
  const rows: Row[] = [];
  try {
    {
      await using server = await ServerProcess.start({ dataDir: join(folder, "data") });
      await ask(`${server.url}/v1/namespaces`, { body: { name: "bench" } });
      await createStream(server.url, "one", 1);
      await measureAppends(server, rows);
      await measureLatency(server, folder, rows);
      await measureFetch(server, rows);
      await measurePartitions(server, rows);
    }
    if (!argv.includes("--no-start")) rows.push(...(await measureStart(folder, 5)));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  printTable("streams", rows);
}
