import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { openSync, writeSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { SeededRandom } from "../fault/random.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";

const source = fileURLToPath(new URL("faults.c", import.meta.url));
const flags = ["--collection-seal-records", "100", "--collection-seal-idle", "200ms"];
const hourMs = 3_600_000;

export const faultKinds = ["kill -9", "stop and go on", "kill -9 while stopped", "clock jump", "full disk"] as const;
export type FaultKind = (typeof faultKinds)[number];

/** A server that things happen to. It keeps its port and its data folder over its ends. */
export class Victim implements AsyncDisposable {
  readonly #folder: string;
  readonly #library: string | undefined;
  readonly #state: number;
  readonly #onEnd: () => void;
  readonly faults: Record<string, number> = {};
  #server: ServerProcess | undefined;

  private constructor(folder: string, library: string | undefined, state: number, onEnd: () => void) {
    this.#folder = folder;
    this.#library = library;
    this.#state = state;
    this.#onEnd = onEnd;
  }

  /** `onEnd` is called each time that the process is gone for certain. */
  static async start(onEnd: () => void): Promise<Victim> {
    const folder = await temporaryFolder();
    const library = join(folder, "faults.so");
    const { status } = spawnSync("cc", ["-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], { stdio: "ignore" });
    await mkdir(join(folder, "data"));
    const state = openSync(join(folder, "state"), "w+");
    const victim = new Victim(folder, status === 0 ? library : undefined, state, onEnd);
    victim.#set(0, 0);
    victim.#set(1, 0);
    await victim.#start();
    return victim;
  }

  get port(): number {
    return Number(new URL(this.#server!.url).port);
  }

  get hasClock(): boolean {
    return this.#library !== undefined;
  }

  async #start(): Promise<void> {
    const dataDir = join(this.#folder, "data");
    const env = {
      LD_PRELOAD: this.#library ?? "",
      FAULT_STATE: join(this.#folder, "state"),
      FAULT_FOLDER: dataDir,
    };
    const listen = this.#server === undefined ? {} : { listen: `127.0.0.1:${this.port}` };
    this.#server = await ServerProcess.start({ dataDir, flags, ...listen, ...(this.hasClock ? { env } : {}) });
  }

  #set(index: number, value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(value));
    writeSync(this.#state, bytes, 0, 8, index * 8);
  }

  /** LMDB may give up on a full disk, and a supervisor starts the server again. No other end is its own. */
  async revive(): Promise<void> {
    const { child, logs } = this.#server!;
    if (child.exitCode === null && child.signalCode === null) return;
    const isKnown = child.exitCode === 1 && logs.some((line) => line.includes("the store gave up"));
    if (!isKnown)
      throw new Error(`the server ended (${child.exitCode ?? child.signalCode}):\n${logs.slice(-20).join("\n")}`);
    this.faults["the store gave up"] = (this.faults["the store gave up"] ?? 0) + 1;
    await this.#restart();
  }

  get logs(): readonly string[] {
    return this.#server!.logs;
  }

  /** One fault of the given kind, from its beginning to its end. */
  async suffer(kind: FaultKind, random: SeededRandom): Promise<void> {
    await this.revive();
    this.faults[kind] = (this.faults[kind] ?? 0) + 1;
    const child = this.#server!.child;
    switch (kind) {
      case "kill -9":
        await this.#restart();
        break;
      case "stop and go on":
        child.kill("SIGSTOP");
        await delay(random.between(100, 3000));
        child.kill("SIGCONT");
        break;
      case "kill -9 while stopped":
        child.kill("SIGSTOP");
        await delay(random.between(50, 500));
        await this.#restart();
        break;
      case "clock jump": {
        const most = random.chance(0.3) ? 25 * hourMs : hourMs;
        this.#set(0, random.between(-most, most));
        break;
      }
      case "full disk":
        // A disk says that it is filling up before it refuses.
        this.#set(1, 1);
        await delay(200);
        this.#set(1, 2);
        await delay(random.between(200, 1000));
        this.#set(1, 0);
        break;
    }
  }

  async #restart(): Promise<void> {
    await this.#server!.kill();
    this.#onEnd();
    await this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#server?.child;
    if (child?.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}
