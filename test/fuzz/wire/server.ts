import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { ask } from "../../support/http.ts";
import { ServerProcess } from "../../support/process.ts";
import { loadSqlDataset } from "../../support/sql-dataset.ts";
import { Finding, must } from "../target.ts";

const MiB = 1024 * 1024;

export const serverLimits = {
  /** What the process may hold above what it held once it was warm; its caches fill in the meantime. */
  growthBytesMax: 512 * MiB,
  /** How long an answer may take before the server is taken for one that hangs; the machine may be busy. */
  answerMs: 30_000,
  /** How long what its clients have left may stay with the server. */
  closeMs: 5_000,
  logLinesMax: 20_000,
  /** Open files and connections: each input closes its own. */
  filesMax: 400,
} as const;

/** A word that must not come back from any error or log line: it stands where secrets stand. */
export const secret = "s3cr3t-9d1c";

/** A real server with some data in it, and what must hold of it whatever it is sent. */
export class FuzzServer implements AsyncDisposable {
  readonly process: ServerProcess;
  readonly port: number;
  readonly postgresPort: number;
  readonly mysqlPort: number;
  #warmBytes = 0;
  #linesSeen = 0;

  private constructor(process: ServerProcess) {
    this.process = process;
    this.port = Number(new URL(process.url).port);
    this.postgresPort = process.postgres.port;
    const mysql = /"mysql":"[^"]+:(\d+)"/.exec(process.logs.join("\n"));
    this.mysqlPort = Number(mysql?.[1] ?? 0);
  }

  static async start(): Promise<FuzzServer> {
    const server = await FuzzServer.startEmpty();
    await loadSqlDataset(server.url, "fuzz");
    return server;
  }

  static async startEmpty(more: Readonly<Record<string, string>> = {}): Promise<FuzzServer> {
    const env = { SERVICE_RUN_MODE: "development", SERVICE_SQL_TIME: "2s", ...more };
    return new FuzzServer(await ServerProcess.start({ env }));
  }

  get url(): string {
    return this.process.url;
  }

  get residentBytes(): number {
    const pages = readFileSync(`/proc/${this.process.child.pid}/statm`, "utf8").split(" ")[1];
    return Number(pages) * 4096;
  }

  /** That it lives, answers, has not grown without bound, and has logged neither a bug nor a secret. */
  async check(): Promise<void> {
    const { child } = this.process;
    must(child.exitCode === null && child.signalCode === null, "the server has ended", () => this.#lastLines());
    const health = await ask(`${this.url}/health`, { signal: AbortSignal.timeout(serverLimits.answerMs) });
    must(health.status === 200, "the server is not healthy", () => health.text);
    this.checkLogs();
    await this.#checkFiles();
    const bytes = this.residentBytes;
    if (this.#warmBytes === 0) this.#warmBytes = bytes;
    const grown = bytes - this.#warmBytes;
    must(grown < serverLimits.growthBytesMax, "the server grows", () => `${Math.round(grown / MiB)} MiB`);
  }

  /** The end of a connection takes its time on the server's side. */
  async #checkFiles(): Promise<void> {
    const endMs = performance.now() + serverLimits.closeMs;
    let files: number;
    do {
      files = readdirSync(`/proc/${this.process.child.pid}/fd`).length;
      if (files < serverLimits.filesMax) return;
      await delay(20);
    } while (performance.now() < endMs);
    must(false, "the server keeps connections", () => files);
  }

  /** A line of a bug carries a stack; no line carries a secret. */
  checkLogs(): void {
    const lines = this.process.logs.slice(this.#linesSeen);
    this.#linesSeen = this.process.logs.length;
    for (const line of lines) {
      // What is refused for a while has its cause beside it, as a warning.
      const isBug = /"level":(?:"error"|"fatal"|50|60)/.test(line) || !line.startsWith("{");
      if (isBug) throw new Finding(`the server logged a bug: ${line.slice(0, 3_000)}`);
      must(!line.includes(secret), "the server logged a secret", () => line.slice(0, 1_000));
    }
    must(this.process.logs.length < serverLimits.logLinesMax, "the log grows with every request");
  }

  #lastLines(): string {
    return this.process.logs.slice(-20).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
  }
}
