import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";
import { Ledger, type StreamShape, sendAppend } from "./ledger.ts";
import { SeededRandom } from "./random.ts";

const MiB = 1024 * 1024;
const shape: StreamShape = { name: "s", partitions: 2 };
const writers = 4;

/** A server whose disk is about to be full, and how to give it room again. */
interface Confined {
  readonly server: ServerProcess;
  makeRoom(): void;
}

function run(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

/**
 * Proves: without room appends are refused with 503 and Retry-After, nothing acknowledged is lost, reads go on, the
 * offsets of failed groups are used again, and writing goes on as soon as there is room, without a restart.
 */
async function checkFull({ server, makeRoom }: Confined, dataDir: string): Promise<void> {
  const { url } = server;
  const ledger = new Ledger("full");
  assert.equal((await ask(`${url}/v1/namespaces`, { body: { name: "full" } })).status, 201);
  assert.equal((await ask(`${url}/v1/namespaces/full/streams`, { body: shape })).status, 201);

  const random = new SeededRandom(7);
  const refused = await Promise.all(
    Array.from({ length: writers }, (_, writer) => fill(url, ledger, random.fork(), `w${writer}`)),
  );
  const acknowledgedBefore = ledger.acknowledged.length;
  assert(acknowledgedBefore > 0, "some appends came before the disk was full");

  assert.equal((await ask(`${url}/health`)).status, 200, "the process lives on");
  assert.equal(await ledger.verify(url, shape), 0, "no refused append was stored");
  const metrics = (await ask(`${url}/metrics`)).text;
  assert.match(metrics, /^service_log_sync_failures_total [1-9]/m);

  makeRoom();
  for (const written of refused) {
    const answer = await sendAppend(url, written);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get("idempotency-replayed"), null, "a refused request was not recorded");
    written.acknowledged = answer.text;
  }
  assert.equal(await ledger.verify(url, shape), 0);
  assert.equal(await server.stop(), 0);
  assert(!server.logs.some((line) => /unhandled/i.test(line)), "no stray rejection");

  await using restarted = await ServerProcess.start({ dataDir });
  assert.equal(await ledger.verify(restarted.url, shape), 0);
}

/** Appends until three in a row are refused; returns the last one, which had an idempotency key. */
async function fill(url: string, ledger: Ledger, random: SeededRandom, name: string) {
  let refusedInRow = 0;
  for (let n = 0; ; n++) {
    const values = Array.from({ length: random.between(1, 3) }, (_, i) => `${name}-${n}-${i}-${"x".repeat(30_000)}`);
    const routed = random.chance(0.3);
    const partition = routed ? undefined : random.between(0, 1);
    const written = ledger.prepare(shape.name, partition, values, `key ${name}-${n}`);
    const answer = await sendAppend(url, written);
    if (answer.status === 200) {
      refusedInRow = 0;
      written.acknowledged = answer.text;
      continue;
    }
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.json.error, "unavailable");
    assert.equal(answer.headers.get("retry-after"), "1");
    if (++refusedInRow === 3) return written;
    await delay(10);
  }
}

test("a file-size limit: appends answer 503, reads go on, and room ends it", async (t) => {
  if (!run("prlimit", ["--version"])) return t.skip("needs prlimit of util-linux to lift the limit again");
  const dataDir = await temporaryFolder();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const kibibytes = 3 * 1024;
  // The soft limit of the shell, which Node inherits: writes past it fail with EFBIG (Node ignores the signal).
  const under = ["bash", "-c", `ulimit -S -f ${kibibytes}; exec "$@"`, "bash"];
  await using server = await ServerProcess.start({ dataDir, under });
  const makeRoom = () => {
    assert(run("prlimit", ["--pid", String(server.child.pid), "--fsize=unlimited"]), "the limit is lifted");
  };
  await checkFull({ server, makeRoom }, dataDir);
});

test("a full device: appends answer 503, reads go on, and room ends it", async (t) => {
  const folder = await temporaryFolder();
  const device = `${folder}/device`;
  await mkdir(device);
  t.after(() => rm(folder, { recursive: true, force: true }));
  if (!run("mount", ["-t", "tmpfs", "-o", `size=${3 * MiB}`, "tmpfs", device])) {
    return t.skip("needs the right to mount a tmpfs");
  }
  try {
    const dataDir = `${device}/data`;
    await using server = await ServerProcess.start({ dataDir });
    const makeRoom = () => assert(run("mount", ["-o", `remount,size=${64 * MiB}`, device]), "the device grows");
    await checkFull({ server, makeRoom }, dataDir);
  } finally {
    assert(run("umount", [device]), "the device is taken away");
  }
});

/**
 * Proves: LMDB is not told to write what has no room. The message that its library makes of that is longer than the memory it
 * takes for it, where positions have many digits, and the process ends by a damaged heap.
 */
test("a device without room is not written to", async (t) => {
  const folder = await temporaryFolder();
  t.after(() => rm(folder, { recursive: true, force: true }));
  const library = `${folder}/faults.so`;
  const source = fileURLToPath(new URL("../history/faults.c", import.meta.url));
  if (!run("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"])) return t.skip("needs a C compiler");
  const dataDir = `${folder}/data`;
  await mkdir(dataDir);
  const isFull = (full: number) => writeFile(`${folder}/state`, new BigInt64Array([0n, BigInt(full)]), { flag: "r+" });
  await writeFile(`${folder}/state`, Buffer.alloc(16));
  const env = { LD_PRELOAD: library, FAULT_STATE: `${folder}/state`, FAULT_FOLDER: dataDir };
  await using server = await ServerProcess.start({ dataDir, env });
  const ledger = new Ledger("full");
  assert.equal((await ask(`${server.url}/v1/namespaces`, { body: { name: "full" } })).status, 201);
  assert.equal((await ask(`${server.url}/v1/namespaces/full/streams`, { body: shape })).status, 201);
  await isFull(2);
  // The room is asked for some times a second. What was taken before is in the commit log, which has its place.
  const value = (number: number) => `${number} ${"x".repeat(100_000)}`;
  let sentValues = 0;
  const append = async () => {
    const sent = ledger.prepare(shape.name, 0, [value(++sentValues)], undefined);
    const answer = await sendAppend(server.url, sent);
    if (answer.status === 200) sent.acknowledged = answer.text;
    return answer.status;
  };
  await eventually(append, (status) => status === 503);
  const refused = ledger.prepare(shape.name, 0, [value(0)], "key");
  for (let i = 0; i < 3; i++) assert.equal((await sendAppend(server.url, refused)).status, 503);
  assert.equal(await ledger.verify(server.url, shape), 0);
  await isFull(0);
  const answer = await eventually(
    () => sendAppend(server.url, refused),
    ({ status }) => status === 200,
  );
  refused.acknowledged = answer.text;
  assert.equal(await ledger.verify(server.url, shape), 0);
  assert.equal(await server.stop(), 0);
  if (!server.child.stderr!.readableEnded) await once(server.child.stderr!, "end");
  assert(!server.logs.some((line) => line.includes("Write error")), "LMDB was not let into it");
});
