import assert from "node:assert/strict";
import { EngineError, notFound } from "../../engine/errors.ts";
import type { SqlParameter } from "../../engine/sql/sql.ts";
import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import type { ByteAccount } from "../wire/byte-budget.ts";

export interface Prepared {
  readonly namespace: string;
  readonly query: string;
  /** Rows of parameters; none were given yet when there is none. */
  readonly rows: readonly (readonly SqlParameter[])[];
}

export interface PreparedLimits {
  readonly preparedMax: number;
  readonly preparedOfOneMax: number;
  readonly preparedBytesMax: number;
  readonly preparedBytesOfOneMax: number;
  readonly preparedIdleMs: number;
}

interface Entry {
  statement: Prepared;
  bytes: number;
  usedMs: number;
}

/** The statements of one caller, the least recently used first. */
interface Owned {
  readonly entries: Map<string, Entry>;
  bytes: number;
}

/**
 * The prepared statements of all callers. Some clients never close theirs, so a full table refuses nothing: it forgets
 * the statement that its caller has not used for the longest time. They are forgotten with the process, too. No `LruMap`:
 * the bounds are of one caller and of all of them, by count, bytes and idle time, and a caller makes room among its own.
 */
export class PreparedStatements {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: PreparedLimits;
  /** Its share of what all edges keep. */
  readonly #account: ByteAccount;
  readonly #owners = new Map<string, Owned>();
  #count = 0;
  #bytes = 0;

  constructor(clock: Clock, random: Random, limits: PreparedLimits, account: ByteAccount) {
    this.#clock = clock;
    this.#random = random;
    this.#limits = limits;
    this.#account = account;
  }

  get size(): number {
    return this.#count;
  }

  add(owner: string, namespace: string, query: string): string {
    const handle = Buffer.from(this.#random.bytes(16)).toString("hex");
    const owned = this.#owners.get(owner) ?? { entries: new Map(), bytes: 0 };
    this.#owners.set(owner, owned);
    // A character takes two bytes at most.
    const entry = {
      statement: { namespace, query, rows: [] },
      bytes: 2 * query.length,
      usedMs: this.#clock.steadyMs(),
    };
    owned.entries.set(handle, entry);
    this.#count += 1;
    this.#grow(owned, entry.bytes);
    this.#makeRoom(owner, owned);
    return handle;
  }

  get(owner: string, handle: string): Prepared {
    return this.#use(owner, handle).statement;
  }

  bind(owner: string, handle: string, rows: Prepared["rows"], bytes: number): void {
    const entry = this.#use(owner, handle);
    const owned = this.#owners.get(owner)!;
    const now = 2 * entry.statement.query.length + bytes;
    this.#grow(owned, now - entry.bytes);
    entry.bytes = now;
    entry.statement = { ...entry.statement, rows };
    this.#makeRoom(owner, owned);
  }

  /** Closing what is closed already is no error. */
  close(owner: string, handle: string): void {
    const owned = this.#owners.get(owner);
    if (owned?.entries.has(handle) === true) this.#forget(owner, owned, handle);
  }

  #use(owner: string, handle: string): Entry {
    const owned = this.#owners.get(owner);
    const entry = owned?.entries.get(handle);
    const nowMs = this.#clock.steadyMs();
    if (entry === undefined || nowMs - entry.usedMs >= this.#limits.preparedIdleMs) {
      throw notFound("the prepared statement is unknown, closed or was idle for too long: prepare it again");
    }
    entry.usedMs = nowMs;
    owned!.entries.delete(handle);
    owned!.entries.set(handle, entry);
    return entry;
  }

  #grow(owned: Owned, bytes: number): void {
    owned.bytes += bytes;
    this.#bytes += bytes;
  }

  /** A caller makes room among its own first, so that none can drive out another's while it has more than its share. */
  #makeRoom(owner: string, owned: Owned): void {
    const { preparedMax, preparedOfOneMax, preparedBytesMax, preparedBytesOfOneMax } = this.#limits;
    this.#forgetIdle();
    while (owned.entries.size > preparedOfOneMax || owned.bytes > preparedBytesOfOneMax) {
      this.#forget(owner, owned, firstKey(owned.entries));
    }
    while (this.#count > preparedMax || this.#bytes > preparedBytesMax) this.#forget(...this.#oldest());
    while (!this.#account.hold(this.#bytes)) {
      const isLast = this.#count === 1;
      this.#forget(...this.#oldest());
      if (isLast)
        throw new EngineError("resource_exhausted", "the prepared statements of all edges take too many bytes");
    }
  }

  #forgetIdle(): void {
    const idleSinceMs = this.#clock.steadyMs() - this.#limits.preparedIdleMs;
    for (const [owner, owned] of this.#owners) {
      for (const [handle, { usedMs }] of owned.entries) {
        if (usedMs > idleSinceMs) break;
        this.#forget(owner, owned, handle);
      }
    }
  }

  #oldest(): [owner: string, owned: Owned, handle: string] {
    let found: [string, Owned, string] | undefined;
    let foundMs = Number.POSITIVE_INFINITY;
    for (const [owner, owned] of this.#owners) {
      const handle = firstKey(owned.entries);
      const { usedMs } = owned.entries.get(handle)!;
      if (usedMs < foundMs) [found, foundMs] = [[owner, owned, handle], usedMs];
    }
    return found!;
  }

  #forget(owner: string, owned: Owned, handle: string): void {
    const entry = owned.entries.get(handle)!;
    owned.entries.delete(handle);
    this.#count -= 1;
    this.#grow(owned, -entry.bytes);
    assert(this.#bytes >= owned.bytes && owned.bytes >= 0, "a statement is forgotten once");
    if (owned.entries.size === 0) this.#owners.delete(owner);
    this.#account.hold(this.#bytes);
  }
}

function firstKey(entries: ReadonlyMap<string, unknown>): string {
  return entries.keys().next().value!;
}
