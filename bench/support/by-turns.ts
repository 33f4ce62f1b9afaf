import { setTimeout as sleep } from "node:timers/promises";
import { idle } from "./cpu.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";
import { median, runLoad } from "./peers.ts";
import type { Row } from "./table.ts";

export interface Side {
  readonly port: number;
  readonly requests: LoadPlan["requests"];
  /** A server that goes on working after a load: the other's turn begins when it rests. */
  readonly pid?: number;
}

export interface Turns {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
  /** After a load, until a server begins with what it has put off: the other's turn must not pay for it. */
  readonly putOffMs?: number;
}

const usual: Turns = { rounds: 11, warmUpMs: 1_000, durationMs: 1_500 };

/**
 * Runs two loads by turns, the peer's first and last. Each of ours is compared with the mean of the peer's before and after it, and the ratio is the
 * middle one of all: a shared machine is faster in one minute than in the next, so only loads that follow on each other can be compared.
 */
export async function compare(
  what: string,
  atLeast: number,
  connections: number,
  ours: Side,
  peer: Side,
  { rounds, putOffMs = 0, ...timing }: Turns = usual,
): Promise<Row> {
  const results: { ours: LoadResult[]; peer: LoadResult[] } = { ours: [], peer: [] };
  const run = async ({ pid, ...side }: Side) => {
    const result = await runLoad({ ...timing, ...side, connections });
    if (pid !== undefined) {
      await sleep(putOffMs);
      await idle(pid);
    }
    return result;
  };
  results.peer.push(await run(peer));
  for (let round = 0; round < rounds; round++) {
    results.ours.push(await run(ours));
    results.peer.push(await run(peer));
  }
  const peerRates = results.peer.map(({ perSecond }) => perSecond);
  const ratios = results.ours.map(({ perSecond }, i) => (2 * perSecond) / (peerRates[i]! + peerRates[i + 1]!));
  return { what, ours: rate(results.ours), peer: rate(results.peer), ratio: median(ratios), bound: { atLeast } };
}

export function latency({ p50Ms, p99Ms }: LoadResult): string {
  return `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
}

function rate(results: readonly LoadResult[]): string {
  const middle = results.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(results.length / 2)]!;
  return `${Math.round(middle.perSecond)}/s (${latency(middle)})`;
}
