import { rmSync } from "node:fs";
import { join } from "node:path";
import { type ServerProcess, temporaryFolder } from "../test/support/process.ts";
import { measureFirst, measureGrowth, measureTail, measureWriting } from "./query-states.ts";
import { threadSeconds } from "./support/cpu.ts";
import { type DataName, documentsOf } from "./support/data.ts";
import type { Documents } from "./support/documents.ts";
import type { LoadRequest, LoadResult } from "./support/load-plan.ts";
import { median, type Peer, runLoad, startBareServer, startLanceQueries } from "./support/peers.ts";
import {
  createCollection,
  nearestOf,
  queryBody,
  queryPath,
  recallMin,
  recallOf,
  searchMs,
  startServer,
  write,
} from "./support/query-server.ts";
import { type QueryKind, type Question, queryKinds, questions } from "./support/questions.ts";
import { settled } from "./support/settled.ts";
import { printTable, type Row } from "./support/table.ts";

/** Questions that the recall is measured on. */
const recallQuestions = 100;

/** What every measurement of a run shares. */
export interface Setup {
  readonly folder: string;
  readonly data: DataName;
  readonly source: Documents;
  readonly count: number;
  readonly rounds: number;
  readonly durationMs: number;
  /** Before the first turn of a side: code that runs a few times for each query takes seconds to be compiled for good. */
  readonly warmUpMs: number;
  readonly asked: readonly Question[];
  readonly ef: number | undefined;
}

export interface Measured extends LoadResult {
  /** Processor time a query, in microseconds: of the listener's thread, of the busiest other one, and of all together. */
  readonly listenerUs: number;
  readonly busiestUs: number;
  readonly allUs: number;
}

export const names: Readonly<Record<QueryKind, string>> = {
  vector: "vector, limit 10",
  text: "text, limit 10",
  hybrid: "hybrid, k 50 each, RRF, limit 10",
  filtered: "the same with a filter",
};

export function requestsOf({ asked, ef }: Setup, kind: QueryKind): LoadRequest[] {
  return asked.map((each) => ({
    method: "POST",
    path: queryPath,
    body: JSON.stringify(queryBody(kind, each, { ef })),
  }));
}

export function portOf({ url }: ServerProcess): number {
  return Number(new URL(url).port);
}

/** One load on one server, with the processor time that it took there. */
export async function measure(
  { port, pid }: Pick<Peer, "port" | "pid">,
  requests: readonly LoadRequest[],
  connections: number,
  durationMs: number,
): Promise<Measured> {
  const before = threadSeconds(pid);
  const result = await runLoad({ port, connections, requests, warmUpMs: 0, durationMs });
  let listener = 0;
  let busiest = 0;
  let all = 0;
  for (const [thread, seconds] of threadSeconds(pid)) {
    const spent = seconds - (before.get(thread) ?? 0);
    all += spent;
    if (thread === pid) listener = spent;
    else busiest = Math.max(busiest, spent);
  }
  const perQuery = (seconds: number) => (seconds * 1e6) / result.requests;
  return { ...result, listenerUs: perQuery(listener), busiestUs: perQuery(busiest), allUs: perQuery(all) };
}

export function shownRate({ perSecond, p50Ms, p99Ms }: LoadResult): string {
  return `${Math.round(perSecond)}/s (p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms)`;
}

/** The middle one by its rate. */
function middle(results: readonly Measured[]): Measured {
  return results.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(results.length / 2)]!;
}

type Sides = Readonly<Record<"bare" | "ours" | "lance", Pick<Peer, "port" | "pid"> | undefined>>;
type Results = Readonly<Record<keyof Sides, readonly Measured[]>>;

/** Every side in each round, one after another: on a shared machine only loads that follow on each other can be compared. */
async function byTurns(sides: Sides, setup: Setup, kind: QueryKind, connections: number): Promise<Results> {
  const requests = requestsOf(setup, kind);
  const results: Record<keyof Sides, Measured[]> = { bare: [], ours: [], lance: [] };
  const there = (Object.keys(results) as (keyof Sides)[]).filter((side) => sides[side] !== undefined);
  // What many clients have asked is warm for one.
  const warmUpMs = connections === 1 ? setup.durationMs / 2 : setup.warmUpMs;
  for (const side of there) await measure(sides[side]!, requests, connections, warmUpMs);
  for (let round = 0; round < setup.rounds; round++) {
    for (const side of there) {
      results[side].push(await measure(sides[side]!, requests, connections, setup.durationMs));
    }
  }
  return results;
}

const bounds = {
  bare: { vector: 0.3, text: 0.3, hybrid: 0.2, filtered: 0.2 },
  lance: { vector: 4, text: 4, hybrid: 6, filtered: 6 },
};
const peers = { bare: "a bare server", lance: "LanceDB behind HTTP" } as const;

function ratioRows(results: Results, kind: QueryKind, connections: number): Row[] {
  return (["bare", "lance"] as const).flatMap((peer) => {
    if (results[peer].length === 0) return [];
    const ratios = results.ours.map(({ perSecond }, round) => perSecond / results[peer][round]!.perSecond);
    return [
      {
        what: `${names[kind]}, ${connections} client${connections === 1 ? "" : "s"}, against ${peers[peer]}`,
        ours: shownRate(middle(results.ours)),
        peer: shownRate(middle(results[peer])),
        ratio: median(ratios),
        bound: connections === 1 ? undefined : { atLeast: bounds[peer][kind] },
      },
    ];
  });
}

/** More cores add nothing once the listener's thread is full: at which rate that is, and how many cores all threads then fill. */
function processorRow(kind: QueryKind, results: Results): Row {
  const { listenerUs, busiestUs, allUs } = middle(results.ours);
  const cores = `full at ${Math.round(1e6 / listenerUs)}/s, with ${(allUs / listenerUs).toFixed(1)} cores`;
  return {
    what: `${names[kind]}: processor time a query`,
    ours: `listener's thread ${Math.round(listenerUs)} µs, the busiest search thread ${Math.round(busiestUs)} µs, all ${Math.round(allUs)} µs`,
    peer: cores,
    ratio: listenerUs / 80,
    bound: kind === "hybrid" ? { atMost: 1 } : undefined,
  };
}

/** One client: what a vector query takes beside its search, against a probe. */
async function alone(server: ServerProcess, setup: Setup): Promise<Row> {
  const side = { port: portOf(server), pid: server.child.pid! };
  const probe = await measure(side, [{ method: "GET", path: "/health" }], 1, setup.durationMs);
  const query = await measure(side, requestsOf(setup, "vector"), 1, setup.durationMs);
  const ownMs = await searchMs(server, "vector", setup.asked.slice(0, 200));
  const allowedMs = 2 * probe.p50Ms + ownMs;
  return {
    what: "vector query of one client: p50 against twice a probe's and the search",
    ours: `${query.p50Ms.toFixed(3)} ms`,
    peer: `2 × ${probe.p50Ms.toFixed(3)} ms + ${ownMs.toFixed(3)} ms`,
    ratio: query.p50Ms / allowedMs,
    bound: { atMost: 1 },
  };
}

function recallRow(what: string, recall: number, setting: string): Row {
  return { what: `recall@10, ${what}`, ours: setting, peer: "", ratio: recall, bound: { atLeast: recallMin } };
}

async function measureRun(given: Omit<Setup, "ef">, withPeer: boolean, withStates: boolean): Promise<Row[]> {
  const { folder, data, source, count, asked } = given;
  const nearest = nearestOf(source, count, asked.slice(0, recallQuestions));
  const plan = { folder: join(folder, "lance"), data, count, recallMin, nearest };
  await using peer = new AsyncDisposableStack();
  const lance = withPeer ? peer.use(await startLanceQueries(plan)) : undefined;
  const dataDir = join(folder, "data");
  await using server = await startServer(dataDir);
  await createCollection(server, source);
  await write(server, source, 0, count);
  await settled(server);
  const { recall, ef } = await recallOf(server, asked, nearest);
  const setup = { ...given, ef };
  const ours = { port: portOf(server), pid: server.child.pid! };
  const rows: Row[] = [recallRow("ours", recall, ef === undefined ? "default setting" : `ef ${ef}`)];
  if (lance !== undefined) rows.push(recallRow("LanceDB", lance.recall, lance.setting));
  const full: Partial<Record<QueryKind, Measured>> = {};
  const processor: Row[] = [];
  for (const kind of queryKinds) {
    const { requests, bytes } = await measure(ours, requestsOf(setup, kind), 16, setup.durationMs);
    await using bare = await startBareServer(Math.round(bytes / requests));
    for (const connections of [16, 1]) {
      const results = await byTurns({ bare, ours, lance }, setup, kind, connections);
      rows.push(...ratioRows(results, kind, connections));
      if (connections === 1) continue;
      full[kind] = middle(results.ours);
      processor.push(processorRow(kind, results));
    }
  }
  rows.push(...processor, await alone(server, setup));
  if (!withStates) return rows;
  const rates = full as Record<QueryKind, Measured>;
  rows.push(...(await measureWriting(server, setup, rates)));
  await server.stop();
  rows.push(
    ...(await measureTail(setup, rates)),
    ...(await measureGrowth(setup, rates)),
    await measureFirst(dataDir, asked),
  );
  return rows;
}

/**
 * `--documents=N` (60,000), `--large` for 600,000, `--small` for 15,000 and short turns, `--seconds=N` a turn, `--warm-up=N`
 * before the first, `--rounds=N`, `--packages` for the descriptions of apt's packages instead of made documents, `--no-peer`
 * without LanceDB, `--no-states` without tails, writes beside, fewer documents and restarts.
 */
export async function benchQuery(argv: readonly string[]): Promise<void> {
  const numberOf = (flag: string) => {
    const given = argv.find((each) => each.startsWith(`${flag}=`));
    return given === undefined ? undefined : Number(given.slice(flag.length + 1));
  };
  const isSmall = argv.includes("--small");
  const count = numberOf("--documents") ?? (isSmall ? 15_000 : argv.includes("--large") ? 600_000 : 60_000);
  const durationMs = (numberOf("--seconds") ?? (isSmall ? 0.7 : 2)) * 1000;
  const warmUpMs = (numberOf("--warm-up") ?? (isSmall ? 0.5 : 6)) * 1000;
  const rounds = numberOf("--rounds") ?? (isSmall ? 3 : 7);
  const data: DataName = argv.includes("--packages") ? "packages" : "made";
  const source = documentsOf(data);
  // More than a turn asks, so that none is asked twice in it.
  const asked = questions(source, count, isSmall ? 5_000 : 15_000);
  const folder = await temporaryFolder();
  try {
    const setup = { folder, data, source, count, rounds, durationMs, warmUpMs, asked };
    const withStates = !isSmall && !argv.includes("--no-states");
    const rows = await measureRun(setup, !argv.includes("--no-peer"), withStates);
    printTable(`query, ${count.toLocaleString("en")} ${data === "made" ? "documents" : data}`, rows);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
