import { type Child, ChildError, type ChildLoss, ChildLost, type Children } from "../../port/children.ts";
import { EngineError, type Reason, reasons, unavailable } from "../errors.ts";
import { ChangeTracker } from "./change-tracker.ts";
import { sqlFault } from "./fault.ts";
import type { SqlMessage } from "./messages.ts";

/** Whether the loss of a process is a statement's own doing: `suspect` where several were at work. */
export type Verdict = "guilty" | "suspect" | "innocent";

/** The process that worked on a statement is gone. */
export class StatementLost extends Error {
  readonly verdict: Verdict;
  readonly why: ChildLoss;

  constructor(why: ChildLoss, verdict: Verdict) {
    super(`the process of a statement was lost: ${why}`);
    this.name = "StatementLost";
    this.why = why;
    this.verdict = verdict;
  }

  /** For one that is not run again. */
  get fault(): EngineError {
    if (this.why === "closed") return unavailable("the server is shutting down");
    if (this.verdict !== "guilty") return sqlFault("lost", "another statement ended the process of this one; retry");
    return this.why === "memory"
      ? sqlFault("memory", "the statement needs more memory than SERVICE_SQL_MEMORY_BYTES allows")
      : sqlFault("lost", "the process that worked on the statement crashed, and only that");
  }
}

/** A SQL process while it lives. Callers tell the work of statements apart. */
export class SqlProcess {
  readonly #child: Child;
  readonly #working = new Set<object>();
  #late: object | undefined;
  #suspects: ReadonlySet<object> = new Set();
  #why: ChildLoss | undefined;
  readonly slot: ProcessSlot;

  constructor(child: Child, slot: ProcessSlot) {
    this.#child = child;
    this.slot = slot;
    child.onLost((why) => {
      this.#why = why;
      this.#suspects = new Set(this.#working);
      slot.changes.clear();
    });
  }

  get isLost(): boolean {
    return this.#why !== undefined;
  }

  /** Waits for its start, which is no statement's work and no statement's fault. */
  async started(): Promise<void> {
    try {
      await this.#child.ready;
    } catch (error) {
      throw error instanceof ChildLost ? new StatementLost(error.why, "innocent") : error;
    }
  }

  post(message: SqlMessage): void {
    this.#child.post(message);
  }

  async request<T>(owner: object, message: SqlMessage): Promise<T> {
    this.#working.add(owner);
    try {
      return (await this.#child.request(message)) as T;
    } catch (error) {
      throw error instanceof ChildLost ? new StatementLost(error.why, this.#verdictOn(owner)) : engineError(error);
    } finally {
      this.#working.delete(owner);
    }
  }

  /** Ends the process: this statement does not stop. */
  killFor(owner: object): void {
    this.#late ??= owner;
    this.#child.kill("late");
  }

  end(): void {
    this.#child.kill("closed");
  }

  #verdictOn(owner: object): Verdict {
    if (this.#why === "late") return owner === this.#late ? "guilty" : "innocent";
    if (!this.#suspects.has(owner)) return "innocent";
    return this.#suspects.size === 1 ? "guilty" : "suspect";
  }
}

/** A place for a process: what the engine keeps for it outlives it. */
export class ProcessSlot {
  /** The changes that the process knows of the collections it has loaded. */
  readonly changes = new ChangeTracker();
  readonly namespaces = new Set<number>();
  /** Statements that are open. */
  open = 0;
  lastUse = 0;
  readonly #children: Children;
  #process: SqlProcess | undefined;

  constructor(children: Children) {
    this.#children = children;
  }

  get process(): SqlProcess {
    if (this.#process === undefined || this.#process.isLost) {
      this.namespaces.clear();
      this.#process = new SqlProcess(this.#children.take(), this);
    }
    return this.#process;
  }

  end(): void {
    this.#process?.end();
    this.#process = undefined;
  }
}

/**
 * The processes of statements. A namespace's stay together, and as long as there are processes enough they are alone with
 * it, so that what ends one is felt by nobody else.
 */
export class SqlProcesses {
  readonly #children: Children;
  readonly #slotsMax: number;
  readonly #slots: ProcessSlot[] = [];
  readonly #aloneSlot: ProcessSlot;
  #alone: Promise<unknown> = Promise.resolve();
  #uses = 0;

  constructor(children: Children, slotsMax: number) {
    this.#children = children;
    this.#slotsMax = slotsMax;
    this.#aloneSlot = new ProcessSlot(children);
  }

  /** The process of a namespace's statements. */
  of(namespace: number): SqlProcess {
    const slot = this.#slotOf(namespace);
    const { process } = slot;
    slot.namespaces.add(namespace);
    slot.lastUse = ++this.#uses;
    return process;
  }

  /** A process for one statement after another that may have ended the one before. */
  alone<T>(work: (process: SqlProcess) => Promise<T>): Promise<T> {
    const done = this.#alone.then(() => work(this.#aloneSlot.process));
    this.#alone = done.then(
      () => this.#leaveAlone(),
      () => this.#leaveAlone(),
    );
    return done;
  }

  close(): Promise<void> {
    return this.#children.close();
  }

  #slotOf(namespace: number): ProcessSlot {
    const known = this.#slots.find(({ namespaces }) => namespaces.has(namespace));
    if (known !== undefined) return known;
    if (this.#slots.length < this.#slotsMax) {
      const added = new ProcessSlot(this.#children);
      this.#slots.push(added);
      return added;
    }
    const idle = this.#slots.filter(({ open }) => open === 0).sort((a, b) => a.lastUse - b.lastUse)[0];
    if (idle !== undefined) {
      // Its process lets the tables go when it opens the next namespace.
      idle.namespaces.clear();
      return idle;
    }
    return this.#slots.reduce((least, slot) => (slot.open < least.open ? slot : least));
  }

  /** It holds a namespace's tables a second time. */
  #leaveAlone(): void {
    if (this.#aloneSlot.open === 0) this.#aloneSlot.end();
  }
}

function engineError(error: unknown): unknown {
  if (!(error instanceof ChildError) || error.reason === undefined || !(error.reason in reasons)) return error;
  const reason = error.reason as Reason;
  const retry = reason === "unavailable" || reason === "resource_exhausted" ? { retryAfterMs: 1000 } : {};
  return new EngineError(reason, error.message, { details: error.details, cause: error, ...retry });
}
