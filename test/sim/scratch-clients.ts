import { isDeepStrictEqual } from "node:util";
import type { EngineError } from "../../src/engine/errors.ts";
import { readPage } from "./log-history.ts";
import { demand, isRetryable } from "./outcome.ts";
import type { Session } from "./session.ts";

/** A namespace that comes and goes, with one stream that does: `null` is what does not exist. */
interface Scratch {
  readonly hasNamespace: boolean;
  readonly records: readonly string[] | null;
}

interface Change {
  readonly what: string;
  readonly after: Scratch;
  /** The reason for which it must be refused, if it must. */
  readonly refusal: string | undefined;
  readonly run: () => Promise<unknown>;
}

interface Slot {
  readonly name: string;
  isBusy: boolean;
  /** What may be there: two states after a write was cut off, else one. */
  states: readonly Scratch[];
}

const stream = "s";

/** What clients do with names: make and drop namespaces and streams of their own, and look what is there. */
export class ScratchClients {
  readonly #session: Session;
  readonly #slots: readonly Slot[];

  constructor(session: Session, count: number) {
    this.#session = session;
    const nothing: Scratch = { hasNamespace: false, records: null };
    this.#slots = Array.from({ length: count }, (_, i) => ({ name: `x${i}`, isBusy: false, states: [nothing] }));
  }

  async change(): Promise<void> {
    const { dice } = this.#session;
    const slot = dice.pick(this.#slots);
    if (slot.isBusy) return;
    slot.isBusy = true;
    try {
      if (await this.#look(slot)) await this.#apply(slot, this.#makeChange(slot));
    } finally {
      slot.isBusy = false;
    }
  }

  /** With nothing under way. */
  async audit(): Promise<void> {
    for (const slot of this.#slots) await this.#look(slot);
  }

  /** Reads what is there, which must be one of the states that it may be in. */
  async #look(slot: Slot): Promise<boolean> {
    const outcome = await this.#session.ask(`look ${slot.name}`, [], () => this.#read(slot));
    if (outcome.kind !== "answer") return false;
    const found = outcome.value;
    const isKnown = slot.states.some((state) => isDeepStrictEqual(state, found));
    demand(isKnown, () => `${slot.name} is ${JSON.stringify(found)}, not ${JSON.stringify(slot.states)}`);
    slot.states = [found];
    return true;
  }

  async #read({ name }: Slot): Promise<Scratch> {
    const { metastore, streams } = this.#session.world.engine;
    const listed = [...metastore.namespaces()].some((each) => each.name === name);
    const hasNamespace = metastore.findNamespace(name) !== undefined;
    demand(listed === hasNamespace, () => `${name} is listed: ${listed}, there: ${hasNamespace}`);
    if (!hasNamespace || [...streams.list(name)].length === 0) return { hasNamespace, records: null };
    const ref = { namespace: name, stream };
    const page = await streams.fetch({ ...ref, partition: 0, from: { offset: 0 }, waitMs: 0, token: [] });
    return { hasNamespace, records: readPage(page).map(({ value }) => value!) };
  }

  #makeChange(slot: Slot): Change {
    const { dice, world } = this.#session;
    const { name } = slot;
    const [now] = slot.states;
    const { hasNamespace, records } = now!;
    const ref = { namespace: name, stream };
    const missing = hasNamespace ? undefined : "not_found";
    const streamMissing = records === null ? "not_found" : undefined;
    const value = `v${this.#session.takeId()}`;
    return dice.pick<() => Change>([
      () => ({
        what: `make ${name}`,
        after: { hasNamespace: true, records },
        refusal: hasNamespace ? "already_exists" : undefined,
        run: () => world.engine.metastore.createNamespace(name),
      }),
      () => ({
        what: `delete ${name}`,
        after: { hasNamespace: false, records: null },
        refusal: records === null ? missing : "failed_precondition",
        run: () => world.engine.metastore.deleteNamespace(name),
      }),
      () => ({
        what: `make ${name}/${stream}`,
        after: { hasNamespace, records: [] },
        refusal: missing ?? (records === null ? undefined : "already_exists"),
        run: () => world.engine.streams.create(ref, 1, undefined),
      }),
      () => ({
        what: `drop ${name}/${stream}`,
        after: { hasNamespace, records: null },
        refusal: streamMissing,
        run: async () => world.engine.streams.drop(ref),
      }),
      () => ({
        what: `append ${name}/${stream}`,
        after: { hasNamespace, records: [...(records ?? []), value] },
        refusal: streamMissing,
        run: async () => {
          const { reply } = await world.engine.streams.append({
            ...ref,
            partition: 0,
            records: [{ value: Buffer.from(value) }],
          });
          demand(reply.baseOffset === records!.length, () => `${name}/${stream}: ${value} at ${reply.baseOffset}`);
        },
      }),
    ])();
  }

  async #apply(slot: Slot, { what, after, refusal, run }: Change): Promise<void> {
    const [before] = slot.states;
    const outcome = await this.#session.ask(what, refusal === undefined ? [] : [refusal], run);
    if (outcome.kind === "crash") {
      if (refusal === undefined) slot.states = [before!, after];
    } else if (outcome.kind === "answer") {
      demand(refusal === undefined, () => `${what} was done, but should be refused as ${refusal}`);
      slot.states = [after];
    } else if (!isRetryable(outcome.error)) {
      const { reason } = outcome.error as EngineError;
      demand(reason === refusal, () => `${what} was refused as ${reason}, not as ${refusal}`);
    }
  }
}
