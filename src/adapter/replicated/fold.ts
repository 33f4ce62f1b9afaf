import { type Bytes, StoreError } from "../../port/store.ts";
import { decodeInfo, decodeRecord, decodeSuccessor, type LogRecord, type NodeInfo } from "./entry.ts";

/** All that a reader must know to go on after a commit. It is kept with the commit in the store. */
export interface Cursor {
  /** The next offset of the shared log. */
  readonly next: number;
  readonly epoch: number;
  readonly writer: string;
  readonly seq: number;
  readonly position: number;
}

export interface AcceptedCommit {
  readonly position: number;
  /** Where its first part lies. */
  readonly offset: number;
  /** One part after another. */
  readonly parts: readonly Buffer[];
}

export interface Outcome {
  /** `skipped`: what no reader counts. */
  readonly kind: "skipped" | "begin" | "beat" | "part" | "commit" | "handover" | "presence";
  readonly record?: LogRecord;
  /** Of a `commit`: the whole of it. */
  readonly commit?: AcceptedCommit;
}

const skipped: Outcome = { kind: "skipped" };
/** Far above what the engine commits at once. */
const commitBytesMax = 1024 * 1024 * 1024;

/**
 * The one rule by which every reader of the shared log finds out what has happened. A `begin` counts only at the current epoch + 1. Anything
 * else counts only if its epoch and writer are the current ones and its seq is the last + 1. So a deposed owner's entries count nowhere, and
 * of several copies of an entry only the first does. Parts of a commit count when the last one is there.
 */
export class Fold {
  #next: number;
  #epoch: number;
  #writer: string;
  #seq: number;
  #position: number;
  #isReleased = false;
  #successor: string | undefined;
  #owner: NodeInfo | undefined;
  #drained: readonly string[] = [];
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #partsAt = 0;

  constructor(from: Cursor = { next: 0, epoch: 0, writer: "", seq: 0, position: 0 }) {
    this.#next = from.next;
    this.#epoch = from.epoch;
    this.#writer = from.writer;
    this.#seq = from.seq;
    this.#position = from.position;
  }

  /** The offset after what was folded. */
  get next(): number {
    return this.#next;
  }

  /** 0 as long as nobody has ever been the owner. */
  get epoch(): number {
    return this.#epoch;
  }

  get writer(): string {
    return this.#writer;
  }

  get seq(): number {
    return this.#seq;
  }

  /** Of the newest commit. */
  get position(): number {
    return this.#position;
  }

  /** The owner has given its place up. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Whom it has named. */
  get successor(): string | undefined {
    return this.#successor;
  }

  /** What the owner has told of itself; undefined where that was before this reader began. */
  get owner(): NodeInfo | undefined {
    return this.#owner;
  }

  /** The nodes that are not to become the owner, as the last one to tell of them has it. */
  get drained(): readonly string[] {
    return this.#drained;
  }

  get cursor(): Cursor {
    return {
      next: this.#next,
      epoch: this.#epoch,
      writer: this.#writer,
      seq: this.#seq,
      position: this.#position,
    };
  }

  /** Records must come in the order of their offsets; one from before is ignored. */
  take(offset: number, bytes: Bytes): Outcome {
    if (offset < this.#next) return skipped;
    this.#next = offset + 1;
    const record = decodeRecord(bytes);
    if (record === undefined) return skipped;
    if (record.kind === "presence") return { kind: "presence", record };
    if (!this.accepts(record)) return skipped;
    return this.#apply(offset, record);
  }

  /** Goes on after records that are of no interest to anybody. */
  skipTo(offset: number): void {
    this.#next = Math.max(this.#next, offset);
  }

  protected accepts({ kind, epoch, writer, seq }: LogRecord): boolean {
    if (kind === "begin") return epoch === this.#epoch + 1;
    return epoch === this.#epoch && writer === this.#writer && seq === this.#seq + 1 && !this.#isReleased;
  }

  #apply(offset: number, record: LogRecord): Outcome {
    const { kind, epoch, writer, seq, body } = record;
    this.#seq = seq;
    switch (kind) {
      case "begin":
        this.#epoch = epoch;
        this.#writer = writer;
        this.#isReleased = false;
        this.#successor = undefined;
        this.#heard(body);
        this.dropParts();
        return { kind, record };
      case "beat":
        this.#heard(body);
        return { kind, record };
      case "handover":
        this.#isReleased = true;
        this.#successor = decodeSuccessor(body);
        return { kind, record };
      default:
        return this.#part(offset, record);
    }
  }

  #heard(body: Buffer): void {
    const info = decodeInfo(body);
    this.#owner = info ?? this.#owner;
    this.#drained = info?.drained ?? [];
  }

  #part(offset: number, record: LogRecord): Outcome {
    if (this.#parts.length === 0) this.#partsAt = offset;
    this.#parts.push(record.body);
    this.#partsBytes += record.body.length;
    if (this.#partsBytes > commitBytesMax) throw damaged("a commit of the shared log has no end");
    if (record.hasMore) return { kind: "part", record };
    this.#position++;
    if (record.position !== this.#position) {
      throw damaged(`commit ${record.position} of the shared log comes after commit ${this.#position - 1}`);
    }
    const commit = { position: this.#position, offset: this.#partsAt, parts: this.#parts };
    this.#parts = [];
    this.#partsBytes = 0;
    return { kind: "commit", record, commit };
  }

  /** An owner that was deposed between two parts has committed nothing. */
  protected dropParts(): void {
    this.#parts = [];
    this.#partsBytes = 0;
  }
}

/**
 * Where to begin in a log whose first records were trimmed. What is first there was accepted: the log is trimmed to the beginning of a
 * commit.
 */
export function cursorBefore(offset: number, bytes: Bytes): Cursor {
  const record = decodeRecord(bytes);
  if (record === undefined || record.kind !== "commit") {
    throw damaged("the shared log does not begin with a commit of this cluster");
  }
  const { epoch, writer, seq, position } = record;
  return { next: offset, epoch, writer, seq: seq - 1, position: position - 1 };
}

function damaged(message: string): StoreError {
  return new StoreError("damaged", message);
}
