import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { NodeCluster } from "../support/cluster.ts";
import { ask } from "../support/http.ts";
import { hasJava, KafkaCluster } from "../support/kafka.ts";
import { temporaryFolder } from "../support/process.ts";
import { Ledger } from "./ledger.ts";

const skip = (await hasJava()) ? false : "needs java and mvn";
const MiB = 1024 * 1024;
/** Longer than an owner's lease, and than brokers wait for each other. */
const goneMs = 8_000;

let kafka: KafkaCluster;
before(async () => {
  if (skip === false) kafka = await KafkaCluster.start();
});
after(() => kafka?.[Symbol.asyncDispose]());

async function started(cluster: NodeCluster): Promise<Ledger> {
  const ledger = new Ledger(cluster);
  await ledger.prepare();
  ledger.start();
  await ledger.nextAcknowledgementMs();
  return ledger;
}

function eventually(isTrue: () => Promise<boolean>): Promise<void> {
  return (async () => {
    while (!(await isTrue())) await sleep(100);
  })();
}

test("brokers die and freeze, one and all: nothing acknowledged is lost", { skip }, async (t) => {
  await using cluster = await NodeCluster.start(kafka, "outage");
  const ledger = await started(cluster);
  await using running = new AsyncDisposableStack();
  running.defer(() => ledger.stop());
  const told = async (what: string) => t.diagnostic(`${what}: ${Math.round(await ledger.nextAcknowledgementMs())} ms`);
  kafka.signal(0, "SIGKILL");
  await told("kill -9 of a broker");
  kafka.launch(0);
  await kafka.ready();
  kafka.signal(1, "SIGSTOP");
  await told("SIGSTOP of a broker");
  await sleep(goneMs);
  kafka.signal(1, "SIGCONT");
  await kafka.ready();
  await told("all brokers are there");

  const owner = await cluster.owner();
  const records = `/v1/namespaces/ledger/streams/s/partitions/0/records`;
  for (const broker of [0, 1, 2]) kafka.signal(broker, "SIGSTOP");
  await sleep(goneMs / 2);
  const read = await ask(`${cluster.urlOf(owner)}${records}?offset=0`);
  assert.equal(read.status, 503, "no strong read without the log");
  assert.ok(Number(read.headers.get("retry-after")) >= 1);
  const write = await ask(`${cluster.urlOf(owner)}${records}`, { body: { records: [{ value: "bG9zdA==" }] } });
  assert.equal(write.status, 503, "no write without the log");
  const problem = (await ask(`${cluster.urlOf(owner)}/ready`)).json as { problem?: string };
  assert.match(problem.problem ?? "", /log/);
  const standby = cluster.urlOf((owner + 1) % 3);
  const eventual = await ask(`${standby}${records}?offset=0&max_bytes=1&consistency=eventual`);
  t.diagnostic(`an eventual read of a standby: ${eventual.status}`);
  await sleep(goneMs / 2);
  for (const broker of [0, 1, 2]) kafka.signal(broker, "SIGCONT");
  await told("all brokers were gone, and are back");
  // What was refused above may have been written all the same.
  await ledger.verify(t, 1);
});

test("nodes are drained, stopped and started again one after another", { skip }, async (t) => {
  // A build from before shows that the two can run side by side.
  await using cluster = await NodeCluster.start(kafka, "rolling", { build: process.env["CLUSTER_OLD_BUILD"] });
  const ledger = await started(cluster);
  await using running = new AsyncDisposableStack();
  running.defer(() => ledger.stop());
  for (const i of [0, 1, 2]) {
    if (process.env["CLUSTER_OLD_BUILD"] === undefined) {
      await cluster.drain(i, true);
      await eventually(async () => (await cluster.readiness(i))?.role === "standby");
    }
    t.diagnostic(`n${i} hands over: ${Math.round(await ledger.nextAcknowledgementMs())} ms`);
    const { logs } = cluster.nodes[i]!;
    assert.equal(await cluster.nodes[i]!.stop(), 0, logs.slice(-5).join("\n"));
    cluster.nodes[i] = undefined;
    await cluster.launch(i);
    await eventually(async () => (await cluster.readiness(i))?.role !== undefined);
    if (process.env["CLUSTER_OLD_BUILD"] === undefined) await cluster.drain(i, false);
    t.diagnostic(`n${i} is back: ${Math.round(await ledger.nextAcknowledgementMs())} ms`);
  }
  await ledger.verify(t);
});

test("a node whose disk is full hands the place over, and follows again when there is room", { skip }, async (t) => {
  const device = await temporaryFolder();
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${256 * MiB}`, "tmpfs", device]);
  await using undo = new AsyncDisposableStack();
  undo.defer(async () => {
    spawnSync("umount", [device]);
    await rm(device, { recursive: true });
  });
  if (status !== 0) return t.skip("needs the right to mount a tmpfs");
  await using cluster = await NodeCluster.start(kafka, "full", { folders: [join(device, "data")] });
  const ledger = await started(cluster);
  await using running = new AsyncDisposableStack();
  running.defer(() => ledger.stop());
  await cluster.move(0);
  const filler = join(cluster.folderOf(0), "filler");
  await fill(filler);
  t.diagnostic(`a full disk of the owner: ${Math.round(await ledger.nextAcknowledgementMs())} ms`);
  await eventually(async () => (await cluster.owner()) !== 0);
  assert.equal((await cluster.readiness(0))?.problem, "the disk has no room");
  await ledger.nextAcknowledgementMs();
  await rm(filler);
  await eventually(async () => (await cluster.readiness(0))?.problem === null);
  await ledger.verify(t);
});

/** Writes until there is no room. */
async function fill(file: string): Promise<void> {
  for (const bytes of [16 * MiB, MiB, MiB / 16]) {
    for (;;) {
      const done = await writeFile(file, Buffer.alloc(bytes), { flag: "a" }).then(
        () => true,
        () => false,
      );
      if (!done) break;
    }
  }
}
