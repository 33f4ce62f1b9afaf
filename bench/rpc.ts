import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { NodeClock } from "../src/adapter/node/clock.ts";
import { NodeRandom } from "../src/adapter/node/random.ts";
import { openAuthStore } from "../src/composition/auth-store.ts";
import { ApiKeys } from "../src/engine/auth/keys.ts";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder } from "../test/support/process.ts";
import type { CallPlan, CallResult } from "./support/call-load.ts";
import { median, type Peer } from "./support/peers.ts";
import { printTable, type Row } from "./support/table.ts";

const rounds = 6;
const timing = { warmUpMs: 1_000, durationMs: 2_000 };
const ticksPerSecond = 100;

type Call = Omit<CallPlan, "port" | "warmUpMs" | "durationMs">;

interface Target {
  readonly port: number;
  readonly pid: number;
  readonly call: Call;
}

interface Measured {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

function script(name: string): string {
  return fileURLToPath(new URL(`support/${name}`, import.meta.url));
}

/** Processor seconds of every thread of a process. */
function cpuSeconds(pid: number): number {
  let ticks = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks / ticksPerSecond;
}

async function measure({ port, pid, call }: Target): Promise<Measured> {
  const child = fork(script("call-load.ts"), { stdio: "inherit" });
  child.send({ ...call, ...timing, port } satisfies CallPlan);
  await once(child, "message");
  const before = cpuSeconds(pid);
  const [result] = (await once(child, "message")) as [CallResult];
  return {
    perSecond: result.perSecond,
    cpuMicroseconds: ((cpuSeconds(pid) - before) * 1e6) / result.requests,
  };
}

function rate(results: readonly Measured[]): number {
  return median(results.map(({ perSecond }) => perSecond));
}

/** The least of the rounds: other work on the machine can only add to it. */
function cpu(results: readonly Measured[]): number {
  return Math.min(...results.map(({ cpuMicroseconds }) => cpuMicroseconds));
}

function describe(results: readonly Measured[]): string {
  return `${Math.round(rate(results))}/s, ${cpu(results).toFixed(0)} µs of processor each`;
}

/** Runs both by turns and compares rates, and processor time, which other work on the machine disturbs less. */
async function compare(
  what: string,
  bounds: { rate: number; cpu: number },
  ours: Target,
  peer: Target,
): Promise<Row[]> {
  const results: { ours: Measured[]; peer: Measured[] } = { ours: [], peer: [] };
  // Of a process that has just started the compiler's work would be measured.
  await measure(peer);
  await measure(ours);
  for (let round = 0; round < rounds; round++) {
    // Each goes first as often as the other: a machine that slows down must not tell against one of them.
    if (round % 2 === 0) results.peer.push(await measure(peer));
    results.ours.push(await measure(ours));
    if (round % 2 === 1) results.peer.push(await measure(peer));
  }
  const columns = { ours: describe(results.ours), peer: describe(results.peer) };
  return [
    { what, ...columns, ratio: rate(results.ours) / rate(results.peer), bound: { atLeast: bounds.rate } },
    {
      what: `${what}: processor time`,
      ...columns,
      ratio: cpu(results.peer) / cpu(results.ours),
      bound: { atLeast: bounds.cpu },
    },
  ];
}

async function startBareRpc(protocol: Call["protocol"]): Promise<Peer> {
  const child = fork(script("bare-rpc.ts"), [protocol], { stdio: "inherit" });
  const [port] = (await once(child, "message")) as [number];
  return {
    port,
    pid: child.pid!,
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "exit");
    },
  };
}

const check = "/grpc.health.v1.Health/Check";
const calls: readonly (readonly [what: string, call: Call])[] = [
  [
    "unary Connect JSON, HTTP/1.1, 32 connections",
    {
      protocol: "http1",
      connections: 32,
      inFlight: 1,
      path: check,
      headers: { "content-type": "application/json" },
      bodyHex: Buffer.from("{}").toString("hex"),
    },
  ],
  [
    "unary gRPC, HTTP/2, 4 connections of 8 calls",
    {
      protocol: "http2",
      connections: 4,
      inFlight: 8,
      path: check,
      headers: { "content-type": "application/grpc", te: "trailers" },
      bodyHex: "0000000000",
    },
  ],
];

async function measureCalls(dataDir: string, rows: Row[]): Promise<void> {
  await using server = await ServerProcess.start({ dataDir });
  const ours = { port: Number(new URL(server.url).port), pid: server.child.pid! };
  for (const [what, call] of calls) {
    await using bare = await startBareRpc(call.protocol);
    rows.push(...(await compare(what, { rate: 0.6, cpu: 0.6 }, { ...ours, call }, { ...bare, call })));
  }
}

const records = "/v1/namespaces/bench/streams/one/partitions/0/records";

async function prepareStream(url: string, headers: Record<string, string>): Promise<void> {
  for (const [path, body] of [
    ["/v1/namespaces", { name: "bench" }],
    ["/v1/namespaces/bench/streams", { name: "one", partitions: 1 }],
  ] as const) {
    const { status, text } = await ask(url + path, { headers, body });
    if (status !== 201) throw new Error(text);
  }
}

/** The same append to two servers, of which one asks for a key. */
async function measureKeys(folder: string, rows: Row[]): Promise<void> {
  const dataDir = join(folder, "keys");
  const store = openAuthStore(dataDir);
  const keys = new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() });
  const { key } = await keys.create({ name: "bench", role: "admin" });
  await store.close();
  const headers = { authorization: `Bearer ${key}` };
  await using open = await ServerProcess.start({ dataDir: join(folder, "no-keys") });
  await using closed = await ServerProcess.start({ dataDir, env: { SERVICE_AUTH_MODE: "apikey" } });
  await prepareStream(open.url, {});
  await prepareStream(closed.url, headers);
  const value = Buffer.alloc(200, "v").toString("base64");
  const call: Call = {
    protocol: "http1",
    connections: 64,
    inFlight: 1,
    path: records,
    headers: { "content-type": "application/json" },
    bodyHex: Buffer.from(JSON.stringify({ records: [{ value }] })).toString("hex"),
  };
  const target = (server: ServerProcess, extra: Record<string, string>): Target => ({
    port: Number(new URL(server.url).port),
    pid: server.child.pid!,
    call: { ...call, headers: { ...call.headers, ...extra } },
  });
  const what = "append with an API key against one without";
  rows.push(...(await compare(what, { rate: 0.95, cpu: 0.95 }, target(closed, headers), target(open, {}))));
}

export async function benchRpc(): Promise<void> {
  const folder = await temporaryFolder();
  const rows: Row[] = [];
  try {
    await measureCalls(join(folder, "open"), rows);
    await measureKeys(folder, rows);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  printTable("rpc", rows);
}
