import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SeededRandom } from "../fault/random.ts";
import { History } from "../history/history.ts";
import { checked, runClients } from "../history/run.ts";
import { NodeCluster } from "../support/cluster.ts";
import { hasJava, KafkaCluster } from "../support/kafka.ts";

const rounds = Number(process.env["CLUSTER_ROUNDS"] ?? 1);
const seed = Number(process.env["CLUSTER_SEED"] ?? 1);
const calmMs = 2_000;
/** Longer than a node waits before it claims the place. */
const frozenMs = 7_000;

/**
 * Proves: with clients at all three nodes, and owners that are killed, moved and frozen, one order explains all that strong reads and writes
 * were told; and reads with a token, which standbys answer, have what it names.
 */
test("one order explains what clients of three nodes are told", { skip: !(await hasJava()) }, async (t) => {
  await using kafka = await KafkaCluster.start();
  await using cluster = await NodeCluster.start(kafka, `history-${process.pid}`);
  await cluster.owner();
  const history = new History();
  const portOf = (client: number) => Number(new URL(cluster.urlOf(client % 3)).port);
  const during = async () => {
    for (let round = 0; round < rounds; round++) {
      await sleep(calmMs);
      const killed = await cluster.owner();
      await cluster.kill(killed);
      await cluster.owner(killed);
      await cluster.launch(killed);
      await sleep(calmMs);
      const moved = await cluster.owner();
      await fetch(`${cluster.urlOf(moved)}/v1/cluster/move`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      await sleep(calmMs);
      const frozen = await cluster.owner();
      cluster.nodes[frozen]!.child.kill("SIGSTOP");
      await sleep(frozenMs);
      cluster.nodes[frozen]!.child.kill("SIGCONT");
      await sleep(calmMs);
    }
  };
  const tokenReads = await runClients({ history, random: new SeededRandom(seed), portOf, during });
  const states = checked(history, seed, false);
  const { partitions, documents } = history;
  const answered = partitions.answered + documents.answered;
  assert.ok(answered > 100 && tokenReads > 10, `${answered} operations, ${tokenReads} reads with a token`);
  t.diagnostic(`${answered} operations answered, ${partitions.open + documents.open} left open, ${states} states`);
  t.diagnostic(`${tokenReads} reads with a token`);
});
