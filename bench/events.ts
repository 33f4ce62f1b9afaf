import { rmSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder } from "../test/support/process.ts";
import { cpuSeconds } from "./support/cpu.ts";
import { fresh, type LoadRequest, type LoadResult } from "./support/load-plan.ts";
import { median, runLoad } from "./support/peers.ts";
import { printTable, type Row } from "./support/table.ts";

const rounds = 7;
const timing = { durationMs: 1_500, warmUpMs: 700 };
const payload = JSON.stringify({ text: "v".repeat(189) });
const streams = "/v1/namespaces/bench/streams";
const liveKeys = 1_000_000;

function eventJson(id: string): string {
  return `{"specversion":"1.0","id":"${id}","source":"/bench/source","type":"com.example.measured","datacontenttype":"application/json","data":${payload}}`;
}

export function plain(records: number): LoadRequest {
  const value = Buffer.from(payload).toString("base64");
  const body = JSON.stringify({ records: Array.from({ length: records }, () => ({ value })) });
  return { method: "POST", path: `${streams}/plain/partitions/0/records`, body };
}

export function single(): LoadRequest {
  const contentType = "application/cloudevents+json";
  return { method: "POST", path: `${streams}/events/events`, body: eventJson(fresh), contentType };
}

export function batch(ids: readonly string[]): LoadRequest {
  const contentType = "application/cloudevents-batch+json";
  return { method: "POST", path: `${streams}/events/events`, body: `[${ids.map(eventJson).join(",")}]`, contentType };
}

interface Measured {
  readonly rates: number[];
  readonly cpuMicros: number[];
  last: LoadResult | undefined;
}

async function measure(server: ServerProcess, request: LoadRequest, connections: number, into: Measured) {
  const before = cpuSeconds(server.child.pid!);
  const result = await runLoad({ ...timing, port: Number(new URL(server.url).port), requests: [request], connections });
  const used = cpuSeconds(server.child.pid!) - before;
  into.rates.push(result.perSecond);
  // The time on the processor includes the warm-up, so its requests are counted in by their rate.
  const sent = (result.perSecond * (timing.durationMs + timing.warmUpMs)) / 1000;
  into.cpuMicros.push((used * 1e6) / sent);
  into.last = result;
}

function shown({ rates, cpuMicros, last }: Measured): string {
  const latency = `p50 ${last!.p50Ms.toFixed(2)} ms, p99 ${last!.p99Ms.toFixed(2)} ms`;
  return `${Math.round(median(rates))}/s (${latency}, ${Math.round(median(cpuMicros))} µs of processor)`;
}

/** Events and plain appends by turns, so that what else the machine does meets both. The ratio is the middle one of the rounds'. */
async function compare(
  server: ServerProcess,
  what: string,
  connections: number,
  atLeast: number,
  ours: LoadRequest,
  peer: LoadRequest,
): Promise<Row> {
  const measured = { ours: newMeasured(), peer: newMeasured() };
  for (let round = 0; round < rounds; round++) {
    await measure(server, peer, connections, measured.peer);
    await measure(server, ours, connections, measured.ours);
  }
  return {
    what: `${what}, ${connections} connections`,
    ours: shown(measured.ours),
    peer: shown(measured.peer),
    ratio: median(measured.ours.rates.map((rate, i) => rate / measured.peer.rates[i]!)),
    bound: { atLeast },
  };
}

function newMeasured(): Measured {
  return { rates: [], cpuMicros: [], last: undefined };
}

async function post(url: string, body: unknown): Promise<void> {
  const { status, text } = await ask(url, { body });
  if (status !== 201) throw new Error(text);
}

/** Events whose ids stay remembered for the rest of the run. */
async function fill(server: ServerProcess): Promise<void> {
  const size = 1_000;
  let next = 0;
  const write = async () => {
    while (next < liveKeys) {
      const first = next;
      next += size;
      const { path, body, contentType } = batch(Array.from({ length: size }, (_, i) => `live-${first + i}`));
      const answer = await ask(`${server.url}${path}`, { body: body!, headers: { "content-type": contentType! } });
      if (answer.status !== 200) throw new Error(answer.text);
    }
  };
  await Promise.all([write(), write(), write(), write()]);
}

/** Memory of the process's own: the store's pages in the cache of the system are not counted. */
async function ownMb(server: ServerProcess): Promise<number> {
  const { text } = await ask(`${server.url}/metrics`);
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1]);
  return (read("nodejs_heap_size_used_bytes") + read("nodejs_external_memory_bytes")) / 2 ** 20;
}

export async function benchEvents(argv: readonly string[]): Promise<void> {
  const folder = await temporaryFolder();
  const rows: Row[] = [];
  try {
    await using server = await ServerProcess.start({ dataDir: join(folder, "data") });
    await post(`${server.url}/v1/namespaces`, { name: "bench" });
    for (const name of ["plain", "events"]) await post(`${server.url}${streams}`, { name, partitions: 1 });
    const hundred = batch(Array.from({ length: 100 }, () => fresh));
    const pair = async (label: string) => {
      rows.push(await compare(server, `structured event against a plain record${label}`, 64, 0.8, single(), plain(1)));
      rows.push(await compare(server, `batch of 100 events against 100 records${label}`, 16, 0.6, hundred, plain(100)));
    };
    await pair("");
    if (!argv.includes("--no-fill")) {
      await fill(server);
      await pair(`, with a million live keys (heap and buffers ${Math.round(await ownMb(server))} MB)`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  printTable("events", rows);
}
