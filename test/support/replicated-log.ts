import { NodeClock } from "../../src/adapter/node/clock.ts";
import { ReplicatedLog } from "../../src/adapter/replicated/commit-log.ts";
import type { SharedLog } from "../../src/port/shared-log.ts";
import type { OpenedLog } from "../port/commit-log-suite.ts";

let lives = 0;

/** One node on a shared log, once it is the owner. */
export async function ownerOf(log: SharedLog): Promise<ReplicatedLog> {
  const owner = Promise.withResolvers<void>();
  const replicated = await ReplicatedLog.open({
    log,
    clock: new NodeClock(),
    writer: `life ${lives++}`,
    info: { node: "only", address: "127.0.0.1:1" },
    trims: true,
    // A node that is alone need not leave the place to others.
    settings: { claimMs: 20, claimStepMs: 1, pollMs: 20, retryMs: 5, leaseMs: 8, fenceMs: 10 },
    onRole: (role) => {
      if (role === "owner") owner.resolve();
    },
  });
  replicated.follow(async () => {});
  await owner.promise;
  return replicated;
}

/** The owner's commit log on a shared log, and the same one opened again by another life of the node. */
export async function openReplicated(make: () => SharedLog | Promise<SharedLog>): Promise<Required<OpenedLog>> {
  let current = await ownerOf(await make());
  return {
    log: current,
    async reopen() {
      await current.close();
      current = await ownerOf(await make());
      return current;
    },
    [Symbol.asyncDispose]: () => current.close(),
  };
}
