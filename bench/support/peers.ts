import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ProducerPlan } from "./kafka-producer.ts";
import type { LancePlan, LanceResult } from "./lance-peer.ts";
import type { LanceQueryPeer, LanceQueryPlan } from "./lance-query-peer.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

export async function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const child = fork(script("load.ts"), { stdio: "inherit" });
  child.send(plan);
  return answerOf(child);
}

export function runProducer(plan: ProducerPlan): Promise<LoadResult> {
  const child = fork(script("kafka-producer.ts"), { stdio: "inherit" });
  child.send(plan);
  return answerOf(child);
}

/** What a process sends; one that ends without it has failed. */
async function answerOf<T>(child: ChildProcess): Promise<T> {
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${child.spawnargs[1]} ended (${code}) without an answer`);
  });
  const [result] = (await Promise.race([once(child, "message"), ended])) as [T];
  ended.catch(() => {});
  return result;
}

export function runLance(plan: LancePlan): Promise<LanceResult> {
  return answerOf(startLance("lance-peer.ts", plan));
}

/** LanceDB behind HTTP, filled; it serves until it is disposed of. */
export async function startLanceQueries(plan: LanceQueryPlan): Promise<Peer & LanceQueryPeer> {
  const child = startLance("lance-query-peer.ts", plan);
  return { ...(await answerOf<LanceQueryPeer>(child)), ...peerOf(child) };
}

function startLance(name: string, plan: LancePlan | LanceQueryPlan): ChildProcess {
  // With one thread, which is its default on two cores, its full-text index waits for itself for ever. Its warnings, one
  // a query, would cost it time.
  const env = { ...process.env, LANCE_CPU_THREADS: "4", LANCEDB_LOG: "error", RUST_LOG: "error" };
  const child = fork(script(name), { stdio: "inherit", env });
  child.send(plan);
  return child;
}

export interface Peer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}

export async function startBareServer(answerBytes: number): Promise<Peer> {
  const child = fork(script("bare-server.ts"), [String(answerBytes)], { stdio: "inherit" });
  const [port] = (await once(child, "message")) as [number];
  return { port, ...peerOf(child) };
}

function peerOf(child: ChildProcess): Omit<Peer, "port"> {
  return {
    pid: child.pid!,
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "exit");
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Median time of one fdatasync after a 4 KiB write, on the disk that holds a folder. */
export function syncMs(folder: string): number {
  const file = join(folder, "sync-probe");
  const descriptor = openSync(file, "w");
  const page = Buffer.alloc(4096);
  const times: number[] = [];
  for (let i = 0; i < 400; i++) {
    writeSync(descriptor, page, 0, page.length, i * page.length);
    const startedMs = performance.now();
    fdatasyncSync(descriptor);
    times.push(performance.now() - startedMs);
  }
  closeSync(descriptor);
  rmSync(file);
  return median(times);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
