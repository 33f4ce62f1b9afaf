import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "./peers.ts";

const run = promisify(execFile);
const startAttempts = 100;

export interface RedisPeer extends AsyncDisposable {
  /** Entries of a value that are durable in a second, sent in pipelines by its own load generator. */
  appends(options: { connections: number; pipelined: number; entries: number; value: string }): Promise<number>;
}

/** A Redis of its own that syncs every write, in a temporary folder; undefined where it is not installed. */
export async function startRedis(): Promise<RedisPeer | undefined> {
  const commands = ["redis-server", "redis-cli", "redis-benchmark"].map((name) => run(name, ["--version"]));
  if ((await Promise.allSettled(commands)).some(({ status }) => status === "rejected")) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "native-engine-redis-"));
  const port = String(await freePort());
  const durable = [
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    "--save",
    "",
    "--auto-aof-rewrite-percentage",
    "0",
  ];
  const args = ["--port", port, "--bind", "127.0.0.1", "--dir", folder, ...durable];
  const server = spawn("redis-server", args, { stdio: "ignore" });
  const ended = once(server, "exit");
  const ask = (...words: string[]) => run("redis-cli", ["-p", port, ...words]);
  const peer: RedisPeer = {
    async appends({ connections, pipelined, entries, value }) {
      const load = ["-c", String(connections), "-P", String(pipelined), "-n", String(entries), "--csv"];
      const { stdout } = await run("redis-benchmark", ["-p", port, ...load, "XADD", "s", "*", "v", value]);
      await ask("UNLINK", "s");
      const rate = Number(/^"XADD[^"]*","([\d.]+)"/m.exec(stdout)?.[1]);
      if (!(rate > 0)) throw new Error(`redis-benchmark: ${stdout}`);
      return rate;
    },
    async [Symbol.asyncDispose]() {
      server.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
  for (let attempt = 0; attempt < startAttempts; attempt++) {
    if (
      await ask("PING")
        .then(({ stdout }) => stdout.trim() === "PONG")
        .catch(() => false)
    )
      return peer;
    await sleep(50);
  }
  await peer[Symbol.asyncDispose]();
  throw new Error("redis-server does not answer");
}
