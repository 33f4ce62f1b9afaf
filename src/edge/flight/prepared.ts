import { EngineError, notFound } from "../../engine/errors.ts";
import type { SqlParameter } from "../../engine/sql/sql.ts";
import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";

export interface Prepared {
  readonly owner: string;
  readonly namespace: string;
  readonly query: string;
  /** Rows of parameters; none were given yet when there is none. */
  readonly rows: readonly (readonly SqlParameter[])[];
  readonly parameterBytes: number;
}

export interface PreparedLimits {
  readonly preparedMax: number;
  readonly preparedOfOneMax: number;
  readonly preparedIdleMs: number;
  readonly parameterBytesAllMax: number;
}

interface Entry {
  statement: Prepared;
  usedMs: number;
}

/** The prepared statements of all callers, the least recently used first. They are forgotten with the process. */
export class PreparedStatements {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: PreparedLimits;
  readonly #entries = new Map<string, Entry>();
  readonly #counts = new Map<string, number>();
  #parameterBytes = 0;

  constructor(clock: Clock, random: Random, limits: PreparedLimits) {
    this.#clock = clock;
    this.#random = random;
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.size;
  }

  add(owner: string, namespace: string, query: string): string {
    this.#forgetIdle();
    const { preparedMax, preparedOfOneMax } = this.#limits;
    const own = this.#counts.get(owner) ?? 0;
    if (this.#entries.size >= preparedMax || own >= preparedOfOneMax) {
      throw exhausted(`${this.#entries.size} prepared statements are open, of which ${own} are yours: close some`);
    }
    const handle = Buffer.from(this.#random.bytes(16)).toString("hex");
    const statement = { owner, namespace, query, rows: [], parameterBytes: 0 };
    this.#entries.set(handle, { statement, usedMs: this.#clock.steadyMs() });
    this.#counts.set(owner, own + 1);
    return handle;
  }

  get(owner: string, handle: string): Prepared {
    return this.#use(owner, handle).statement;
  }

  bind(owner: string, handle: string, rows: Prepared["rows"], bytes: number): void {
    const entry = this.#use(owner, handle);
    const total = this.#parameterBytes - entry.statement.parameterBytes + bytes;
    if (total > this.#limits.parameterBytesAllMax)
      throw exhausted("the parameters of all prepared statements are too large");
    this.#parameterBytes = total;
    entry.statement = { ...entry.statement, rows, parameterBytes: bytes };
  }

  /** Closing what is closed already is no error. */
  close(owner: string, handle: string): void {
    if (this.#entries.get(handle)?.statement.owner === owner) this.#forget(handle);
  }

  #use(owner: string, handle: string): Entry {
    this.#forgetIdle();
    const entry = this.#entries.get(handle);
    if (entry?.statement.owner !== owner) {
      throw notFound("the prepared statement is unknown, closed or was idle for too long: prepare it again");
    }
    entry.usedMs = this.#clock.steadyMs();
    this.#entries.delete(handle);
    this.#entries.set(handle, entry);
    return entry;
  }

  #forgetIdle(): void {
    const oldest = this.#clock.steadyMs() - this.#limits.preparedIdleMs;
    for (const [handle, { usedMs }] of this.#entries) {
      if (usedMs > oldest) return;
      this.#forget(handle);
    }
  }

  #forget(handle: string): void {
    const { statement } = this.#entries.get(handle)!;
    this.#entries.delete(handle);
    this.#parameterBytes -= statement.parameterBytes;
    const left = this.#counts.get(statement.owner)! - 1;
    if (left === 0) this.#counts.delete(statement.owner);
    else this.#counts.set(statement.owner, left);
  }
}

function exhausted(message: string): EngineError {
  return new EngineError("resource_exhausted", message, { retryAfterMs: 1_000 });
}
