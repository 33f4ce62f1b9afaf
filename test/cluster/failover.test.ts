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
    const response = await fetch(`${cluster.urlOf((moved + 1) % 3)}/v1/cluster/move`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ to: `n${(moved + 1) % 3}` }),
    });
    assert.equal(response.status, 202);
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
  await ledger.stop();
  assert.deepEqual(ledger.stale, []);
  for (const i of cluster.nodes.keys()) {
    const contents = await ledger.contents(i);
    const values = [...contents.values()];
    assert.equal(new Set(values).size, values.length, "no record is there twice");
    for (const [value, offset] of ledger.acknowledged) assert.equal(contents.get(offset), value);
  }
  const count = ledger.acknowledged.size;
  for (const i of cluster.nodes.keys()) {
    let derived = await ledger.derived(i);
    while (derived.lag > 0) derived = await ledger.derived(i);
    assert.deepEqual(derived, { documents: ledger.documents, found: 2, counted: count, lag: 0 });
    assert.equal((await ledger.contents(i, "events")).size, ledger.events, "every event is there once");
  }
  t.diagnostic(`${ledger.documents} documents, ${ledger.events} events`);
  t.diagnostic(`${ledger.acknowledged.size} acknowledged, ${ledger.reads} strong reads, ${ledger.retries} retries`);
});
