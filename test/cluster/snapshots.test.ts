import assert from "node:assert/strict";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FilesObjectStore } from "../../src/adapter/files/object-store.ts";
import { KafkaSharedLog } from "../../src/adapter/kafka/shared-log.ts";
import { Snapshots } from "../../src/adapter/replicated/snapshot.ts";
import { S3ObjectStore } from "../../src/adapter/s3/object-store.ts";
import type { ObjectStore } from "../../src/port/object-store.ts";
import { NodeCluster } from "../support/cluster.ts";
import { hasJava, KafkaCluster } from "../support/kafka.ts";
import { hasGo, S3Server } from "../support/s3.ts";
import { Ledger } from "./ledger.ts";

const java = await hasJava();

/** A new node, and one that was away for longer than the log reaches back, have what the others have. */
async function joinFromSnapshots(
  cluster: NodeCluster,
  log: KafkaSharedLog,
  objects: ObjectStore,
  absence: "killed" | "frozen",
): Promise<void> {
  const snapshots = new Snapshots(objects, log.id);
  const ledger = new Ledger(cluster);
  await ledger.prepare();
  await using running = new AsyncDisposableStack();
  running.defer(() => ledger.stop());
  ledger.start();
  const away = (await cluster.owner()) === 2 ? 1 : 2;
  if (absence === "killed") await cluster.kill(away);
  else cluster.nodes[away]!.child.kill("SIGSTOP");
  const last = (await boundsOf(log)).end;
  while ((await boundsOf(log)).start <= last) await sleep(200);
  while (((await cluster.readiness(await cluster.owner()))?.snapshot_position ?? 0) === 0) await sleep(100);
  if (absence === "frozen") {
    const frozen = cluster.nodes[away]!;
    const exited = once(frozen.child, "exit");
    frozen.child.kill("SIGCONT");
    await exited;
    assert.ok(
      frozen.logs.some((line) => line.includes("was trimmed")),
      frozen.logs.slice(-3).join("\n"),
    );
  }
  await cluster.launch(away);
  await caughtUp(cluster, away);
  assert.ok(
    cluster.nodes[away]!.logs.some((line) => line.includes("made from a snapshot")),
    "it began from a snapshot",
  );

  const lost = (await cluster.owner()) === 0 ? 1 : 0;
  await cluster.kill(lost);
  await rm(cluster.folderOf(lost), { recursive: true });
  // The newest one can't be trusted: the one before it is taken.
  const [newest] = await snapshots.list();
  for (const { path } of await objects.list("snapshots/")) {
    if (path.includes(`/parts/${newest!.name}/`)) await objects.put(path, Buffer.from("damaged"));
  }
  await cluster.launch(lost);
  await caughtUp(cluster, lost);
  assert.ok(cluster.nodes[lost]!.logs.some((line) => line.includes("made from a snapshot")));
  await ledger.stop();
  assert.deepEqual(ledger.stale, []);
  // Each of them as the owner, so that it answers from its own store.
  for (const i of [away, lost]) {
    await cluster.move(i);
    const contents = await ledger.contents(i);
    assert.equal(contents.size, ledger.acknowledged.size);
    for (const [value, offset] of ledger.acknowledged) assert.equal(contents.get(offset), value);
    let derived = await ledger.derived(i);
    while (derived.lag > 0) derived = await ledger.derived(i);
    assert.deepEqual(derived, { documents: ledger.documents, found: 2, counted: ledger.acknowledged.size, lag: 0 });
  }
}

/** A busy machine may keep Kafka from answering in time. */
async function boundsOf(log: KafkaSharedLog): Promise<{ start: number; end: number }> {
  for (;;) {
    const found = await log.bounds().catch(() => undefined);
    if (found !== undefined) return found;
  }
}

async function caughtUp(cluster: NodeCluster, i: number): Promise<void> {
  const { position } = (await cluster.readiness(await cluster.owner()))!;
  while (((await cluster.readiness(i))?.position ?? 0) < position) await sleep(100);
}

const env = { SERVICE_CLUSTER_SNAPSHOT_INTERVAL: "1s" };

test("nodes start from snapshots in a bucket, and the log is trimmed", {
  skip: !java || !(await hasGo()),
}, async () => {
  await using kafka = await KafkaCluster.start();
  await using server = await S3Server.start();
  const prefix = `snapshots-${process.pid}`;
  await using cluster = await NodeCluster.start(kafka, prefix, { env: { ...env, ...server.env("prod") } });
  await using log = await sharedLog(kafka, prefix);
  await joinFromSnapshots(cluster, log, new S3ObjectStore({ ...server.address, prefix: "prod/" }), "killed");
});

test("nodes start from snapshots in a folder, and the log is trimmed", { skip: !java }, async () => {
  await using kafka = await KafkaCluster.start();
  const prefix = `snapshot-files-${process.pid}`;
  await using cluster = await NodeCluster.start(kafka, prefix, { env });
  await using log = await sharedLog(kafka, prefix);
  await joinFromSnapshots(cluster, log, new FilesObjectStore(cluster.objectsFolder), "frozen");
});

async function sharedLog(kafka: KafkaCluster, prefix: string): Promise<KafkaSharedLog & AsyncDisposable> {
  const log = await KafkaSharedLog.open({ brokers: kafka.brokers, topic: `${prefix}.0` });
  return Object.assign(log, { [Symbol.asyncDispose]: () => log.close() });
}
