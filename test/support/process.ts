import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** This build's own folder. */
export const thisBuild = fileURLToPath(new URL("../..", import.meta.url));

/** What `bin/native-engine` gives to Node: the one list of its flags and settings, for servers that run as people's do. */
function readLauncher(): { readonly flags: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  const launcher = readFileSync(join(thisBuild, "bin/native-engine"), "utf8");
  const threshold = /MALLOC_MMAP_THRESHOLD_:-(\d+)/.exec(launcher)?.[1];
  const flags = /^exec "\$node" (.*) "\$program"/m.exec(launcher)?.[1];
  assert.ok(threshold !== undefined && flags !== undefined, "bin/native-engine has its flags");
  return { flags: flags.split(" "), env: { MALLOC_MMAP_THRESHOLD_: threshold } };
}

const launcher = readLauncher();
/** To be set with `commandOf`. */
export const launchEnv = launcher.env;

/** The command line of a build, without its arguments. */
export function commandOf(build: string = thisBuild): [node: string, ...args: string[]] {
  return [process.execPath, ...launcher.flags, join(build, "src/main.ts")];
}

export interface StartOptions {
  /** The folder of another build to run. */
  readonly build?: string;
  /** A folder of the caller's; without it the process has one of its own that goes with it. */
  readonly dataDir?: string;
  /** A free port without it. */
  readonly listen?: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A command that runs the server, for example to set limits first; the server's own command line follows it. */
  readonly under?: readonly string[];
}

/** The server as its own process, as a user starts it: on a free port, with a data folder. */
export class ServerProcess implements AsyncDisposable {
  readonly url: string;
  /** Where the Postgres wire listens. */
  readonly postgres: WireAddress;
  /** And the MySQL wire. */
  readonly mysql: WireAddress;
  /** And the Live engine. */
  readonly live: string;
  readonly dataDir: string;
  readonly child: ChildProcess;
  readonly logs: string[];
  readonly #ownsData: boolean;

  private constructor(url: string, dataDir: string, child: ChildProcess, logs: string[], ownsData: boolean) {
    this.url = url;
    this.postgres = wireAddress(logs, "postgres");
    this.mysql = wireAddress(logs, "mysql");
    const { host, port } = wireAddress(logs, "live");
    this.live = `${new URL(url).protocol}//${host}:${port}`;
    this.dataDir = dataDir;
    this.child = child;
    this.logs = logs;
    this.#ownsData = ownsData;
  }

  static async start(options: StartOptions = {}): Promise<ServerProcess> {
    const ownsData = options.dataDir === undefined;
    const dataDir = options.dataDir ?? (await temporaryFolder());
    const flags = ["--listen", options.listen ?? "127.0.0.1:0", "--data-dir", dataDir, ...(options.flags ?? [])];
    const [command, ...args] = [...(options.under ?? []), ...commandOf(options.build), "serve", ...flags];
    const child = spawn(command!, args, {
      // The wires are on free ports too: their usual ones may be anyone's.
      env: {
        ...cleanEnvironment(),
        SERVICE_POSTGRES_LISTEN: "127.0.0.1:0",
        SERVICE_MYSQL_LISTEN: "127.0.0.1:0",
        SERVICE_LIVE_LISTEN: "127.0.0.1:0",
        ...options.env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const logs: string[] = [];
    try {
      const url = await listeningUrl(child, logs);
      return new ServerProcess(url, dataDir, child, logs, ownsData);
    } catch (error) {
      if (ownsData) await rm(dataDir, { recursive: true, force: true });
      throw error;
    }
  }

  /** Ends the process as an operator does, and returns its exit code. */
  async stop(): Promise<number | null> {
    if (this.#runs) {
      this.child.kill("SIGTERM");
      await once(this.child, "exit");
    }
    return this.child.exitCode;
  }

  /** Ends the process as a power cut does. */
  async kill(): Promise<void> {
    if (!this.#runs) return;
    this.child.kill("SIGKILL");
    await once(this.child, "exit");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    if (this.#ownsData) await rm(this.dataDir, { recursive: true, force: true });
  }

  get #runs(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line to its end. */
export async function runCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}, input = "") {
  const child = startCommand(args, env);
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit") as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr } satisfies Finished;
}

/** Starts the command line, for those who end it. */
export function startCommand(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const [node, ...nodeArgs] = commandOf();
  return spawn(node, [...nodeArgs, ...args], {
    env: { ...cleanEnvironment(), ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "native-engine-test-"));
}

/** No setting of the machine that runs the tests reaches the server. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith("SERVICE_"));
  return { ...Object.fromEntries(clean), ...launchEnv };
}

interface WireAddress {
  readonly host: string;
  readonly port: number;
}

function wireAddress(logs: readonly string[], wire: string): WireAddress {
  const [, host = "", port = "0"] = new RegExp(`"${wire}":"([^"]+):(\\d+)"`).exec(logs.join("\n")) ?? [];
  return { host, port: Number(port) };
}

/** Where a server that was started listens; its log goes to `logs`. */
export function listeningUrl(child: ChildProcess, logs: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const onLine = (line: string) => {
      logs.push(line);
      const match = /"url":"(http[^"]+)"/.exec(line);
      if (match !== null) resolve(match[1]!);
    };
    createInterface({ input: child.stdout! }).on("line", onLine);
    createInterface({ input: child.stderr! }).on("line", onLine);
    child.once("exit", (code, signal) =>
      reject(new Error(`the server ended (${code ?? signal}) before it listened:\n${logs.join("\n")}`)),
    );
  });
}
