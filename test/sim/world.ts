import { MemoryObjectStore } from "../../src/adapter/memory/object-store.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { unavailable } from "../../src/engine/errors.ts";
import type { ConsistencyToken } from "../../src/engine/token.ts";
import { decodeOps } from "../../src/port/commit-entry.ts";
import { WorldTime } from "./clock.ts";
import { Dice } from "./dice.ts";
import { Faults } from "./faults.ts";
import { type Ground, type GroundWorld, OneMachine } from "./ground.ts";
import { leftovers } from "./leftovers.ts";
import { type Life, Scheduler } from "./life.ts";
import { ObjectsUnderWay } from "./objects.ts";
import { isDamage, isFenced, isUndecided, messageOf, type Outcome, Violation } from "./outcome.ts";
import { Process } from "./process.ts";
import type { Sabotage } from "./sabotage.ts";
import type { SabotagedStore } from "./sabotaged-store.ts";
import { Trace } from "./trace.ts";

/** What is durable, the process that works on it, and everything that can befall them. */
export class World {
  readonly dice: Dice;
  readonly faults: Faults;
  readonly trace: Trace;
  readonly time: WorldTime;
  readonly scheduler: Scheduler;
  readonly #ground: Ground;
  readonly #objects = new MemoryObjectStore();
  readonly #underWay: ObjectsUnderWay;
  readonly #seed: number;
  readonly #sabotage: Sabotage;
  /** The one that owns the data. */
  #process: Process | undefined;
  /** Those that have a successor and don't know it. */
  readonly #late = new Set<Process>();
  /** One that reads what the owner writes. */
  #follower: Process | undefined;
  /** The one that a request goes to, as long as that is not the newest. */
  #asked: Engine | undefined;
  #lives = 0;
  #calls = 0;
  followed = 0;
  ticks = 0;
  /** Time passes fast while something is waited for. */
  isHurried = false;

  constructor(
    seed: number,
    sabotage: Sabotage,
    traceLinesMax: number,
    makeGround: (world: GroundWorld) => Ground = (world) => new OneMachine(seed, world, sabotage),
  ) {
    this.#seed = seed;
    this.#sabotage = sabotage;
    this.dice = new Dice(seed, 1);
    this.faults = new Faults(new Dice(seed, 2));
    this.trace = new Trace(traceLinesMax);
    this.time = new WorldTime(new Dice(seed, 3), this.faults);
    this.scheduler = new Scheduler(new Dice(seed, 4));
    this.#underWay = new ObjectsUnderWay(this.#objects, this);
    this.#ground = makeGround(this);
  }

  get engine(): Engine {
    return this.#asked ?? this.#process!.engine;
  }

  get isUp(): boolean {
    return this.#process !== undefined;
  }

  get mayAnswer(): boolean {
    return this.#process !== undefined && this.#ground.mayAnswer(this.#process.life);
  }

  /** Another process takes over where it is to. The one before may not know yet; it ends when it does. */
  async turnOver(): Promise<void> {
    for (const late of this.#late) {
      if (late.life.isAlive && !this.#ground.isOver(late.life)) continue;
      this.#late.delete(late);
      this.#end(late);
    }
    await this.#follow();
    if (this.#process === undefined || !this.#ground.hasSuccessor(this.#process.life)) return;
    this.trace.add("deposed");
    this.#late.add(this.#process);
    this.#process.givenUp.resolve();
    this.#process = undefined;
    await this.start();
  }

  /** Has a process that follows, where there is a machine for it. */
  async #follow(): Promise<void> {
    const known = this.#follower;
    if (known !== undefined) {
      if (known.life.isAlive && this.#ground.isFollowing(known.life)) return;
      this.#follower = undefined;
      this.#end(known);
    }
    const life = this.#process === undefined ? undefined : this.#ground.beginFollowing();
    if (life === undefined) return;
    const follower = await this.#makeProcess(life);
    follower.engine.follow();
    this.#ground.feed(life, (entry) => follower.engine.onApplied(decodeOps(entry)));
    this.#follower = follower;
    this.trace.add("follows");
  }

  /** Starts a process over what is durable; tries again when a fault keeps it from starting. */
  async start(): Promise<void> {
    while (this.#process === undefined) {
      const life = await this.drive(this.#ground.begin());
      const started = this.#run(life, undefined, async () => {
        const made = await this.#makeProcess(life);
        await made.engine.own();
        return made;
      });
      const outcome = await this.drive(started);
      if (outcome.kind === "error" && isDamage(outcome.error)) {
        throw new Violation(`the store is refused: ${messageOf(outcome.error)}`);
      }
      if (outcome.kind === "answer" && !this.faults.strikes("crash_at_start")) this.#process = outcome.value;
      else {
        this.trace.add(`start: ${outcome.kind === "error" ? messageOf(outcome.error) : "crash soon after"}`);
        // What an earlier life left half done is taken up, and left half done again.
        for (let ticks = this.dice.below(12); ticks > 0; ticks--) await this.tick();
        this.#ground.kill(life);
        await this.#bury(life);
      }
    }
    this.trace.add("started");
  }

  /** The power fails, or something else befalls the process or others. */
  async strike(): Promise<void> {
    const { life } = this.#process!;
    await this.#ground.strike(life);
    if (life.isAlive) return;
    this.#process = undefined;
    await this.#bury(life);
  }

  async #bury(life: Life): Promise<void> {
    this.time.bury();
    await this.#ground.crash(life);
    await this.#underWay.crash();
    this.trace.add("crash");
  }

  /** It answers what is under way first. */
  #end({ engine, life, store }: Process): void {
    void this.#run(life, store, () => engine.stop()).then(() => {
      life.end();
      this.time.bury();
    });
  }

  /** An orderly stop. */
  async stop(): Promise<void> {
    const process = this.#process!;
    this.#process = undefined;
    const outcome = await this.drive(this.#run(process.life, process.store, () => process.stop()));
    if (outcome.kind === "error") throw new Violation(`the stop failed: ${messageOf(outcome.error)}`);
    process.life.end();
    this.time.bury();
    this.trace.add("stopped");
  }

  heal(): void {
    this.#ground.heal();
  }

  /** What is stored and belongs to nothing any more. */
  leftovers(): Promise<string[]> {
    return leftovers(this.#ground.durable, this.#objects);
  }

  async loseThread(): Promise<void> {
    this.#process?.threads.lose(this.dice);
    await this.#underWay.crash();
    this.trace.add("thread lost");
  }

  loseRunner(): void {
    this.#process?.runners.lose(this.dice);
    this.trace.add("runner lost");
  }

  /**
   * Asks the process that is there now, or one that does not know yet that its time is over. Who is told that the outcome is not known is cut off,
   * once it is decided. With a token it is a read that any process may answer which has what the token names.
   */
  call<T>(ask: () => T | Promise<T>, token?: ConsistencyToken): Promise<Outcome<T>> {
    const follower = this.#follower;
    if (token !== undefined && follower?.life.isAlive && this.dice.chance(0.5)) {
      const answer = async () => {
        const isThere = await follower.engine.reaches(token, new AbortController().signal);
        if (!isThere) throw unavailable("the standby passes it on");
        this.followed++;
        return await this.#askAt(follower.engine, ask);
      };
      return this.#run(follower.life, follower.store, answer).then((outcome) =>
        outcome.kind === "answer" ? { ...outcome, isFollowers: true } : outcome,
      );
    }
    // A write would keep its client waiting until the log has decided.
    const isLate = this.#late.size > 0 && this.dice.chance(token === undefined ? 0.1 : 0.6);
    const late = isLate ? this.dice.pick([...this.#late]) : undefined;
    const process = late ?? this.#process;
    if (process === undefined || !process.life.isAlive || !this.#ground.mayAnswer(process.life)) {
      return Promise.resolve({ kind: "error", error: unavailable("there is no owner") });
    }
    const outcome = this.#run(process.life, process.store, () => this.#askAt(process.engine, ask));
    // Most clients turn to another node when there is one; the others wait for what this one says.
    if (++this.#calls % 3 === 0) return outcome;
    return Promise.race([outcome, process.givenUp.promise.then((): Outcome<T> => ({ kind: "crash" }))]);
  }

  /** What is asked in this turn is asked of this engine. */
  #askAt<T>(engine: Engine, ask: () => T): T {
    this.#asked = engine;
    try {
      return ask();
    } finally {
      this.#asked = undefined;
    }
  }

  #run<T>(life: Life, store: SabotagedStore | undefined, ask: () => T | Promise<T>): Promise<Outcome<T>> {
    const failed = async (error: unknown): Promise<Outcome<T>> => {
      if (isFenced(error)) return { kind: "error", error: unavailable(messageOf(error)) };
      if (!isUndecided(error)) return { kind: "error", error };
      await store?.settled;
      return { kind: "crash" };
    };
    return new Promise((resolve) => {
      life.onEnd(() => resolve({ kind: "crash" }));
      (async () => ask())()
        .then((value): Outcome<T> => ({ kind: "answer", value }), failed)
        .then((outcome) => life.isAlive && resolve(outcome));
    });
  }

  /** Lets the world go on until something is settled. */
  async drive<T>(settled: Promise<T>, eachTick: () => void = () => {}): Promise<T> {
    let done = false;
    const finish = () => {
      done = true;
    };
    settled.then(finish, finish);
    for (let ticks = 0; !done; ticks++) {
      if (ticks > 200_000) throw new Violation("nothing settles any more");
      await this.tick();
      await this.turnOver();
      if (!done) eachTick();
    }
    return settled;
  }

  /** One turn of the event loop, a few answers of ports, and a little time. */
  async tick(): Promise<void> {
    this.ticks++;
    const { dice } = this;
    for (let count = dice.below(4); count > 0; count--) this.scheduler.release();
    if (this.isHurried && dice.chance(0.2)) this.time.advance(dice.between(100, this.#ground.hurryMsMax));
    else if (dice.chance(0.3)) this.time.advance(dice.between(1, 5));
    else if (dice.chance(0.05)) this.time.advance(dice.between(50, 600));
    await new Promise((resolve) => setImmediate(resolve));
  }

  async #makeProcess(life: Life): Promise<Process> {
    const ground = await this.#ground.open(life);
    return new Process({
      ...{ life, ground, world: this, objects: this.#objects, underWay: this.#underWay, sabotage: this.#sabotage },
      seed: this.#seed * 1_000 + this.#lives++,
    });
  }
}
