import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ConnectError } from "@connectrpc/connect";
import { LiveClient } from "../../src/client/index.ts";
import { LiveNamespaceClient } from "../support/live.ts";
import { runCommand, ServerProcess, temporaryFolder } from "../support/process.ts";
import { infoOf } from "../wire/rpc/clients.ts";
import { SeededRandom } from "./random.ts";

const head = `import { query, mutation, v } from "native-engine/live";\n`;

/** Each version adds its own number, so that a run of a mixture of two versions would show. */
function bank(version: number): string {
  return `${head}const version = ${version};
export const add = mutation({ args: { name: v.string(), turn: v.number() }, handler: async (ctx, { name, turn }) => {
  const found = await ctx.db.query("counters").withIndex("by_name", (r) => r.eq("name", name)).unique();
  if (found === null) await ctx.db.insert("counters", { name, value: 1 });
  else await ctx.db.patch(found._id, { value: found.value + 1 });
  await ctx.db.insert("turns", { name, turn, version });
} });
export const total = query({ args: {}, handler: async (ctx) =>
  (await ctx.db.query("counters").collect()).reduce((sum, each) => sum + each.value, 0) });
export const turns = query({ args: {}, handler: async (ctx) => ctx.db.query("turns").count() });`;
}

const schema = { tables: { counters: { indexes: [{ name: "by_name", fields: ["name"] }] }, turns: {} } };

async function deploy(live: LiveNamespaceClient, version: number): Promise<void> {
  const modules = [{ path: "bank", source: bank(version) }];
  await live.client.deploy({ namespace: live.namespace, modules, schema });
}

/** The processes that run functions. */
function runnersOf(server: ServerProcess): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const parent = Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);
        return parent === server.child.pid && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("live-runner");
      } catch {
        return false;
      }
    });
}

/** Adds until it has done so often; tells how many were acknowledged, and what else was said. */
async function load(live: LiveNamespaceClient, turns: number, onDone: () => void) {
  let done = 0;
  const refused = new Set<string>();
  const clients = Array.from({ length: 6 }, async (_, client) => {
    for (let turn = 0; turn < turns; turn++) {
      try {
        await live.mutateAt("bank:add", { name: `c${(client + turn) % 3}`, turn }, `${client}-${turn}`);
        done++;
      } catch (thrown) {
        refused.add(infoOf(ConnectError.from(thrown)).reason);
        // Nothing was applied: the same again.
        turn--;
      }
      onDone();
    }
  });
  await Promise.all(clients);
  return { done, refused };
}

test("runners that are killed at any point cost no caller more than a retry, and nothing is done twice or in half", async () => {
  await using server = await ServerProcess.start();
  const live = await LiveNamespaceClient.create(server, "n");
  await deploy(live, 1);
  const random = SeededRandom.fromEnvironment();
  let killed = 0;
  const { done, refused } = await load(live, 25, () => {
    if (random.next() > 0.15) return;
    for (const pid of runnersOf(server)) {
      if (random.next() < 0.5) continue;
      try {
        process.kill(pid, "SIGKILL");
        killed++;
      } catch {}
    }
  });
  assert.ok(killed > 0);
  for (const reason of refused) assert.equal(reason, "unavailable");
  // The last ones that were killed may be found out by the next caller.
  const asked = (name: string) => live.query(name).catch(() => live.query(name));
  assert.deepEqual([await asked("bank:total"), await asked("bank:turns")], [done, done]);
});

test("deployments under load stop nobody, and a mutation is of one version", async () => {
  await using server = await ServerProcess.start();
  const live = await LiveNamespaceClient.create(server, "n");
  await deploy(live, 1);
  await using watch = live.watch(["bank:total", {}], ["bank:turns", {}]);
  let version = 1;
  const deploying = (async () => {
    while (version < 8) await deploy(live, ++version);
  })();
  const { done, refused } = await load(live, 25, () => {});
  await deploying;
  assert.deepEqual([...refused], []);
  assert.deepEqual([await live.query("bank:total"), await live.query("bank:turns")], [done, done]);
  await watch.until((shown) => {
    assert.equal(shown.get(1), shown.get(2), "two queries of one session are of two ticks");
    return shown.get(1) === done;
  });
  const turns = (await live.query("_tables:list", { table: "turns" })) as { version: number }[];
  const versions = turns.map((each) => each.version);
  assert.deepEqual(versions, versions.toSorted(), "a later commit is of an earlier version");
});

test("a backup holds tables, functions, history and requests, and a restored server goes on with them", async () => {
  const folder = await temporaryFolder();
  try {
    await using server = await ServerProcess.start();
    const live = await LiveNamespaceClient.create(server, "n");
    await deploy(live, 1);
    await live.mutateAt("bank:add", { name: "a", turn: 1 }, "once");
    const before = await live.mutateAt("bank:add", { name: "a", turn: 2 });
    const file = join(folder, "backup.tar");
    const made = await runCommand(["backup", file, "--url", server.url]);
    assert.equal(made.code, 0, made.stderr);
    await live.mutate("bank:add", { name: "a", turn: 3 });
    await server.stop();
    const dataDir = join(folder, "restored");
    const restored = await runCommand(["restore", file, "--data-dir", dataDir]);
    assert.equal(restored.code, 0, restored.stderr);
    await using second = await ServerProcess.start({ dataDir });
    const again = await LiveNamespaceClient.create(second, "n");
    assert.equal(await again.query("bank:total"), 2);
    const replayed = await again.mutateAt("bank:add", { name: "a", turn: 1 }, "once");
    assert.equal(replayed.replayed, true);
    const at = { at: { case: "tick", value: BigInt(before.tick - 1) } } as const;
    const past = await again.client.query({ namespace: "n", call: { function: "bank:total" }, at });
    assert.equal(past.outcome.case === "value" && past.outcome.value.kind.value, 1);
    const next = await again.mutateAt("bank:add", { name: "a", turn: 4 });
    assert.equal(next.tick, before.tick + 1);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("a client takes up its session again with a server that was killed, and its mutations happen once", async () => {
  await using first = await ServerProcess.start();
  const made = await LiveNamespaceClient.create(first, "n");
  await deploy(made, 1);
  const client = new LiveClient({ url: first.live, namespace: "n" });
  const shown: unknown[] = [];
  client.watch("bank:total", {}, (total) => shown.push(total));
  await client.mutate("bank:add", { name: "a", turn: 1 });
  const until = async (total: number) => {
    while (shown.at(-1) !== total) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await until(1);
  await first.kill();
  const meanwhile = client.mutate("bank:add", { name: "a", turn: 2 });
  const env = { SERVICE_LIVE_LISTEN: new URL(first.live).host };
  await using second = await ServerProcess.start({ dataDir: first.dataDir, env });
  await meanwhile;
  await until(2);
  await client.mutate("bank:add", { name: "a", turn: 3 });
  await until(3);
  const ticks = shown.filter((value, i) => i === 0 || value !== shown[i - 1]);
  assert.deepEqual(ticks, ticks.toSorted(), "what was shown goes back");
  client.close();
  assert.equal(await (await LiveNamespaceClient.create(second, "n")).query("bank:turns"), 3);
});
