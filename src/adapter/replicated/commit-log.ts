import assert from "node:assert/strict";
import type { Clock } from "../../port/clock.ts";
import type { CommitLog, LogEntry } from "../../port/commit-log.ts";
import type { SharedLog, SharedRecords } from "../../port/shared-log.ts";
import { type Bytes, StoreError } from "../../port/store.ts";
import type { NodeInfo } from "./entry.ts";
import { type AcceptedCommit, type Cursor, cursorBefore, Fold } from "./fold.ts";
import { type LeaseSettings, leaseSettings } from "./lease.ts";
import { Member, type Role } from "./member.ts";

export interface ReplicatedOptions {
  /** Closed with this log. */
  readonly log: SharedLog;
  readonly clock: Clock;
  /** Unique for each life of a process, at most 255 letters. */
  readonly writer: string;
  readonly info: NodeInfo;
  /** Where the store has come to; without one it has nothing. */
  readonly cursor?: Cursor | undefined;
  /** Whether what the store has applied may be deleted from the shared log. Not where other nodes still need it. */
  readonly trims?: boolean;
  readonly settings?: Partial<LeaseSettings>;
  /** Another rule than ours, for a test that shows what ours is needed for. */
  readonly makeFold?: (cursor: Cursor | undefined) => Fold;
  readonly onRole?: (role: Role) => void;
  readonly onError?: (error: unknown) => void;
  readonly onFatal?: (error: Error) => void;
}

/** Takes the commits of other nodes, each once and in order. */
export type CommitSink = (position: number, parts: readonly Bytes[]) => Promise<void>;

/** A commit that the store has not applied yet. */
interface UnappliedCommit {
  readonly position: number;
  /** Where its first part lies in the shared log. */
  readonly offset: number;
  readonly cursor: Cursor;
}

/** How long a node that closes tries to give its place up. */
const leaveMsMax = 3_000;

/** A commit log that the nodes of a cluster share. Positions count the accepted commits. Only the owner can append. */
export class ReplicatedLog implements CommitLog {
  readonly id: string;
  /** Where the commits are is not this machine. */
  readonly diskBytes = 0;
  readonly member: Member;
  readonly #options: ReplicatedOptions;
  #start: number;
  #unapplied: UnappliedCommit[] = [];
  #sink: CommitSink = async () => {};

  private constructor(options: ReplicatedOptions, fold: Fold) {
    const { log, clock, writer, info, settings, onRole, onError, onFatal } = options;
    this.id = log.id;
    this.#options = options;
    this.#start = fold.position + 1;
    this.member = new Member({
      log,
      clock,
      fold,
      writer,
      info,
      settings: { ...leaseSettings, ...settings },
      onCommit: async (commit, isOwn) => {
        const last = this.#unapplied.at(-1)?.position;
        assert(last === undefined || commit.position === last + 1, "commits are consecutive");
        this.#unapplied.push({ position: commit.position, offset: commit.offset, cursor: fold.cursor });
        if (!isOwn) await this.#sink(commit.position, commit.parts);
      },
      ...(onRole && { onRole }),
      ...(onError && { onError }),
      ...(onFatal && { onFatal }),
    });
  }

  static async open(options: ReplicatedOptions): Promise<ReplicatedLog> {
    const { log, cursor } = options;
    const { start } = await log.bounds();
    if (cursor !== undefined && cursor.next < start) {
      throw new StoreError(
        "damaged",
        `the shared log begins at ${start}, after ${cursor.next}, to which this node has come: give it an empty data folder`,
      );
    }
    const from = cursor ?? (await firstCursor(log));
    return new ReplicatedLog(options, options.makeFold?.(from) ?? new Fold(from));
  }

  /** Begins to follow the log, and to take the owner's place where it is free. */
  follow(sink: CommitSink): void {
    this.#sink = sink;
    this.member.start();
  }

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.member.position + 1;
  }

  append(bytes: Bytes): Promise<number> {
    return this.member.append(bytes);
  }

  async *read(from: number): AsyncIterable<LogEntry> {
    const { log } = this.#options;
    const { end } = this;
    if (from >= end) return;
    // A log that was trimmed can't be read from its beginning, and need not be.
    let fold = new Fold(await firstCursor(log));
    while (fold.position + 1 < end) {
      const found = await readUntrimmed(log, fold.next);
      if (found === undefined) {
        fold = new Fold(await firstCursor(log));
        continue;
      }
      for (const { offset, bytes } of found.records) {
        const { commit } = fold.take(offset, bytes);
        if (commit === undefined || commit.position < from || commit.position >= end) continue;
        yield { position: commit.position, bytes: joined(commit) };
      }
      fold.skipTo(found.next);
    }
  }

  cursorAfter(position: number): Cursor {
    const entry = this.#unapplied[position - (this.#unapplied[0]?.position ?? 0)];
    if (entry?.position !== position) throw new RangeError(`position ${position} is not kept`);
    return entry.cursor;
  }

  trim(before: number): void {
    const first = this.#unapplied[0];
    if (first === undefined || before <= first.position) return;
    // The last commit stays: from it a reader without any state learns the epoch.
    const count = Math.min(before - first.position, this.#unapplied.length - 1);
    this.#unapplied.splice(0, count);
    if (this.#options.trims !== true) return;
    this.#start = this.#unapplied[0]!.position;
    this.#options.log.trim(this.#unapplied[0]!.offset).catch((error: unknown) => this.#options.onError?.(error));
  }

  /** Gives the owner's place up where this node has it, so that another can take it at once. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    if (this.member.role === "owner") {
      const leaving = this.member.leave().catch((error: unknown) => this.#options.onError?.(error));
      await Promise.race([leaving, clock.sleep(leaveMsMax)]);
    }
    await this.member.close();
    await this.#options.log.close();
  }
}

/** Undefined for a log from its beginning. */
async function firstCursor(log: SharedLog): Promise<Cursor | undefined> {
  for (;;) {
    const { start } = await log.bounds();
    if (start === 0) return undefined;
    const found = await readUntrimmed(log, start);
    if (found === undefined) continue;
    const [first] = found.records;
    if (first === undefined) throw new StoreError("damaged", "the shared log was emptied");
    return cursorBefore(first.offset, first.bytes);
  }
}

/** Undefined where the log was trimmed beyond the offset: it has to be read from its new start. */
async function readUntrimmed(log: SharedLog, from: number): Promise<SharedRecords | undefined> {
  try {
    return await log.read(from, 0);
  } catch (error) {
    if ((await log.bounds()).start > from) return undefined;
    throw error;
  }
}

export function joined({ parts }: Pick<AcceptedCommit, "parts">): Buffer {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}
