import assert from "node:assert/strict";
import { open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Client, type NamespaceClient } from "../../src/client/index.ts";
import { CommandLine } from "../support/command-line.ts";
import { runCommand, ServerProcess, temporaryFolder } from "../support/process.ts";
import { eventually } from "../support/streams.ts";

let folder: string;
before(async () => {
  folder = await temporaryFolder();
});
after(() => rm(folder, { recursive: true, force: true }));

const schema = {
  fields: [
    { name: "n", kind: "i64" },
    { name: "body", kind: "text" },
  ],
  vectors: [{ name: "v", dim: 8 }],
} as const;

const vector = (id: number) => Array.from({ length: 8 }, (_, i) => Math.sin(id * (i + 1)));

/** Writes until it is told to stop, and knows what was acknowledged. */
class Load {
  records = 0;
  /** The last acknowledged revision of each document, by id; -1 when it was deleted. */
  readonly documents = new Map<number, number>();
  events = 0;
  readonly #ns: NamespaceClient;
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(ns: NamespaceClient) {
    this.#ns = ns;
  }

  start(): void {
    this.#running = Promise.all([this.#append(), this.#write(), this.#emit()]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #append(): Promise<void> {
    const stream = this.#ns.stream("s");
    while (!this.#stop.signal.aborted) {
      const values = Array.from({ length: 50 }, (_, i) => ({
        key: "k",
        value: `${this.records + i} ${"x".repeat(200)}`,
      }));
      await stream.append(0, values);
      this.records += values.length;
    }
  }

  /** New documents, changed ones and deleted ones, so that segments are made, merged and freed all the time. */
  async #write(): Promise<void> {
    const collection = this.#ns.collection("c");
    for (let round = 0; !this.#stop.signal.aborted; round++) {
      const ids = Array.from({ length: 200 }, (_, i) => (round * 150 + i) % 6_000);
      await collection.write(
        ids.map((id) => ({ upsert: { id, source: { n: round, body: `document ${id}` }, vectors: { v: vector(id) } } })),
      );
      for (const id of ids) this.documents.set(id, round);
      const gone = ids.slice(0, 10);
      await collection.write(gone.map((id) => ({ delete: { id } })));
      for (const id of gone) this.documents.set(id, -1);
    }
  }

  async #emit(): Promise<void> {
    const stream = this.#ns.stream("e");
    while (!this.#stop.signal.aborted) {
      const id = `${this.events}`;
      await stream.appendEvents([{ specversion: "1.0", id, source: "/load", type: "t", partitionkey: "p" }]);
      this.events++;
    }
  }
}

test("backups under load hold every write acknowledged before they began", { timeout: 300_000 }, async () => {
  // Sealed often, so that objects come and go while they are copied.
  const flags = ["--collection-seal-records", "500"];
  await using server = await ServerProcess.start({ flags });
  const cli = new CommandLine(server, "n");
  const client = new Client(server.url);
  await client.createNamespace("n");
  const ns = client.namespace("n");
  await ns.createStream({ name: "s" });
  await ns.createStream({ name: "e" });
  await ns.createLink({ name: "counted", source: "s", options: { amount: "one" } });
  await ns.createCollection("c", schema);
  const load = new Load(ns);
  load.start();
  for (let i = 0; i < 3; i++) {
    const from = load.records;
    await eventually(
      async () => [load.records, (await ns.collection("c").info()).manifest.version],
      ([records, version]) => records! > from + 2_000 && version! > i * 2,
    );
    const before = { records: load.records, events: load.events, documents: new Map(load.documents) };
    const file = join(folder, `load-${i}.tar`);
    await cli.ok(["backup", file]);
    await checkRestored(file, join(folder, `restored-${i}`), before);
  }
  await load.stop();
});

async function checkRestored(
  file: string,
  dataDir: string,
  before: Pick<Load, "records" | "events" | "documents">,
): Promise<void> {
  const restored = await runCommand(["restore", file, "--data-dir", dataDir]);
  assert.equal(restored.code, 0, restored.stderr);
  const looked = await runCommand(["doctor", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--json"]);
  const { findings } = JSON.parse(looked.stdout) as { findings: { check: string; state: string; detail: string }[] };
  // Free disk and the like are the machine's.
  const data = findings.slice(findings.findIndex(({ check }) => check === "store pages"));
  assert.ok(data.length > 5, looked.stdout);
  for (const { check, state, detail } of data) assert.equal(state, "ok", `${check}: ${detail}`);
  await using server = await ServerProcess.start({ dataDir });
  const ns = new Client(server.url).namespace("n");
  let records = 0;
  for await (const { value } of ns.stream("s").read()) {
    assert.equal(Number.parseInt(new TextDecoder().decode(value), 10), records);
    records++;
  }
  assert.ok(records >= before.records, `${records} records of ${before.records}`);
  assert.ok((await ns.stream("e").get()).partitions[0]!.high_watermark >= before.events);
  const { counters } = await eventually(
    () => ns.link("counted"),
    ({ lag }) => lag.every((each) => each.records === 0),
  );
  assert.deepEqual(counters, { k: records });
  const found = new Map<number, number>();
  for await (const { id, source } of ns.collection("c").scroll({ pageSize: 5_000 })) {
    found.set(id, Number(source["n"]));
  }
  for (const [id, round] of before.documents) {
    // A later round, acknowledged or not, may have come before the snapshot; an earlier one may not be what is there.
    if (round >= 0 && found.has(id)) assert.ok(found.get(id)! >= round, `document ${id} is of an earlier round`);
  }
  const missing = [...before.documents].filter(([id, round]) => round >= 0 && !found.has(id));
  // Ten documents of a round are deleted: only those that the rounds since the start of the backup took may be gone.
  const rounds = Math.max(...found.values()) - Math.max(...before.documents.values()) + 2;
  assert.ok(missing.length <= rounds * 10, `${missing.length} documents are missing after ${rounds} rounds`);
  // The index that came with the backup finds what the documents hold.
  const ids = [...found.keys()];
  const some = ids[Math.floor(ids.length / 2)]!;
  const near = await ns.query({
    from: "c",
    retrieve: [{ vector: { field: "v", query: vector(some), k: 5 } }],
    limit: 1,
  });
  assert.ok(near.rows![0]!._score > 0.999);
  const all = await ns.query({
    from: "c",
    retrieve: [{ text: { field: "body", query: "document", k: 10_000 } }],
    limit: 10_000,
    select: [],
  });
  assert.equal(all.rows!.length, found.size);
}

test("a backup that is damaged or cut anywhere is refused, and nothing is restored", async () => {
  await using server = await ServerProcess.start();
  const cli = new CommandLine(server, "n");
  await cli.ok(["ns", "create", "n"]);
  await cli.ok(["stream", "create", "s"]);
  await cli.ok(["stream", "append", "s"], Array.from({ length: 2_000 }, (_, i) => `line ${i}`).join("\n"));
  const file = join(folder, "whole.tar");
  await cli.ok(["backup", file]);
  await cli.fails(["backup", file], 1, /already_exists/);
  const bytes = await readFile(file);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const bad = join(folder, "bad.tar");
  const refused = async (why: string) => {
    const dataDir = join(folder, "refused");
    const done = await runCommand(["restore", bad, "--data-dir", dataDir]);
    assert.equal(done.code, 1, `${why}: ${done.stderr}`);
    assert.match(done.stderr, /data_loss/, why);
    const again = await runCommand(["restore", file, "--data-dir", dataDir]);
    assert.equal(again.code, 0, `${why}: what is left of it stands in the way: ${again.stderr}`);
    await rm(dataDir, { recursive: true });
  };
  for (const share of [0.01, 0.5, 0.9]) {
    await writeFile(bad, bytes.subarray(0, Math.floor(bytes.length * share)));
    await refused(`cut at ${share}`);
  }
  // In the middle of a member's data, whose header tells nothing of it.
  const at = bytes.indexOf("line 1234");
  assert.ok(at > 0);
  const flipped = Buffer.from(bytes);
  flipped[at] = flipped[at]! ^ 1;
  await writeFile(bad, flipped);
  await refused("a flipped bit");
  const verified = await runCommand(["backup", bad, "--verify"]);
  assert.equal(verified.code, 1);
  assert.match(verified.stderr, /store\/00000000 is damaged/);
});

test("a stopped data directory is backed up too, a used one only through its server", async () => {
  const dataDir = join(folder, "stopped");
  const first = await ServerProcess.start({ dataDir });
  await new CommandLine(first, "n").ok(["ns", "create", "n"]);
  const inUse = await runCommand(["backup", join(folder, "used.tar"), "--data-dir", dataDir]);
  assert.equal(inUse.code, 1);
  assert.match(inUse.stderr, /another process uses the data directory/);
  await first.stop();
  const file = join(folder, "stopped.tar");
  const done = await runCommand(["backup", file, "--data-dir", dataDir]);
  assert.equal(done.code, 0, done.stderr);
  const copy = join(folder, "copy");
  assert.equal((await runCommand(["restore", file, "--data-dir", copy])).code, 0);
  await using second = await ServerProcess.start({ dataDir: copy });
  assert.equal((await new CommandLine(second, "n").json(["ns", "get", "n"])).name, "n");
});

test("a client that leaves a backup under way leaves nothing behind: the next one works", async () => {
  await using server = await ServerProcess.start();
  const cli = new CommandLine(server, "n");
  await cli.ok(["ns", "create", "n"]);
  await cli.ok(["stream", "create", "s"]);
  const big = join(folder, "big.txt");
  await using handle = await open(big, "w");
  for (let i = 0; i < 40; i++) await handle.write(`${"y".repeat(1024 * 1024)}\n`);
  await cli.ok(["stream", "append", "s", big]);
  const stop = new AbortController();
  const ask = { method: "POST", signal: stop.signal };
  const answer = await fetch(`${server.url}/v1/instance/backup`, ask);
  const reader = answer.body!.getReader();
  await reader.read();
  const second = await fetch(`${server.url}/v1/instance/backup`, { method: "POST" });
  assert.equal(second.status, 429);
  assert.ok(Number(second.headers.get("retry-after")) > 0);
  stop.abort();
  const file = join(folder, "after.tar");
  await eventually(
    () => cli.run(["backup", file]),
    ({ code }) => code === 0,
  );
});
