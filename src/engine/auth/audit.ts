import type { Clock } from "../../port/clock.ts";
import type { Store, WriteOp } from "../../port/store.ts";

/** Something that somebody did, or tried to do. */
export interface AuditEvent {
  /** What: `sign_in`, `sign_in_refused`, or the route or method of an administrative act. */
  readonly action: string;
  /** Who, by the id of the principal; undefined where nobody was recognised. */
  readonly principal?: string | undefined;
  readonly address?: string | undefined;
  readonly namespace?: string | undefined;
  /** The path that was asked for; never a body, which may hold a secret. */
  readonly target?: string | undefined;
  /** `ok`, or why not. */
  readonly outcome: string;
}

export interface AuditEntry extends AuditEvent {
  /** Grows by one from entry to entry. */
  readonly sequence: number;
  readonly atMs: number;
}

export const auditLimits = {
  /** Entries in the store; the oldest make room. */
  entriesMax: 100_000,
  /** Entries that wait for the store; more are counted and left out. */
  waitingMax: 1_000,
  pageMax: 1_000,
  textCharactersMax: 512,
} as const;

const from = Buffer.from("audit/");
const to = Buffer.from("audit0");

/** Who signed in and what was changed, in the store of the instance: written in the order in which it happened. */
export class AuditLog {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #report: (entry: AuditEntry) => void;
  readonly #onLost: (error: unknown) => void;
  #waiting: AuditEntry[] = [];
  #writing: Promise<void> | undefined;
  #next: number;
  #lost = 0;

  constructor(
    store: Store,
    clock: Clock,
    report: (entry: AuditEntry) => void,
    onLost: (error: unknown) => void = () => {},
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#report = report;
    this.#onLost = onLost;
    const [newest] = store.keys({ from, to, reverse: true, limit: 1 });
    this.#next = newest === undefined ? 1 : sequenceOf(newest) + 1;
  }

  /** Entries that found no room, since the start. */
  get lost(): number {
    return this.#lost;
  }

  /** Noted at once for the operator's log, and soon in the store. */
  record(event: AuditEvent): void {
    const entry = { ...cut(event), sequence: this.#next++, atMs: this.#clock.nowMs() };
    this.#report(entry);
    if (this.#waiting.length >= auditLimits.waitingMax) {
      this.#lost++;
      return;
    }
    this.#waiting.push(entry);
    this.#writing ??= this.#write();
  }

  /** The newest entries, or those before one of them, from new to old. */
  list({ limit, before }: { readonly limit: number; readonly before?: number | undefined }): AuditEntry[] {
    const end = before === undefined ? to : keyOf(before);
    const found = this.#store.range({ from, to: end, reverse: true, limit: Math.min(limit, auditLimits.pageMax) });
    return Array.from(found, ({ key, value }) => ({
      ...(JSON.parse(Buffer.from(value).toString()) as Omit<AuditEntry, "sequence">),
      sequence: sequenceOf(key),
    }));
  }

  /** Resolves when all that was recorded is in the store. */
  async close(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    // Those that come while a commit is under way go together in the next.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const entries = this.#waiting;
      this.#waiting = [];
      const ops: WriteOp[] = entries.flatMap(({ sequence, ...entry }) => [
        { kind: "put", key: keyOf(sequence), value: Buffer.from(JSON.stringify(entry)) },
        { kind: "delete", key: keyOf(Math.max(0, sequence - auditLimits.entriesMax)) },
      ]);
      try {
        await this.#store.commit(ops);
      } catch (error) {
        this.#lost += entries.length;
        this.#onLost(error);
      }
    }
    this.#writing = undefined;
  }
}

/** Numbers of one length, so that their order is that of the keys. */
function keyOf(sequence: number): Buffer {
  return Buffer.from(`audit/${String(sequence).padStart(16, "0")}`);
}

function sequenceOf(key: Uint8Array): number {
  return Number(Buffer.from(key).toString("latin1", from.length));
}

/** What a caller sent is no longer than it needs to be. */
function cut(event: AuditEvent): AuditEvent {
  const { target } = event;
  if (target === undefined || target.length <= auditLimits.textCharactersMax) return event;
  return { ...event, target: `${target.slice(0, auditLimits.textCharactersMax)}…` };
}
