import { SourceMap } from "node:module";
import type { Bundle } from "../../../port/bundler.ts";
import type { Clock } from "../../../port/clock.ts";
import type { Random } from "../../../port/random.ts";
import type { Store } from "../../../port/store.ts";
import { makeKey, tables } from "../../keys.ts";
import { decode } from "../../stored-value.ts";
import { FunctionFault } from "../fault.ts";
import type { DeployedFunction } from "../live-meta.ts";
import type { LiveNamespace } from "../live-namespace.ts";
import type { LiveCall, Outcome } from "../run.ts";
import type { Transaction } from "../transaction.ts";
import { validate } from "../validator.ts";
import { checkValue } from "../value.ts";
import { RunHost } from "./host.ts";
import type { RunEnd } from "./messages.ts";
import type { RunnerPool } from "./runner-pool.ts";

export interface FunctionsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly runners: RunnerPool;
}

export interface FunctionRun {
  readonly outcome: Outcome;
  readonly logs: readonly string[];
  readonly readsPrincipal: boolean;
}

/** Runs the functions that were deployed. */
export class Functions {
  readonly #deps: FunctionsDeps;

  constructor(deps: FunctionsDeps) {
    this.#deps = deps;
  }

  /** Rejects with `RunLost` or `RunSlow` where it is to be run again, with a new transaction. */
  async run(
    namespace: LiveNamespace,
    found: Pick<DeployedFunction, "name" | "kind" | "returns">,
    call: LiveCall,
    transaction: Transaction,
    startMicros: number,
    losses: number,
  ): Promise<FunctionRun> {
    const { clock, random, runners } = this.#deps;
    const { version } = namespace.meta;
    const host = new RunHost(transaction, found.kind, call.principal, clock);
    const seed = Buffer.from(random.bytes(4)).readUInt32BE();
    const request = { function: found.name, args: call.args, seed, nowMs: Math.floor(startMicros / 1_000) };
    const done = (outcome: Outcome, logs: readonly string[] = []) => ({
      outcome,
      logs,
      readsPrincipal: host.readsPrincipal,
    });
    try {
      const end = await runners.run({
        bundle: `${namespace.id}/${version}`,
        name: `${namespace.id}/${found.name}`,
        code: () => this.#bundle(namespace, version).code,
        request,
        answer: (ops) => host.answer(ops),
        losses,
      });
      if (host.fault instanceof FunctionFault) return done({ kind: "error", fault: host.fault }, end.logs);
      if (host.fault !== undefined) throw host.fault;
      return done(this.#outcome(namespace, found, end), this.#logs(namespace, version, end));
    } catch (error) {
      if (error instanceof FunctionFault) return done({ kind: "error", fault: error });
      throw error;
    }
  }

  #outcome(namespace: LiveNamespace, found: Pick<DeployedFunction, "returns">, { end }: RunEnd): Outcome {
    const { error, value = null } = end;
    if (error !== undefined) {
      const { name, message, data } = error;
      const isMemory = name === "InternalError" && message === "out of memory";
      const fault = isMemory
        ? new FunctionFault("limit", "took too much memory")
        : new FunctionFault("thrown", message, data);
      return { kind: "error", fault };
    }
    try {
      checkValue("result", value);
      if (found.returns !== undefined) {
        validate("result", found.returns, value, (table) => namespace.tables.get(table)?.number);
      }
      return { kind: "value", value };
    } catch (fault) {
      return { kind: "error", fault: new FunctionFault("thrown", (fault as Error).message) };
    }
  }

  /** With where an error came from, in the lines of the sources. */
  #logs(namespace: LiveNamespace, version: number, { end, logs }: RunEnd): readonly string[] {
    const stack = end.error?.stack;
    if (stack === undefined || stack === "") return logs;
    return [...logs, mappedStack(stack, this.#bundle(namespace, version))];
  }

  #bundle(namespace: LiveNamespace, version: number): Bundle {
    const stored = this.#deps.store.get(makeKey(tables.liveBundle, namespace.id, version));
    if (stored === undefined) throw new Error("a deployment without its bundle");
    return decode<Bundle>(stored);
  }
}

/** Lines before the bundle's own in what a sandbox runs. */
const linesBefore = 2;
const framesMax = 10;
const frame = /^\s*at (?:(.*?) \()?bundle\.js:(\d+):(\d+)\)?$/;

/** A stack with the places of the sources; frames of the harness are left out. */
function mappedStack(stack: string, { code, map }: Bundle): string {
  const [head = "", ...lines] = stack.split("\n");
  // The harness follows the bundle.
  const lastRow = 1 + code.split("\n").length;
  const sources = map === "" ? undefined : new SourceMap(JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0]);
  const shown: string[] = [];
  for (const line of lines) {
    const [, name = "", row = "", column = ""] = frame.exec(line) ?? [];
    if (row === "" || Number(row) >= lastRow) continue;
    const entry = sources?.findEntry(Number(row) - 1 - linesBefore, Number(column) - 1);
    if (entry === undefined || !("originalSource" in entry)) continue;
    const file = entry.originalSource.replace(/^.*module:/, "");
    shown.push(
      `    at ${name === "" ? "" : `${name} `}(${file}:${entry.originalLine + 1}:${entry.originalColumn + 1})`,
    );
    if (shown.length >= framesMax) break;
  }
  return [head, ...shown].join("\n");
}
