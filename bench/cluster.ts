import { setTimeout as sleep } from "node:timers/promises";
import { createTopic } from "../src/adapter/kafka/topic.ts";
import { NodeCluster } from "../test/support/cluster.ts";
import { ask } from "../test/support/http.ts";
import { hasJava, KafkaCluster } from "../test/support/kafka.ts";
import { appends, createStream, port, recordsPath } from "./streams.ts";
import { latency } from "./support/by-turns.ts";
import { threadSeconds } from "./support/cpu.ts";
import type { LoadResult } from "./support/load-plan.ts";
import { median, runLoad, runProducer } from "./support/peers.ts";
import { printTable, type Row } from "./support/table.ts";

const recordBytes = 200;
const timing = { warmUpMs: 500, durationMs: 2_000 };
const rounds = 7;
/** The owner's processor time is small: over a short time it is noise. */
const readMs = 6_000;

interface Pair {
  readonly ours: LoadResult;
  /** The mean of the one before and the one after. */
  readonly peer: { readonly perSecond: number; readonly p50Ms: number };
}

async function byTurns(ours: () => Promise<LoadResult>, peer: () => Promise<LoadResult>): Promise<Pair[]> {
  const pairs: Pair[] = [];
  let before = await peer();
  for (let round = 0; round < rounds; round++) {
    const own = await ours();
    const after = await peer();
    const mean = (of: (result: LoadResult) => number) => (of(before) + of(after)) / 2;
    pairs.push({ ours: own, peer: { perSecond: mean((each) => each.perSecond), p50Ms: mean((each) => each.p50Ms) } });
    before = after;
  }
  return pairs;
}

async function measureAppends(url: string, brokers: readonly string[]): Promise<Row[]> {
  const topic = "bare";
  await createTopic({ brokers, topic }, { replicas: 3, flush: false });
  const produced = (records: number, inFlight: number) => () =>
    runProducer({ brokers, topic, recordBytes, records, inFlight, ...timing });
  const appended = (records: number, connections: number) => () =>
    runLoad({ port: port(url), requests: appends(recordsPath("one", 0), records), connections, ...timing });
  // Brokers that have just started are slow; after batches they write to the disk for a while.
  await appended(1, 1)();
  const singles = await byTurns(appended(1, 1), produced(1, 1));
  const batches = await byTurns(appended(100, 16), produced(100, 16));
  const rate = (perSecond: number) => `${Math.round(perSecond * 100)} records/s`;
  const ms = (of: (pair: Pair) => number) => median(singles.map(of));
  return [
    {
      what: "batches of 100 records, 16 at once, against a bare producer with acks=all",
      ours: rate(median(batches.map(({ ours }) => ours.perSecond))),
      peer: rate(median(batches.map(({ peer }) => peer.perSecond))),
      ratio: median(batches.map(({ ours, peer }) => ours.perSecond / peer.perSecond)),
      bound: { atLeast: 0.7 },
    },
    {
      what: "one client's append of one record, p50, against the producer's p50 + 2 ms",
      ours: latency(singles.at(-1)!.ours),
      peer: `p50 ${ms(({ peer }) => peer.p50Ms).toFixed(2)} ms + 2 ms`,
      ratio: median(singles.map(({ ours, peer }) => ours.p50Ms / (peer.p50Ms + 2))),
      bound: { atMost: 1 },
    },
  ];
}

/** Processor seconds of a process so far, in nanoseconds' steps. */
function secondsOf(pid: number): number {
  return [...threadSeconds(pid).values()].reduce((sum, each) => sum + each, 0);
}

/** What reads at the standbys cost the owner, and what three nodes read against one. */
async function measureReads(cluster: NodeCluster, owner: number): Promise<Row[]> {
  const path = `${recordsPath("one", 0)}?offset=0&max_bytes=1&consistency=eventual`;
  const load = { requests: [{ method: "GET", path }], connections: 8, warmUpMs: 0, durationMs: timing.durationMs };
  const pid = cluster.nodes[owner]!.child.pid!;
  const standbys = [0, 1, 2].filter((i) => i !== owner).map((i) => port(cluster.urlOf(i)));
  const all = [...standbys, port(cluster.urlOf(owner))];
  const readAt = (ports: readonly number[]) => Promise.all(ports.map((each) => runLoad({ ...load, port: each })));
  const costs: number[] = [];
  const rates = { one: [] as number[], three: [] as number[] };
  // Its own beat costs the owner most of this: taken over as long a time before and after.
  const spentBy = async (work: Promise<unknown>) => {
    const from = secondsOf(pid);
    await work;
    return secondsOf(pid) - from;
  };
  for (let round = 0; round < rounds; round++) {
    const before = await spentBy(sleep(readMs));
    const done: LoadResult[] = [];
    const spent = await spentBy(
      Promise.all(standbys.map(async (each) => done.push(await runLoad({ ...load, durationMs: readMs, port: each })))),
    );
    const after = await spentBy(sleep(readMs));
    const reads = done.reduce((sum, each) => sum + each.requests, 0);
    costs.push(((spent - (before + after) / 2) * 1e6) / reads);
  }
  // Not before: a node that had much to do tidies up for some seconds.
  for (let round = 0; round < rounds; round++) {
    rates.three.push((await readAt(all)).reduce((sum, each) => sum + each.perSecond, 0));
    rates.one.push((await runLoad({ ...load, connections: 24, port: all.at(-1)! })).perSecond);
  }
  return [
    {
      what: "processor time of the owner for a read that a standby answered",
      ours: `${median(costs).toFixed(2)} µs`,
      peer: "5 µs",
      ratio: median(costs) / 5,
      bound: { atMost: 1 },
    },
    {
      what: "eventual reads of three nodes against the owner alone, on one machine",
      ours: `${Math.round(median(rates.three))}/s`,
      peer: `${Math.round(median(rates.one))}/s`,
      ratio: median(rates.three.map((each, i) => each / rates.one[i]!)),
      bound: undefined,
    },
  ];
}

/** Three nodes on three brokers, all on this machine. */
export async function benchCluster(): Promise<void> {
  if (!(await hasJava())) {
    console.log("cluster: needs java and mvn, which bring Kafka");
    return;
  }
  await using kafka = await KafkaCluster.start();
  await using cluster = await NodeCluster.start(kafka, "bench");
  const owner = await cluster.owner();
  const url = cluster.urlOf(owner);
  await ask(`${url}/v1/namespaces`, { body: { name: "bench" } });
  await createStream(url, "one", 1);
  const rows = [...(await measureAppends(url, kafka.brokers)), ...(await measureReads(cluster, owner))];
  printTable("A cluster of three nodes, against the same log without them", rows);
}
