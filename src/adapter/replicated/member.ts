import assert from "node:assert/strict";
import { asBuffer } from "../../port/bytes.ts";
import type { Clock } from "../../port/clock.ts";
import type { SharedLog, SharedRecord, SharedRecords } from "../../port/shared-log.ts";
import { type Bytes, StoreError } from "../../port/store.ts";
import {
  decodeInfo,
  type EntryHead,
  encodeInfo,
  encodeRecord,
  type LogRecord,
  type NodeInfo,
  overheadBytesMax,
} from "./entry.ts";
import type { AcceptedCommit, Fold, Outcome } from "./fold.ts";
import { Fence, Lease, type LeaseSettings, type Moment, momentOf } from "./lease.ts";
import { Nodes, type SeenNode } from "./nodes.ts";

/** `claiming`: its `begin` is under way. `fenced`: it is the owner, but the lease of the one before may still run. */
export type Role = "standby" | "claiming" | "fenced" | "owner" | "leaving";

export interface MemberOptions {
  readonly log: SharedLog;
  readonly clock: Clock;
  /** What has been read so far. */
  readonly fold: Fold;
  /** Unique for each life of a process. */
  readonly writer: string;
  readonly info: NodeInfo;
  readonly settings: LeaseSettings;
  /** Takes the accepted commits in their order. It may take its time; nothing more is read meanwhile. Own ones are their appender's to keep. */
  readonly onCommit: (commit: AcceptedCommit, isOwn: boolean) => Promise<void> | void;
  /** Called when the node has become the owner that may answer, and when it no longer is. */
  readonly onRole?: (role: Role) => void;
  /** The shared log could not be read or written; it is tried again. */
  readonly onError?: (error: unknown) => void;
  /** What was read can't be true, or can't be kept: this node can't go on. */
  readonly onFatal?: (error: Error) => void;
}

interface Outgoing {
  readonly kind: EntryHead["kind"];
  readonly body: Bytes;
  readonly resolve: (position: number) => void;
  readonly reject: (error: unknown) => void;
}

/** Commits that may wait to be sent; the store above has a bound in bytes. */
const waitingMax = 10_000;

/** One node's part in the cluster: it follows the shared log, takes the place of the owner where nobody has it, and writes while it has it. */
export class Member {
  readonly #options: MemberOptions;
  readonly #fold: Fold;
  readonly #lease: Lease;
  readonly #fence: Fence;
  readonly #nodes: Nodes;
  readonly #closing = new AbortController();
  /** This node's disk has no room: it is the owner only where no other one can be. */
  isFull = false;
  #role: Role = "standby";
  readonly #waiting: Outgoing[] = [];
  /** The commit that is being sent. */
  #sending: Outgoing | undefined;
  #wake = new AbortController();
  /** When the last read began that came to the end of the log. */
  #caughtUpMs = -Infinity;
  /** Where the log ended at the last read. */
  #end = 0;
  /** When the log could last not be read. */
  #unreadMs = -Infinity;
  #toldMs = -Infinity;
  #sentMs = -Infinity;
  #isTelling = false;
  /** Until when this node leaves the place to the others: it has just given it up. */
  #yieldsUntilMs = -Infinity;
  /** What this node, as the owner, has been told of drained nodes and the log may not have yet. */
  #drainedNext: readonly string[] | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: MemberOptions) {
    const { clock, settings, fold } = options;
    assert(options.log.recordBytesMax > overheadBytesMax, "a record holds an entry's head and some of its body");
    this.#options = options;
    this.#fold = fold;
    this.#lease = new Lease(clock, settings);
    this.#fence = new Fence(clock, settings, fold.epoch === 0);
    this.#nodes = new Nodes(clock, settings.presenceMs);
  }

  start(): void {
    this.#running = this.#run();
  }

  get role(): Role {
    return this.#role;
  }

  get epoch(): number {
    return this.#fold.epoch;
  }

  /** Of the newest commit that this node knows. */
  get position(): number {
    return this.#fold.position;
  }

  /** Whether a read that is answered now sees everything that anybody has been told is written. */
  get mayAnswer(): boolean {
    return this.#role === "owner" && this.#lease.isValid;
  }

  /** The owner, as far as this node knows; undefined where there is none, or it has been silent for too long. */
  get owner(): NodeInfo | undefined {
    if (this.#isMine) return this.#role === "owner" ? this.#options.info : undefined;
    if (this.#fold.epoch === 0 || this.#fold.isReleased) return undefined;
    return this.#fence.silentMs < this.#options.settings.claimMs ? this.#fold.owner : undefined;
  }

  /** Since an accepted entry was read. */
  get silentMs(): number {
    return this.#fence.silentMs;
  }

  /** How far this node is behind the log: in entries, as far as it knows, and since it last had all of them. */
  get lag(): { readonly entries: number; readonly ms: number } {
    if (this.#isMine) return { entries: 0, ms: 0 };
    const ms = this.#options.clock.steadyMs() - this.#caughtUpMs;
    return { entries: Math.max(0, this.#end - this.#fold.next), ms };
  }

  /** This node and the others that it has heard of. */
  get nodes(): SeenNode[] {
    return this.#nodes.all();
  }

  isAlive(node: string): boolean {
    return this.#nodes.isAlive(node);
  }

  /** Resolves with the commit's position when the log has accepted it. Rejects when it never will. */
  append(bytes: Bytes): Promise<number> {
    if (this.#role !== "owner") return Promise.reject(fenced());
    if (this.#waiting.length >= waitingMax) {
      return Promise.reject(new StoreError("failed", "too many commits wait for the log"));
    }
    return this.#enqueue("commit", bytes);
  }

  /** Resolves when the log has accepted an entry that was sent after the call: this node was the owner then. */
  async confirm(): Promise<void> {
    if (this.#role !== "owner") throw fenced();
    await this.#enqueue("beat", this.#ownInfo());
  }

  /** The nodes that are not to become the owner as long as another one is alive. */
  get drained(): readonly string[] {
    return this.#drainedNext ?? this.#fold.drained;
  }

  /** Keeps a node from becoming the owner, or lets it again. Resolves when the log has it. */
  async drain(node: string, isDrained: boolean): Promise<void> {
    if (this.#role !== "owner") throw fenced();
    const others = this.drained.filter((each) => each !== node);
    this.#drainedNext = isDrained ? [...others, node] : others;
    await this.confirm();
  }

  /** Whether there is a node other than this one that is alive, has room, and may become the owner. */
  hasHeir(node: string): boolean {
    return this.#nodes.hasOther(node, this.drained);
  }

  #ownInfo(): Buffer {
    const { drained } = this;
    return encodeInfo({
      ...this.#options.info,
      position: this.#fold.position,
      ...(this.isFull && { full: true }),
      ...(drained.length > 0 && { drained }),
    });
  }

  /** Gives the place up, to a node that is named or to whichever comes first. Resolves when the log has it. */
  async leave(to?: string): Promise<void> {
    if (this.#role !== "owner" && this.#role !== "fenced") throw fenced();
    this.#setRole("leaving");
    // What was read from here on could be older than what the next owner acknowledges.
    this.#lease.end();
    await this.#enqueue("handover", encodeInfo(to === undefined ? {} : { to }));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#rouse();
    await this.#running;
  }

  #enqueue(kind: Outgoing["kind"], body: Bytes): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ kind, body, resolve, reject });
      this.#rouse();
    });
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  get #isMine(): boolean {
    return this.#fold.writer === this.#options.writer;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isClosing) {
        if (this.#role === "standby") await this.#follow();
        else await this.#own();
      }
    } catch (error) {
      this.#closing.abort();
      this.#options.onFatal?.(error as Error);
    }
    this.#stepDown();
  }

  /** Reads what there is, and claims the place where it is free. */
  async #follow(): Promise<void> {
    const { clock, settings } = this.#options;
    const isFree = this.#fold.isReleased || this.#fold.epoch === 0;
    const isRead = await this.#read(isFree ? settings.retryMs : settings.pollMs);
    if (!isRead) await clock.sleep(settings.retryMs, this.#closing.signal);
    void this.#tell();
    if (this.#mayClaim()) await this.#claim();
  }

  #mayClaim(): boolean {
    const { clock, settings, info } = this.#options;
    const nowMs = clock.steadyMs();
    // Who can't read would claim while the owner is well.
    if (nowMs - this.#caughtUpMs > 2 * settings.pollMs + settings.retryMs) return false;
    const { isReleased, successor, epoch, owner, drained } = this.#fold;
    const isFree = isReleased || epoch === 0;
    if (isFree && successor === info.node) return true;
    // Better it than nobody.
    if ((this.isFull || drained.includes(info.node)) && this.#nodes.hasOther(info.node, drained)) return false;
    const rank = this.#nodes.rank(info.node, epoch + 1, owner === undefined ? drained : [...drained, owner.node]);
    const isOther = successor !== undefined || nowMs < this.#yieldsUntilMs;
    const waitMs = isFree && !isOther ? 0 : settings.claimMs;
    // While the log could not be read the owner could not write either: it gets its time anew.
    const silentMs = Math.min(this.#fence.silentMs, nowMs - this.#unreadMs);
    return silentMs >= waitMs + rank * settings.claimStepMs;
  }

  async #claim(): Promise<void> {
    const { writer } = this.#options;
    const epoch = this.#fold.epoch + 1;
    this.#setRole("claiming");
    const head: EntryHead = { kind: "begin", epoch, writer, seq: 0, position: this.#fold.position, hasMore: false };
    try {
      await this.#decide(head, this.#ownInfo(), () => this.#fold.epoch >= epoch);
    } finally {
      if (this.#role === "claiming") {
        this.#setRole(this.#isMine && this.#fold.epoch === epoch ? "fenced" : "standby");
      }
    }
  }

  /** Writes what waits, and a beat where nothing does. */
  async #own(): Promise<void> {
    const { clock, settings } = this.#options;
    while (this.#isMine && !this.#fold.isReleased && !this.#isClosing) {
      if (this.#role === "fenced" && this.#fence.leftMs === 0) this.#setRole("owner");
      const nowMs = clock.steadyMs();
      const idleMs = nowMs - this.#sentMs;
      const isQuiet = nowMs - this.#toldMs >= settings.presenceMs;
      const next = isQuiet ? undefined : this.#waiting.shift();
      if (next !== undefined) await this.#send(next);
      else if (isQuiet || idleMs >= settings.beatMs) {
        await this.#sendEntry("beat", this.#ownInfo());
        this.#toldMs = clock.steadyMs();
      } else await this.#sleep(Math.max(1, Math.min(settings.beatMs - idleMs, this.#fence.leftMs || Infinity)));
    }
    this.#stepDown();
  }

  async #send(outgoing: Outgoing): Promise<void> {
    const { kind, body } = outgoing;
    this.#sending = outgoing;
    if (kind === "commit") await this.#sendCommit(body);
    else await this.#sendEntry(kind, body);
  }

  async #sendCommit(body: Bytes): Promise<void> {
    const partBytes = this.#options.log.recordBytesMax - overheadBytesMax;
    for (let at = 0; at === 0 || at < body.length; at += partBytes) {
      const part = asBuffer(body).subarray(at, at + partBytes);
      if (!this.#isMine || this.#isClosing) return;
      await this.#sendEntry("commit", part, at + partBytes < body.length);
    }
  }

  async #sendEntry(kind: EntryHead["kind"], body: Bytes, hasMore = false): Promise<void> {
    const { epoch, writer } = this.#fold;
    const seq = this.#fold.seq + 1;
    const position = this.#fold.position + (kind === "commit" ? 1 : 0);
    const head: EntryHead = { kind, epoch, writer, seq, position, hasMore };
    await this.#decide(head, body, () => this.#fold.epoch > epoch || this.#fold.seq >= seq);
  }

  /** Sends an entry, and the same bytes again, until this node's own fold has come past it. */
  async #decide(head: EntryHead, body: Bytes, isDecided: () => boolean): Promise<void> {
    const { clock, settings } = this.#options;
    const bytes = encodeRecord(head, body);
    const sent = momentOf(clock);
    this.#sentMs = sent.steadyMs;
    while (!this.#isClosing) {
      const offset = await this.#append(bytes);
      // Where nobody else has written there is nothing to read.
      if (offset !== undefined && offset === this.#fold.next) await this.#take({ offset, bytes });
      while (!this.#isClosing && this.#fold.next <= (offset ?? -1)) {
        if (!(await this.#read(settings.pollMs))) await clock.sleep(settings.retryMs, this.#closing.signal);
      }
      if (offset === undefined) {
        await clock.sleep(settings.retryMs, this.#closing.signal);
        await this.#read(0);
      }
      if (isDecided()) {
        if (this.#isMine && this.#fold.epoch === head.epoch) this.#renew(sent);
        return;
      }
    }
  }

  /** Undefined where nobody knows whether it is in the log. */
  async #append(bytes: Bytes): Promise<number | undefined> {
    try {
      return await this.#options.log.append(bytes);
    } catch (error) {
      this.#options.onError?.(error);
      return undefined;
    }
  }

  #renew(sent: Moment): void {
    if (this.#role !== "leaving") this.#lease.renew(sent);
  }

  /** False where the log could not be read. */
  async #read(waitMs: number): Promise<boolean> {
    const { log, clock, onError } = this.#options;
    const beganMs = clock.steadyMs();
    let found: SharedRecords;
    try {
      found = await log.read(this.#fold.next, waitMs, this.#closing.signal);
    } catch (error) {
      // What it lacks is gone from the log.
      if (error instanceof StoreError && error.kind === "damaged") throw error;
      this.#unreadMs = clock.steadyMs();
      onError?.(error);
      return false;
    }
    for (const record of found.records) {
      if (this.#isClosing) return false;
      await this.#take(record);
    }
    this.#fold.skipTo(found.next);
    this.#end = found.end;
    if (this.#fold.next >= found.end) this.#caughtUpMs = beganMs;
    return true;
  }

  async #take({ offset, bytes }: SharedRecord): Promise<void> {
    const wasMine = this.#isMine;
    const isFirst = this.#fold.epoch === 0;
    const wasReleased = this.#fold.isReleased;
    const outcome = this.#fold.take(offset, bytes);
    if (outcome.kind === "skipped") return;
    if (outcome.kind === "presence") {
      this.#heard(outcome.record);
      return;
    }
    if (outcome.kind === "begin") {
      if (!isFirst && !wasReleased) this.#fence.deposed();
      if (wasMine && !this.#isMine) this.#stepDown();
    }
    if (outcome.kind === "commit") this.#fence.committed();
    this.#fence.read();
    await this.#act(outcome);
  }

  async #act({ kind, record, commit }: Outcome): Promise<void> {
    if (kind === "begin" || kind === "beat") this.#heard(record);
    if (commit !== undefined) await this.#options.onCommit(commit, this.#isMine);
    // At once, since the next record may depose this node.
    if (this.#isMine && (commit !== undefined || kind === this.#sending?.kind)) {
      this.#sending?.resolve(this.#fold.position);
      this.#sending = undefined;
    }
  }

  #heard(record: LogRecord | undefined): void {
    const info = record === undefined ? undefined : decodeInfo(record.body);
    if (info !== undefined) this.#nodes.heard(info);
  }

  /** Tells the others that this node is there. Nothing depends on it, so nobody waits for it. */
  async #tell(): Promise<void> {
    const { log, clock, settings, info, writer, onError } = this.#options;
    if (this.#isTelling || clock.steadyMs() - this.#toldMs < settings.presenceMs) return;
    this.#isTelling = true;
    this.#toldMs = clock.steadyMs();
    const { epoch, position } = this.#fold;
    const head: EntryHead = { kind: "presence", epoch, writer, seq: 0, position, hasMore: false };
    try {
      const full = this.isFull && ({ full: true } as const);
      await log.append(encodeRecord(head, encodeInfo({ ...info, position, ...full })));
    } catch (error) {
      onError?.(error);
    } finally {
      this.#isTelling = false;
    }
  }

  /** Nothing that waits was or will be accepted: the log has another owner, or none. */
  #stepDown(): void {
    const { clock, settings } = this.#options;
    this.#lease.end();
    if (this.#role === "leaving" && this.#fold.isReleased) {
      this.#yieldsUntilMs = clock.steadyMs() + settings.claimMs;
    }
    const undecided = this.#isClosing && this.#isMine && !this.#fold.isReleased ? this.#sending : undefined;
    const open = [...(this.#sending === undefined ? [] : [this.#sending]), ...this.#waiting.splice(0)];
    this.#sending = undefined;
    this.#drainedNext = undefined;
    this.#setRole("standby");
    // One that was sent and not decided stays open: it may still be accepted.
    for (const each of open) if (each !== undecided) each.reject(fenced());
  }

  #setRole(role: Role): void {
    if (this.#role === role) return;
    this.#role = role;
    this.#options.onRole?.(role);
  }

  #rouse(): void {
    if (!this.#wake.signal.aborted) this.#wake.abort();
  }

  async #sleep(ms: number): Promise<void> {
    const wake = new AbortController();
    this.#wake = wake;
    if (this.#waiting.length > 0 || this.#isClosing) return;
    await this.#options.clock.sleep(ms, wake.signal);
  }
}

function fenced(): StoreError {
  return new StoreError("fenced", "this node is not the owner; nothing was written");
}
