import { LoggedStore, storedCursor } from "../../../src/adapter/logged/store.ts";
import { MemoryStore } from "../../../src/adapter/memory/store.ts";
import { ReplicatedLog } from "../../../src/adapter/replicated/commit-log.ts";
import { EpochStore } from "../../../src/adapter/replicated/epoch-store.ts";
import type { Cursor } from "../../../src/adapter/replicated/fold.ts";
import type { Member } from "../../../src/adapter/replicated/member.ts";
import { EpochOwnership } from "../../../src/adapter/replicated/ownership.ts";
import { makeKey, tables } from "../../../src/engine/keys.ts";
import type { Bytes } from "../../../src/port/store.ts";
import type { Ground, GroundWorld, OpenGround } from "../ground.ts";
import { loggedSettings, mark } from "../ground.ts";
import { Life } from "../life.ts";
import { messageOf, Violation } from "../outcome.ts";
import { SimulatedStore } from "../store.ts";
import { type BrokerWorld, fairWeather, SimulatedBroker } from "./shared-log.ts";

/** After a start that failed. */
const retryMs = 300;

/** A process of a machine; all clocks run alike here. */
interface Process {
  readonly life: Life;
  readonly rate: 1;
}

/** Rules that are broken on purpose. */
export interface GroundSabotage {
  /** Answers without asking for the lease. */
  readonly ignoresLease?: boolean;
  /** Commits that a node's engine is not told of although its store has them. */
  readonly keepsQuiet?: () => boolean;
}

/** A machine of a cluster, as the real process has it (`cluster-node.ts`): its store follows the log whoever owns it. */
class Machine {
  readonly name: string;
  readonly #ground: MachineGround;
  durable = new MemoryStore();
  process: Process | undefined;
  view: SimulatedStore | undefined;
  log: ReplicatedLog | undefined;
  store: LoggedStore | undefined;
  /** Of the engine that follows here. */
  onIngested: ((entry: Bytes) => void) | undefined;
  #lives = 0;

  constructor(name: string, ground: MachineGround) {
    this.name = name;
    this.#ground = ground;
  }

  async start(): Promise<void> {
    const { world, broker, seed } = this.#ground;
    const life = new Life(world.scheduler);
    const process: Process = { life, rate: 1 };
    const died = this.view;
    this.process = process;
    await died?.crash();
    const clock = world.time.clockOf(life);
    const view = new SimulatedStore(this.durable, life, world);
    this.view = view;
    const log = await ReplicatedLog.open({
      log: broker.linkOf(this.name, process),
      // Whether a node may answer is asked between a request and its time: that takes no time.
      clock: { ...clock, steadyMs: () => world.time.steadyMs },
      writer: `${this.name}/${this.#lives++}`,
      info: { node: this.name, address: this.name },
      cursor: storedCursor(view, mark) as Cursor | undefined,
      onRole: (role) => world.trace.add(`${this.name} ${role} ${this.log?.member.epoch}`),
      onFatal: (error) => {
        this.#ground.fatal ??= error;
      },
    });
    const onError = (error: unknown) => world.trace.add(`${this.name}, not applied: ${messageOf(error)}`);
    const settings = loggedSettings(seed);
    const onIngested = (entry: Bytes) => this.onIngested?.(entry);
    const store = await LoggedStore.open({ view, log, clock, mark, settings, onIngested, onError });
    if (!life.isAlive) return;
    this.log = log;
    this.store = store;
    log.follow((position, parts) => store.ingest(position, parts));
  }

  kill(): void {
    this.onIngested = undefined;
    this.process?.life.end();
    this.process = undefined;
    this.log = undefined;
    this.store = undefined;
  }

  /** What was under way when it died is there or not. */
  async lose(): Promise<void> {
    if (this.process !== undefined) return;
    const { view } = this;
    this.view = undefined;
    await view?.crash();
  }

  get isOwner(): boolean {
    return this.log?.member.role === "owner";
  }
}

/** What the machines of a cluster share. */
interface MachineGround {
  readonly world: GroundWorld;
  readonly broker: SimulatedBroker<Process>;
  readonly seed: number;
  fatal: Error | undefined;
}

/** The time of one owner. */
class Reign {
  readonly machine: Machine;
  readonly member: Member;
  readonly #epoch: number;

  constructor(machine: Machine) {
    this.machine = machine;
    this.member = machine.log!.member;
    this.#epoch = this.member.epoch;
  }

  get holds(): boolean {
    return this.member.role === "owner" && this.member.epoch === this.#epoch;
  }
}

/** Two to four machines and the log that they share. */
export class ManyMachines implements Ground, MachineGround {
  readonly world: GroundWorld;
  readonly broker: SimulatedBroker<Process>;
  readonly seed: number;
  /** Less than a lease. */
  readonly hurryMsMax = 150;
  readonly #machines: readonly Machine[];
  readonly #sabotage: GroundSabotage;
  readonly #always: Life;
  readonly #reigns = new Map<Life, Reign>();
  readonly #followed = new Map<Life, Machine>();
  /** Owners whose engines were started. */
  epochs = 0;
  fatal: Error | undefined;

  constructor(seed: number, world: GroundWorld, sabotage: GroundSabotage = {}) {
    this.seed = seed;
    this.world = world;
    this.#sabotage = sabotage;
    this.#always = new Life(world.scheduler);
    this.broker = new SimulatedBroker(this.#brokerWorld(), [1_500, 10_000][seed % 2]!);
    this.#machines = Array.from({ length: 2 + (seed % 3) }, (_, i) => new Machine(`n${i}`, this));
  }

  #brokerWorld(): BrokerWorld<Process> {
    const { time, dice } = this.world;
    const wait = (ms: number, process?: Process) => time.clockOf(process?.life ?? this.#always).sleep(ms);
    return {
      dice,
      get nowMs() {
        return time.steadyMs;
      },
      after: (ms, run, process) => void wait(ms, process).then(run),
      wait,
    };
  }

  async begin(): Promise<Life> {
    const { time } = this.world;
    for (;;) {
      await this.#startDead();
      const machine = this.#owner;
      if (machine !== undefined) {
        const life = this.#lifeAt(machine);
        this.#reigns.set(life, new Reign(machine));
        this.epochs++;
        return life;
      }
      await time.clockOf(this.#always).sleep(20);
      this.#look();
    }
  }

  #lifeAt({ process }: Machine): Life {
    const life = new Life(this.world.scheduler, process!.life);
    process!.life.onEnd(() => life.end());
    return life;
  }

  beginFollowing(): Life | undefined {
    const machine = this.#machines.find(({ log }) => log?.member.role === "standby" && log.member.owner !== undefined);
    if (machine === undefined || machine.store!.get(makeKey(tables.namespace, "n")) === undefined) return undefined;
    const life = this.#lifeAt(machine);
    this.#followed.set(life, machine);
    return life;
  }

  isFollowing(life: Life): boolean {
    return this.#followed.get(life)!.log?.member.role === "standby";
  }

  feed(life: Life, onIngested: (entry: Bytes) => void): void {
    const machine = this.#followed.get(life)!;
    machine.onIngested = (entry) => {
      if (life.isAlive && this.isFollowing(life) && !this.#sabotage.keepsQuiet?.()) onIngested(entry);
    };
  }

  /** The newest one: another may not know yet that it no longer is. */
  get #owner(): Machine | undefined {
    const owners = this.#machines.filter(({ isOwner }) => isOwner);
    return owners.sort((a, b) => b.log!.member.epoch - a.log!.member.epoch)[0];
  }

  #look(): void {
    if (this.fatal !== undefined) throw new Violation(`a node can't go on: ${messageOf(this.fatal)}`);
  }

  async open(life: Life): Promise<OpenGround> {
    const machine = this.#followed.get(life) ?? this.#reigns.get(life)!.machine;
    const { member } = machine.log!;
    return {
      store: new EpochStore(machine.store!, () => this.#followed.has(life) || this.isOver(life)),
      ownership: new EpochOwnership(member),
      close: () => member.leave().catch(() => undefined),
    };
  }

  mayAnswer(life: Life): boolean {
    const { member, holds } = this.#reigns.get(life)!;
    return holds && (this.#sabotage.ignoresLease === true || member.mayAnswer);
  }

  hasSuccessor(life: Life): boolean {
    this.#look();
    return this.isOver(life) || this.#owner !== this.#reigns.get(life)!.machine;
  }

  isOver(life: Life): boolean {
    return !this.#reigns.get(life)!.holds;
  }

  kill(life: Life): void {
    this.#reigns.get(life)!.machine.kill();
  }

  async strike(life: Life): Promise<void> {
    const { dice, trace } = this.world;
    const { machine: owner, member } = this.#reigns.get(life)!;
    const someone = dice.pick(this.#machines);
    const dead = dice.chance(0.5) ? owner : someone;
    switch (dice.below(8)) {
      case 0:
      case 1:
        trace.add(`kill ${dead.name}`);
        dead.kill();
        if (dice.chance(0.3)) dead.durable = new MemoryStore();
        this.#after(dice.between(500, 8_000), () => this.#startDead());
        break;
      case 2:
      case 3:
      case 4:
        this.#cut(owner, [this.broker.cutReads, this.broker.cutWrites]);
        break;
      case 5:
        this.#cut(someone, [dice.pick([this.broker.cutReads, this.broker.cutWrites])]);
        break;
      case 6:
        trace.add(`${owner.name} leaves`);
        member.leave().catch(() => undefined);
        break;
      default:
        this.broker.weather = dice.chance(0.5)
          ? fairWeather
          : { lostAppend: 0.1, lostAnswer: 0.15, lateAppend: 0.1, doubleAppend: 0.15, slow: dice.next() * 0.3 };
    }
  }

  /** A machine does not reach the log for a while. Its engine goes on, and does not know. */
  #cut({ name }: Machine, ways: readonly Set<string>[]): void {
    const { dice, trace } = this.world;
    trace.add(`cut ${name} off`);
    for (const way of ways) way.add(name);
    this.#after(dice.between(500, 12_000), () => {
      for (const way of ways) way.delete(name);
    });
  }

  #after(ms: number, run: () => void): void {
    void this.world.time.clockOf(this.#always).sleep(ms).then(run);
  }

  async #startDead(): Promise<void> {
    for (const machine of this.#machines) {
      if (machine.process !== undefined) continue;
      await machine.start().catch((error: unknown) => {
        this.world.trace.add(`${machine.name} does not start: ${messageOf(error)}`);
        machine.kill();
        this.#after(retryMs, () => this.#startDead());
      });
    }
  }

  /** What a machine loses with its life is lost by then. */
  async crash(): Promise<void> {
    for (const machine of this.#machines) await machine.lose();
  }

  heal(): void {
    this.broker.weather = fairWeather;
    this.broker.cutReads.clear();
    this.broker.cutWrites.clear();
  }

  get durable(): MemoryStore {
    return (this.#owner ?? this.#machines[0]!).durable;
  }
}
