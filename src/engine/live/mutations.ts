import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import type { Store } from "../../port/store.ts";
import type { Committer } from "../commit/committer.ts";
import type { Draft } from "../commit/draft.ts";
import { conflict, EngineError, invalid, notFound } from "../errors.ts";
import type { Quotas } from "../quota/quotas.ts";
import { fingerprint, type Idempotency, type IdempotencyRecords } from "../stream/idempotency.ts";
import { runSteps } from "../turns.ts";
import { builtIns, createTable, describeTable, newTable, setEvents } from "./builtins.ts";
import { FunctionFault } from "./fault.ts";
import { functionOf } from "./find-function.ts";
import type { Functions } from "./function/functions.ts";
import { rerun } from "./function/runner-pool.ts";
import { Conflict, type LiveNamespace, type StagedView } from "./live-namespace.ts";
import type { LiveCall, Outcome } from "./run.ts";
import { parseTable } from "./schema.ts";
import { type LiveSettings, liveLimits } from "./settings.ts";
import type { Moment } from "./snapshots.ts";
import type { LiveTable } from "./table.ts";
import { Transaction } from "./transaction.ts";
import { canonicalJson, type LiveValue } from "./value.ts";
import { SortedWrites } from "./writes.ts";

export interface MutateOptions {
  /** Empty: none. */
  readonly requestId: string;
}

export interface Mutated extends Moment {
  readonly outcome: Outcome;
  readonly logs: readonly string[];
  readonly replayed: boolean;
}

interface Attempt {
  readonly transaction: Transaction;
  readonly view: StagedView;
  readonly outcome: Outcome;
  readonly logs: readonly string[];
}

export interface MutationsDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly idempotency: IdempotencyRecords;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: LiveSettings;
  readonly functions: Functions;
  readonly quotas: Quotas;
}

type Recorded = Moment & { readonly value: LiveValue; readonly logs: readonly string[] };

const printable = /^[\x20-\x7e]{1,255}$/;

/** Runs mutations, each as one serializable transaction. */
export class Mutations {
  readonly #deps: MutationsDeps;
  /** Those under way that have a request id. */
  readonly #inFlight = new Map<string, { readonly fingerprint: Uint8Array; readonly done: Promise<Mutated> }>();

  constructor(deps: MutationsDeps) {
    this.#deps = deps;
  }

  async run(namespace: LiveNamespace, call: LiveCall, { requestId }: MutateOptions): Promise<Mutated> {
    if (requestId === "") return await this.#runOnce(namespace, call, undefined);
    if (!printable.test(requestId)) throw invalid("request_id", "must be 1 to 255 printable ASCII characters");
    const print = fingerprint(call.function, "\n", call.principal.id, "\n", canonicalJson(call.args));
    const idempotency = { key: requestId, fingerprint: print };
    const name = `${namespace.id}/${requestId}`;
    const under = this.#inFlight.get(name);
    if (under !== undefined) {
      if (!Buffer.from(under.fingerprint).equals(print)) throw usedOtherwise();
      return { ...(await under.done), replayed: true };
    }
    const recorded = this.#recorded(namespace, idempotency);
    if (recorded !== undefined) return recorded;
    const done = this.#runOnce(namespace, call, idempotency);
    this.#inFlight.set(name, { fingerprint: print, done });
    try {
      return await done;
    } finally {
      this.#inFlight.delete(name);
    }
  }

  #recorded(namespace: LiveNamespace, idempotency: Idempotency): Mutated | undefined {
    const { stream } = namespace;
    if (stream === undefined) return undefined;
    const found = this.#replay(stream.id, idempotency);
    if (found === undefined) return undefined;
    const { value, logs, tick, micros } = found;
    return { outcome: { kind: "value", value }, logs, tick, micros, replayed: true };
  }

  #replay(stream: number, idempotency: Idempotency): Recorded | undefined {
    try {
      return this.#deps.idempotency.replay<Recorded>(this.#deps.store, stream, idempotency);
    } catch (error) {
      throw error instanceof EngineError && error.reason === "aborted" ? usedOtherwise() : error;
    }
  }

  async #runOnce(namespace: LiveNamespace, call: LiveCall, idempotency: Idempotency | undefined): Promise<Mutated> {
    if (call.function === createTable) return await this.#createTable(namespace, call, idempotency);
    if (call.function === setEvents) return await this.#setEvents(namespace, call, idempotency);
    for (let conflicts = 0; ; conflicts++) {
      const leave = await this.#enter(namespace, call, conflicts >= liveLimits.conflictsMax);
      try {
        return await this.#attempt(namespace, call, idempotency, leave);
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
        if (error.over !== undefined) namespace.contention.note(call, error.over);
      } finally {
        leave();
      }
    }
  }

  /** Waits for those that it would conflict with, then for the gate. */
  async #enter({ contention, gate }: LiveNamespace, call: LiveCall, isAlone: boolean): Promise<() => void> {
    const next = await contention.enter(call);
    const leave = await (isAlone ? gate.alone() : gate.together());
    return () => {
      leave();
      next();
    };
  }

  /** `leave` is called once it is decided: others need not wait until it is durable. */
  async #attempt(
    namespace: LiveNamespace,
    call: LiveCall,
    idempotency: Idempotency | undefined,
    leave: () => void,
  ): Promise<Mutated> {
    const { transaction, view, outcome, logs } = builtIns.has(call.function)
      ? this.#runBuiltIn(namespace, call)
      : await rerun((losses) => this.#runFunction(namespace, call, losses));
    const isCommitted = outcome.kind === "value" && transaction.hasChanges;
    if (isCommitted) {
      if (transaction.bytesWritten > 0) this.#deps.quotas.admitBytes(namespace.name, transaction.bytesWritten);
      const record = this.#recorder(namespace, idempotency, outcome.value, logs);
      const committed = namespace.commit(transaction, view, record);
      leave();
      return { outcome, logs, ...(await committed), replayed: false };
    }
    // One that passed a limit would pass it again: what it has read does not matter.
    const isOverLimit = outcome.kind === "error" && outcome.fault.kind === "limit";
    if (!isOverLimit) namespace.checkRead(transaction.read, view);
    leave();
    await view.settled();
    return { outcome, logs, ...namespace.durable, replayed: false };
  }

  /** In this turn: nothing can come between what it reads and its commit. */
  #runBuiltIn(namespace: LiveNamespace, call: LiveCall): Attempt {
    const view = namespace.staged();
    const transaction = this.#transaction(namespace, view);
    try {
      const value = runSteps(builtIns.get(call.function)!.run(transaction, call.args));
      return { transaction, view, outcome: { kind: "value", value }, logs: [] };
    } catch (error) {
      if (!(error instanceof FunctionFault)) throw error;
      return { transaction, view, outcome: { kind: "error", fault: error }, logs: [] };
    }
  }

  async #runFunction(namespace: LiveNamespace, call: LiveCall, losses: number): Promise<Attempt> {
    const found = functionOf(namespace, call, "mutation");
    using state = namespace.snapshots.take(namespace.nowMicros);
    const own = new SortedWrites();
    const view = namespace.staged(state.reader, own);
    const startMicros = namespace.startMicros();
    const transaction = this.#transaction(namespace, view, own);
    const { functions } = this.#deps;
    const { outcome, logs } = await functions.run(namespace, found, call, transaction, startMicros, losses);
    return { transaction, view, outcome, logs };
  }

  #transaction(namespace: LiveNamespace, view: StagedView, own?: SortedWrites): Transaction {
    const { settings, random } = this.#deps;
    const { tables, tablesByNumber, id } = namespace;
    return new Transaction({
      view: view.view,
      namespace: id,
      tables,
      tablesByNumber,
      settings,
      nextMicros: () => namespace.startMicros(),
      random: (bytes) => random.bytes(bytes),
      tick: view.tick,
      ...(own === undefined ? {} : { overlay: (ops) => own.add(ops) }),
    });
  }

  #recorder(namespace: LiveNamespace, idempotency: Idempotency | undefined, value: LiveValue, logs: readonly string[]) {
    return (draft: Draft, { tick, micros }: Moment) => {
      const stream = namespace.stream;
      if (idempotency === undefined || stream === undefined) return;
      this.#deps.idempotency.record(draft, stream.id, idempotency, { value, logs, tick, micros } satisfies Recorded);
    };
  }

  /** The stream that gets a table's changes from now on; null: none. */
  async #setEvents(namespace: LiveNamespace, call: LiveCall, idempotency: Idempotency | undefined): Promise<Mutated> {
    const leave = await namespace.gate.alone();
    try {
      const { meta } = namespace;
      const table = namespace.tables.get(call.args["table"] as string);
      if (table === undefined) throw notFound(`table ${JSON.stringify(call.args["table"])} does not exist`);
      const stream = call.args["stream"] as string | null;
      if (stream !== null) namespace.checkStream(stream);
      const changed: LiveTable = { ...table, events: stream ?? undefined };
      const value = describeTable(changed);
      const next = { ...meta, tables: meta.tables.map((each) => (each === table ? changed : each)) };
      const moment = await namespace.changeMeta(next, this.#recorder(namespace, idempotency, value, []));
      return { outcome: { kind: "value", value }, logs: [], ...moment, replayed: false };
    } finally {
      leave();
    }
  }

  async #createTable(namespace: LiveNamespace, call: LiveCall, idempotency: Idempotency | undefined): Promise<Mutated> {
    const leave = await namespace.gate.alone();
    try {
      const { meta } = namespace;
      const definition = parseTable("args.", call.args["fields"], call.args["indexes"], this.#deps.settings);
      let next = meta.nextNumber;
      const indexes = definition.indexes.map((index) => ({ ...index, number: ++next, since: -1 }));
      const table = newTable(call.args["table"], { ...definition, indexes }, namespace.tables, meta.nextNumber);
      const value = describeTable(table ?? namespace.tables.get(call.args["table"] as string)!);
      const outcome: Outcome = { kind: "value", value };
      if (table === null) return { outcome, logs: [], ...namespace.durable, replayed: false };
      checkRoom(namespace.tables);
      const changed = { ...meta, nextNumber: next + 1, tables: [...meta.tables, table] };
      const moment = await namespace.changeMeta(changed, this.#recorder(namespace, idempotency, value, []));
      return { outcome, logs: [], ...moment, replayed: false };
    } finally {
      leave();
    }
  }
}

function checkRoom(tables: ReadonlyMap<string, LiveTable>): void {
  if (tables.size >= liveLimits.tablesMax)
    throw invalid("args.table", `there are ${liveLimits.tablesMax} tables already`);
}

function usedOtherwise() {
  return conflict("request_id: was used with another call");
}
