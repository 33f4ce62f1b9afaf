import { DuckDBInstance } from "@duckdb/node-api";
import { createFlightSqlClient } from "@lakehouse-rs/flight-sql-client";
import { tableFromIPC } from "apache-arrow";
import pg from "pg";
import { ask } from "../test/support/http.ts";
import { ServerProcess } from "../test/support/process.ts";
import { DocumentSource, dim } from "./support/documents.ts";
import { median } from "./support/peers.ts";
import { startPostgres } from "./support/postgres-peer.ts";
import { printTable, type Row } from "./support/table.ts";

/** Documents, and rows of the large result; `--small` for a look at whether everything runs. */
const sizes = { full: { documents: 100_000, rows: 1_000_000 }, small: { documents: 5_000, rows: 50_000 } };
const batchDocuments = 1_000;
const repeats = 30;
const turns = 60;
const groupBy = "SELECT tag, count(*) AS c, sum(n) AS s, avg(n) AS a FROM docs GROUP BY tag ORDER BY tag";

const schema = {
  fields: [
    { name: "text", kind: "text" },
    { name: "tag", kind: "keyword", fast: true },
    { name: "n", kind: "i64" },
  ],
  vectors: [{ name: "v", dim, distance: "cosine" }],
};

interface Setup {
  readonly server: ServerProcess;
  readonly url: string;
  readonly source: DocumentSource;
  readonly documents: number;
  readonly rows: number;
}

const parts: Readonly<Record<string, (setup: Setup) => Promise<Row[]>>> = {
  group: benchGroupBy,
  hybrid: benchHybrid,
  postgres: benchPostgres,
  flight: benchFlight,
};

/** `--only=group,hybrid` runs some of the parts. */
export async function benchSql(argv: readonly string[]): Promise<void> {
  const only = argv
    .find((flag) => flag.startsWith("--only="))
    ?.slice("--only=".length)
    .split(",");
  const { documents, rows } = argv.includes("--small") ? sizes.small : sizes.full;
  await using server = await ServerProcess.start();
  const url = `${server.url}/v1/namespaces/bench`;
  const setup: Setup = { server, url, source: new DocumentSource(5), documents, rows };
  await load(setup);
  const found: Row[] = [];
  for (const [name, bench] of Object.entries(parts)) {
    if (only === undefined || only.includes(name)) found.push(...(await bench(setup)));
  }
  printTable(`SQL over ${documents} documents`, found);
}

async function load({ server, url, source, documents }: Setup): Promise<void> {
  await ask(`${server.url}/v1/namespaces`, { body: { name: "bench" } });
  await ask(`${url}/collections`, { body: { name: "docs", schema } });
  for (let from = 0; from < documents; from += batchDocuments) {
    const ops = Array.from({ length: batchDocuments }, (_, i) => upsert(source, from + i));
    for (;;) {
      const { status, text } = await ask(`${url}/collections/docs/documents`, { body: { ops } });
      if (status === 200) break;
      if (status !== 429) throw new Error(text);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function upsert(source: DocumentSource, at: number): object {
  const { id, text, tag, n, vector } = source.document(at);
  return { upsert: { id, source: { text, tag, n }, vectors: { v: Array.from(vector) } } };
}

async function sql(url: string, query: string): Promise<{ json: { rows: unknown[] } }> {
  const done = await ask(`${url}/sql`, { body: { query } });
  if (done.status !== 200) throw new Error(done.text);
  return done;
}

/** Median time of something, after it has been done a few times; `between` is not timed. */
async function timed(work: () => Promise<unknown>, between?: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = -3; i < repeats; i++) {
    await between?.();
    const startedMs = performance.now();
    await work();
    if (i >= 0) times.push(performance.now() - startedMs);
  }
  return median(times);
}

/** The same of several by turns, so that what else the machine does meets them all. */
async function timedByTurns(works: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const times: number[][] = works.map(() => []);
  for (let i = -3; i < turns; i++) {
    for (const [at, work] of works.entries()) {
      const startedMs = performance.now();
      await work();
      if (i >= 0) times[at]!.push(performance.now() - startedMs);
    }
  }
  return times.map(median);
}

/** DuckDB by itself in this process, with the same rows. */
async function plainDuckDb({ source, documents }: Setup) {
  const instance = await DuckDBInstance.create(":memory:", { threads: "2" });
  const connection = await instance.connect();
  await connection.run("CREATE TABLE docs (_id BIGINT, text VARCHAR, tag VARCHAR, n BIGINT)");
  const appender = await connection.createAppender("docs");
  for (let at = 0; at < documents; at++) {
    const { id, text, tag, n } = source.document(at);
    appender.appendBigInt(BigInt(id));
    appender.appendVarchar(text);
    appender.appendVarchar(tag);
    appender.appendBigInt(BigInt(n));
    appender.endRow();
  }
  appender.closeSync();
  return connection;
}

async function benchGroupBy(setup: Setup): Promise<Row[]> {
  const { url, source, documents } = setup;
  const connection = await plainDuckDb(setup);
  await sql(url, groupBy);
  const plain = await timed(async () => (await connection.runAndReadAll(groupBy)).getRows());
  const ours = await timed(() => sql(url, groupBy));
  let at = 0;
  const write = () => ask(`${url}/collections/docs/documents`, { body: { ops: [upsert(source, at++ % documents)] } });
  const later = await timed(() => sql(url, groupBy), write);
  const bound = { atMost: 2 };
  return [
    row("a group-by over REST", ours, "plain DuckDB", plain, bound),
    row("the same right after a write", later, "plain DuckDB", plain, bound),
  ];
}

function row(what: string, ours: number, whose: string, peer: number, bound: Row["bound"]): Row {
  return { what, ours: `${ours.toFixed(2)} ms`, peer: `${whose}: ${peer.toFixed(2)} ms`, ratio: ours / peer, bound };
}

async function benchHybrid(setup: Setup): Promise<Row[]> {
  const { url, source } = setup;
  const connection = await plainDuckDb({ ...setup, documents: 1_000 });
  const { text, vector, tag } = source.document(17);
  const words = text.split(" ").slice(0, 3).join(" ");
  const query = Array.from(vector);
  const body = {
    from: "collections.docs",
    retrieve: [{ vector: { field: "v", query, k: 50 } }, { text: { field: "text", query: words, k: 50 } }],
    filter: { term: { tag } },
    fuse: { method: "rrf", k: 60 },
    limit: 10,
  };
  const statement = `SELECT * FROM rrf(vector_search(docs, [${query.join(",")}], v, 50), text_search(docs, '${words}', text, 50)) WHERE tag = '${tag}' LIMIT 10`;
  const [asQuery, asSql, bare] = await timedByTurns([
    () => ask(`${url}/query`, { body }),
    () => sql(url, statement),
    async () => (await connection.runAndReadAll("SELECT * FROM docs WHERE n = 7")).getRows(),
  ]);
  const limit = asQuery! + 3 * bare!;
  return [row("a hybrid statement over REST", asSql!, "/query and three DuckDB statements", limit, { atMost: 1 })];
}

/** Statements a second of one client that waits for each answer. */
async function perSecond(work: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < 50; i++) await work();
  const startedMs = performance.now();
  let count = 0;
  while (performance.now() - startedMs < 2_000) {
    await work();
    count++;
  }
  return (count * 1000) / (performance.now() - startedMs);
}

/** Over the wire, with a statement that the edge answers itself and with one that goes through the engine. */
async function benchPostgres({ server }: Setup): Promise<Row[]> {
  const client = new pg.Client({ ...server.postgres, database: "bench", user: "bench", password: "none" });
  await client.connect();
  const ours = await perSecond(() => client.query("SELECT 1"));
  const engine = await perSecond(() => client.query("SELECT 1 + 1 AS two"));
  await client.end();
  await using peer = await startPostgres();
  const theirs = peer && (await postgresRates(peer.url));
  return [
    rateRow("select 1 over the Postgres wire", ours, theirs?.constant, { atLeast: 0.5 }),
    rateRow("select 1 + 1, through the engine", engine, theirs?.sum, undefined),
  ];
}

async function postgresRates(connectionString: string): Promise<{ constant: number; sum: number }> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const constant = await perSecond(() => client.query("SELECT 1"));
  const sum = await perSecond(() => client.query("SELECT 1 + 1 AS two"));
  await client.end();
  return { constant, sum };
}

function rateRow(what: string, ours: number, theirs: number | undefined, bound: Row["bound"]): Row {
  const shown = { what, ours: `${ours.toFixed(0)}/s` };
  if (theirs === undefined) return { ...shown, peer: "no PostgreSQL here", ratio: Number.NaN, bound: undefined };
  return { ...shown, peer: `PostgreSQL: ${theirs.toFixed(0)}/s`, ratio: ours / theirs, bound };
}

async function benchFlight({ server, url, rows }: Setup): Promise<Row[]> {
  const query = `SELECT range AS id, range * 1.5::DOUBLE AS price, 'text ' || range AS name FROM range(${rows})`;
  const { hostname: host, port } = new URL(server.url);
  const client = await createFlightSqlClient({
    tls: false,
    host,
    port: Number(port),
    headers: [{ key: "namespace", value: "bench" }],
  });
  const rate = async (work: () => Promise<number>) => {
    const startedMs = performance.now();
    const read = await work();
    if (read !== rows) throw new Error(`${read} rows came of ${rows}`);
    return (read * 1000) / (performance.now() - startedMs);
  };
  const overFlight = async () => tableFromIPC(await client.query(query)).numRows;
  const overRest = async () => (await sql(url, query)).json.rows.length;
  await overFlight();
  const flight = Math.max(await rate(overFlight), await rate(overFlight));
  const rest = Math.max(await rate(overRest), await rate(overRest));
  return [
    {
      what: `${rows} rows over Flight SQL`,
      ours: `${Math.round(flight)}/s`,
      peer: `REST: ${Math.round(rest)}/s`,
      ratio: flight / rest,
      bound: { atLeast: 3 },
    },
  ];
}
