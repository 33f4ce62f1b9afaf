import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder } from "../test/support/process.ts";
import { DocumentSource, dim, tags } from "./support/documents.ts";
import type { LoadRequest, LoadResult } from "./support/load-plan.ts";
import { runLance, runLoad, startBareServer } from "./support/peers.ts";
import { settled } from "./support/settled.ts";
import { printTable, type Row } from "./support/table.ts";

const seed = 5;
const batchDocuments = 500;
const timing = { durationMs: 3_000, warmUpMs: 500 };
const MB = 1_000_000;
/** From the last index to the look at what it takes. */
const settleMs = 2_000;

const schema = {
  fields: [
    { name: "text", kind: "text" },
    { name: "tag", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
  ],
  vectors: [{ name: "v", dim, distance: "cosine" }],
};

/** A server with an empty collection, and a stream beside it. */
class Bench implements AsyncDisposable {
  readonly server: ServerProcess;
  readonly source = new DocumentSource(seed);
  readonly url: string;

  private constructor(server: ServerProcess) {
    this.server = server;
    this.url = `${server.url}/v1/namespaces/bench`;
  }

  static async start(folder: string): Promise<Bench> {
    mkdirSync(folder, { recursive: true });
    const bench = new Bench(await ServerProcess.start({ dataDir: folder }));
    await ask(`${bench.server.url}/v1/namespaces`, { body: { name: "bench" } });
    await bench.#made("collections", { name: "docs", schema });
    await bench.#made("streams", { name: "other", partitions: 1 });
    return bench;
  }

  get port(): number {
    return Number(new URL(this.server.url).port);
  }

  async #made(kind: string, body: object): Promise<void> {
    const { status, text } = await ask(`${this.url}/${kind}`, { body });
    if (status >= 300) throw new Error(text);
  }

  /** Writes documents in batches, as fast as one client can; returns the time in which they were acknowledged. */
  async write(count: number): Promise<number> {
    let sentMs = 0;
    for (let from = 0; from < count; from += batchDocuments) {
      const ops = Array.from({ length: Math.min(batchDocuments, count - from) }, (_, i) => {
        const { id, text, tag, n, vector } = this.source.document(from + i);
        return { upsert: { id, source: { text, tag, n }, vectors: { v: Array.from(vector) } } };
      });
      const body = JSON.stringify({ ops });
      const startedMs = performance.now();
      for (;;) {
        const { status, text } = await ask(`${this.url}/collections/docs/documents`, { body });
        if (status === 200) break;
        if (status !== 429) throw new Error(text);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      sentMs += performance.now() - startedMs;
    }
    return sentMs;
  }

  async sealed(): Promise<void> {
    for (;;) {
      const { json } = await ask(`${this.url}/collections/docs/scan`, { method: "POST" });
      if (json.tail_records === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** What the process took at most, where the system tells. */
  highestBytes(): number {
    try {
      const status = readFileSync(`/proc/${this.server.child.pid}/status`, "utf8");
      return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
    } catch {
      return Number.NaN;
    }
  }

  async residentBytes(): Promise<number> {
    const { text } = await ask(`${this.server.url}/metrics`);
    return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
  }
}

function bytesBelow(folder: string): number {
  let total = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) total += statSync(join(entry.parentPath, entry.name)).size;
  }
  return total;
}

interface Filled {
  readonly acknowledgedMs: number;
  readonly indexedMs: number;
  readonly rawBytes: number;
  readonly residentBytes: number;
  readonly highestBytes: number;
  readonly diskBytes: number;
}

async function fill(bench: Bench, folder: string, count: number): Promise<Filled> {
  const startedMs = performance.now();
  const acknowledgedMs = await bench.write(count);
  await bench.sealed();
  const indexedMs = performance.now() - startedMs;
  const highestBytes = bench.highestBytes();
  // The threads clean up after themselves when they are idle.
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  return {
    highestBytes,
    acknowledgedMs,
    indexedMs,
    rawBytes: bench.source.rawBytes(count),
    residentBytes: await bench.residentBytes(),
    diskBytes: bytesBelow(folder),
  };
}

function perSecond(count: number, ms: number): string {
  return `${Math.round((count * 1000) / ms).toLocaleString("en")}/s`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function shown({ perSecond, p50Ms, p99Ms }: LoadResult): string {
  return `${Math.round(perSecond)}/s (p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms)`;
}

function sizeRows(filled: Filled): Row[] {
  const { rawBytes, residentBytes, highestBytes, diskBytes } = filled;
  const allowed = 2.5 * rawBytes + 250 * MB;
  return [
    {
      what: "resident memory after the load",
      ours: `${Math.round(residentBytes / MB)} MB (at most ${Math.round(highestBytes / MB)} MB during it)`,
      peer: `2.5 × ${Math.round(rawBytes / MB)} MB + 250 MB`,
      ratio: residentBytes / allowed,
      bound: { atMost: 1 },
    },
    {
      what: "disk",
      ours: `${Math.round(diskBytes / MB)} MB`,
      peer: `raw ${Math.round(rawBytes / MB)} MB`,
      ratio: diskBytes / rawBytes,
      bound: { atMost: 4 },
    },
  ];
}

const documentsPath = "/v1/namespaces/bench/collections/docs/documents";

function pointReads(count: number): LoadRequest[] {
  return Array.from({ length: 500 }, (_, i) => ({ method: "GET", path: `${documentsPath}/${(i * 7919) % count}` }));
}

function filterCounts(): LoadRequest[] {
  return Array.from({ length: tags }, (_, i) => ({
    method: "POST",
    path: `${documentsPath}/count`,
    body: JSON.stringify({ filter: { term: { tag: `tag-${i}` } } }),
  }));
}

async function measureReads(bench: Bench, count: number, lanceCounts: number): Promise<Row[]> {
  const gets = pointReads(count);
  // A merge under way would be measured with one side and not with the other.
  await settled(bench.server);
  const { text } = await ask(`${bench.server.url}${gets[0]!.path}`);
  await using bare = await startBareServer(Buffer.byteLength(text));
  const peer = await runLoad({ ...timing, port: bare.port, connections: 32, requests: gets });
  const ours = await runLoad({ ...timing, port: bench.port, connections: 32, requests: gets });
  const counted = await runLoad({ ...timing, port: bench.port, connections: 8, requests: filterCounts() });
  return [
    {
      what: "point reads over HTTP, 32 connections, against a bare server",
      ours: shown(ours),
      peer: shown(peer),
      ratio: ours.perSecond / peer.perSecond,
      bound: { atLeast: 0.5 },
    },
    {
      what: "count by filter over HTTP against LanceDB's countRows",
      ours: shown(counted),
      peer: `${Math.round(lanceCounts)}/s`,
      ratio: counted.perSecond / lanceCounts,
      bound: { atLeast: 5 },
    },
  ];
}

/** Appends to another stream, idle and while a bulk load runs. */
async function measureOthers(folder: string, count: number): Promise<Row> {
  await using bench = await Bench.start(folder);
  const path = "/v1/namespaces/bench/streams/other/partitions/0/records";
  const body = JSON.stringify({ records: [{ value: Buffer.alloc(200, "v").toString("base64") }] });
  const plan = { port: bench.port, connections: 1, requests: [{ method: "POST", path, body }] };
  const idle = await runLoad({ ...timing, ...plan });
  let done = false;
  const load = (async () => {
    await bench.write(count);
    await bench.sealed();
    done = true;
  })();
  const busy = await runLoad({ ...timing, ...plan, durationMs: 8_000 });
  const ended = done;
  await load;
  return {
    what: `appends to another stream during a bulk load${ended ? " (which ended early: give more documents)" : ""}`,
    ours: shown(busy),
    peer: `idle ${shown(idle)}`,
    ratio: busy.p99Ms / idle.p99Ms,
    bound: { atMost: 3 },
  };
}

async function measure(folder: string, count: number): Promise<Row[]> {
  const lanceFolder = join(folder, "lance");
  const lance = await runLance({ folder: lanceFolder, seed, count, countMs: 2_000 });
  const lanceMs = lance.addMs + lance.indexMs;
  const dataDir = join(folder, "data");
  await using bench = await Bench.start(dataDir);
  const filled = await fill(bench, dataDir, count);
  return [
    {
      what: `${count.toLocaleString("en")} documents from the first write to all indexed`,
      ours: seconds(filled.indexedMs),
      peer: `LanceDB add ${seconds(lance.addMs)} + indexes ${seconds(lance.indexMs)}`,
      ratio: filled.indexedMs / lanceMs,
      bound: { atMost: 1.5 },
    },
    {
      what: `documents acknowledged, ${batchDocuments} a batch, one client`,
      ours: perSecond(count, filled.acknowledgedMs),
      peer: "",
      ratio: Number.NaN,
      bound: undefined,
    },
    ...(await measureReads(bench, count, lance.countsPerSecond)),
    ...sizeRows(filled),
  ];
}

async function measureGrowth(folder: string, count: number): Promise<void> {
  const dataDir = join(folder, `growth-${count}`);
  const filled = await (async () => {
    await using bench = await Bench.start(dataDir);
    return await fill(bench, dataDir, count);
  })();
  const startedMs = performance.now();
  await using again = await ServerProcess.start({ dataDir });
  const startMs = performance.now() - startedMs;
  await ask(`${again.url}${documentsPath}/count`, { body: { filter: { term: { tag: "tag-1" } } } });
  const openMs = performance.now() - startedMs;
  const plan = { ...timing, port: Number(new URL(again.url).port) };
  const reads = await runLoad({ ...plan, connections: 32, requests: pointReads(count) });
  const counts = await runLoad({ ...plan, connections: 8, requests: filterCounts() });
  const { rawBytes, residentBytes, diskBytes, indexedMs, acknowledgedMs } = filled;
  const columns = [
    count.toLocaleString("en"),
    seconds(indexedMs),
    perSecond(count, acknowledgedMs),
    (residentBytes / (2.5 * rawBytes + 250 * MB)).toFixed(2),
    (diskBytes / rawBytes).toFixed(2),
    seconds(startMs),
    seconds(openMs),
    `${Math.round(reads.perSecond)}/s`,
    `${Math.round(counts.perSecond)}/s`,
  ];
  console.log(`| ${columns.join(" | ")} |`);
  rmSync(dataDir, { recursive: true, force: true });
}

/** `--docs=N` (50,000), `--growth` for 10 and 100 thousand documents, `--large` for 500 thousand too. */
export async function benchCollections(argv: readonly string[]): Promise<void> {
  const given = argv.find((each) => each.startsWith("--docs="));
  const count = given === undefined ? 50_000 : Number(given.slice("--docs=".length));
  const folder = await temporaryFolder();
  try {
    const rows = await measure(folder, count);
    rows.push(await measureOthers(join(folder, "others"), count));
    printTable("collections", rows);
    if (!argv.includes("--growth") && !argv.includes("--large")) return;
    const columns = [
      "documents",
      "all indexed",
      "acknowledged",
      "memory / bound",
      "disk / raw",
      "start",
      "first filter",
    ];
    columns.push("point reads", "counts by filter");
    console.log(`\n| ${columns.join(" | ")} |\n|${"---|".repeat(columns.length)}`);
    for (const size of [10_000, 100_000, ...(argv.includes("--large") ? [500_000] : [])]) {
      await measureGrowth(folder, size);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
