import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection } from "mysql2/promise";
import pg from "pg";
import { NodeClock } from "../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../src/adapter/node/random.ts";
import { openAuthStore } from "../../src/composition/auth-store.ts";
import { ApiKeys } from "../../src/engine/auth/keys.ts";
import { ask } from "../support/http.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { knownByWire, knownStatements, StatementMaker } from "./statements.ts";

export interface HostileOptions {
  /** Made statements, besides those that are known. */
  readonly statements: number;
  readonly seed: number;
  readonly say?: (line: string) => void;
}

export interface HostileFigures {
  readonly statements: number;
  /** What became of them, by their status or SQLSTATE. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Requests of others beside them, all of which succeeded. */
  readonly others: number;
  readonly healthCpuMsMax: number;
  readonly residentBytesMax: number;
  readonly lost: number;
}

const MiB = 1024 * 1024;
const secret = "the-other-namespaces-secret";
const processes = 4;
const sqlBytes = 128 * MiB;
/** The documented sum: the server's own, and its SQL processes with their spare. */
const residentBytesMax = 700 * MiB + (processes + 1) * (sqlBytes + 512 * MiB);
const healthCpuMsMax = 1_000;
/** Those of a statement's text, of one client each. */
const wires = ["rest", "postgres", "mysql"] as const;

/** Runs hostile statements, bodies and sessions of a reader of one namespace beside the work of others. Throws what must not be. */
export async function runHostile({ statements, seed, say = () => {} }: HostileOptions): Promise<HostileFigures> {
  const run = await HostileRun.start();
  try {
    const stop = new AbortController();
    const beside = Promise.all([run.others(stop.signal), run.watch(stop.signal)]);
    beside.catch(() => stop.abort());
    await run.bodies();
    const maker = new StatementMaker(seed);
    const made = Array.from({ length: statements }, () => maker.next());
    const all = [...knownStatements, ...made];
    let next = 0;
    await Promise.all(
      wires.map(async (wire) => {
        for (const query of knownByWire[wire]) await run.statement(wire, query);
        while (next < all.length && !stop.signal.aborted) {
          const at = next++;
          if (at % 1_000 === 999) say(`${at + 1} statements`);
          await run.statement(wire, all[at]!);
        }
      }),
    );
    stop.abort();
    await beside;
    return await run.figures(all.length);
  } finally {
    await run.end();
  }
}

class HostileRun {
  readonly #server: ServerProcess;
  readonly #dataDir: string;
  readonly #boss: string;
  readonly #eve: string;
  readonly #outcomes: Record<string, number> = {};
  #others = 0;
  #healthCpuMsMax = 0;
  #residentBytesMax = 0;
  #postgres: pg.Client | undefined;
  #mysql: Awaited<ReturnType<typeof createConnection>> | undefined;

  private constructor(server: ServerProcess, dataDir: string, boss: string, eve: string) {
    this.#server = server;
    this.#dataDir = dataDir;
    this.#boss = boss;
    this.#eve = eve;
  }

  static async start(): Promise<HostileRun> {
    const dataDir = await temporaryFolder();
    const store = openAuthStore(dataDir);
    const made = new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() });
    const boss = (await made.create({ name: "boss", role: "admin" })).key;
    const eve = (await made.create({ name: "eve", role: "reader", namespaces: ["own"] })).key;
    await store.close();
    const env = {
      SERVICE_AUTH_MODE: "apikey",
      // Enough for what others ask, also on a machine that has more to do than this.
      SERVICE_SQL_TIME: "3s",
      SERVICE_SQL_MEMORY_BYTES: String(sqlBytes),
      SERVICE_SQL_PROCESSES: String(processes),
      SERVICE_SQL_RUNNING_MAX: "4",
    };
    const server = await ServerProcess.start({ dataDir, env });
    const run = new HostileRun(server, dataDir, boss, eve);
    for (const [namespace, collection, word] of [
      ["own", "docs", "mine"],
      ["other", "secrets", secret],
    ] as const) {
      await run.#asBoss("/v1/namespaces", { name: namespace });
      const schema = { fields: [{ name: "title", kind: "text" }] };
      await run.#asBoss(`/v1/namespaces/${namespace}/collections`, { name: collection, schema });
      const ops = [1, 2, 3].map((id) => ({ upsert: { id, source: { title: word } } }));
      await run.#asBoss(`/v1/namespaces/${namespace}/collections/${collection}/documents`, { ops });
      await run.#asBoss(`/v1/namespaces/${namespace}/sql`, { query: `select count(*) as c from ${collection}` });
    }
    return run;
  }

  async statement(wire: (typeof wires)[number], query: string): Promise<void> {
    const { outcome, told } = await this.#sent(wire, query);
    this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1;
    if (told.includes(secret)) throw new Error(`shows another namespace: ${query.slice(0, 300)}`);
    if (outcome === "gone") throw new Error(`lost its session over ${wire}: ${query.slice(0, 300)} (${told})`);
  }

  /** Bodies and streams that are large, or said to be. */
  async bodies(): Promise<void> {
    const path = "/service.instance.v1.InstanceService/GetInstance";
    const session = connectHttp2(this.#server.url);
    session.on("error", () => {});
    const body = Buffer.alloc(2 * MiB, 0x20);
    const streams = Array.from({ length: 20 }, async () => {
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/json" });
      stream.on("error", () => {});
      stream.end(body);
      stream.resume();
      await new Promise<void>((resolve) => stream.once("close", () => resolve()));
    });
    await Promise.race([Promise.all(streams), sleep(20_000, undefined, { ref: false })]);
    session.destroy();
    // What can't be decoded is looked for in the whole of it.
    const deep = `${'{"and":{"filters":['.repeat(100)}${'{"term":{"a":1}},'.repeat(6_000)}{"ids":{"values":["x"]}}${"]}}".repeat(100)}`;
    await this.#refused("/service.collection.v1.QueryService/Search", `{"from":"c","filter":${deep}}`);
    for (const text of ["[".repeat(200_000), `{"query":"${"x".repeat(8 * MiB)}"}`, '{"query":"select 1","params":[']) {
      await this.#refused("/v1/namespaces/own/sql", text);
    }
  }

  async #refused(path: string, body: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.#eve}`, "content-type": "application/json" };
    const done = await ask(`${this.#server.url}${path}`, { body, headers });
    if (done.status !== 400) throw new Error(`a bad body was answered with ${done.status}: ${done.text.slice(0, 200)}`);
  }

  /** What somebody else does meanwhile, all of which must succeed. */
  async others(stop: AbortSignal): Promise<void> {
    const root = "/v1/namespaces/other";
    for (let id = 10; !stop.aborted; id++) {
      await this.#asBoss(`${root}/collections/secrets/documents`, {
        ops: [{ upsert: { id, source: { title: "w" } } }],
      });
      await this.#asBoss(`${root}/sql`, { query: "select count(*) as c from secrets" });
      this.#others += 2;
      await sleep(20);
    }
  }

  /** The server answers, and takes no more than it may. */
  async watch(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const before = this.#cpuMs();
      const { status } = await ask(`${this.#server.url}/health`);
      if (status !== 200) throw new Error(`/health was answered with ${status}`);
      this.#healthCpuMsMax = Math.max(this.#healthCpuMsMax, this.#cpuMs() - before);
      if (this.#healthCpuMsMax > healthCpuMsMax)
        throw new Error(`/health took ${this.#healthCpuMsMax} ms of processor time`);
      this.#residentBytesMax = Math.max(this.#residentBytesMax, this.#residentBytes());
      if (this.#residentBytesMax > residentBytesMax) {
        throw new Error(`the server and its processes take ${Math.round(this.#residentBytesMax / MiB)} MiB`);
      }
      await sleep(50);
    }
  }

  async figures(statements: number): Promise<HostileFigures> {
    const { text } = await ask(`${this.#server.url}/metrics`, { headers: { authorization: `Bearer ${this.#boss}` } });
    const lost = [...text.matchAll(/^service_sql_processes_lost_total\{why="\w+"\} (\d+)$/gm)];
    return {
      statements,
      outcomes: this.#outcomes,
      others: this.#others,
      healthCpuMsMax: this.#healthCpuMsMax,
      residentBytesMax: this.#residentBytesMax,
      lost: lost.reduce((sum, [, count]) => sum + Number(count), 0),
    };
  }

  async end(): Promise<void> {
    await this.#postgres?.end().catch(() => {});
    this.#mysql?.destroy();
    await this.#server[Symbol.asyncDispose]();
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  async #sent(wire: (typeof wires)[number], query: string): Promise<{ outcome: string; told: string }> {
    if (wire === "rest") {
      const headers = { authorization: `Bearer ${this.#eve}` };
      try {
        const done = await ask(`${this.#server.url}/v1/namespaces/own/sql`, { body: { query }, headers });
        return { outcome: `rest ${done.status}`, told: done.text };
      } catch (error) {
        // A result that has begun and can't be brought to its end is broken off.
        if (!(error instanceof TypeError && error.message === "terminated")) throw error;
        return { outcome: "rest broken off", told: "" };
      }
    }
    try {
      const rows = wire === "postgres" ? await this.#overPostgres(query) : await this.#overMysql(query);
      const told = JSON.stringify(rows, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
      return { outcome: `${wire} ok`, told: told ?? "" };
    } catch (error) {
      const { code, sqlState, message } = error as { code?: string; sqlState?: string; message: string };
      const state = wire === "postgres" ? code : sqlState;
      // An error of the session's own has no state: nobody's statement may end it.
      return { outcome: state === undefined ? "gone" : `${wire} ${state}`, told: message };
    }
  }

  async #overPostgres(text: string): Promise<unknown> {
    if (this.#postgres === undefined) {
      const client = new pg.Client({ ...this.#server.postgres, user: "eve", database: "own", password: this.#eve });
      client.on("error", () => {});
      await client.connect();
      this.#postgres = client;
    }
    return (await this.#postgres.query({ text, rowMode: "array", types: { getTypeParser: () => String } })).rows;
  }

  async #overMysql(sql: string): Promise<unknown> {
    this.#mysql ??= await createConnection({
      ...this.#server.mysql,
      user: "eve",
      database: "own",
      password: this.#eve,
      // As text: what the client makes of a value is not the server's doing.
      typeCast: (field) => field.string("utf8"),
    });
    return (await this.#mysql.query({ sql, rowsAsArray: true }))[0];
  }

  async #asBoss(path: string, body: unknown): Promise<void> {
    const headers = { authorization: `Bearer ${this.#boss}` };
    const done = await ask(`${this.#server.url}${path}`, { body, headers });
    if (done.status >= 300) throw new Error(`another's ${path} was answered with ${done.status}: ${done.text}`);
  }

  /** Of the server's own process; 0 where the system does not tell. */
  #cpuMs(): number {
    const file = `/proc/${this.#server.child.pid}/stat`;
    if (!existsSync(file)) return 0;
    const [user, system] = readFileSync(file, "latin1").split(") ")[1]!.split(" ").slice(11, 13);
    return (Number(user) + Number(system)) * 10;
  }

  #residentBytes(): number {
    const { pid } = this.#server.child;
    const file = `/proc/${pid}/task/${pid}/children`;
    if (!existsSync(file)) return 0;
    let pages = 0;
    for (const each of [String(pid), ...readFileSync(file, "latin1").trim().split(" ")]) {
      try {
        pages += Number(readFileSync(`/proc/${each}/statm`, "latin1").split(" ")[1]);
      } catch {
        // It ended meanwhile.
      }
    }
    return pages * 4096;
  }
}
