import { setImmediate as turn } from "node:timers/promises";
import { LoggedStore } from "../../../src/adapter/logged/store.ts";
import { MemoryCommitLog } from "../../../src/adapter/memory/commit-log.ts";
import { MemoryObjectStore } from "../../../src/adapter/memory/object-store.ts";
import { MemoryStore } from "../../../src/adapter/memory/store.ts";
import { NodeClock } from "../../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../../src/adapter/node/random.ts";
import { SimulatedClock } from "../../../src/adapter/simulated/clock.ts";
import { defaultCollectionSettings } from "../../../src/engine/collection/settings.ts";
import { Engine } from "../../../src/engine/engine.ts";
import { makeKey, tables } from "../../../src/engine/keys.ts";
import type { Clock } from "../../../src/port/clock.ts";
import { decodeOps, encodeEntry, entryBytes } from "../../../src/port/commit-entry.ts";
import type { Store, WriteOp } from "../../../src/port/store.ts";
import { inlineFunctions, inlineSqlChildren, inlineThreads, testSettings } from "../../support/engine.ts";

/** Hands every commit on, in the order in which they are made. */
class ToldStore extends MemoryStore {
  onCommit: (entry: Buffer) => void = () => {};

  override async commit(ops: readonly WriteOp[]): Promise<void> {
    const entry = Buffer.alloc(entryBytes(ops));
    encodeEntry(entry, ops);
    await super.commit(ops);
    this.onCommit(entry);
  }
}

/** Turns without a commit after which the owner's background is taken for idle. */
const quietTurns = 60;

/** An engine that writes and one that follows it, each on a store of its own. */
export class Pair implements AsyncDisposable {
  readonly #objects = new MemoryObjectStore();
  /** The owner's: while it stands still, so does the owner's background. */
  readonly clock = new SimulatedClock(Date.now());
  readonly #told = new ToldStore();
  readonly errors: unknown[] = [];
  #position = 0;
  #feeding: Promise<void> = Promise.resolve();
  #store!: LoggedStore;
  owner!: Engine;
  follower!: Engine;

  static async start(): Promise<Pair> {
    const pair = new Pair();
    pair.#store = await LoggedStore.open({
      view: new MemoryStore(),
      log: new MemoryCommitLog(),
      clock: new NodeClock(),
      mark: makeKey(tables.commitLog),
      settings: { applyBytes: 2_000, applyDelayMs: 5 },
      onIngested: (entry) => pair.follower.onApplied(decodeOps(entry)),
    });
    pair.#told.onCommit = (entry) => {
      const position = ++pair.#position;
      pair.#feeding = pair.#feeding.then(() => pair.#store.ingest(position, [entry]));
    };
    pair.follower = pair.fresh();
    pair.owner = pair.#engine(pair.#told, pair.clock);
    await pair.owner.own();
    return pair;
  }

  /** One that has just been opened over what the follower has. */
  fresh(): Engine {
    const engine = this.#engine(this.#store, new NodeClock());
    engine.follow();
    return engine;
  }

  #engine(store: Store, clock: Clock): Engine {
    return new Engine(
      {
        store,
        objects: this.#objects,
        ownership: {
          isOwner: true,
          epoch: 1,
          acquire: async () => {},
          confirm: async () => {},
          [Symbol.asyncDispose]: async () => {},
        },
        clock,
        random: new NodeRandom(),
        threads: inlineThreads(this.#objects, clock),
        sqlChildren: inlineSqlChildren(store),
        functions: inlineFunctions(),
      },
      { ...testSettings, collections: { ...defaultCollectionSettings, sealIdleMs: 1_000, manifestKeepMs: 10_000 } },
      { onBackgroundError: (error) => this.errors.push(error) },
    );
  }

  /** Lets the owner's background go on for a while, and the follower catch up with it. */
  async settle(ms: number): Promise<void> {
    this.clock.advance(ms);
    for (let quiet = 0, known = -1; quiet < quietTurns; quiet++) {
      await turn();
      if (known !== this.#position) quiet = 0;
      known = this.#position;
    }
    await this.#feeding;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.owner.stop();
    await this.#feeding;
    await this.follower.stop();
    await this.#store.close();
  }
}
