import { readFileSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../test/support/http.ts";
import { ServerProcess, temporaryFolder, thisBuild } from "../test/support/process.ts";
import { batch, plain, single } from "./events.ts";
import { appends, createStream, manyPartitions, measureStart, port, recordsPath } from "./streams.ts";
import { compare, type Side, type Turns } from "./support/by-turns.ts";
import { idle } from "./support/cpu.ts";
import { fresh, freshNumber, type LoadRequest } from "./support/load-plan.ts";
import { median, runLoad } from "./support/peers.ts";
import { startRedis } from "./support/redis-peer.ts";
import { printTable, type Row } from "./support/table.ts";

const valueBytes = 200;
const redisEntries = 200_000;
/** After a load, until what is written in the background has been written. */
const settleMs = 3_000;

interface Options {
  readonly old: string | undefined;
  readonly new: string;
  readonly turns: Turns;
  readonly gigabytes: number;
  readonly folder: string;
}

/** A server of a build with the streams and the collection that the loads go to. */
async function start(build: string, dataDir: string): Promise<ServerProcess> {
  const server = await ServerProcess.start({ build, dataDir });
  try {
    await prepare(server.url);
  } catch (error) {
    await server.kill();
    throw error;
  }
  return server;
}

async function prepare(url: string): Promise<void> {
  await ask(`${url}/v1/namespaces`, { body: { name: "bench" } });
  for (const name of ["one", "plain", "events"]) await createStream(url, name, 1);
  const fields = [
    { name: "tag", kind: "keyword" },
    { name: "n", kind: "i64" },
  ];
  const made = await ask(`${url}/v1/namespaces/bench/collections`, {
    body: { name: "docs", schema: { fields } },
  });
  if (made.status >= 300) throw new Error(made.text);
}

/** A new document with two fields that are indexed and a text that is stored. */
function upsert(): LoadRequest {
  const source = { tag: "a", n: 7, text: "v".repeat(valueBytes - 11) };
  const body = JSON.stringify({ ops: [{ upsert: { id: freshNumber, source } }] });
  return { method: "POST", path: "/v1/namespaces/bench/collections/docs/documents", body };
}

function side(server: ServerProcess, requests: readonly LoadRequest[]): Side {
  return { port: port(server.url), requests, pid: server.child.pid! };
}

/** The build before and this one by turns. */
async function builds({ old, new: build, turns, folder }: Options): Promise<Row[]> {
  if (old === undefined) return [missing("two builds by turns", "give the folder of the build before: --old DIR")];
  await using before = await start(old, join(folder, "before"));
  await using after = await start(build, join(folder, "after"));
  const rows: Row[] = [];
  const one = recordsPath("one", 0);
  for (const [what, connections, requests] of [
    ["single appends", 64, [appends(one, 1), appends(one, 1)]],
    ["batches of 100", 16, [appends(one, 100), appends(one, 100)]],
    ["one client", 1, [appends(one, 1), appends(one, 1)]],
    [
      "single appends over 10,000 partitions",
      64,
      await Promise.all([before, after].map(({ url }) => manyPartitions(url))),
    ],
  ] as const) {
    const title = `${what}, ${connections} connections, against the build before`;
    rows.push(
      await compare(title, 0.95, connections, side(after, requests[1]!), side(before, requests[0]!), {
        ...turns,
        putOffMs: settleMs,
      }),
    );
  }
  return rows;
}

/** What else is written, against plain appends. */
async function kinds({ new: build, turns, folder }: Options): Promise<Row[]> {
  await using server = await start(build, join(folder, "kinds"));
  const rows: Row[] = [];
  const hundred = batch(Array.from({ length: 100 }, () => fresh));
  for (const [what, connections, atLeast, ours, peer] of [
    ["single events against plain appends", 64, 0.9, single(), plain(1)],
    ["batches of 100 events against 100 records", 16, 0.7, hundred, plain(100)],
    ["single document upserts against plain appends", 64, 0.6, upsert(), plain(1)],
  ] as const) {
    const title = `${what}, ${connections} connections`;
    rows.push(await compare(title, atLeast, connections, side(server, [ours]), side(server, [peer]), turns));
  }
  return rows;
}

async function redis({ new: build, turns, folder }: Options): Promise<Row[]> {
  await using peer = await startRedis();
  const what = "batches of 100 records against pipelines of 100 XADD, appendfsync always, 16 connections";
  if (peer === undefined)
    return [missing(what, "redis-server is not installed (Debian: apt-get install redis-server)")];
  await using server = await start(build, join(folder, "redis"));
  const { rounds, ...timing } = turns;
  const rates: { ours: number; peer: number }[] = [];
  const value = "v".repeat(valueBytes);
  for (let round = 0; round < rounds; round++) {
    const plan = { ...timing, port: port(server.url), requests: appends(recordsPath("one", 0), 100), connections: 16 };
    const { perSecond } = await runLoad(plan);
    await idle(server.child.pid!);
    rates.push({
      ours: perSecond * 100,
      peer: await peer.appends({ connections: 16, pipelined: 100, entries: redisEntries, value }),
    });
  }
  const shown = (side: "ours" | "peer") => `${Math.round(median(rates.map((each) => each[side])))} records/s`;
  const ratio = median(rates.map(({ ours, peer: theirs }) => ours / theirs));
  return [{ what, ours: shown("ours"), peer: shown("peer"), ratio, bound: { atLeast: 3 } }];
}

interface Written {
  /** What the disk that holds the data has written, whoever asked for it: only a machine that does nothing else tells something. */
  readonly disk: number;
  /** `write_bytes` of the process, where a page counts as the whole folio of the page cache that it is in, and ext4 may have large ones. */
  readonly process: number;
}

function writtenBy({ child, dataDir }: ServerProcess): Written {
  const { dev } = statSync(dataDir);
  const device = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
  const sectors = Number(readFileSync(`/sys/dev/block/${device}/stat`, "utf8").trim().split(/\s+/)[6]);
  const io = readFileSync(`/proc/${child.pid}/io`, "utf8");
  return { disk: sectors * 512, process: Number(/^write_bytes: (\d+)/m.exec(io)?.[1]) };
}

const written: readonly (readonly [string, number, number, LoadRequest])[] = [
  ["single appends", 64, 1, appends(recordsPath("one", 0), 1)[0]],
  ["batches of 100", 16, 100, appends(recordsPath("one", 0), 100)[0]],
  ["single document upserts", 64, 1, upsert()],
];

/** Bytes on the disk for each byte of records, with what is written in the background. */
async function writtenPerByte(build: string, dataDir: string, durationMs: number): Promise<string[]> {
  await using server = await start(build, dataDir);
  const ratios: string[] = [];
  for (const [, connections, records, request] of written) {
    const plan = { port: port(server.url), connections, requests: [request], warmUpMs: 0 };
    const settled = async () => {
      await sleep(settleMs);
      await idle(server.child.pid!);
      return writtenBy(server);
    };
    // Files that are made once are there after this.
    await runLoad({ ...plan, durationMs });
    const before = await settled();
    const { requests } = await runLoad({ ...plan, durationMs });
    const after = await settled();
    const share = (side: keyof Written) =>
      ((after[side] - before[side]) / (requests * records * valueBytes)).toFixed(2);
    ratios.push(`${share("disk")} (write_bytes ${share("process")})`);
  }
  return ratios;
}

async function disk({ old, new: build, turns, folder }: Options): Promise<Row[]> {
  const durationMs = 2 * turns.durationMs;
  const now = await writtenPerByte(build, join(folder, "disk"), durationMs);
  const before = old === undefined ? [] : await writtenPerByte(old, join(folder, "disk-before"), durationMs);
  return written.map(([what, connections], i) => ({
    what: `bytes written to the disk for each byte of records: ${what}, ${connections} connections`,
    ours: now[i]!,
    peer: before[i] === undefined ? "" : `before: ${before[i]}`,
    ratio: Number.NaN,
    bound: undefined,
  }));
}

function missing(what: string, peer: string): Row {
  return { what, ours: "not measured", peer, ratio: Number.NaN, bound: undefined };
}

const parts: Readonly<Record<string, (options: Options) => Promise<Row[]>>> = {
  builds,
  kinds,
  redis,
  disk,
  start: ({ folder, gigabytes, new: build }) => measureStart(folder, gigabytes, build),
};

/**
 * `--old=DIR` is a checkout of the build before, `--new=DIR` another one than this; `--only=builds,kinds,redis,disk,start` leaves the
 * others out, `--rounds=N` (7) and `--gigabytes=N` (5) make it shorter.
 */
export async function benchCommitLog(argv: readonly string[]): Promise<void> {
  const given = (name: string) => argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
  const old = given("old");
  const only = given("only")?.split(",") ?? Object.keys(parts);
  const unknown = only.find((name) => !(name in parts));
  if (unknown !== undefined) throw new Error(`--only=${unknown}: there are ${Object.keys(parts).join(", ")}`);
  const turns = { rounds: Number(given("rounds") ?? 7), warmUpMs: 500, durationMs: 1_200 };
  const rows: Row[] = [];
  for (const name of only) {
    const folder = await temporaryFolder();
    const options = {
      old: old && resolve(old),
      new: resolve(given("new") ?? thisBuild),
      turns,
      gigabytes: Number(given("gigabytes") ?? 5),
      folder,
    };
    try {
      rows.push(...(await parts[name]!(options)));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  printTable("commit-log", rows);
}
