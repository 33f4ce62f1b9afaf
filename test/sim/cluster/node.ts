import assert from "node:assert/strict";
import { joined, ReplicatedLog } from "../../../src/adapter/replicated/commit-log.ts";
import type { Cursor, Fold } from "../../../src/adapter/replicated/fold.ts";
import type { LeaseSettings } from "../../../src/adapter/replicated/lease.ts";
import type { SimulatedBroker } from "./shared-log.ts";
import { NodeLife, type World } from "./world.ts";

/** Rules that are broken on purpose. */
export interface ClusterSabotage {
  readonly settings?: Partial<LeaseSettings>;
  readonly makeFold?: (cursor: Cursor | undefined) => Fold;
  /** Answers reads without asking for the lease. */
  readonly ignoresLease?: boolean;
}

/** What one commit holds. */
export interface Written {
  readonly id: number;
  /** The commits that its writer knew. */
  readonly base: number;
  /** Makes it larger than a record. */
  readonly padding?: string;
}

interface Disk {
  readonly commits: readonly Written[];
  readonly cursor: Cursor | undefined;
}

/** A machine of the cluster, with a disk that outlives its processes. Its store is the list of all commits. */
export class SimulatedNode {
  readonly name: string;
  readonly #world: World;
  readonly #broker: SimulatedBroker;
  readonly #sabotage: ClusterSabotage;
  readonly #settings: Partial<LeaseSettings>;
  #lives = 0;
  #disk: Disk = { commits: [], cursor: undefined };
  life: NodeLife | undefined;
  log: ReplicatedLog | undefined;
  commits: Written[] = [];
  #isCommitting = false;
  fatal: Error | undefined;

  constructor(
    name: string,
    world: World,
    broker: SimulatedBroker,
    settings: Partial<LeaseSettings>,
    sabotage: ClusterSabotage,
  ) {
    this.name = name;
    this.#world = world;
    this.#broker = broker;
    this.#settings = { ...settings, ...sabotage.settings };
    this.#sabotage = sabotage;
  }

  async start(): Promise<void> {
    // Clocks drift by up to a tenth, either way.
    const life = new NodeLife(0.9 + this.#world.dice.next() * 0.2);
    this.life = life;
    this.commits = [...this.#disk.commits];
    this.#isCommitting = false;
    const { makeFold } = this.#sabotage;
    const log = await ReplicatedLog.open({
      log: this.#broker.linkOf(this.name, life),
      clock: this.#world.clockOf(life),
      writer: `${this.name}/${this.#lives++}`,
      info: { node: this.name, address: this.name },
      cursor: this.#disk.cursor,
      settings: this.#settings,
      onRole: (role) => this.#world.note(`${this.name} ${role} ${this.log?.member.epoch}`),
      onFatal: (error) => {
        this.fatal = error;
      },
      ...(makeFold && { makeFold }),
    });
    this.log = log;
    log.follow(async (position, parts) => {
      if (this.life === life) this.#add(position, joined({ parts: parts as Buffer[] }));
    });
  }

  #add(position: number, bytes: Buffer): void {
    assert.equal(position, this.commits.length + 1, `${this.name} takes commits in their order`);
    this.commits.push(JSON.parse(bytes.toString()) as Written);
  }

  kill(): void {
    if (this.life !== undefined) this.life.isAlive = false;
    this.life = undefined;
    this.log = undefined;
  }

  freeze(ms: number): void {
    if (this.life !== undefined) this.life.frozenUntilMs = this.#world.nowMs + ms;
  }

  /** Keeps some of what it knows, as the view of a store does. */
  checkpoint(): void {
    const { log, commits } = this;
    const applied = commits.length - this.#world.dice.below(3);
    if (log === undefined || applied <= this.#disk.commits.length) return;
    this.#disk = { commits: commits.slice(0, applied), cursor: log.cursorAfter(applied) };
    log.trim(applied + 1);
  }

  /** Undefined while another one is under way: a committer sends one group at a time. */
  write(id: number, padding?: string): Promise<number> | undefined {
    const { log, life } = this;
    if (log === undefined || this.#isCommitting) return undefined;
    this.#isCommitting = true;
    const written: Written = { id, base: this.commits.length, ...(padding === undefined ? {} : { padding }) };
    const bytes = Buffer.from(JSON.stringify(written));
    return log
      .append(bytes)
      .then((position) => {
        if (this.life === life) this.#add(position, bytes);
        return position;
      })
      .finally(() => {
        if (this.life === life) this.#isCommitting = false;
      });
  }

  /** The number of commits that a strong read sees; undefined where it is refused. */
  read(): number | undefined {
    const { log } = this;
    if (log === undefined) return undefined;
    const isOwner = log.member.role === "owner";
    if (!(this.#sabotage.ignoresLease === true ? isOwner : log.member.mayAnswer)) return undefined;
    return this.commits.length;
  }
}
