/**
 * Processes beside the server's own, for work on text that strangers wrote. A child may crash, loop or outgrow its
 * memory; that costs what it was working on and nothing else.
 */
export interface Child {
  /** Undefined where there is no process of its own, and until it is started. */
  readonly pid: number | undefined;
  /** Resolves when it has started; rejects with a `ChildLost` when it can't. */
  readonly ready: Promise<void>;
  /** Requests that wait for their answer. */
  readonly waiting: number;
  /** Sends a message that has no answer. */
  post(message: unknown): void;
  /**
   * Sends a message and resolves with its answer. Rejects with the `ChildError` that the service threw, with one of
   * reason `resource_exhausted` when too much waits already, or with a `ChildLost`. Typed arrays are sent from where
   * they lie: they must not change until the answer is here.
   */
  request(message: unknown, options?: ChildRequestOptions): Promise<unknown>;
  /** Ends the process at once; what waits is told why. */
  kill(why: ChildLoss): void;
  /** Called once, when the process and its state are gone; whoever needs another takes one. */
  onLost(callback: (why: ChildLoss) => void): void;
}

export interface ChildRequestOptions {
  /** The child is killed as `late` when it has not answered by then. */
  readonly deadlineMs?: number;
}

/**
 * `crashed`: it ended by itself. `late`: it did not answer in time. `memory`: it grew beyond its limit. `closed`: nobody needs it
 * any more, or the server ends.
 */
export type ChildLoss = "crashed" | "late" | "memory" | "closed";

/** Children of one kind. */
export interface Children {
  readonly stats: ChildrenStats;
  /** Starts the spare ahead of the first use. */
  prepare(): void;
  /** A child for the caller alone: the warm spare where there is one. It is never given back, but killed. */
  take(handler?: ChildHandler): Child;
  close(): Promise<void>;
}

/** Answers what a child asks of the server. */
export type ChildHandler = (message: unknown) => unknown;

export interface ChildrenStats {
  /** Taken and alive, */
  readonly running: number;
  /** started and waiting to be taken, */
  readonly spare: number;
  /** and what both hold in memory; 0 where the system does not tell. */
  readonly residentBytes: number;
  readonly started: number;
  readonly lost: Readonly<Record<ChildLoss, number>>;
}

/** What runs in a child. */
export interface ChildService {
  handle(message: unknown): unknown;
  /** Where it has no process of its own that ends with all it holds. */
  close?(): Promise<void>;
}

/** The server, as its child sees it. */
export interface ChildParent {
  post(message: unknown): void;
  request(message: unknown): Promise<unknown>;
}

/** What the other side threw. */
export class ChildError extends Error {
  /** A reason of the engine; undefined for a bug. */
  readonly reason: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(reason: string | undefined, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = "ChildError";
    this.reason = reason;
    this.details = details;
  }
}

export class ChildLost extends Error {
  readonly why: ChildLoss;

  constructor(why: ChildLoss, message: string) {
    super(message);
    this.name = "ChildLost";
    this.why = why;
  }
}
