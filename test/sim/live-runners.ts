import { InlineChildren } from "../../src/adapter/inline/children.ts";
import type { Operation, RunAnswer, RunRequest } from "../../src/engine/live/function/messages.ts";
import type { LiveValue } from "../../src/engine/live/value.ts";
import type { Bundler } from "../../src/port/bundler.ts";
import type { Child, ChildHandler, ChildParent, ChildService } from "../../src/port/children.ts";
import type { Dice } from "./dice.ts";
import type { Life } from "./life.ts";

/** Asks for reads and writes of tables, and is given their values. */
type Run = Generator<readonly Operation[], LiveValue, readonly LiveValue[]>;

// biome-ignore lint/suspicious/noExplicitAny: documents of any shape.
type Json = any;

export const accountsTable = "accounts";
export const movesTable = "moves";

/** The functions that the simulation deploys. */
const functions: Readonly<Record<string, (args: Json) => Run>> = {
  *"bank:move"({ id, from, to, amount }) {
    const [a, b] = (yield [
      { op: "get", id: from },
      { op: "get", id: to },
    ]) as Json[];
    const move = { id, from, to, amount, fromVersion: a.version + 1, toVersion: b.version + 1 };
    yield [
      { op: "patch", id: from, patch: { balance: a.balance - amount, version: move.fromVersion }, unset: [] },
      { op: "patch", id: to, patch: { balance: b.balance + amount, version: move.toVersion }, unset: [] },
      { op: "insert", table: movesTable, document: move },
    ];
    return { fromVersion: move.fromVersion, toVersion: move.toVersion };
  },
  *"bank:all"() {
    const [{ documents }] = (yield [{ op: "scan", table: accountsTable, limit: 100 }]) as [Json];
    const [moves] = (yield [{ op: "count", table: movesTable }]) as [number];
    const sum = (field: string) => documents.reduce((total: number, each: Json) => total + each[field], 0);
    return { balance: sum("balance"), versions: sum("version"), moves };
  },
};

const described = {
  functions: Object.keys(functions).map((name) => ({ name, kind: name === "bank:all" ? "query" : "mutation" })),
  schema: null,
};

/** Processes that run functions, in the order that the schedule gives, and ready to be lost. */
export class SimulatedRunners extends InlineChildren {
  readonly #taken = new Set<Child>();

  constructor(life: Life) {
    super((parent) => new ScriptedRunner(parent, life));
  }

  override take(handler?: ChildHandler): Child {
    const child = super.take(handler);
    this.#taken.add(child);
    child.onLost(() => this.#taken.delete(child));
    return child;
  }

  lose(dice: Dice): void {
    if (this.#taken.size > 0) dice.pick([...this.#taken]).kill("crashed");
  }
}

class ScriptedRunner implements ChildService {
  readonly #parent: ChildParent;
  readonly #life: Life;

  constructor(parent: ChildParent, life: Life) {
    this.#parent = parent;
    this.#life = life;
  }

  async handle(message: unknown): Promise<RunAnswer> {
    const { run, request } = message as RunRequest;
    if (run === 0) return { end: "" };
    const asked = JSON.parse(request) as { describe?: boolean; function: string; args: Json };
    await this.#life.turn();
    const value = asked.describe ? described : await this.#run(run, functions[asked.function]!(asked.args));
    return { end: JSON.stringify({ end: { value }, logs: [] }) };
  }

  async #run(run: number, steps: Run): Promise<LiveValue> {
    let next = steps.next([]);
    while (!next.done) {
      const ops = JSON.stringify(next.value);
      const answers = JSON.parse((await this.#parent.request({ kind: "ops", run, ops })) as string) as Json[];
      await this.#life.turn();
      next = steps.next(answers.map(({ value }) => value));
    }
    return next.value;
  }
}

export const scriptedBundler: Bundler = {
  bundle: async () => ({ code: "scripted", map: "" }),
  close: async () => {},
};
