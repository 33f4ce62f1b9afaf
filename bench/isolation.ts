import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createFlightSqlClient } from "@lakehouse-rs/flight-sql-client";
import { tableFromIPC } from "apache-arrow";
import pg from "pg";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder, thisBuild } from "../test/support/process.ts";
import { DocumentSource } from "./support/documents.ts";
import { median } from "./support/peers.ts";
import { printTable, type Row } from "./support/table.ts";

/** What it costs that SQL runs in processes of their own: this build and one from before that, by turns. */
interface Options {
  readonly old: string;
  readonly documents: number;
  readonly rows: number;
}

const batchDocuments = 1_000;
const groupBy = "SELECT tag, count(*) AS c, sum(n) AS s, avg(n) AS a FROM docs GROUP BY tag ORDER BY tag";
const fields = [
  { name: "tag", kind: "keyword", fast: true },
  { name: "n", kind: "i64" },
];

type Pair = readonly [before: ServerProcess, after: ServerProcess];

const parts: Readonly<Record<string, (options: Options) => Promise<Row[]>>> = {
  wire: (options) => withPair(options, benchWire),
  group: (options) => withPair(options, benchGroupBy),
  flight: (options) => withPair(options, benchFlight),
  start: benchStart,
  idle: benchIdle,
};

/** `--old=DIR` is a checkout of the build before; `--only=wire,group,flight,start,idle` leaves the others out. */
export async function benchIsolation(argv: readonly string[]): Promise<void> {
  const given = (name: string) => argv.find((flag) => flag.startsWith(`--${name}=`))?.slice(name.length + 3);
  const old = given("old");
  if (old === undefined) {
    console.log("isolation: give the folder of the build before: --old DIR");
    return;
  }
  const isSmall = argv.includes("--small");
  const options = { old: resolve(old), documents: isSmall ? 5_000 : 100_000, rows: isSmall ? 50_000 : 1_000_000 };
  const only = given("only")?.split(",");
  const found: Row[] = [];
  for (const [name, bench] of Object.entries(parts)) {
    if (only === undefined || only.includes(name)) found.push(...(await bench(options)));
  }
  printTable("SQL in processes of their own, against the build before", found);
}

function start(build: string): Promise<ServerProcess> {
  return ServerProcess.start({ build });
}

async function withPair(options: Options, bench: (pair: Pair, options: Options) => Promise<Row[]>): Promise<Row[]> {
  await using before = await start(options.old);
  await using after = await start(thisBuild);
  await Promise.all([load(before, options.documents), load(after, options.documents)]);
  return await bench([before, after], options);
}

async function load({ url }: ServerProcess, documents: number): Promise<void> {
  const source = new DocumentSource(5);
  await ask(`${url}/v1/namespaces`, { body: { name: "bench" } });
  await ask(`${url}/v1/namespaces/bench/collections`, { body: { name: "docs", schema: { fields } } });
  for (let from = 0; from < documents; ) {
    const ops = Array.from({ length: batchDocuments }, (_, i) => {
      const { id, tag, n } = source.document(from + i);
      return { upsert: { id, source: { tag, n } } };
    });
    const { status, text } = await ask(`${url}/v1/namespaces/bench/collections/docs/documents`, { body: { ops } });
    if (status === 200) from += batchDocuments;
    else if (status === 429) await sleep(50);
    else throw new Error(text);
  }
}

/** Measures both by turns, the one before first and last, and compares each of ours with the mean of its neighbours. */
async function byTurns(rounds: number, pair: readonly (() => Promise<number>)[]) {
  const [before, after] = pair as [() => Promise<number>, () => Promise<number>];
  const [olds, news] = [[await before()], [] as number[]];
  for (let round = 0; round < rounds; round++) {
    news.push(await after());
    olds.push(await before());
  }
  const ratio = median(news.map((each, i) => (2 * each) / (olds[i]! + olds[i + 1]!)));
  return { old: median(olds), now: median(news), ratio };
}

function rateRow(what: string, turns: Awaited<ReturnType<typeof byTurns>>, atLeast: number): Row {
  const { old, now, ratio } = turns;
  return { what, ours: `${Math.round(now)}/s`, peer: `before: ${Math.round(old)}/s`, ratio, bound: { atLeast } };
}

function timeRow(what: string, turns: Awaited<ReturnType<typeof byTurns>>, atMost: number): Row {
  const { old, now, ratio } = turns;
  return { what, ours: `${now.toFixed(1)} ms`, peer: `before: ${old.toFixed(1)} ms`, ratio, bound: { atMost } };
}

async function perSecond(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  let count = 0;
  for (; performance.now() - startedMs < 500; count++) await work();
  return (count * 1000) / (performance.now() - startedMs);
}

async function benchWire(pair: Pair, { documents }: Options): Promise<Row[]> {
  const clients = pair.map(({ postgres }) => new pg.Client({ ...postgres, database: "bench", user: "bench" }));
  for (const client of clients) await client.connect();
  const source = new DocumentSource(5);
  let at = 0;
  const rate = (run: (client: pg.Client) => Promise<unknown>) =>
    clients.map((client) => () => perSecond(() => run(client)));
  const nextId = () => {
    at = (at + 7_919) % documents;
    return source.document(at).id;
  };
  const rows: Row[] = [];
  for (const [what, run] of [
    ["select 1 over Postgres", (client: pg.Client) => client.query("SELECT 1")],
    ["select 1 + 1, through the engine", (client: pg.Client) => client.query("SELECT 1 + 1 AS two")],
    [
      "a point look-up over Postgres",
      (client: pg.Client) => client.query("SELECT tag, n FROM docs WHERE _id = $1", [nextId()]),
    ],
  ] as const) {
    for (const each of rate(run)) await each();
    rows.push(rateRow(what, await byTurns(9, rate(run)), 0.9));
  }
  for (const client of clients) await client.end();
  return rows;
}

async function benchGroupBy(pair: Pair, { documents }: Options): Promise<Row[]> {
  const works = pair.map(({ url }) => async () => {
    const startedMs = performance.now();
    const { status, text } = await ask(`${url}/v1/namespaces/bench/sql`, { body: { query: groupBy } });
    if (status !== 200) throw new Error(text);
    return performance.now() - startedMs;
  });
  for (let i = 0; i < 10; i++) for (const work of works) await work();
  return [timeRow(`a group-by of ${documents} documents`, await byTurns(60, works), 1.1)];
}

async function benchFlight(pair: Pair, { rows }: Options): Promise<Row[]> {
  const query = `SELECT range AS id, range * 1.5::DOUBLE AS price, 'text ' || range AS name FROM range(${rows})`;
  const works = await Promise.all(
    pair.map(async ({ url }) => {
      const { hostname: host, port } = new URL(url);
      const headers = [{ key: "namespace", value: "bench" }];
      const client = await createFlightSqlClient({ tls: false, host, port: Number(port), headers });
      return async () => {
        const startedMs = performance.now();
        const read = tableFromIPC(await client.query(query)).numRows;
        if (read !== rows) throw new Error(`${read} rows came of ${rows}`);
        return (read * 1000) / (performance.now() - startedMs);
      };
    }),
  );
  for (const work of works) await work();
  return [rateRow(`${rows} rows over Flight SQL`, await byTurns(9, works), 0.8)];
}

/** From the start of the server, on a folder that is there, to the first statement's answer. */
async function benchStart({ old }: Options): Promise<Row[]> {
  const works = await Promise.all(
    [old, thisBuild].map(async (build) => {
      const dataDir = await temporaryFolder();
      await using first = await ServerProcess.start({ build, dataDir });
      await ask(`${first.url}/v1/namespaces`, { body: { name: "bench" } });
      await first.stop();
      return async () => {
        const startedMs = performance.now();
        await using server = await ServerProcess.start({ build, dataDir });
        const query = "select count(*) from range(3)";
        const { status, text } = await ask(`${server.url}/v1/namespaces/bench/sql`, { body: { query } });
        if (status !== 200) throw new Error(text);
        return performance.now() - startedMs;
      };
    }),
  );
  for (const work of works) await work();
  return [timeRow("the first statement after a start", await byTurns(7, works), 1)];
}

async function benchIdle({ old }: Options): Promise<Row[]> {
  await using before = await start(old);
  await using after = await start(thisBuild);
  await sleep(15_000);
  const [was, is] = [before, after].map(({ child }) => memoryOf(child.pid!)) as [number, number];
  const shown = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;
  const more = (is - was) / (60 * 1024 * 1024);
  const what = "memory of an idle server; the ratio is what it has more, of 60 MB";
  return [{ what, ours: shown(is), peer: `before: ${shown(was)}`, ratio: more, bound: { atMost: 1 } }];
}

/** Of a process and all below it, what they share with others in part. */
function memoryOf(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
  let bytes = Number(/^Pss:\s+(\d+)/m.exec(rollup)![1]) * 1024;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const children = readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").split(" ").filter(Boolean);
    for (const child of children) bytes += memoryOf(Number(child));
  }
  return bytes;
}
