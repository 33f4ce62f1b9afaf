import { Dice } from "./dice.ts";
import type { FaultKind } from "./faults.ts";
import { LogHistory, type SentRecord } from "./log-history.ts";
import { Session } from "./session.ts";
import type { Sabotage } from "./store.ts";
import { type MakeRecord, StreamClients, type WrittenStream } from "./stream-clients.ts";
import { Violation, World } from "./world.ts";

export interface RunOptions {
  readonly seed: number;
  readonly steps: number;
  readonly sabotage?: Sabotage;
  /** Lines of the trace that a failure shows. */
  readonly traceLinesMax?: number;
}

export interface RunReport {
  readonly seed: number;
  readonly trace: string;
  readonly steps: number;
  readonly ticks: number;
  readonly simulatedMs: number;
  readonly faults: Readonly<Record<FaultKind, number>>;
  readonly answers: ReadonlyMap<string, number>;
  readonly failure: { readonly error: unknown; readonly tail: readonly string[] } | undefined;
}

const namespace = "n";
const clientCount = 5;
/** Steps between two looks at everything. */
const stepsPerCheck = 60;

/** Runs one seed from an empty store to its last check. The same seed gives the same trace. */
export async function runSeed({ seed, steps, sabotage = {}, traceLinesMax = 80 }: RunOptions): Promise<RunReport> {
  const world = new World(seed, sabotage, traceLinesMax);
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
    failure,
  };
}

class Simulation {
  readonly session: Session;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #streams: readonly WrittenStream[];
  readonly #streamClients: StreamClients;
  readonly #busy: (Promise<void> | undefined)[] = Array(clientCount).fill(undefined);
  #failure: { error: unknown } | undefined;
  steps = 0;

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#dice = new Dice(seed, 10);
    this.session = new Session(world, new Dice(seed, 11));
    const { time } = world;
    this.#streams = [
      { history: new LogHistory("counted", 3, undefined, time), makeRecord: counted, isRouted: false },
      {
        history: new LogHistory("aged", 1, { maxAgeMs: 20_000, maxBytes: null }, time),
        makeRecord: aged,
        isRouted: false,
      },
      {
        history: new LogHistory("sized", 1, { maxAgeMs: null, maxBytes: 1_500 }, time),
        makeRecord: aged,
        isRouted: false,
      },
    ];
    this.#streamClients = new StreamClients(this.session, this.#streams);
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
      this.#startSteps();
      if (this.steps % stepsPerCheck === stepsPerCheck - 1) {
        await this.#idle();
        await this.#audit();
        this.steps++;
      }
    }
    faults.enabled = false;
    await this.#idle();
    await this.#audit();
    await this.#world.stop();
    await this.#world.start();
    await this.#audit();
  }

  async #setUp(): Promise<void> {
    const { engine } = this.#world;
    const make = async () => {
      await engine.metastore.createNamespace(namespace);
      for (const { history } of this.#streams) {
        const ref = { namespace, stream: history.name };
        history.id = (await engine.streams.create(ref, history.partitions.length, history.retention)).id;
      }
    };
    await this.#world.drive(make());
  }

  /** What befalls the process itself. */
  async #strike(): Promise<void> {
    const { faults, time } = this.#world;
    if (faults.strikes("clock_jumps_ahead")) time.jump(this.#dice.pick([1_000, 30_000, 90_000, 3_600_000, 90_000_000]));
    if (faults.strikes("clock_jumps_back")) time.jump(-this.#dice.pick([1_000, 30_000, 90_000, 3_600_000]));
    if (faults.strikes("thread_lost")) await this.#world.loseThread();
    if (!faults.strikes("crash")) return;
    await this.#world.crash();
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
    const roll = this.#dice.next();
    if (roll < 0.5) return this.#streamClients.append();
    if (roll < 0.6) return this.#streamClients.resend();
    return this.#streamClients.fetch();
  }

  /** Until every client has its answer. */
  async #idle(): Promise<void> {
    await this.#world.drive(Promise.all(this.#busy));
    this.#throwFailure();
  }

  async #audit(): Promise<void> {
    const histories = this.#streams.map(({ history }) => history);
    const done = await this.#world.drive(this.#streamClients.audit(histories));
    if (!done) throw new Violation("the log could not be read");
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

const names = ["ant", "bee", "cat", "dog", "elk"];

const counted: MakeRecord = (dice, nowMs, isKeyed): SentRecord => {
  const isTimed = isKeyed || dice.chance(0.3);
  return {
    key: dice.chance(0.8) ? dice.pick(names) : undefined,
    value: dice.chance(0.9) ? JSON.stringify({ n: dice.between(-5, 20) }) : undefined,
    timestampMs: isTimed ? nowMs - dice.below(60_000) + 20_000 : nowMs,
    isTimed,
  };
};

const aged: MakeRecord = (dice, nowMs, isKeyed): SentRecord => ({
  key: dice.chance(0.5) ? dice.pick(names) : undefined,
  value: "x".repeat(dice.below(200)),
  timestampMs: nowMs,
  isTimed: isKeyed,
});
