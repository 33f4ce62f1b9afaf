import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SeededRandom } from "../fault/random.ts";
import { ServerProcess, temporaryFolder } from "../support/process.ts";
import { type Contents, Disk, type Losses } from "./disk.ts";
import { readJournal } from "./journal.ts";

const source = fileURLToPath(new URL("shim.c", import.meta.url));

export interface MachineOptions {
  readonly flags?: readonly string[];
  /** The control: syncs are no barrier, so that what was synced is lost too. */
  readonly ignoresSyncs?: boolean;
}

/** A machine whose power fails: a data folder, and a server on it whose changes and syncs are written down. */
export class Machine implements AsyncDisposable {
  readonly dataDir: string;
  readonly #folder: string;
  readonly #library: string;
  readonly #options: MachineOptions;
  #disk: Disk;
  #replayed: number | undefined;

  private constructor(folder: string, library: string, options: MachineOptions) {
    this.#folder = folder;
    this.#library = library;
    this.#options = options;
    this.dataDir = join(folder, "data");
    mkdirSync(this.dataDir);
    this.#disk = new Disk(this.dataDir);
  }

  /** Undefined where there is no C compiler to build the library with. */
  static async make(options: MachineOptions = {}): Promise<Machine | undefined> {
    const folder = await temporaryFolder();
    const library = join(folder, "shim.so");
    const { status } = spawnSync("cc", ["-O2", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"]);
    if (status === 0) return new Machine(folder, library, options);
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }

  /** Starts the server. With `killAt` it ends by itself at that change or sync, maybe before it listens. */
  start(killAt?: number): Promise<ServerProcess> {
    this.#disk = new Disk(this.dataDir);
    this.#replayed = undefined;
    rmSync(this.#journal, { force: true });
    return ServerProcess.start({
      dataDir: this.dataDir,
      flags: this.#options.flags ?? [],
      env: {
        LD_PRELOAD: this.#library,
        POWER_FOLDER: this.dataDir,
        POWER_JOURNAL: this.#journal,
        ...(killAt === undefined ? {} : { POWER_KILL_AT: String(killAt) }),
        ...(this.#options.ignoresSyncs === true ? { POWER_NO_BARRIER: "1" } : {}),
      },
    });
  }

  get #journal(): string {
    return join(this.#folder, "journal");
  }

  /** One of the states that the failing power may leave the folder in. */
  outcome(random: SeededRandom): Contents {
    this.#replay();
    return this.#disk.afterPowerLoss(random).contents;
  }

  /** After the process was killed: leaves the folder as the failing power may leave it. */
  losePower(random: SeededRandom): Losses & { entries: number } {
    const entries = this.#replay();
    const { contents, losses } = this.#disk.afterPowerLoss(random);
    this.#disk.restore(contents);
    return { ...losses, entries };
  }

  /**
   * After the process ended by itself: what the journal says of the folder differs from it in these files. Empty if the
   * library sees every change.
   */
  unseenChanges(): string[] {
    this.#replay();
    const expected = this.#disk.whole();
    const unseen = this.#disk.unseenFiles();
    const actual = contentsOf(this.dataDir);
    const paths = new Set([...expected.keys(), ...actual.keys()]);
    return [...paths].filter((path) => !unseen.has(path) && !isSame(expected.get(path), actual.get(path))).sort();
  }

  /** Once for each life of a process; returns the length of its journal. */
  #replay(): number {
    if (this.#replayed === undefined) {
      const entries = readJournal(this.#journal);
      this.#disk.replay(entries);
      this.#replayed = entries.length;
    }
    return this.#replayed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function contentsOf(root: string): Contents {
  const contents = new Map<string, Buffer | "folder">();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    contents.set(path, entry.isDirectory() ? "folder" : readFileSync(path));
  }
  return contents;
}

function isSame(a: Buffer | "folder" | undefined, b: Buffer | "folder" | undefined): boolean {
  if (a instanceof Buffer && b instanceof Buffer) return a.equals(b);
  return a === b;
}
