import { constants, existsSync } from "node:fs";
import { access, readdir, stat, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { checkPages, everyPage } from "../../adapter/lmdb/pages.ts";
import { loadConfig } from "../../composition/config/config.ts";
import { CommandFailure } from "../command.ts";
import type { Context } from "../context.ts";
import { formatBytes } from "../output.ts";
import type { Finding } from "../scan.ts";
import { exitCodes, type Run } from "../spec.ts";

const nodeMajorMin = 24;
const diskLimits = { freeBytesMin: 1024 ** 3, freeShareMin: 0.1 } as const;
const nativeModules = ["lmdb", "usearch", "@lancedb/lancedb", "@duckdb/node-api"] as const;

export const doctor: Run = async (context) => {
  const argv: string[] = [];
  for (const name of ["data-dir", "listen"]) {
    const option = context.text(name);
    if (option !== undefined) argv.push(`--${name}`, option);
  }
  const { dataDir, listen } = loadConfig({ argv, env: context.env });
  if (context.flag("rebuild")) return await rebuild(context, dataDir);
  const findings: Finding[] = [];
  const tell = (finding: Finding) => {
    findings.push(finding);
    const mark = { ok: "ok     ", warning: "warning", bad: "BAD    " }[finding.state];
    context.out.say(`${mark}  ${finding.check}: ${finding.detail}`);
  };
  tell(nodeFinding());
  for (const name of nativeModules) tell(await moduleFinding(name));
  tell(await folderFinding(dataDir));
  tell(await diskFinding(dataDir));
  tell(await portFinding(listen.host, listen.port));
  for await (const finding of dataFindings(dataDir, context.signal)) tell(finding);
  const bad = findings.filter(({ state }) => state === "bad").length;
  const warnings = findings.filter(({ state }) => state === "warning").length;
  const words = bad > 0 ? `${bad} bad` : warnings > 0 ? `${warnings} to look at` : "all is well";
  if (context.json) await context.out.line(JSON.stringify({ ok: bad === 0, findings }));
  else context.out.say(`\n${words}`);
  return bad === 0 ? exitCodes.done : exitCodes.failed;
};

function nodeFinding(): Finding {
  const enough = Number(process.versions.node.split(".")[0]) >= nodeMajorMin;
  return {
    check: "Node.js",
    state: enough ? "ok" : "bad",
    detail: `${process.versions.node} on ${process.platform}-${process.arch}${enough ? "" : "; 24 is needed: npm run setup"}`,
  };
}

async function moduleFinding(name: string): Promise<Finding> {
  try {
    await import(name);
    return { check: name, state: "ok", detail: "loads" };
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    return { check: name, state: "bad", detail: `does not load (${why}); run npm run setup again` };
  }
}

async function folderFinding(dataDir: string): Promise<Finding> {
  const check = "data directory";
  if (!existsSync(dataDir)) return { check, state: "ok", detail: `${dataDir} is not there yet; the server makes it` };
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return { check, state: "bad", detail: (error as Error).message };
  }
  const { mode } = await stat(dataDir);
  if ((mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8);
    return { check, state: "warning", detail: `others can look into ${dataDir} (mode ${shown}); chmod 700 it` };
  }
  return { check, state: "ok", detail: dataDir };
}

async function diskFinding(dataDir: string): Promise<Finding> {
  const { bavail, bsize, blocks } = await statfs(existsSync(dataDir) ? dataDir : ".");
  const free = bavail * bsize;
  const enough = free >= diskLimits.freeBytesMin && bavail / blocks >= diskLimits.freeShareMin;
  const detail = `${formatBytes(free)} free (${Math.round((bavail / blocks) * 100)} %)`;
  return { check: "disk", state: enough ? "ok" : "warning", detail };
}

function portFinding(host: string, port: number): Promise<Finding> {
  const check = `port ${port} of ${host}`;
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === "EADDRINUSE";
      resolve({
        check,
        state: isTaken ? "warning" : "bad",
        detail: isTaken ? "is in use, by a server or another program" : error.message,
      });
    });
    server.listen(port, host, () => server.close(() => resolve({ check, state: "ok", detail: "is free" })));
  });
}

async function* dataFindings(dataDir: string, signal: AbortSignal): AsyncGenerator<Finding> {
  const check = "store pages";
  const file = join(dataDir, "store", "data.mdb");
  if (!existsSync(file)) {
    // The log is made with the store and names it.
    const isLogged = await readdir(join(dataDir, "log")).then(
      (names) => names.length > 0,
      () => false,
    );
    yield isLogged
      ? { check, state: "bad", detail: `${file} is gone and its commit log is there; restore the data from a backup` }
      : { check, state: "ok", detail: "there are no data yet" };
    return;
  }
  const [{ openOffline }, { scanData }] = await Promise.all([import("../offline.ts"), import("../scan.ts")]);
  const { SingleOwnership } = await import("../../adapter/single/ownership.ts");
  {
    // Pages are looked at before LMDB maps them, and not while a server writes them.
    await using lock = new SingleOwnership(dataDir);
    try {
      await lock.acquire(signal);
    } catch (error) {
      yield { check, state: "warning", detail: `not checked: ${(error as Error).message}; stop it to check the data` };
      return;
    }
    try {
      const { pagesChecked } = checkPages(file, everyPage);
      yield { check, state: "ok", detail: `${pagesChecked} looked at` };
    } catch (error) {
      yield { check, state: "bad", detail: `${(error as Error).message}; restore the data from a backup` };
      return;
    }
  }
  try {
    await using data = await openOffline(dataDir);
    yield* scanData(data.store, data.objects, signal);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    yield { check: "store", state: "bad", detail: error.message };
  }
}

async function rebuild(context: Context, dataDir: string): Promise<number> {
  const file = join(dataDir, "store", "data.mdb");
  if (!existsSync(file)) throw new CommandFailure("not_found", `${dataDir} holds no data`);
  const [{ openOffline }, { rebuildDerived }] = await Promise.all([import("../offline.ts"), import("../rebuild.ts")]);
  const rebuilt = [];
  await using data = await openOffline(dataDir);
  for await (const done of rebuildDerived(data, dataDir, context.signal)) {
    rebuilt.push(done);
    if ("collection" in done) {
      const { namespace, collection, documents } = done;
      context.out.say(`${namespace}/${collection}: index and dataset rebuilt, documents: ${documents}`);
    } else {
      const why = done.why === undefined ? "" : `: ${done.why}`;
      context.out.say(`${done.namespace}/${done.link}: counters ${done.counters}${why}`);
    }
  }
  if (context.json) await context.out.line(JSON.stringify({ rebuilt }));
  else context.out.say(`\n${rebuilt.length} done; records, documents, names and recorded answers are as they were`);
  return exitCodes.done;
}
