import assert from "node:assert/strict";
import { decodeRecord } from "../../../src/adapter/replicated/entry.ts";
import type { LeaseSettings } from "../../../src/adapter/replicated/lease.ts";
import { StoreError } from "../../../src/port/store.ts";
import { type ClusterSabotage, SimulatedBucket, SimulatedNode, type Written } from "./node.ts";
import { fairWeather, SimulatedBroker } from "./shared-log.ts";
import { type NodeLife, World } from "./world.ts";

export interface ClusterRun {
  readonly seed: number;
  readonly sabotage?: ClusterSabotage;
  /** Of the time in which things go wrong. */
  readonly seconds?: number;
}

export interface ClusterReport {
  readonly seed: number;
  readonly trace: number;
  readonly lines: readonly string[];
  readonly failure: Error | undefined;
  readonly counts: { acknowledged: number; refused: number; unknown: number; reads: number; epochs: number };
}

/** One cluster, its clients and its bad luck. */
class ClusterSimulation {
  readonly #world: World;
  readonly #broker: SimulatedBroker<NodeLife>;
  readonly #nodes: SimulatedNode[];
  readonly counts = { acknowledged: 0, refused: 0, unknown: 0, reads: 0, epochs: 0 };
  /** Of each write that was acknowledged, its position. */
  readonly #acknowledged = new Map<number, number>();
  readonly #refused = new Set<number>();
  #acknowledgedUpTo = 0;
  #ids = 0;
  #failure: Error | undefined;
  #isOver = false;

  constructor({ seed, sabotage = {} }: ClusterRun) {
    const world = new World(seed);
    this.#world = world;
    this.#broker = new SimulatedBroker(world);
    const bucket = new SimulatedBucket();
    const { dice } = world;
    const count = dice.between(2, 5);
    // Some clusters claim so eagerly that owners depose each other all the time; that must be slow, never wrong.
    const eager: Partial<LeaseSettings> = { claimMs: dice.between(200, 900), claimStepMs: 5, beatMs: 40 };
    const settings = dice.chance(0.4) ? eager : {};
    this.#nodes = Array.from(
      { length: count },
      (_, i) => new SimulatedNode(`n${i}`, world, this.#broker, bucket, settings, sabotage),
    );
  }

  get world(): World {
    return this.#world;
  }

  async run(seconds: number): Promise<void> {
    for (const node of this.#nodes) await node.start();
    const { dice } = this.#world;
    for (let client = 0; client < 3; client++) this.#writer(client);
    for (let client = 0; client < 3; client++) this.#reader();
    const endMs = this.#world.nowMs + seconds * 1_000;
    while (this.#world.nowMs < endMs) {
      await this.#misfortune();
      await this.#world.run(dice.between(100, 3_000));
      this.#look();
    }
    await this.#heal();
    this.#check();
  }

  #look(): void {
    if (this.#failure !== undefined) throw this.#failure;
    for (const { fatal } of this.#nodes) if (fatal !== undefined) throw fatal;
  }

  async #misfortune(): Promise<void> {
    const { dice } = this.#world;
    const node = dice.pick(this.#nodes);
    switch (dice.below(13)) {
      case 0:
        this.#world.note(`kill ${node.name}`);
        node.kill();
        break;
      case 1:
      case 2:
        this.#world.note(`freeze ${node.name}`);
        node.freeze(dice.between(100, 9_000));
        break;
      case 3:
        this.#broker.cutReads.add(node.name);
        break;
      case 4:
        this.#broker.cutWrites.add(node.name);
        break;
      case 5:
        this.#broker.cutReads.clear();
        this.#broker.cutWrites.clear();
        break;
      case 6:
        this.#broker.weather = dice.chance(0.5)
          ? fairWeather
          : { lostAppend: 0.1, lostAnswer: 0.15, lateAppend: 0.1, doubleAppend: 0.15, slow: dice.next() * 0.3 };
        break;
      case 7:
        if (node.log?.member.role === "owner") node.log.member.leave().catch(() => undefined);
        break;
      case 8:
        this.#world.note(`${node.name} loses its disk`);
        node.lose();
        break;
      case 9:
        node.checkpoint();
        node.snapshot();
        break;
      case 10:
        if (node.log?.member.role === "owner") {
          node.log.member.drain(dice.pick(this.#nodes).name, dice.chance(0.5)).catch(() => undefined);
        }
        break;
      default:
        node.checkpoint();
    }
    for (const each of this.#nodes) if (each.life === undefined && dice.chance(0.4)) await each.start();
  }

  /** Writes one commit after another, to whichever node takes it. */
  #writer(client: number): void {
    const { dice } = this.#world;
    const step = () => {
      if (this.#isOver) return;
      const node = dice.pick(this.#nodes);
      const id = ++this.#ids;
      const made = node.write(id, dice.chance(0.1) ? "x".repeat(dice.between(300, 1_200)) : undefined);
      if (made !== undefined) this.counts.unknown++;
      made?.then(
        (position) => this.#onWritten(id, position),
        (error: unknown) => this.#onRefused(id, error),
      );
      this.#world.after(dice.between(1, 120) + client, step);
    };
    step();
  }

  #onWritten(id: number, position: number): void {
    this.counts.acknowledged++;
    this.counts.unknown--;
    this.#acknowledged.set(id, position);
    this.#acknowledgedUpTo = Math.max(this.#acknowledgedUpTo, position);
  }

  #onRefused(id: number, error: unknown): void {
    if (!(error instanceof StoreError)) {
      this.#failure ??= error as Error;
      return;
    }
    this.counts.refused++;
    this.counts.unknown--;
    this.#refused.add(id);
  }

  /** Reads must see everything that was acknowledged to anybody before they began. */
  #reader(): void {
    const { dice } = this.#world;
    const step = () => {
      if (this.#isOver) return;
      const node = dice.pick(this.#nodes);
      const { life } = node;
      const wanted = this.#acknowledgedUpTo;
      const answer = () => {
        const seen = node.read();
        if (seen === undefined) return;
        this.counts.reads++;
        if (seen < wanted) this.#failure ??= new Error(`a stale read of ${node.name}: ${seen} of ${wanted} commits`);
      };
      // A request that came while the process stood still is read when it goes on.
      if (life !== undefined) this.#world.after(dice.between(1, 30), answer, life);
      this.#world.after(dice.between(1, 60), step);
    };
    step();
  }

  async #heal(): Promise<void> {
    const { dice } = this.#world;
    this.#broker.weather = fairWeather;
    this.#broker.cutReads.clear();
    this.#broker.cutWrites.clear();
    for (const node of this.#nodes) node.freeze(0);
    await this.#startAll();
    await this.#world.run(20_000 + dice.below(100));
    this.#look();
    this.#isOver = true;
    // One that stood still until now may have found that the log was trimmed beyond it, and ended.
    await this.#startAll();
    await this.#world.run(20_000);
    this.#look();
    const owners = this.#nodes.filter(({ log }) => log?.member.role === "owner");
    assert.equal(owners.length, 1, "a healed cluster has one owner");
    assert.equal(owners[0]!.log!.member.mayAnswer, true, "a healed cluster answers");
  }

  async #startAll(): Promise<void> {
    for (const node of this.#nodes) if (node.life === undefined) await node.start();
  }

  #check(): void {
    const { commits, epochs } = foldPlainly(this.#broker.records);
    this.counts.epochs = epochs;
    const positions = new Map<number, number>();
    for (const [i, { id, base }] of commits.entries()) {
      assert.equal(positions.get(id), undefined, `write ${id} is twice in the log`);
      assert.equal(base, i, `write ${id} was decided on another state`);
      positions.set(id, i + 1);
    }
    for (const [id, position] of this.#acknowledged) {
      assert.equal(positions.get(id), position, `write ${id} was acknowledged at ${position}`);
    }
    for (const id of this.#refused) assert.equal(positions.get(id), undefined, `write ${id} was refused, and is there`);
    for (const node of this.#nodes) {
      assert.deepEqual(
        node.commits.map(({ id }) => id),
        commits.map(({ id }) => id),
        `${node.name} has what the log has`,
      );
    }
  }
}

/** The rule once more, written as plainly as it can be said. */
function foldPlainly(records: readonly Uint8Array[]): { commits: Written[]; epochs: number } {
  const commits: Written[] = [];
  let owner = { epoch: 0, writer: "", seq: 0, released: false };
  let parts: Buffer[] = [];
  for (const bytes of records) {
    const entry = decodeRecord(bytes)!;
    if (entry.kind === "presence") continue;
    if (entry.kind === "begin") {
      if (entry.epoch !== owner.epoch + 1) continue;
      owner = { epoch: entry.epoch, writer: entry.writer, seq: 0, released: false };
      parts = [];
      continue;
    }
    if (entry.epoch !== owner.epoch || entry.writer !== owner.writer || entry.seq !== owner.seq + 1) continue;
    if (owner.released) continue;
    owner.seq++;
    owner.released = entry.kind === "handover";
    if (entry.kind !== "commit") continue;
    parts.push(entry.body);
    if (entry.hasMore) continue;
    commits.push(JSON.parse(Buffer.concat(parts).toString()) as Written);
    parts = [];
  }
  return { commits, epochs: owner.epoch };
}

export async function runClusterSeed(run: ClusterRun): Promise<ClusterReport> {
  const simulation = new ClusterSimulation(run);
  let failure: Error | undefined;
  try {
    await simulation.run(run.seconds ?? 60);
  } catch (error) {
    failure = error as Error;
  }
  const { trace, lines } = simulation.world;
  return { seed: run.seed, trace, lines, failure, counts: simulation.counts };
}
