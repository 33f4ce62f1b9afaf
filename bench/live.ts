import { fork } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:http2";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { encodeOrdered } from "../src/engine/live/order.ts";
import { documentName, ReaderIndex, ReadSet } from "../src/engine/live/read-set.ts";
import { creationOrder, keyRange, spaceOf } from "../src/engine/live/table.ts";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder } from "../test/support/process.ts";
import { cpuSeconds } from "./support/cpu.ts";
import { median } from "./support/peers.ts";
import { printTable, type Row } from "./support/table.ts";

const service = "/service.live.v1.LiveService";
const clients = 64;
const rounds = 5;
const roundMs = 1_500;

const functions = `import { query, mutation, v } from "native-engine/live";
export const read = query({ args: { ids: v.array(v.string()) }, handler: async (ctx, { ids }) =>
  [...(await Promise.all(ids.map((id) => ctx.db.get(id)))), await ctx.db.query("rows").take(20)] });
export const add = mutation({ args: { id: v.string() }, handler: async (ctx, { id }) => {
  const { n } = await ctx.db.get(id);
  await ctx.db.patch(id, { n: n + 1 });
} });`;

type Body = (turn: number) => object;

interface Loaded {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

async function post(port: number, agent: Agent | undefined, call: string, body: object): Promise<string> {
  const headers = { "content-type": "application/json" };
  const sent = request({ port, host: "127.0.0.1", path: `${service}/${call}`, method: "POST", headers, agent });
  sent.end(JSON.stringify(body));
  const [answer] = await once(sent, "response");
  const said = await text(answer);
  if (answer.statusCode !== 200 || said.startsWith('{"error"')) throw new Error(said);
  return said;
}

/** Calls over and over, each client one at a time. Any error ends the benchmark. */
async function load(port: number, call: string, body: Body, durationMs = roundMs): Promise<Loaded> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const taken: number[] = [];
  let turn = 0;
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let nowMs = startMs; nowMs - startMs < durationMs; ) {
        const sentMs = nowMs;
        await post(port, agent, call, body(turn++));
        nowMs = performance.now();
        taken.push(nowMs - sentMs);
      }
    }),
  );
  agent.destroy();
  taken.sort((a, b) => a - b);
  const at = (share: number) => taken[Math.floor(taken.length * share)]!;
  return { perSecond: (taken.length * 1_000) / (performance.now() - startMs), p50Ms: at(0.5), p99Ms: at(0.99) };
}

function shown(results: readonly Loaded[]): string {
  const of = (name: keyof Loaded) => median(results.map((each) => each[name]));
  return `${Math.round(of("perSecond"))}/s, p50 ${of("p50Ms").toFixed(1)} ms, p99 ${of("p99Ms").toFixed(1)} ms`;
}

/** By turns; the ratio is the middle one of the rounds. */
async function compare(what: string, atLeast: number, ours: () => Promise<Loaded>, peer: () => Promise<Loaded>) {
  const [mine, theirs]: [Loaded[], Loaded[]] = [[], []];
  await peer();
  await ours();
  for (let round = 0; round < rounds; round++) {
    theirs.push(await peer());
    mine.push(await ours());
  }
  const ratio = median(mine.map(({ perSecond }, i) => perSecond / theirs[i]!.perSecond));
  return { what, ours: shown(mine), peer: shown(theirs), ratio, bound: { atLeast } };
}

async function insert(port: number, table: string, document: object): Promise<string> {
  const call = { function: "_tables:insert", args: { table, document } };
  return JSON.parse(await post(port, undefined, "Mutate", { namespace: "bench", call })).value as string;
}

async function fill(port: number, table: string, count: number): Promise<string[]> {
  const create = { function: "_tables:create", args: { table } };
  await post(port, undefined, "Mutate", { namespace: "bench", call: create });
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await insert(port, table, { n, text: `row ${n}` }));
  return ids;
}

async function startPeer(dataDir: string): Promise<{ readonly port: number } & AsyncDisposable> {
  const child = fork(fileURLToPath(new URL("support/live-peer.ts", import.meta.url)), [dataDir], { stdio: "inherit" });
  const [port] = (await once(child, "message")) as [number];
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "exit");
    },
  };
}

async function compareCalls(server: ServerProcess, folder: string): Promise<Row[]> {
  const port = Number(new URL(server.live).port);
  await using peer = await startPeer(join(folder, "peer"));
  const document = { text: "x".repeat(100), n: 1 };
  const ids = await fill(port, "rows", 40);
  const peerIds = await fill(peer.port, "rows", 40);
  await fill(port, "log", 0);
  const insertOne: Body = () => {
    return { namespace: "bench", call: { function: "_tables:insert", args: { table: "log", document } } };
  };
  const append: Body = () => ({ namespace: "bench", call: { function: "append", args: document } });
  const read = (of: readonly string[]): Body => {
    const call = { function: "f:read", args: { ids: of.slice(0, 10) } };
    return () => ({ namespace: "bench", call });
  };
  return [
    await compare(
      `mutations of one insert, ${clients} clients, against appends`,
      0.5,
      () => load(port, "Mutate", insertOne),
      () => load(peer.port, "Mutate", append),
    ),
    await compare(
      "queries of 10 gets and a range of 20, against reads without a sandbox",
      0.5,
      () => load(port, "Query", read(ids)),
      () => load(peer.port, "Query", read(peerIds)),
    ),
  ];
}

/** Four of five mutations change one document; every other has one of its own. */
async function compareContention(server: ServerProcess): Promise<Row> {
  const port = Number(new URL(server.live).port);
  const ids = await fill(port, "counters", 2 * clients);
  const add = (id: string) => ({ namespace: "bench", call: { function: "f:add", args: { id } } });
  return await compare(
    "80 % of mutations on one document, against none",
    0.4,
    () => load(port, "Mutate", (turn) => add(ids[turn % 5 > 0 ? 0 : turn % ids.length]!)),
    () => load(port, "Mutate", (turn) => add(ids[turn % ids.length]!)),
  );
}

/** Sessions over HTTP/2 that watch one query; each change reaches all of them. */
async function measureSessions(server: ServerProcess, sessions: number): Promise<Row> {
  const port = Number(new URL(server.live).port);
  await fill(port, "watched", 0);
  const perConnection = 100;
  const query = { queryId: 1, call: { function: "_tables:count", args: { table: "watched" } } };
  const message = Buffer.from(JSON.stringify({ namespace: "bench", queries: [query] }));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  const body = Buffer.concat([head, message]);
  let count = 0;
  let wanted = "";
  let reached = 0;
  let done = () => {};
  const connections = Array.from({ length: sessions / perConnection }, () => connect(server.live));
  for (const connection of connections) {
    for (let i = 0; i < perConnection; i++) {
      const stream = connection.request({
        ":method": "POST",
        ":path": `${service}/Watch`,
        "content-type": "application/connect+json",
      });
      stream.on("data", (chunk: Buffer) => {
        if (wanted !== "" && chunk.includes(wanted) && ++reached === sessions) done();
      });
      stream.end(body);
    }
  }
  const change = async () => {
    const all = new Promise<void>((resolve) => {
      done = resolve;
    });
    reached = 0;
    wanted = `"value":${++count},`;
    const before = cpuSeconds(server.child.pid!);
    const startMs = performance.now();
    await insert(port, "watched", {});
    await all;
    return { cpu: cpuSeconds(server.child.pid!) - before, ms: performance.now() - startMs };
  };
  // The first waits until all are open.
  await change();
  const taken = [];
  for (let i = 0; i < rounds; i++) taken.push(await change());
  for (const connection of connections) connection.destroy();
  const seconds = median(taken.map(({ cpu }) => cpu));
  const wallMs = median(taken.map(({ ms }) => ms));
  return {
    what: `a change reaches ${sessions} sessions of one query: seconds of processor`,
    ours: `${seconds.toFixed(2)} s of processor, ${Math.round(wallMs)} ms by the clock`,
    peer: "1 s",
    ratio: seconds,
    bound: { atMost: 1 },
  };
}

/** Whom a commit touches, among queries that each have arguments of their own. */
function measureLookup(subscriptions: number): Row {
  const index = new ReaderIndex<number>();
  const space = spaceOf(1, 2);
  for (let i = 0; i < subscriptions; i++) {
    const read = new ReadSet();
    read.ranges.push(keyRange(space, { equal: [`room ${i}`] }));
    read.documents.add(documentName(1, `document ${i}`));
    index.add(i, read);
  }
  const touched = (i: number) => {
    const field = encodeOrdered(`room ${i % subscriptions}`);
    const documentKey = `key of 16 bytes ${i}`;
    const places = [
      { space: spaceOf(1, creationOrder), key: documentKey, ends: [] },
      { space, key: field + documentKey, ends: [field.length] },
    ];
    return index.touchedBy({ documents: [documentName(1, documentKey)], places, schema: false }).size;
  };
  const times = 100_000;
  for (let i = 0; i < times; i++) touched(i);
  const startMs = performance.now();
  let found = 0;
  for (let i = 0; i < times; i++) found += touched(i * 7);
  const micros = ((performance.now() - startMs) * 1_000) / times;
  if (found !== times) throw new Error(`${found} of ${times} were found`);
  return {
    what: `whom a mutation touches of ${subscriptions} subscriptions: µs`,
    ours: `${micros.toFixed(2)} µs`,
    peer: "20 µs",
    ratio: micros,
    bound: { atMost: 20 },
  };
}

/** `--small`: fewer sessions. */
export async function benchLive(argv: readonly string[]): Promise<void> {
  const folder = await temporaryFolder();
  const rows: Row[] = [];
  try {
    await using server = await ServerProcess.start({ dataDir: join(folder, "live") });
    await ask(`${server.url}/v1/namespaces`, { body: { name: "bench" } });
    const port = Number(new URL(server.live).port);
    await post(port, undefined, "Deploy", { namespace: "bench", modules: [{ path: "f", source: functions }] });
    rows.push(...(await compareCalls(server, folder)));
    rows.push(await compareContention(server));
    rows.push(await measureSessions(server, argv.includes("--small") ? 1_000 : 10_000));
    rows.push(measureLookup(100_000));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  printTable("live", rows);
}
