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
  /** What a snapshot keeps of where its node was in the log. */
  readonly snapshotCursor?: (cursor: Cursor) => Cursor;
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

/** What all machines reach: the newest snapshots of stores, the last one first. */
export class SimulatedBucket {
  snapshots: readonly Disk[] = [];
}

/** So many stay, and the log reaches back to the oldest of them. */
const snapshotsKept = 2;

/** A machine of the cluster, with a disk that outlives its processes. Its store is the list of all commits. */
export class SimulatedNode {
  readonly name: string;
  readonly #world: World;
  readonly #broker: SimulatedBroker<NodeLife>;
  readonly #bucket: SimulatedBucket;
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
    broker: SimulatedBroker<NodeLife>,
    bucket: SimulatedBucket,
    settings: Partial<LeaseSettings>,
    sabotage: ClusterSabotage,
  ) {
    this.name = name;
    this.#world = world;
    this.#broker = broker;
    this.#bucket = bucket;
    this.#settings = { ...settings, ...sabotage.settings };
    this.#sabotage = sabotage;
  }

  async start(): Promise<void> {
    // Clocks drift by up to a tenth, either way.
    const life = new NodeLife(0.9 + this.#world.dice.next() * 0.2);
    this.life = life;
    if ((this.#disk.cursor?.next ?? 0) < this.#broker.start) this.#restore();
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
        // The log went on without it for too long: it starts anew, from a snapshot.
        if (this.life === life && /was trimmed/.test(error.message)) this.kill();
        else this.fatal = error;
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

  /** Its disk is gone; the next start finds an empty one. */
  lose(): void {
    this.kill();
    this.#disk = { commits: [], cursor: undefined };
    if (this.#world.dice.chance(0.8)) this.#restore();
  }

  #restore(): void {
    this.#disk = this.#bucket.snapshots[0] ?? { commits: [], cursor: undefined };
    this.#world.note(`${this.name} begins with ${this.#disk.commits.length} commits`);
  }

  /** Puts what is on its disk into the bucket, and trims the log below what stays there. */
  snapshot(): void {
    const { commits, cursor } = this.#disk;
    const { snapshotCursor = (each: Cursor) => each } = this.#sabotage;
    const newest = this.#bucket.snapshots[0]?.commits.length ?? 0;
    if (cursor === undefined || commits.length <= newest) return;
    const made = { commits, cursor: snapshotCursor(cursor) };
    this.#bucket.snapshots = [made, ...this.#bucket.snapshots].slice(0, snapshotsKept);
    const oldest = this.#bucket.snapshots[snapshotsKept - 1];
    if (oldest?.cursor !== undefined) this.#broker.trim(oldest.cursor.next);
    this.#world.note(`${this.name} makes a snapshot of ${commits.length}; the log begins at ${this.#broker.start}`);
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
