import { devLoopback } from "../../src/engine/auth/principal.ts";
import type { LiveObject, LiveValue } from "../../src/engine/live/value.ts";
import type { Moment } from "./clock.ts";
import { accountsTable, movesTable } from "./live-runners.ts";
import { demand, Violation } from "./outcome.ts";
import type { Session } from "./session.ts";

const namespace = "n";
const accountCount = 4;
const firstBalance = 100;
/** Replies are remembered for a day. */
const resendMs = 20 * 3_600_000;

interface Move {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly amount: number;
  readonly sentAt: Moment;
  isBusy: boolean;
  /** `maybe`: it was cut off, and an audit tells. */
  state: "not done" | "maybe" | "done";
  /** 0: not known. */
  tick: number;
}

interface StoredMove {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly amount: number;
  readonly fromVersion: number;
  readonly toVersion: number;
}

interface Account {
  readonly _id: string;
  readonly balance: number;
  readonly version: number;
}

interface All {
  readonly balance: number;
  readonly versions: number;
  readonly moves: number;
}

/** What clients do with live tables: move amounts between accounts, sum them up, and watch the sum. */
export class LiveClients {
  readonly #session: Session;
  readonly #moves: Move[] = [];
  #accounts: string[] = [];

  constructor(session: Session) {
    this.#session = session;
  }

  async create(): Promise<void> {
    const { live } = this.#session.world.engine;
    for (const table of [accountsTable, movesTable]) await this.#mutate("_tables:create", { table }, "");
    const modules = [{ path: "bank", source: "scripted", sourceMap: "" }];
    await live.deploy(namespace, { modules, schema: undefined, expectedVersion: 0, dryRun: false, allowDrops: false });
    for (let i = 0; i < accountCount; i++) {
      const document = { balance: firstBalance, version: 0 };
      const { outcome } = await this.#mutate("_tables:insert", { table: accountsTable, document }, "");
      if (outcome.kind !== "value") throw new Violation("live: an account can't be made");
      this.#accounts.push(outcome.value as string);
    }
  }

  async move(): Promise<void> {
    const { dice, world } = this.#session;
    const from = dice.pick(this.#accounts);
    const to = dice.pick(this.#accounts.filter((each) => each !== from));
    const id = `m${this.#session.takeId()}`;
    const amount = dice.between(1, 9);
    const sentAt = world.time.moment;
    const move: Move = { id, from, to, amount, sentAt, isBusy: false, state: "not done", tick: 0 };
    this.#moves.push(move);
    await this.#send(move);
  }

  /** The same again, under the same request id: it happens once. */
  async resend(): Promise<void> {
    const { dice, world } = this.#session;
    const { time } = world;
    const recent = this.#moves.slice(-10).filter(({ isBusy, sentAt }) => {
      // It may have been done at any time since, and looked at for its age at any other.
      const ageMsMax = time.latestMs(sentAt) - time.earliestMs(sentAt, time.moment);
      return !isBusy && ageMsMax < resendMs;
    });
    if (recent.length > 0) await this.#send(dice.pick(recent));
  }

  /** The sum, now or at the tick of a move. */
  async sum(): Promise<void> {
    const { dice, world } = this.#session;
    const done = this.#moves.filter(({ state }) => state === "done");
    const dated = done.filter(({ tick }) => tick > 0);
    const at = dated.length > 0 && dice.chance(0.4) ? { tick: dice.pick(dated.slice(-5)).tick } : undefined;
    const known = at === undefined ? done.length : dated.filter(({ tick }) => tick <= at.tick).length;
    const beyondHistory = at === undefined ? [] : ["failed_precondition"];
    const outcome = await this.#session.ask(`live sum ${at?.tick ?? ""}`, beyondHistory, () =>
      world.engine.live.query(this.#request("bank:all", {}), at, []),
    );
    if (outcome.kind !== "answer" || outcome.value.outcome.kind !== "value") return;
    checkAll(outcome.value.outcome.value, known);
  }

  /** Opens a session, changes something, and reads until the session shows it. */
  async watch(): Promise<void> {
    const { world } = this.#session;
    const known = this.#moves.filter(({ state }) => state === "done").length;
    await this.#session.ask("live watch", [], async () => {
      const { live } = world.engine;
      const stop = new AbortController();
      const query = { queryId: 1, knownDigest: "", call: this.#request("bank:all", {}) };
      const opener = { namespace, principal: devLoopback, minTick: 0 };
      const session = await live.watch(opener, [query], stop.signal);
      try {
        let shown: number | undefined;
        for (let states = 0; states < 2; ) {
          const event = await session.next(stop.signal);
          if (event.kind === "heartbeat") break;
          const { tick } = event.kind === "opened" ? event.version : event.start;
          demand(shown === undefined || tick === shown, () => `live: a session goes from ${shown} on at ${tick}`);
          shown = event.kind === "opened" ? tick : event.end.tick;
          demand(shown >= tick, () => `live: a session goes back from ${tick} to ${shown}`);
          for (const change of event.kind === "transition" ? event.changes : []) {
            if (change.kind !== "result" || change.result.outcome.kind !== "value") continue;
            checkAll(change.result.outcome.value, known);
            states++;
          }
        }
        return shown;
      } finally {
        live.close(session);
      }
    });
  }

  /** With nothing under way: what is stored is what some order of the moves gives, each of them once. */
  async audit(): Promise<void> {
    const accounts = (await this.#list(accountsTable)) as unknown as Account[];
    const stored = (await this.#list(movesTable)) as unknown as StoredMove[];
    const byId = new Map(stored.map((each) => [each.id, each]));
    demand(byId.size === stored.length, () => "live: a move happened twice");
    for (const move of this.#moves) {
      const found = byId.get(move.id);
      if (move.state === "done") demand(found !== undefined, () => `live: the move ${move.id} is lost`);
      if (move.state === "not done") demand(found === undefined, () => `live: the refused move ${move.id} happened`);
      if (move.state === "maybe") move.state = found === undefined ? "not done" : "done";
    }
    this.#checkOrder(accounts, stored);
  }

  #checkOrder(accounts: readonly Account[], stored: readonly StoredMove[]): void {
    const left = new Set(stored);
    const versions = new Map(this.#accounts.map((id) => [id, 0]));
    const balances = new Map(this.#accounts.map((id) => [id, firstBalance]));
    for (let before = -1; before !== left.size; ) {
      before = left.size;
      for (const move of left) {
        const { from, to, amount, fromVersion, toVersion } = move;
        if (versions.get(from) !== fromVersion - 1 || versions.get(to) !== toVersion - 1) continue;
        versions.set(from, fromVersion).set(to, toVersion);
        balances.set(from, balances.get(from)! - amount).set(to, balances.get(to)! + amount);
        left.delete(move);
      }
    }
    demand(left.size === 0, () => `live: no order explains the moves ${[...left].map(({ id }) => id)}`);
    for (const { _id, balance, version } of accounts) {
      const holds = balance === balances.get(_id) && version === versions.get(_id);
      demand(holds, () => `live: the account ${_id} has ${balance} at ${version}, which no order explains`);
    }
    demand(accounts.length === accountCount, () => `live: there are ${accounts.length} accounts`);
  }

  async #send(move: Move): Promise<void> {
    const { id, from, to, amount } = move;
    move.isBusy = true;
    const outcome = await this.#session.ask(`live move ${id}`, [], () =>
      this.#mutate("bank:move", { id, from, to, amount }, id),
    );
    move.isBusy = false;
    if (outcome.kind === "crash" && move.state === "not done") move.state = "maybe";
    if (outcome.kind !== "answer" || outcome.value.outcome.kind !== "value") return;
    const { tick, replayed } = outcome.value;
    const isSame = replayed && (move.tick === 0 || move.tick === tick);
    demand(move.state !== "done" || isSame, () => `live: the move ${id} was done again at ${tick}`);
    move.state = "done";
    move.tick = tick;
  }

  async #list(table: string): Promise<LiveObject[]> {
    const done = await this.#session.insist(`live list ${table}`, () =>
      this.#session.world.engine.live.query(this.#request("_tables:list", { table }), undefined, []),
    );
    if (done.outcome.kind !== "value") throw new Violation(`live: ${table} can't be listed`);
    return done.outcome.value as LiveObject[];
  }

  #mutate(name: string, args: LiveObject, requestId: string) {
    return this.#session.world.engine.live.mutate(this.#request(name, args), { requestId });
  }

  #request(name: string, args: LiveObject) {
    return { namespace, function: name, args, principal: devLoopback };
  }
}

/** Nothing is made or lost by a move, and each counts two versions. */
function checkAll(value: LiveValue, known: number): void {
  const { balance, versions, moves } = value as unknown as All;
  const holds = balance === accountCount * firstBalance && versions === 2 * moves && moves >= known;
  demand(holds, () => `live: ${JSON.stringify(value)} after ${known} moves is true of no state`);
}
