import { parseSchema } from "../../src/engine/schema/schema-parse.ts";
import { ChurnClients } from "./churn-clients.ts";
import { Dice } from "./dice.ts";
import { DocumentClients } from "./document-clients.ts";
import { EventClients } from "./event-clients.ts";
import type { FaultKind } from "./faults.ts";
import type { Ground, GroundWorld } from "./ground.ts";
import { filledFields, LinkClients } from "./link-clients.ts";
import { LiveClients } from "./live-clients.ts";
import { LogHistory, type SentRecord } from "./log-history.ts";
import { Violation } from "./outcome.ts";
import type { Sabotage } from "./sabotage.ts";
import { ScratchClients } from "./scratch-clients.ts";
import { Session } from "./session.ts";
import { type MakeRecord, StreamClients, type WrittenStream } from "./stream-clients.ts";
import { World } from "./world.ts";

export interface RunOptions {
  readonly seed: number;
  readonly steps: number;
  readonly sabotage?: Sabotage;
  /** Lines of the trace that a failure shows. */
  readonly traceLinesMax?: number;
  /** In place of one machine. */
  readonly makeGround?: (world: GroundWorld) => Ground;
}

export interface RunReport {
  readonly seed: number;
  readonly trace: string;
  readonly steps: number;
  readonly ticks: number;
  readonly simulatedMs: number;
  readonly faults: Readonly<Record<FaultKind, number>>;
  readonly answers: ReadonlyMap<string, number>;
  /** Reads that a process answered which does not own the data. */
  readonly followed: number;
  readonly failure: { readonly error: unknown; readonly tail: readonly string[] } | undefined;
}

const namespace = "n";
const clientCount = 5;
/** Steps between two looks at everything. */
const stepsPerCheck = 60;

/** Runs one seed from an empty store to its last check. The same seed gives the same trace. */
export async function runSeed(options: RunOptions): Promise<RunReport> {
  const { seed, steps, sabotage = {}, traceLinesMax = 80, makeGround } = options;
  const world = new World(seed, sabotage, traceLinesMax, makeGround);
  const simulation = new Simulation(world, seed);
  let failure: RunReport["failure"];
  try {
    await simulation.run(steps);
  } catch (error) {
    failure = { error, tail: world.trace.tail };
  }
  return {
    seed,
    trace: world.trace.digest(),
    steps: simulation.steps,
    ticks: world.ticks,
    simulatedMs: world.time.steadyMs,
    faults: world.faults.counts,
    answers: simulation.session.counts,
    followed: world.followed,
    failure,
  };
}

const filledSchema = { fields: filledFields.map(({ path, ...field }) => ({ ...field, source_path: path })) };

interface Action {
  readonly weight: number;
  readonly run: () => Promise<void>;
}

class Simulation {
  readonly session: Session;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #streams: readonly WrittenStream[];
  readonly #streamClients: StreamClients;
  readonly #eventClients: EventClients;
  readonly #linkClients: LinkClients;
  readonly #documentClients: DocumentClients;
  readonly #scratchClients: ScratchClients;
  readonly #churnClients: ChurnClients;
  readonly #liveClients: LiveClients;
  readonly #actions: readonly Action[];
  readonly #histories: readonly LogHistory[];
  readonly #busy: (Promise<void> | undefined)[] = Array(clientCount).fill(undefined);
  #failure: { error: unknown } | undefined;
  steps = 0;

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#dice = new Dice(seed, 10);
    this.session = new Session(world, new Dice(seed, 11));
    const { time } = world;
    const counted = new LogHistory("counted", 3, undefined, time);
    const filled = new LogHistory("filled", 2, undefined, time);
    const aged = new LogHistory("aged", 1, { maxAgeMs: 20_000, maxBytes: null }, time);
    const sized = new LogHistory("sized", 1, { maxAgeMs: null, maxBytes: 1_500 }, time);
    const events = new LogHistory("events", 2, undefined, time);
    this.#histories = [counted, filled, aged, sized, events];
    this.#streams = [
      { history: counted, makeRecord: makeCounted, isRouted: false },
      { history: filled, makeRecord: makeFilling, isRouted: true },
      { history: aged, makeRecord: makeAged, isRouted: false },
      { history: sized, makeRecord: makeAged, isRouted: false },
    ];
    this.#streamClients = new StreamClients(this.session, this.#streams);
    this.#eventClients = new EventClients(this.session, events);
    this.#churnClients = new ChurnClients(this.session, "churned", filledSchema.fields);
    const remake = () => this.#churnClients.create();
    this.#linkClients = new LinkClients(this.session, [
      { name: "counts", kind: "counter", options: { amount: { json: "/n" } }, source: counted },
      { name: "filled", kind: "collection", options: {}, source: filled },
      { name: "churned", kind: "collection", options: {}, source: filled, remake },
    ]);
    this.#documentClients = new DocumentClients(this.session);
    this.#scratchClients = new ScratchClients(this.session, 3);
    this.#liveClients = new LiveClients(this.session);
    this.#actions = this.#weighActions();
  }

  /** Each seed has a taste of its own. */
  #weighActions(): Action[] {
    const streams = this.#streamClients;
    const events = this.#eventClients;
    const documents = this.#documentClients;
    const actions: readonly (readonly [number, () => Promise<void>])[] = [
      [16, () => streams.append()],
      [5, () => streams.resend()],
      [9, () => streams.fetch()],
      [12, () => events.append()],
      [3, () => events.read()],
      [5, () => this.#linkClients.detail()],
      [4, () => this.#linkClients.readFilled()],
      [22, () => documents.write()],
      [4, () => documents.resend()],
      [3, () => documents.writeByFilter()],
      [4, () => documents.get()],
      [6, () => documents.count()],
      [5, () => documents.scroll()],
      [10, () => documents.query()],
      [8, () => this.#scratchClients.change()],
      [5, () => this.#churnClients.act()],
      [8, () => this.#liveClients.move()],
      [3, () => this.#liveClients.resend()],
      [3, () => this.#liveClients.sum()],
      [2, () => this.#liveClients.watch()],
    ];
    return actions.map(([weight, run]) => ({ weight: weight * this.#dice.pick([0.2, 1, 1, 4]), run }));
  }

  async run(steps: number): Promise<void> {
    const { faults } = this.#world;
    await this.#world.start();
    await this.#setUp();
    faults.enabled = true;
    while (this.steps < steps) {
      await this.#world.tick();
      this.#throwFailure();
      await this.#strike();
      await this.#world.turnOver();
      this.#startSteps();
      if (this.steps % stepsPerCheck === stepsPerCheck - 1) {
        await this.#check();
        // Past every window, with nothing under way that was begun before it.
        if (this.#dice.chance(0.15)) this.#world.time.jump(90_000_000);
        this.steps++;
      }
    }
    faults.enabled = false;
    await this.#check();
    await this.#world.stop();
    await this.#world.start();
    await this.#check();
    await this.#checkFreed();
  }

  /** Left alone, the background frees all that was given up. */
  async #checkFreed(): Promise<void> {
    const endMs = this.#world.time.steadyMs + 60_000;
    this.#world.isHurried = true;
    for (let left = [""]; left.length > 0; left = await this.#world.leftovers()) {
      if (this.#world.time.steadyMs > endMs) throw new Violation(`never freed: ${left.join(", ")}`);
      for (let ticks = 0; ticks < 20; ticks++) await this.#world.tick();
    }
  }

  /** Everything comes to rest, without faults, and is compared. */
  async #check(): Promise<void> {
    const { faults } = this.#world;
    const wasEnabled = faults.enabled;
    this.#world.heal();
    await this.#idle();
    faults.enabled = false;
    await this.#audit();
    this.#world.isHurried = true;
    await this.#world.drive(this.#linkClients.catchUp());
    await this.#world.drive(this.#documentClients.catchUp());
    this.#world.isHurried = false;
    await this.#audit();
    faults.enabled = wasEnabled;
  }

  async #setUp(): Promise<void> {
    const { engine } = this.#world;
    const make = async () => {
      await engine.metastore.createNamespace(namespace);
      for (const history of this.#histories) {
        const ref = { namespace, stream: history.name };
        history.id = (await engine.streams.create(ref, history.partitions.length, history.retention)).id;
      }
      await engine.collections.create(namespace, "filled", parseSchema(filledSchema));
      await this.#documentClients.create();
      await this.#linkClients.create();
      await this.#liveClients.create();
    };
    await this.#world.drive(make());
  }

  /** What befalls the process itself. */
  async #strike(): Promise<void> {
    const { faults, time } = this.#world;
    if (faults.strikes("clock_jumps_ahead")) time.jump(this.#dice.pick([1_000, 30_000, 90_000, 3_600_000]));
    if (faults.strikes("clock_jumps_back")) time.jump(-this.#dice.pick([1_000, 30_000, 90_000, 3_600_000]));
    if (faults.strikes("thread_lost")) await this.#world.loseThread();
    if (faults.strikes("runner_lost")) this.#world.loseRunner();
    if (!faults.strikes("crash")) return;
    await this.#world.strike();
    if (this.#world.isUp) return;
    await this.#idle();
    await this.#world.start();
    await this.#audit();
  }

  #startSteps(): void {
    for (const client of this.#busy.keys()) {
      if (this.#busy[client] !== undefined || !this.#dice.chance(0.15)) continue;
      this.steps++;
      this.#busy[client] = this.#step()
        .catch((error: unknown) => {
          this.#failure ??= { error };
        })
        .finally(() => {
          this.#busy[client] = undefined;
        });
      if (this.steps % stepsPerCheck === stepsPerCheck - 1) return;
    }
  }

  #step(): Promise<void> {
    let roll = this.#dice.next() * this.#actions.reduce((sum, { weight }) => sum + weight, 0);
    for (const { weight, run } of this.#actions) {
      roll -= weight;
      if (roll < 0) return run();
    }
    return Promise.resolve();
  }

  /** Until every client has its answer. */
  async #idle(): Promise<void> {
    await this.#world.drive(Promise.all(this.#busy));
    this.#throwFailure();
  }

  async #audit(): Promise<void> {
    await this.#world.drive(this.#streamClients.audit(this.#histories));
    await this.#world.drive(this.#documentClients.audit());
    this.#linkClients.settle();
    await this.#world.drive(this.#scratchClients.audit());
    await this.#world.drive(this.#liveClients.audit());
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

const names = ["ant", "bee", "cat", "dog", "elk"];

const makeCounted: MakeRecord = (dice, nowMs, isKeyed): SentRecord => {
  const isTimed = isKeyed || dice.chance(0.3);
  return {
    key: dice.chance(0.8) ? dice.pick(names) : undefined,
    value: dice.chance(0.9) ? JSON.stringify({ n: dice.between(-5, 20) }) : undefined,
    timestampMs: isTimed ? nowMs - dice.below(60_000) + 20_000 : nowMs,
    isTimed,
  };
};

const makeAged: MakeRecord = (dice, nowMs, isKeyed): SentRecord => ({
  key: dice.chance(0.5) ? dice.pick(names) : undefined,
  value: "x".repeat(dice.below(200)),
  timestampMs: nowMs,
  isTimed: isKeyed,
});

/** The key names the document; a record without a value deletes it. */
const makeFilling: MakeRecord = (dice, nowMs, isKeyed): SentRecord => {
  const id = dice.below(9);
  const n = dice.chance(0.1) ? "no number" : dice.below(10);
  return {
    key: String(id),
    value: dice.chance(0.2) ? undefined : JSON.stringify({ id, n, tag: dice.pick(names) }),
    timestampMs: nowMs,
    isTimed: isKeyed,
  };
};
