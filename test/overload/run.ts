import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { partitions, recordsEach } from "./ledger.ts";
import type { Counts, LoadOrder, LoadReport, Verified } from "./messages.ts";
import { dimension, documentId, documentOf, documentsEach } from "./operations.ts";
import type { PestReport } from "./pests.ts";
import { type HealthFigures, HealthWatch, quantile, ResidentWatch } from "./probes.ts";
import { sumCounts } from "./tally.ts";

const MiB = 1024 * 1024;
const processes = 2;
/** One namespace with most of the load, and one whose users must not suffer for it. */
const namespaces = [
  { name: "busy", share: 9 },
  { name: "calm", share: 1 },
] as const;

/** What the server may use in this run; the defaults are for larger machines. */
const serverSettings = {
  SERVICE_SQL_MEMORY_BYTES: String(256 * MiB),
  SERVICE_SQL_TIME: "10s",
};

/**
 * The bound on what the process holds for itself: 400 MiB for the process and its threads with what it serves loaded,
 * and every queue and cache at its limit: SQL of two namespaces (2 × 256), bodies (128), waiting for the sync (64), pages
 * as text (32), unsealed tails (256), 32 KiB for each of 14,000 connections (440), slow readers' pieces (64).
 */
export const anonymousBytesMax = 1_900 * MiB;
/** A leak shows as growth from the first half of a long run to the second. */
const growthFactorMax = 1.3;
const growthBytesSpare = 64 * MiB;
/** Long enough for a leak to show above the noise. */
const growthLookMs = 5 * 60_000;
/** No class of requests of either namespace may go without an answer for this long. */
const windowMs = 60_000;
/** Back to a few times the latency before the load, within this time after it. */
const recoveryFactor = 5;
const recoverySpareMs = 5;
const recoveryMsMax = 60_000;
const catchUpMsMax = 10 * 60_000;
const overloadFactor = 2;
const connectionsWanted = 10_000;

export interface OverloadOptions {
  readonly loadMs: number;
  readonly rampStepMs: number;
  readonly say: (line: string) => void;
}

export interface OverloadFigures {
  readonly capacityPerSecond: number;
  readonly offeredPerSecond: number;
  readonly loadSeconds: number;
  readonly counts: Counts;
  readonly pests: PestReport;
  readonly health: HealthFigures;
  readonly verified: Omit<Verified, "lost">;
  readonly counted: number;
  readonly idleMs: number;
  readonly recoveredMs: number;
  readonly recoverySeconds: number;
  readonly anonymousMiB: {
    readonly before: number;
    readonly peak: number;
    readonly bound: number;
    readonly after: number;
  };
  /** What the server counts itself: connections by what became of them, and the longest turn of its event loop. */
  readonly told: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
}

class LoadProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;
  readonly windows: Readonly<Record<string, number>>[] = [];

  constructor() {
    this.#child = fork(new URL("./load-process.ts", import.meta.url), {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#ended = once(this.#child, "exit").then(([code]) => {
      throw new Error(`a load process ended with ${code}`);
    });
    this.#ended.catch(() => {});
    this.#child.on("message", (report: LoadReport) => {
      if (report.kind === "window") this.windows.push(report.ok);
    });
  }

  async order<K extends LoadReport["kind"]>(order: LoadOrder, answer: K): Promise<Extract<LoadReport, { kind: K }>> {
    this.#child.send(order);
    for (;;) {
      const [report] = await Promise.race([once(this.#child, "message") as Promise<[LoadReport]>, this.#ended]);
      if (report.kind === answer) return report as Extract<LoadReport, { kind: K }>;
    }
  }

  end(): void {
    this.#child.kill("SIGKILL");
  }
}

export async function runOverload({ loadMs, rampStepMs, say }: OverloadOptions): Promise<OverloadFigures> {
  await using server = await ServerProcess.start({ env: serverSettings });
  await using cleanUp = new AsyncDisposableStack();
  await setUp(server.url);
  const loads = Array.from({ length: processes }, () => {
    const load = new LoadProcess();
    cleanUp.defer(() => load.end());
    return load;
  });
  const { url, postgres } = server;
  await Promise.all(
    loads.map((load, process) => load.order({ kind: "aim", target: { url, postgres, namespaces, process } }, "ready")),
  );
  const memory = new ResidentWatch(server.child.pid!, 500);
  cleanUp.defer(() => memory.stop());
  const idleMs = await latency(url);
  say(`idle: a round of requests takes ${idleMs.toFixed(1)} ms`);
  const failures: string[] = [];
  const capacityPerSecond = await ramp(loads, rampStepMs, say, failures);
  const before = memory.look().anonymousBytes;
  const offeredPerSecond = capacityPerSecond * overloadFactor;
  const { pests, stopPests } = startPests(url);
  cleanUp.defer(() => void pests.kill("SIGKILL"));
  const stopPolls = feedPolls(url);
  const health = new HealthWatch(url, server.child.pid!);
  say(
    `load: ${Math.round(offeredPerSecond)} requests/s for ${loadMs / 1000} s, capacity ${Math.round(capacityPerSecond)}`,
  );
  const startedMs = performance.now();
  const open = { kind: "open", perSecond: offeredPerSecond / processes, ms: loadMs, windowMs } as const;
  const done = await Promise.all(loads.map((load) => load.order(open, "done")));
  const endedMs = performance.now();
  const pestReport = await stopPests();
  const recovery = await recover(url, idleMs, endedMs);
  const healthFigures = await health.finish();
  stopPolls();
  say(`recovered in ${(recovery.tookMs / 1000).toFixed(1)} s: a round takes ${recovery.ms.toFixed(1)} ms`);
  const counts = sumCounts(done.map((each) => each.counts));
  judgeCounts({ ...counts, ...pestReport.counts }, failures);
  judgeProgress(loads, counts, failures);
  judgeMemory(memory, startedMs, endedMs, failures);
  if (healthFigures.failed.length > 0) failures.push(`health: ${healthFigures.failed.join("; ")}`);
  if (recovery.ms > limitOf(idleMs)) failures.push(`a round takes ${recovery.ms} ms after the load, ${idleMs} before`);
  const verified: Verified[] = [];
  for (const load of loads) verified.push((await load.order({ kind: "verify" }, "verified")).verified);
  for (const { lost } of verified) failures.push(...lost.map((each) => `lost: ${each}`));
  const counted = await checkLinks(url, verified, failures);
  if (server.child.exitCode !== null) failures.push(`the server ended with ${server.child.exitCode}`);
  const after = memory.look().anonymousBytes;
  const inMiB = (bytes: number) => Math.round(bytes / MiB);
  const sum = (key: "appends" | "events" | "documents") => verified.reduce((all, one) => all + one[key], 0);
  return {
    capacityPerSecond: Math.round(capacityPerSecond),
    offeredPerSecond: Math.round(offeredPerSecond),
    loadSeconds: Math.round((endedMs - startedMs) / 1000),
    counts,
    pests: pestReport,
    health: healthFigures,
    verified: { appends: sum("appends"), events: sum("events"), documents: sum("documents") },
    counted,
    idleMs,
    recoveredMs: recovery.ms,
    recoverySeconds: recovery.tookMs / 1000,
    anonymousMiB: {
      before: inMiB(before),
      peak: inMiB(memory.peak(startedMs, endedMs).anonymousBytes),
      bound: inMiB(anonymousBytesMax),
      after: inMiB(after),
    },
    told: await toldByServer(url),
    failures,
  };
}

async function toldByServer(url: string): Promise<Record<string, number>> {
  const { text } = await ask(`${url}/metrics`);
  const told = /^(service_wire_connections_total\{.*\}|service_log_sync_failures_total) (\S+)$/gm;
  return Object.fromEntries([...text.matchAll(told)].map(([, name, value]) => [name!, Number(value)]));
}

async function setUp(url: string): Promise<void> {
  const schema = {
    fields: [
      { name: "title", kind: "text" },
      { name: "tag", kind: "keyword", fast: true },
      { name: "n", kind: "i64" },
    ],
    vectors: [{ name: "v", dim: dimension, distance: "cosine" }],
  };
  const made = async (path: string, body: unknown, status: number) => {
    const answer = await ask(`${url}/v1/namespaces${path}`, { body });
    assert.equal(answer.status, status, `${path}: ${answer.text}`);
  };
  for (const { name } of namespaces) {
    await made("", { name }, 201);
    await made(`/${name}/streams`, { name: "s", partitions }, 201);
    await made(`/${name}/streams`, { name: "e", partitions: 2 }, 201);
    await made(`/${name}/streams`, { name: "quiet" }, 201);
    await made(`/${name}/streams`, { name: "probe" }, 201);
    await made(`/${name}/collections`, { name: "c", schema }, 200);
    await made(`/${name}/links`, { name: "count", source: "s", options: { amount: "one" } }, 201);
    // Stuck for the whole run: there is no such collection.
    await made(`/${name}/links`, { name: "stuck", source: "s", target: { kind: "collection", name: "none" } }, 201);
    for (let process = 0; process < processes; process++) {
      for (let k = 0; k < documentsEach; k += 500) {
        const ops = Array.from({ length: 500 }, (_, i) => ({ upsert: documentOf(documentId(process, k + i), 0) }));
        await made(`/${name}/collections/c/documents`, { ops }, 200);
      }
    }
  }
}

/** The median time of a round of requests, one after another: an append, a fetch, a query and a statement. */
async function latency(url: string): Promise<number> {
  const root = `${url}/v1/namespaces/calm`;
  const times: number[] = [];
  for (let i = 0; i < 25; i++) {
    const startMs = performance.now();
    const answers = [
      await ask(`${root}/streams/probe/partitions/0/records`, { body: { records: [{ value: base64("probe") }] } }),
      await ask(`${root}/streams/probe/partitions/0/records?offset=0&max_bytes=1000`),
      await ask(`${root}/query`, {
        body: { from: "collections.c", retrieve: [{ text: { field: "title", query: "log", k: 10 } }] },
      }),
      await ask(`${root}/sql`, { body: { query: "SELECT count(*) AS n FROM collections.c" } }),
    ];
    if (answers.every(({ status }) => status === 200)) times.push(performance.now() - startMs);
    else times.push(Infinity);
  }
  return quantile(
    times.toSorted((a, b) => a - b),
    0.5,
  );
}

/** More and more clients that each wait for their answers, until more of them bring no more answers. */
async function ramp(
  loads: readonly LoadProcess[],
  stepMs: number,
  say: (line: string) => void,
  failures: string[],
): Promise<number> {
  let best = 0;
  for (let clients = 8; clients <= 256; clients *= 2) {
    const startMs = performance.now();
    const order = { kind: "closed", clients: clients / processes, ms: stepMs } as const;
    const done = await Promise.all(loads.map((load) => load.order(order, "done")));
    const counts = sumCounts(done.map((each) => each.counts));
    judgeCounts(counts, failures);
    const answered = Object.values(counts).reduce((sum, { ok }) => sum + ok, 0);
    const perSecond = (answered * 1000) / (performance.now() - startMs);
    say(`ramp: ${clients} clients, ${Math.round(perSecond)} requests/s`);
    if (clients > 32 && perSecond < best * 1.05) return Math.max(best, perSecond);
    best = Math.max(best, perSecond);
  }
  return best;
}

function startPests(url: string): { pests: ChildProcess; stopPests: () => Promise<PestReport> } {
  const pests = fork(new URL("./pests.ts", import.meta.url), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  pests.send({ url, namespace: namespaces[0].name, connections: Math.min(connectionsWanted, connectionsPossible()) });
  const stopPests = async () => {
    pests.send("stop");
    const [report] = (await once(pests, "message")) as [PestReport];
    return report;
  };
  return { pests, stopPests };
}

/** The server has a descriptor for each connection, and the load and its files need some too. */
function connectionsPossible(): number {
  const files = /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return Math.max(500, Number(files?.[1] ?? 4_096) - 6_000);
}

/** A record now and then for those who wait for it. */
function feedPolls(url: string): () => void {
  const timer = setInterval(() => {
    for (const { name } of namespaces) {
      const records = `${url}/v1/namespaces/${name}/streams/quiet/partitions/0/records`;
      ask(records, { body: { records: [{ value: "" }] } }).catch(() => {});
    }
  }, 5_000);
  return () => clearInterval(timer);
}

function limitOf(idleMs: number): number {
  return idleMs * recoveryFactor + recoverySpareMs;
}

async function recover(url: string, idleMs: number, endedMs: number): Promise<{ ms: number; tookMs: number }> {
  for (;;) {
    const ms = await latency(url);
    const tookMs = performance.now() - endedMs;
    if (ms <= limitOf(idleMs) || tookMs > recoveryMsMax) return { ms, tookMs };
    await delay(100);
  }
}

function judgeCounts(counts: Counts, failures: string[]): void {
  for (const [name, { wrong, samples }] of Object.entries(counts)) {
    if (wrong > 0) failures.push(`${name}: ${wrong} wrong answers, as ${samples.join(" | ")}`);
  }
}

/** Every class of each namespace is served in every window. */
function judgeProgress(loads: readonly LoadProcess[], counts: Counts, failures: string[]): void {
  for (const [name, { sent, ok }] of Object.entries(counts)) {
    if (sent > 0 && ok === 0) failures.push(`${name} starved`);
  }
  const windows = Math.min(...loads.map((load) => load.windows.length));
  for (let i = 0; i < windows; i++) {
    const served = new Map<string, number>();
    for (const { windows } of loads) {
      for (const [name, ok] of Object.entries(windows[i]!)) served.set(name, (served.get(name) ?? 0) + ok);
    }
    for (const [name, ok] of served) {
      if (ok === 0 && !name.startsWith("long poll")) failures.push(`${name} starved in window ${i + 1}`);
    }
  }
}

function judgeMemory(memory: ResidentWatch, startedMs: number, endedMs: number, failures: string[]): void {
  const peak = memory.peak(startedMs, endedMs).anonymousBytes;
  if (peak > anonymousBytesMax) failures.push(`memory: ${Math.round(peak / MiB)} MiB at the most`);
  if (endedMs - startedMs < growthLookMs) return;
  const middleMs = (startedMs + endedMs) / 2;
  const first = memory.peak(startedMs, middleMs).anonymousBytes;
  const second = memory.peak(middleMs, endedMs).anonymousBytes;
  if (second > first * growthFactorMax + growthBytesSpare) {
    failures.push(`memory grew from ${Math.round(first / MiB)} MiB in the first half to ${Math.round(second / MiB)}`);
  }
}

/** Every record of the stream is counted once; the stuck link says why it is stuck. */
async function checkLinks(url: string, verified: readonly Verified[], failures: string[]): Promise<number> {
  let counted = 0;
  for (const { name } of namespaces) {
    const root = `${url}/v1/namespaces/${name}`;
    const { json: stream } = await ask(`${root}/streams/s`);
    const records = (stream.partitions as { high_watermark: number }[]).reduce(
      (sum, each) => sum + each.high_watermark,
      0,
    );
    const startMs = performance.now();
    for (;;) {
      const { json: link } = await ask(`${root}/links/count`);
      const lag = (link.lag as { records: number }[]).reduce((sum, each) => sum + each.records, 0);
      if (lag > 0 && performance.now() - startMs < catchUpMsMax) {
        await delay(500);
        continue;
      }
      const sum = Object.values(link.counters as Record<string, number>).reduce((all, each) => all + each, 0);
      if (sum !== records) failures.push(`${name}: ${sum} of ${records} records are counted`);
      counted += sum;
      break;
    }
    const { json: stuck } = await ask(`${root}/links/stuck`);
    if (typeof stuck.error !== "string") failures.push(`${name}: the stuck link has no error`);
  }
  const acknowledged = verified.reduce((sum, { appends }) => sum + appends, 0) * recordsEach;
  if (counted < acknowledged) failures.push(`${counted} records are counted, of ${acknowledged} acknowledged`);
  return counted;
}
