import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder } from "../test/support/process.ts";
import type { LoadPlan, LoadResult } from "./support/load-plan.ts";
import { median, runLoad, startBareServer, syncMs } from "./support/peers.ts";
import { printTable, type Row } from "./support/table.ts";

const latencyRounds = 9;
const rounds = 11;
const timing = { durationMs: 1_500, warmUpMs: 1_000 };
const value = Buffer.alloc(200, "v").toString("base64");

type Requests = LoadPlan["requests"];

function port(url: string): number {
  return Number(new URL(url).port);
}

function recordsPath(stream: string, partition: number): string {
  return `/v1/namespaces/bench/streams/${stream}/partitions/${partition}/records`;
}

function appends(path: string, records: number): Requests {
  return [
    { method: "POST", path, body: JSON.stringify({ records: Array.from({ length: records }, () => ({ value })) }) },
  ];
}

function latency({ p50Ms, p99Ms }: LoadResult): string {
  return `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
}

function rate(results: readonly LoadResult[]): string {
  const middle = results.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(results.length / 2)]!;
  return `${Math.round(middle.perSecond)}/s (${latency(middle)})`;
}

/**
 * Runs two loads by turns, the peer's first and last. Each of ours is compared with the mean of the peer's before and after it, and the ratio is the
 * middle one of all: a shared machine is faster in one minute than in the next, so only loads that follow on each other can be compared.
 */
async function compare(
  what: string,
  atLeast: number,
  connections: number,
  ours: { port: number; requests: Requests },
  peer: { port: number; requests: Requests },
): Promise<Row> {
  const results: { ours: LoadResult[]; peer: LoadResult[] } = { ours: [], peer: [] };
  results.peer.push(await runLoad({ ...timing, ...peer, connections }));
  for (let round = 0; round < rounds; round++) {
    results.ours.push(await runLoad({ ...timing, ...ours, connections }));
    results.peer.push(await runLoad({ ...timing, ...peer, connections }));
  }
  const peerRates = results.peer.map(({ perSecond }) => perSecond);
  const ratios = results.ours.map(({ perSecond }, i) => (2 * perSecond) / (peerRates[i]! + peerRates[i + 1]!));
  return { what, ours: rate(results.ours), peer: rate(results.peer), ratio: median(ratios), bound: { atLeast } };
}

async function createStream(url: string, name: string, partitions: number): Promise<void> {
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

async function measurePartitions(server: ServerProcess, rows: Row[]): Promise<void> {
  const many: { method: string; path: string; body?: string }[] = [];
  for (let stream = 0; stream < 100; stream++) {
    await createStream(server.url, `many-${stream}`, 100);
    for (let partition = 0; partition < 100; partition++) {
      many.push(...appends(recordsPath(`many-${stream}`, partition), 1));
    }
  }
  // Spread over the streams instead of walking them in order.
  const spread = many.map((_, i) => many[(i * 7_919) % many.length]!);
  const target = port(server.url);
  const ours = { port: target, requests: spread };
  // As many texts as the others, so that the load itself costs the same.
  const one = { port: target, requests: many.flatMap(() => appends(recordsPath("one", 0), 1)) };
  rows.push(await compare("appends over 10,000 partitions against one partition, 64 connections", 0.8, 64, ours, one));
}

/** Fills a store to about 5 GB, then times its start. */
async function measureStart(folder: string, rows: Row[], gigabytes: number): Promise<void> {
  const dataDir = join(folder, "large");
  mkdirSync(dataDir);
  const filled = await ServerProcess.start({ dataDir });
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
  const startedMs = performance.now();
  await using server = await ServerProcess.start({ dataDir });
  await ask(`${server.url}/ready`);
  const seconds = (performance.now() - startedMs) / 1000;
  const metrics = await ask(`${server.url}/metrics`);
  const resident = Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics.text)?.[1]) / 1024 / 1024;
  rows.push({
    what: `start on a store of ${gigabytes} GB, process launch included (resident ${Math.round(resident)} MB)`,
    ours: `${seconds.toFixed(2)} s`,
    peer: "2 s",
    ratio: seconds / 2,
    bound: { atMost: 1 },
  });
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
    if (!argv.includes("--no-start")) await measureStart(folder, rows, 5);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  printTable("streams", rows);
}
