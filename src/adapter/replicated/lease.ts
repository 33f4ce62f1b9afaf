import type { Clock } from "../../port/clock.ts";

export interface LeaseSettings {
  /** An owner answers strong reads within so long of sending its newest accepted entry. */
  readonly leaseMs: number;
  /**
   * A new owner answers nothing before so long has passed since it read the last entry of the one before. More than the lease, since clocks
   * do not run at the same speed.
   */
  readonly fenceMs: number;
  /** A node claims the place after so long without an accepted entry. */
  readonly claimMs: number;
  /** Nodes claim one after another, so long apart. */
  readonly claimStepMs: number;
  /** An idle owner tells so often that it is there. */
  readonly beatMs: number;
  /** Others do so as often, and a busy owner tells where it is. */
  readonly presenceMs: number;
  /** After an entry that could not be sent. */
  readonly retryMs: number;
  /** How long a reader waits for a record at a time. */
  readonly pollMs: number;
}

export const leaseSettings: LeaseSettings = {
  leaseMs: 2_000,
  fenceMs: 2_500,
  claimMs: 4_000,
  claimStepMs: 700,
  beatMs: 500,
  presenceMs: 2_000,
  retryMs: 100,
  pollMs: 400,
};

/** A time by both clocks: the steady one stands still while a virtual machine is suspended. */
export interface Moment {
  readonly steadyMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { steadyMs: clock.steadyMs(), wallMs: clock.nowMs() };
}

/** Until when this node may answer for the log: no other owner can have acknowledged anything yet. */
export class Lease {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  #since: Moment | undefined;

  constructor(clock: Clock, { leaseMs }: LeaseSettings) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** An entry was accepted that was first sent at that time. */
  renew(sent: Moment): void {
    if (this.#since === undefined || sent.steadyMs > this.#since.steadyMs) this.#since = sent;
  }

  end(): void {
    this.#since = undefined;
  }

  get isValid(): boolean {
    if (this.#since === undefined) return false;
    const { steadyMs, wallMs } = momentOf(this.#clock);
    return steadyMs - this.#since.steadyMs < this.#leaseMs && wallMs - this.#since.wallMs < this.#leaseMs;
  }
}

/** What a reader knows of the leases of others: when it read their entries. */
export class Fence {
  readonly #clock: Clock;
  readonly #fenceMs: number;
  #lastReadMs: number;
  #untilMs: number;

  /** `isFresh`: nobody can have been the owner before what will be read. Else a lease may have been given just before. */
  constructor(clock: Clock, { fenceMs }: LeaseSettings, isFresh: boolean) {
    this.#clock = clock;
    this.#fenceMs = fenceMs;
    this.#lastReadMs = clock.steadyMs();
    this.#untilMs = isFresh ? -Infinity : this.#lastReadMs + fenceMs;
  }

  /** An accepted entry was read. */
  read(): void {
    this.#lastReadMs = this.#clock.steadyMs();
  }

  /** A `begin` was read before which the owner had not given its place up: its lease may still run. */
  deposed(): void {
    this.#untilMs = Math.max(this.#untilMs, this.#lastReadMs + this.#fenceMs);
  }

  /** A commit was read: its owner had waited for all leases before its own. */
  committed(): void {
    this.#untilMs = -Infinity;
  }

  /** Since the last accepted entry. */
  get silentMs(): number {
    return this.#clock.steadyMs() - this.#lastReadMs;
  }

  /** How long an owner that has just begun must still wait. */
  get leftMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.steadyMs());
  }
}
