import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import { EngineError } from "../errors.ts";
import type { Log } from "../log/log.ts";
import { runInTurns } from "../turns.ts";
import { builtIns } from "./builtins.ts";
import { FunctionFault } from "./fault.ts";
import { functionOf } from "./find-function.ts";
import type { Functions } from "./function/functions.ts";
import { rerun } from "./function/runner-pool.ts";
import type { LiveNamespace } from "./live-namespace.ts";
import { ReadSet } from "./read-set.ts";
import type { LiveCall, Outcome, Ran } from "./run.ts";
import type { LiveSettings } from "./settings.ts";
import type { HeldSnapshot, Moment } from "./snapshots.ts";
import { creationOrder, keyRange, spaceOf } from "./table.ts";
import { Transaction } from "./transaction.ts";
import { CurrentView, HistoricView, type TableView } from "./view.ts";
import { LayeredReader } from "./writes.ts";

export type At = { readonly tick: number } | { readonly micros: number };

export interface QueryAnswer extends Ran, Moment {}

export interface QueriesDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: LiveSettings;
  readonly functions: Functions;
}

/** Runs queries on the newest state, or on one of the past. */
export class Queries {
  readonly #deps: QueriesDeps;

  constructor(deps: QueriesDeps) {
    this.#deps = deps;
  }

  async run(namespace: LiveNamespace, call: LiveCall, at: At | undefined): Promise<QueryAnswer> {
    if (at !== undefined && "micros" in at) await this.#settle(namespace, at.micros);
    using state = namespace.snapshots.take(namespace.nowMicros);
    const moment = at === undefined ? state : this.#momentOf(namespace, state, at);
    const ran = await this.#runIn(namespace, call, viewAt(namespace, state, moment.tick), moment);
    return { ...ran, tick: moment.tick, micros: moment.micros };
  }

  runAt(namespace: LiveNamespace, call: LiveCall, state: HeldSnapshot): Promise<Ran> {
    return this.#runIn(namespace, call, viewAt(namespace, state, state.tick), state);
  }

  /** What a watched query shows for an error that is none of its own. */
  failed(namespace: LiveNamespace, error: unknown): Ran {
    const known = error instanceof EngineError && error.reason !== "internal";
    const fault = known ? new FunctionFault("thrown", error.message) : new FunctionFault("redacted", "internal error");
    const read = new ReadSet();
    // Whatever it would have read: the next commit runs it again.
    for (const { number } of namespace.tables.values()) {
      read.ranges.push(keyRange(spaceOf(number, creationOrder), { equal: [] }));
    }
    return { outcome: { kind: "error", fault }, logs: [], read, readsPrincipal: false };
  }

  #runIn(namespace: LiveNamespace, call: LiveCall, view: TableView, moment: Moment): Promise<Ran> {
    return rerun((losses) => this.#runOnce(namespace, call, view, moment, losses));
  }

  async #runOnce(
    namespace: LiveNamespace,
    call: LiveCall,
    view: TableView,
    { tick }: Moment,
    losses: number,
  ): Promise<Ran> {
    const { clock, random, settings, functions } = this.#deps;
    const { tables, tablesByNumber, id } = namespace;
    const startMicros = namespace.nowMicros;
    const transaction = new Transaction({
      view,
      namespace: id,
      tables,
      tablesByNumber,
      settings,
      nextMicros: () => startMicros,
      random: (bytes) => random.bytes(bytes),
      tick,
    });
    const { read } = transaction;
    const builtIn = builtIns.get(call.function);
    if (builtIn === undefined) {
      const found = functionOf(namespace, call, "query");
      return { ...(await functions.run(namespace, found, call, transaction, startMicros, losses)), read };
    }
    const outcome = await outcomeOf(() => runInTurns(builtIn.run(transaction, call.args), clock));
    return { outcome, logs: [], read, readsPrincipal: false };
  }

  /** Once no commit can come that has this time or an earlier one. */
  async #settle(namespace: LiveNamespace, micros: number): Promise<void> {
    if (micros > namespace.latestMicros)
      throw new EngineError("failed_precondition", "at.timestamp: lies in the future");
    if (micros < namespace.nowMicros - this.#deps.settings.historyMs * 1_000)
      throw new EngineError("failed_precondition", "at.timestamp: lies beyond the history");
    await namespace.reserve(micros);
  }

  #momentOf(namespace: LiveNamespace, state: Moment, at: At): Moment {
    const { log } = this.#deps;
    const { stream } = namespace;
    if (stream === undefined) {
      if ("tick" in at && at.tick > 0) throw inFuture(at.tick, 0);
      return state;
    }
    const start = log.startOffset(stream, 0);
    const tick = "tick" in at ? at.tick : tickAtTime(log, stream, at.micros, state);
    if (tick > state.tick) throw inFuture(tick, state.tick);
    if (tick < start - 1) throw beyondHistory(tick, start - 1);
    if (tick === state.tick) return state;
    return { tick, micros: microsOf(log, stream, tick) ?? ("micros" in at ? at.micros : state.micros) };
  }
}

type LiveStream = NonNullable<LiveNamespace["stream"]>;

/** The last tick whose time is not after the one given. */
function tickAtTime(log: Log, stream: LiveStream, micros: number, state: Moment): number {
  if (micros >= state.micros) return state.tick;
  return Math.max(0, log.seekTime(stream, 0, (micros + 0.5) / 1_000) - 1);
}

function microsOf(log: Log, stream: LiveStream, tick: number): number | undefined {
  if (tick < log.startOffset(stream, 0)) return undefined;
  for (const batch of log.read(stream, 0, tick)) return Math.round(batch.header.maxTimestampMs * 1_000);
  return undefined;
}

function viewAt(namespace: LiveNamespace, { reader, tick: newest }: HeldSnapshot, tick: number): TableView {
  const layered = new LayeredReader(reader, []);
  return tick === newest ? new CurrentView(layered, namespace.id) : new HistoricView(layered, namespace.id, tick);
}

function inFuture(tick: number, newest: number): EngineError {
  return new EngineError("failed_precondition", `at.tick: ${tick} lies in the future; the newest tick is ${newest}`);
}

function beyondHistory(tick: number, oldest: number): EngineError {
  const message = `at: the tick ${tick} lies beyond the history, which begins at ${oldest}`;
  return new EngineError("failed_precondition", message);
}

/** What a run throws is its outcome; an error of the service is none. */
export async function outcomeOf(run: () => Promise<Extract<Outcome, { kind: "value" }>["value"]>): Promise<Outcome> {
  try {
    return { kind: "value", value: await run() };
  } catch (error) {
    if (error instanceof FunctionFault) return { kind: "error", fault: error };
    throw error;
  }
}
