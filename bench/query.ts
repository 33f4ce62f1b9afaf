import { rmSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder } from "../test/support/process.ts";
import { threadSeconds } from "./support/cpu.ts";
import { DocumentSource, dim } from "./support/documents.ts";
import type { LanceQueryResult } from "./support/lance-query-peer.ts";
import type { LoadRequest, LoadResult } from "./support/load-plan.ts";
import { runLanceQueries, runLoad } from "./support/peers.ts";
import { hybridK, limit, type QueryKind, type Question, queryKinds, questions, shown } from "./support/questions.ts";
import { settled } from "./support/settled.ts";
import { printTable, type Row } from "./support/table.ts";

const seed = 6;
const batchDocuments = 500;
const connections = 16;
const questionCount = 500;
/** Questions that the recall is measured on. */
const recallQuestions = 100;
const recallMin = 0.95;
const writesPerSecond = 2_000;
const writeBatch = 100;
const path = "/v1/namespaces/bench/query";

/** What every measurement of a run shares. */
interface Setup {
  readonly source: DocumentSource;
  readonly count: number;
  readonly durationMs: number;
  readonly warmUpMs: number;
  readonly asked: readonly Question[];
  readonly nearest: readonly (readonly number[])[];
}

const schema = {
  fields: [
    { name: "text", kind: "text" },
    { name: "tag", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
  ],
  vectors: [{ name: "v", dim, distance: "cosine" }],
};

/** Nothing is sealed for as long as a benchmark runs. */
const unsealed = [
  "--collection-seal-records",
  "1000000",
  "--collection-seal-idle",
  "1d",
  "--collection-seal-age",
  "1d",
];

function start(dataDir: string, flags: readonly string[] = []): Promise<ServerProcess> {
  // As `npm start` and the command do it.
  return ServerProcess.start({ dataDir, flags, env: { MALLOC_MMAP_THRESHOLD_: "65536" } });
}

async function made(url: string, body: object): Promise<void> {
  const { status, text } = await ask(url, { body });
  if (status >= 300) throw new Error(text);
}

async function createCollection({ url }: ServerProcess): Promise<void> {
  await made(`${url}/v1/namespaces`, { name: "bench" });
  await made(`${url}/v1/namespaces/bench/collections`, { name: "docs", schema });
}

function writeBody(source: DocumentSource, from: number, to: number): string {
  const ops = Array.from({ length: to - from }, (_, i) => {
    const { id, text, tag, n, vector } = source.document(from + i);
    return { upsert: { id, source: { text, tag, n }, vectors: { v: Array.from(vector) } } };
  });
  return JSON.stringify({ ops });
}

async function write({ url }: ServerProcess, source: DocumentSource, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += batchDocuments) {
    const body = writeBody(source, at, Math.min(to, at + batchDocuments));
    for (;;) {
      const { status, text } = await ask(`${url}/v1/namespaces/bench/collections/docs/documents`, { body });
      if (status === 200) break;
      if (status !== 429) throw new Error(text);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function queryBody(kind: QueryKind, { vector, words, tag }: Question, ef?: number): object {
  const k = kind === "vector" || kind === "text" ? limit : hybridK;
  const near = { vector: { field: "v", query: Array.from(vector), k, ...(ef === undefined ? {} : { ef }) } };
  const text = { text: { field: "text", query: words, k } };
  const retrieve = kind === "vector" ? [near] : kind === "text" ? [text] : [text, near];
  return {
    from: "docs",
    retrieve,
    ...(retrieve.length > 1 ? { fuse: { method: "rrf" } } : {}),
    ...(kind === "filtered" ? { filter: { term: { tag } } } : {}),
    select: shown,
    limit,
  };
}

/** The nearest documents of the first questions, by comparing with all. */
function nearestOf(source: DocumentSource, count: number, asked: readonly Question[]): number[][] {
  const unit = (vector: Float32Array) => {
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  const queries = asked.map(({ vector }) => unit(vector));
  const best = queries.map(() => [] as { id: number; score: number }[]);
  for (let id = 0; id < count; id++) {
    const vector = unit(source.document(id).vector);
    for (const [q, query] of queries.entries()) {
      let score = 0;
      for (let i = 0; i < dim; i++) score += query[i]! * vector[i]!;
      const list = best[q]!;
      if (list.length === limit && score <= list[limit - 1]!.score) continue;
      list.push({ id, score });
      list.sort((a, b) => b.score - a.score);
      list.length = Math.min(list.length, limit);
    }
  }
  return best.map((list) => list.map(({ id }) => id));
}

/** Recall@10 at the default setting and, where it is too low, at the least `ef` that gives enough. */
async function recallOf({ url }: ServerProcess, setup: Setup): Promise<{ recall: number; ef: number | undefined }> {
  let recall = 0;
  let ef: number | undefined;
  for (ef of [undefined, 100, 200, 400]) {
    let found = 0;
    for (const [i, ids] of setup.nearest.entries()) {
      const { json } = await ask(`${url}${path}`, { body: queryBody("vector", setup.asked[i]!, ef) });
      found += (json.rows as { _id: number }[]).filter(({ _id }) => ids.includes(_id)).length;
    }
    recall = found / setup.nearest.reduce((sum, ids) => sum + ids.length, 0);
    if (recall >= recallMin) break;
  }
  return { recall, ef };
}

interface Measured extends LoadResult {
  /** Processor time a query, in microseconds: of the listener's thread, and of all others together. */
  readonly listenerUs: number;
  readonly othersUs: number;
}

async function measure(server: ServerProcess, setup: Setup, kind: QueryKind, ef?: number): Promise<Measured> {
  const { durationMs, warmUpMs, asked } = setup;
  const requests = asked.map(
    (each): LoadRequest => ({ method: "POST", path, body: JSON.stringify(queryBody(kind, each, ef)) }),
  );
  const plan = { port: Number(new URL(server.url).port), connections, requests, warmUpMs: 0 };
  // The warm-up is a run of its own, so that the processor time is that of what is counted.
  await runLoad({ ...plan, durationMs: warmUpMs });
  const pid = server.child.pid!;
  const before = threadSeconds(pid);
  const result = await runLoad({ ...plan, durationMs });
  let listener = 0;
  let all = 0;
  for (const [thread, seconds] of threadSeconds(pid)) {
    const spent = seconds - (before.get(thread) ?? 0);
    all += spent;
    if (thread === pid) listener = spent;
  }
  const perQuery = (seconds: number) => (seconds * 1e6) / result.requests;
  return { ...result, listenerUs: perQuery(listener), othersUs: perQuery(all - listener) };
}

type Rates = Readonly<Record<QueryKind, Measured>>;

async function measureAll(server: ServerProcess, setup: Setup, ef?: number): Promise<Rates> {
  const results: Partial<Record<QueryKind, Measured>> = {};
  for (const kind of queryKinds) results[kind] = await measure(server, setup, kind, ef);
  return results as Rates;
}

function shownRate({ perSecond, p50Ms, p99Ms }: LoadResult): string {
  return `${Math.round(perSecond)}/s (p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms)`;
}

const names: Readonly<Record<QueryKind, string>> = {
  vector: "vector, limit 10",
  text: "text, limit 10",
  hybrid: "hybrid, k 50 each, RRF, limit 10",
  filtered: "the same with a filter",
};
const peerBounds: Readonly<Record<QueryKind, number>> = { vector: 4, text: 5, hybrid: 5, filtered: 5 };

function peerRows(rates: Rates, lance: LanceQueryResult): Row[] {
  return queryKinds.flatMap((kind) => [
    {
      what: `${names[kind]}: queries a second`,
      ours: shownRate(rates[kind]),
      peer: shownRate(lance.results[kind]),
      ratio: rates[kind].perSecond / lance.results[kind].perSecond,
      bound: { atLeast: peerBounds[kind] },
    },
    {
      what: `${names[kind]}: p99 against the peer's p50`,
      ours: `${rates[kind].p99Ms.toFixed(2)} ms`,
      peer: `${lance.results[kind].p50Ms.toFixed(2)} ms`,
      ratio: rates[kind].p99Ms / lance.results[kind].p50Ms,
      bound: { atMost: 1 },
    },
  ]);
}

function processorRows(rates: Rates): Row[] {
  return queryKinds.map((kind) => ({
    what: `${names[kind]}: processor time a query`,
    ours: `listener's thread ${Math.round(rates[kind].listenerUs)} µs, others ${Math.round(rates[kind].othersUs)} µs`,
    peer: "",
    ratio: Number.NaN,
    bound: undefined,
  }));
}

function shareRows(what: string, rates: Partial<Rates>, full: Rates, atLeast: number): Row[] {
  return queryKinds.flatMap((kind) => {
    const rate = rates[kind];
    if (rate === undefined) return [];
    const ratio = rate.perSecond / full[kind].perSecond;
    return [
      {
        what: `${names[kind]}, ${what}`,
        ours: shownRate(rate),
        peer: shownRate(full[kind]),
        ratio,
        bound: { atLeast },
      },
    ];
  });
}

/** Writes documents at a steady rate until told to stop; returns how many a second it came to. */
async function writeSteadily({ url }: ServerProcess, bodies: readonly string[], signal: AbortSignal): Promise<number> {
  const startedMs = performance.now();
  let written = 0;
  for (const body of bodies) {
    const dueMs = startedMs + (written * 1000) / writesPerSecond;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (signal.aborted) break;
    const { status, text } = await ask(`${url}/v1/namespaces/bench/collections/docs/documents`, { body });
    if (status === 200) written += writeBatch;
    else if (status !== 429) throw new Error(text);
  }
  return (written * 1000) / (performance.now() - startedMs);
}

async function measureWhileWriting(server: ServerProcess, setup: Setup, full: Rates, ef?: number): Promise<Row[]> {
  const { source, count, durationMs, warmUpMs } = setup;
  const kinds = ["text", "hybrid"] as const;
  const seconds = Math.ceil((kinds.length * (durationMs + warmUpMs)) / 1000) + 5;
  const bodies = Array.from({ length: (seconds * writesPerSecond) / writeBatch }, (_, i) => {
    return writeBody(source, count + i * writeBatch, count + (i + 1) * writeBatch);
  });
  const stop = new AbortController();
  const writing = writeSteadily(server, bodies, stop.signal);
  const rates: Partial<Record<QueryKind, Measured>> = {};
  for (const kind of kinds) rates[kind] = await measure(server, setup, kind, ef);
  stop.abort();
  const achieved = Math.round(await writing);
  return shareRows(`while ${achieved} documents a second are written`, rates, full, 0.5);
}

/** What ten times the documents cost a query, by the time of the clock. */
async function measureGrowth(folder: string, setup: Setup, full: Rates): Promise<Row[]> {
  const fewer = Math.max(1, Math.floor(setup.count / 10));
  await using server = await start(join(folder, "fewer"));
  await createCollection(server);
  await write(server, setup.source, 0, fewer);
  await settled(server);
  const rows: Row[] = [];
  for (const kind of ["vector", "text"] as const) {
    const small = await measure(server, setup, kind);
    rows.push({
      what: `${names[kind]}: cost of ${setup.count} documents against ${fewer}`,
      ours: shownRate(full[kind]),
      peer: shownRate(small),
      ratio: small.perSecond / full[kind].perSecond,
      bound: { atMost: 4 },
    });
  }
  return rows;
}

/** Fills a server so that a tenth of the documents is in the tail, and measures that. */
async function measureTail(dataDir: string, setup: Setup): Promise<Rates> {
  const { source, count } = setup;
  const sealed = count - Math.floor(count / 10);
  {
    await using server = await start(dataDir);
    await createCollection(server);
    await write(server, source, 0, sealed);
    await settled(server);
    await server.stop();
  }
  await using server = await start(dataDir, unsealed);
  await write(server, source, sealed, count);
  const rates = await measureAll(server, setup);
  await server.stop();
  return rates;
}

async function firstQuery(dataDir: string, setup: Setup): Promise<Row> {
  {
    await using server = await start(dataDir);
    await settled(server);
    await server.stop();
  }
  await using server = await start(dataDir);
  const startedMs = performance.now();
  await made(`${server.url}${path}`, queryBody("hybrid", setup.asked[0]!));
  const tookMs = performance.now() - startedMs;
  await server.stop();
  return {
    what: "first hybrid query after a restart, from ready",
    ours: `${Math.round(tookMs)} ms`,
    peer: "1000 ms",
    ratio: tookMs / 1000,
    bound: { atMost: 1 },
  };
}

function recallRow(what: string, recall: number, setting: string): Row {
  return { what: `recall@10, ${what}`, ours: setting, peer: "", ratio: recall, bound: { atLeast: recallMin } };
}

async function measureRun(folder: string, setup: Setup, withPeer: boolean): Promise<Row[]> {
  const { count, nearest, durationMs, warmUpMs } = setup;
  const plan = { seed, count, questions: questionCount, inFlight: connections, durationMs, warmUpMs, recallMin };
  const lance = withPeer ? await runLanceQueries({ ...plan, nearest, folder: join(folder, "lance") }) : undefined;
  const dataDir = join(folder, "data");
  const tail = await measureTail(dataDir, setup);
  const first = await firstQuery(dataDir, setup);
  await using server = await start(dataDir);
  const { recall, ef } = await recallOf(server, setup);
  const full = await measureAll(server, setup, ef);
  const writing = await measureWhileWriting(server, setup, full, ef);
  await server.stop();
  return [
    recallRow("ours", recall, ef === undefined ? "default setting" : `ef ${ef}`),
    ...(lance === undefined ? [] : [recallRow("the peer", lance.recall, lance.setting), ...peerRows(full, lance)]),
    ...processorRows(full),
    ...shareRows("a tenth in the tail", tail, full, 0.7),
    ...writing,
    ...(await measureGrowth(folder, setup, full)),
    first,
  ];
}

/**
 * `--documents=N` (100,000; ten times fewer are measured beside them), `--large` for a million, `--seconds=N` (5) a
 * measurement, `--no-peer` without LanceDB.
 */
export async function benchQuery(argv: readonly string[]): Promise<void> {
  const numberOf = (flag: string) => {
    const given = argv.find((each) => each.startsWith(`${flag}=`));
    return given === undefined ? undefined : Number(given.slice(flag.length + 1));
  };
  const count = numberOf("--documents") ?? (argv.includes("--large") ? 1_000_000 : 100_000);
  const source = new DocumentSource(seed);
  const asked = questions(source, count, questionCount);
  const nearest = nearestOf(source, count, asked.slice(0, recallQuestions));
  const durationMs = (numberOf("--seconds") ?? 5) * 1000;
  const folder = await temporaryFolder();
  try {
    const setup = { source, count, durationMs, warmUpMs: 1_000, asked, nearest };
    const rows = await measureRun(folder, setup, !argv.includes("--no-peer"));
    printTable(`query, ${count.toLocaleString("en")} documents, ${connections} connections`, rows);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
