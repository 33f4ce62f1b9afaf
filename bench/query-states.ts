import { join } from "node:path";
import type { ServerProcess } from "../test/support/process.ts";
import { type Measured, measure, names, portOf, requestsOf, type Setup, shownRate } from "./query.ts";
import {
  createCollection,
  made,
  queryBody,
  queryPath,
  send,
  startServer,
  write,
  writeBody,
} from "./support/query-server.ts";
import { type QueryKind, type Question, queryKinds } from "./support/questions.ts";
import { settled } from "./support/settled.ts";
import type { Row } from "./support/table.ts";

const connections = 16;
const writesPerSecond = 2_000;
const writeBatch = 100;

type Rates = Readonly<Record<QueryKind, Measured>>;

/** Nothing is sealed for as long as a benchmark runs. */
const unsealed = [
  "--collection-seal-records",
  "1000000",
  "--collection-seal-idle",
  "1d",
  "--collection-seal-age",
  "1d",
];

async function rateOf(server: ServerProcess, setup: Setup, kind: QueryKind): Promise<Measured> {
  const side = { port: portOf(server), pid: server.child.pid! };
  const requests = requestsOf(setup, kind);
  await measure(side, requests, connections, setup.warmUpMs);
  return measure(side, requests, connections, 2 * setup.durationMs);
}

function shareRow(what: string, kind: QueryKind, rate: Measured, full: Rates, atLeast: number): Row {
  return {
    what: `${names[kind]}, ${what}`,
    ours: shownRate(rate),
    peer: shownRate(full[kind]),
    ratio: rate.perSecond / full[kind].perSecond,
    bound: { atLeast },
  };
}

/** Writes documents at a steady rate until told to stop; returns how many a second it came to. */
async function writeSteadily(server: ServerProcess, bodies: readonly string[], signal: AbortSignal): Promise<number> {
  const startedMs = performance.now();
  let written = 0;
  for (const body of bodies) {
    const dueMs = startedMs + (written * 1000) / writesPerSecond;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (signal.aborted) break;
    if (await send(server, body)) written += writeBatch;
  }
  return (written * 1000) / (performance.now() - startedMs);
}

export async function measureWriting(server: ServerProcess, setup: Setup, full: Rates): Promise<Row[]> {
  const { source, count, durationMs, warmUpMs } = setup;
  const kinds = ["text", "hybrid"] as const;
  const seconds = Math.ceil((kinds.length * (warmUpMs + 3 * durationMs)) / 1000) + 5;
  const bodies = Array.from({ length: (seconds * writesPerSecond) / writeBatch }, (_, i) => {
    return writeBody(source, count + i * writeBatch, count + (i + 1) * writeBatch);
  });
  const stop = new AbortController();
  const writing = writeSteadily(server, bodies, stop.signal);
  const rates: Measured[] = [];
  for (const kind of kinds) rates.push(await rateOf(server, setup, kind));
  stop.abort();
  const what = `while ${Math.round(await writing)} documents a second are written`;
  return kinds.map((kind, i) => shareRow(what, kind, rates[i]!, full, 0.5));
}

/** What ten times the documents cost a query. */
export async function measureGrowth(setup: Setup, full: Rates): Promise<Row[]> {
  const fewer = Math.max(1, Math.floor(setup.count / 10));
  await using server = await startServer(join(setup.folder, "fewer"));
  await createCollection(server, setup.source);
  await write(server, setup.source, 0, fewer);
  await settled(server);
  const rows: Row[] = [];
  for (const kind of ["vector", "text"] as const) {
    const small = await rateOf(server, setup, kind);
    rows.push({
      what: `${names[kind]}: ${setup.count} documents against ${fewer}`,
      ours: shownRate(full[kind]),
      peer: shownRate(small),
      ratio: full[kind].perSecond / small.perSecond,
      bound: { atLeast: 0.5 },
    });
  }
  return rows;
}

/** Fills a server so that a tenth of the documents is in the tail, and measures that. */
export async function measureTail(setup: Setup, full: Rates): Promise<Row[]> {
  const { source, count, folder } = setup;
  const dataDir = join(folder, "tail");
  const sealed = count - Math.floor(count / 10);
  {
    await using server = await startServer(dataDir);
    await createCollection(server, source);
    await write(server, source, 0, sealed);
    await settled(server);
    await server.stop();
  }
  await using server = await startServer(dataDir, unsealed);
  await write(server, source, sealed, count);
  const rows: Row[] = [];
  for (const kind of queryKinds) {
    rows.push(shareRow("a tenth in the tail", kind, await rateOf(server, setup, kind), full, 0.7));
  }
  return rows;
}

export async function measureFirst(dataDir: string, asked: readonly Question[]): Promise<Row> {
  await using server = await startServer(dataDir);
  const startedMs = performance.now();
  await made(`${server.url}${queryPath}`, queryBody("hybrid", asked[0]!));
  const tookMs = performance.now() - startedMs;
  return {
    what: "first hybrid query after a restart, from ready",
    ours: `${Math.round(tookMs)} ms`,
    peer: "1000 ms",
    ratio: tookMs / 1000,
    bound: { atMost: 1 },
  };
}
