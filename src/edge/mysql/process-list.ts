import assert from "node:assert/strict";
import type { Principal } from "../../engine/auth/principal.ts";
import type { Clock } from "../../port/clock.ts";
import { mysqlError } from "./error.ts";
import { type Table, tableColumns } from "./rows.ts";

/** A session as others see it. */
export interface Process {
  readonly id: number;
  readonly principal: Principal | undefined;
  readonly user: string;
  readonly host: string;
  readonly database: string | undefined;
  /** What it runs, if it runs something, and since when. */
  readonly running: { readonly text: string; readonly sinceMs: number } | undefined;
  kill(whole: boolean): void;
}

const columns = tableColumns("Id#", "User", "Host", "db", "Command", "Time#", "State", "Info");
const shortInfoCharacters = 100;

/** The sessions of the edge: for SHOW PROCESSLIST and KILL. */
export class ProcessList {
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #sessions = new Map<number, Process>();
  #lastId = 0;
  questions = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.steadyMs();
  }

  get size(): number {
    return this.#sessions.size;
  }

  get uptimeSeconds(): number {
    return Math.floor((this.#clock.steadyMs() - this.#startedMs) / 1000);
  }

  /** The id that a connection is known by; one of 32 bits that nobody has now. */
  nextId(): number {
    do this.#lastId = (this.#lastId % 0xff_ff_ff_ff) + 1;
    while (this.#sessions.has(this.#lastId));
    return this.#lastId;
  }

  add(session: Process): void {
    assert(!this.#sessions.has(session.id), "an id is that of one session");
    this.#sessions.set(session.id, session);
  }

  remove(id: number): void {
    this.#sessions.delete(id);
  }

  table(principal: Principal, full: boolean): Table {
    const nowMs = this.#clock.steadyMs();
    const seen = [...this.#sessions.values()].filter((each) => mayControl(principal, each));
    return {
      columns,
      rows: seen.map(({ id, user, host, database, running }) => [
        id,
        user,
        host,
        database ?? null,
        running === undefined ? "Sleep" : "Query",
        running === undefined ? 0 : Math.floor((nowMs - running.sinceMs) / 1000),
        running === undefined ? "" : "executing",
        running === undefined ? null : full ? running.text : running.text.slice(0, shortInfoCharacters),
      ]),
    };
  }

  kill(principal: Principal, id: number, whole: boolean): void {
    const session = this.#sessions.get(id);
    // Sessions of others look as if they did not exist.
    if (session === undefined || !mayControl(principal, session)) {
      throw mysqlError("noSuchThread", `Unknown thread id: ${id}`);
    }
    session.kill(whole);
  }
}

/** One's own sessions, and an administrator of the whole instance those of all. */
function mayControl(principal: Principal, session: Process): boolean {
  if (principal.role === "admin" && principal.namespaces === undefined) return true;
  return session.principal?.id === principal.id;
}
