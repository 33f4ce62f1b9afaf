import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { NodeCluster } from "../support/cluster.ts";
import { hasJava, KafkaCluster } from "../support/kafka.ts";
import { Ledger } from "./ledger.ts";

const rounds = Number(process.env["CLUSTER_ROUNDS"] ?? 1);
/** Longer than a node waits before it claims the place. */
const frozenMs = 9_000;

test("what three nodes acknowledge survives kills, freezes and handovers", { skip: !(await hasJava()) }, async (t) => {
  await using kafka = await KafkaCluster.start();
  await using cluster = await NodeCluster.start(kafka, `failover-${process.pid}`);
  const ledger = new Ledger(cluster);
  await ledger.prepare();
  await using running = new AsyncDisposableStack();
  running.defer(() => ledger.stop());
  ledger.start();
  const told = (what: string, ms: number) => t.diagnostic(`${what}: ${Math.round(ms)} ms`);
  for (let round = 0; round < rounds; round++) {
    const killed = await cluster.owner();
    await cluster.kill(killed);
    told("kill -9 of the owner", await ledger.nextAcknowledgementMs());
    await cluster.launch(killed);

    const moved = await cluster.owner();
    const move = async () => {
      const response = await fetch(`${cluster.urlOf((moved + 1) % 3)}/v1/cluster/move`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ to: `n${(moved + 1) % 3}` }),
      });
      return response.status;
    };
    // Refused as long as the node has not been heard of since its start.
    let status = await move();
    for (; status === 409; status = await move()) await sleep(200);
    assert.equal(status, 202);
    told("cluster move", await ledger.nextAcknowledgementMs());
    assert.equal(await cluster.owner(moved), (moved + 1) % 3);

    const frozen = await cluster.owner();
    cluster.nodes[frozen]!.child.kill("SIGSTOP");
    told("SIGSTOP of the owner", await ledger.nextAcknowledgementMs());
    await sleep(frozenMs);
    cluster.nodes[frozen]!.child.kill("SIGCONT");
    await ledger.nextAcknowledgementMs();

    const stopped = await cluster.owner();
    const stopping = cluster.nodes[stopped]!.stop();
    told("SIGTERM of the owner", await ledger.nextAcknowledgementMs());
    assert.equal(await stopping, 0, cluster.nodes[stopped]!.logs.slice(-5).join("\n"));
    cluster.nodes[stopped] = undefined;
    await cluster.launch(stopped);
  }
  await ledger.verify(t);
});
