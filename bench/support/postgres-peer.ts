import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { freePort } from "./peers.ts";

const run = promisify(execFile);
const startMsMax = 30_000;

export interface PostgresPeer extends AsyncDisposable {
  readonly url: string;
}

/**
 * A PostgreSQL of its own, in a temporary folder and on a free port, where `initdb` and `postgres` are on the path;
 * undefined where they are not. BENCH_POSTGRES_URL names one that runs already.
 */
export async function startPostgres(): Promise<PostgresPeer | undefined> {
  const given = process.env["BENCH_POSTGRES_URL"];
  if (given !== undefined) return { url: given, async [Symbol.asyncDispose]() {} };
  const isThere = await Promise.all(["initdb", "postgres"].map((name) => run(name, ["--version"]))).catch(
    () => undefined,
  );
  const user = isThere && (await userToRunAs());
  if (user === undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "native-engine-postgres-"));
  if (user.uid !== undefined) await chown(folder, user.uid, user.gid!);
  const data = join(folder, "data");
  await run("initdb", ["-D", data, "-U", "bench", "--auth=trust", "--no-sync"], { ...user, cwd: folder });
  const port = await freePort();
  const args = ["-D", data, "-h", "127.0.0.1", "-p", String(port), "-k", folder];
  const server = spawn("postgres", args, { ...user, cwd: folder, stdio: "ignore" });
  const ended = once(server, "exit");
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  const peer: PostgresPeer = {
    url,
    async [Symbol.asyncDispose]() {
      // It ends at once with this one, and does not wait for its clients.
      server.kill("SIGINT");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await answering(url);
    return peer;
  } catch (error) {
    await peer[Symbol.asyncDispose]();
    throw error;
  }
}

interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

/** It refuses to run as root. */
async function userToRunAs(): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    const idOf = async (flag: string) => Number((await run("id", [flag, name])).stdout);
    const found = await Promise.all([idOf("-u"), idOf("-g")]).catch(() => undefined);
    if (found !== undefined) return { uid: found[0], gid: found[1] };
  }
  return undefined;
}

async function answering(connectionString: string): Promise<void> {
  const startedMs = performance.now();
  for (;;) {
    const client = new pg.Client({ connectionString });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (performance.now() - startedMs > startMsMax) throw error;
      await sleep(100);
    }
  }
}
