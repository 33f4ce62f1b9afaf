import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "../fault/random.ts";
import type { ServerProcess } from "../support/process.ts";
import { Load } from "./load.ts";
import { Machine } from "./machine.ts";

/** Small and often, so that the power fails in seals, merges and commits of the dataset too. */
const flags = ["--collection-seal-records", "60", "--collection-seal-idle", "100ms"];
/** A new folder after this many power cuts, so that first starts are cut too. */
const roundsPerFolder = 5;

export interface PowerOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Folders at once. */
  readonly jobs?: number;
  /** The control: see `Machine`. */
  readonly ignoresSyncs?: boolean;
  readonly log?: (line: string) => void;
}

/** Something acknowledged is lost, or what is left can't be started with. */
export class PowerViolation extends Error {}

type Counts = Record<string, number>;

/** Cuts the power many times; returns what was done, or undefined where no C compiler is at hand. */
export async function runPower(options: PowerOptions): Promise<Counts | undefined> {
  const random = new SeededRandom(options.seed);
  const totals: Counts = {};
  const folders: { first: number; rounds: number; random: SeededRandom }[] = [];
  for (let first = 0; first < options.rounds; first += roundsPerFolder) {
    folders.push({ first, rounds: Math.min(roundsPerFolder, options.rounds - first), random: random.fork() });
  }
  let isPossible = true;
  const work = async () => {
    for (let next = folders.shift(); next !== undefined && isPossible; next = folders.shift()) {
      await using machine = await Machine.make({ flags, ignoresSyncs: options.ignoresSyncs === true });
      isPossible = machine !== undefined;
      if (machine === undefined) return;
      const folder = new Folder(machine, next.random, (line) => options.log?.(line));
      for (let round = 0; round < next.rounds; round++) await folder.round(next.first + round);
      await folder.last();
      for (const [what, count] of Object.entries(folder.figures)) totals[what] = (totals[what] ?? 0) + count;
    }
  };
  // A failure ends the run only once no folder is in use any more, so that no server is left behind.
  const jobs = Array.from({ length: options.jobs ?? 1 }, () =>
    work().catch((error: unknown) => {
      folders.splice(0);
      throw error;
    }),
  );
  for (const outcome of await Promise.allSettled(jobs)) if (outcome.status === "rejected") throw outcome.reason;
  return isPossible ? totals : undefined;
}

/** The rounds on one data folder. */
class Folder {
  readonly #machine: Machine;
  readonly #random: SeededRandom;
  readonly #load = new Load();
  readonly #log: (line: string) => void;
  readonly #counts: Counts = {};

  constructor(machine: Machine, random: SeededRandom, log: (line: string) => void) {
    this.#machine = machine;
    this.#random = random;
    this.#log = log;
  }

  get figures(): Counts {
    return { ...this.#counts, ...this.#load.figures };
  }

  /** Starts on what the last power cut left, checks it, writes, and cuts the power at any moment of all that. */
  async round(number: number): Promise<void> {
    const random = this.#random.fork();
    const killAt = this.#momentOf(random);
    let reached = "the start";
    const server = await this.#start(killAt);
    if (server !== undefined) {
      await using running = server;
      reached = await this.#life(running, random);
    }
    const { entries, ...losses } = this.#machine.losePower(random);
    this.#add("power cuts", 1);
    this.#add(`power cuts during ${reached}`, 1);
    this.#add("changes and syncs of the disk", entries);
    this.#add("writes not synced at a cut", losses.writesUnsynced);
    this.#add("of these lost", losses.writesLost);
    this.#add("of these torn", losses.writesTorn);
    this.#add("names not synced at a cut", losses.namesUnsynced);
    this.#add("of these names lost", losses.namesLost);
    this.#log(JSON.stringify({ round: number, cut: reached, entries, ...losses }));
  }

  /** The change or sync at which the server ends: in the start, or anywhere; undefined: by the clock. */
  #momentOf(random: SeededRandom): number | undefined {
    if (random.chance(0.15)) return random.between(1, 60);
    return random.chance(0.5) ? random.between(60, 1500) : undefined;
  }

  async #life(server: ServerProcess, random: SeededRandom): Promise<string> {
    let reached = "the start";
    try {
      await this.#load.prepare(server);
      reached = "the check";
      await this.#load.verify(server, random);
      this.#add("checks of all that was acknowledged", 1);
      reached = "the load";
      const work = this.#load.run(server, random);
      await Promise.race([work, delay(random.between(200, 1500))]);
      await server.kill();
      await work;
    } catch (error) {
      // It ended by itself, as it was told to; whatever else fails is a finding.
      if (error instanceof assert.AssertionError || !(await isKilled(server))) {
        throw new PowerViolation(`${(error as Error).stack}\n${server.logs.slice(-20).join("\n")}`, { cause: error });
      }
    }
    return reached;
  }

  /** Undefined where it ended before it listened, as it was told to. */
  async #start(killAt?: number): Promise<ServerProcess | undefined> {
    try {
      return await this.#machine.start(killAt);
    } catch (error) {
      if (killAt !== undefined && (error as Error).message.includes("(SIGKILL)")) return undefined;
      throw new PowerViolation(`the server does not start: ${(error as Error).message}`, { cause: error });
    }
  }

  /** After the last power cut: everything is there, and the journal had seen everything. */
  async last(): Promise<void> {
    await using server = await this.#start();
    await this.#load.prepare(server!);
    try {
      await this.#load.verify(server!, this.#random);
    } catch (error) {
      throw new PowerViolation(`${(error as Error).stack}\n${server!.logs.slice(-20).join("\n")}`, { cause: error });
    }
    this.#add("checks of all that was acknowledged", 1);
    assert.equal(await server!.stop(), 0);
    assert.deepEqual(this.#machine.unseenChanges(), [], "every change of the folder is in the journal");
  }

  #add(what: string, count: number): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + count;
  }
}

/** Whether the process was killed. The end of a connection is noticed before the end of the process. */
async function isKilled({ child }: ServerProcess): Promise<boolean> {
  if (child.exitCode === null && child.signalCode === null) await Promise.race([once(child, "exit"), delay(5000)]);
  return child.signalCode === "SIGKILL";
}
