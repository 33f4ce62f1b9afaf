import { randomBytes } from "node:crypto";
import { asBuffer, compareBytes } from "../../port/bytes.ts";
import { mergeWrites, opsInRange } from "../../port/merge.ts";
import {
  type Bytes,
  type CommitOptions,
  type Entry,
  type Range,
  type Reader,
  type Snapshot,
  type Store,
  StoreError,
  type StoreStats,
  type WriteOp,
} from "../../port/store.ts";
import type { SlotFiles, Slots } from "./slot-file.ts";
import {
  decodeMark,
  decodeWrite,
  encodeMark,
  encodeWrite,
  idBytes,
  type Mark,
  payloadBytesMax,
  slotBytes,
  slotsOf,
  slotsPerWriteMax,
} from "./slots.ts";

type Put = Extract<WriteOp, { kind: "put" }>;

/** A write that is in the file and not in the store. */
interface Held extends Put {
  /** Of its first slot. */
  readonly number: number;
}

export interface JournaledOptions {
  /** Keys that begin with this byte are the ones whose writes may go to the file. Who puts them must not change their bytes afterwards. */
  readonly table: number;
  /** Where the store remembers the file; nobody else uses this key, and no reader sees it. */
  readonly mark: Bytes;
  readonly files: SlotFiles;
  readonly slots?: number;
}

/** 32 MiB. */
const slotsDefault = 8192;
/** Writes that go to the store before another file is tried, after one could not be made. */
const retryWrites = 10_000;
/** To clear what a write that failed may have left. */
const clearAttempts = 8;
const noSlot = Buffer.alloc(slotBytes);

/**
 * A store with a file beside it for commits that consist of one small put of a certain table. In the store each would
 * cost several scattered pages and two syncs, one after another; in the file it is a few pages in a row and one. Such a write stays in the file and in
 * memory until it is deleted, which the caller does soon.
 *
 * The file is a ring of slots, numbered on from lap to lap: the one with number n is slot n modulo their count. A write lies in one or more
 * of them, which follow on those of the write before; one that would not fit in before the end of the ring begins at its start. The store's mark
 * says from which number on they count. It changes in the commit that deletes the writes before.
 */
export class JournaledStore implements Store {
  readonly #inner: Store;
  readonly #options: JournaledOptions;
  readonly #markKey: Bytes;
  #mark: Mark | undefined;
  #slots: Slots | undefined;
  /** By their numbers. */
  #held: Held[] = [];
  #next = 0;
  readonly #room = Buffer.alloc(slotsPerWriteMax * slotBytes);
  /** The write of slots that is under way; never rejects. */
  #writing: Promise<unknown> | undefined;
  /** The first slot of a write that failed: it may be there or not, and must be gone before anything else is written. */
  #torn: number | undefined;
  /** Commits of the store that are under way, and that no other may overtake. */
  #passing = 0;
  #preparing: Promise<void> | undefined;
  #writesUntilRetry = 0;
  #isClosed = false;

  private constructor(inner: Store, options: JournaledOptions) {
    this.#inner = inner;
    this.#options = options;
    this.#markKey = options.mark;
  }

  /** Takes over what an earlier process left. Throws a StoreError when file and store do not belong together. */
  static open(inner: Store, options: JournaledOptions): JournaledStore {
    const store = new JournaledStore(inner, options);
    store.#load();
    return store;
  }

  #load(): void {
    const stored = this.#inner.get(this.#markKey);
    this.#mark = stored === undefined ? undefined : decodeMark(stored);
    if (stored !== undefined && this.#mark === undefined) throw damaged("the store's mark of its journal is damaged");
    const found = this.#options.files.open();
    const mark = this.#mark;
    const isInUse = mark !== undefined && !mark.isClosed;
    if (found === undefined) {
      if (isInUse) throw damaged("the store's journal, the file beside it, is gone");
      return;
    }
    const { slots, bytes } = found;
    this.#slots = slots;
    const held: (Held & { readonly slots: number })[] = [];
    for (let slot = 0; slot < slots.count; slot++) {
      const read = decodeWrite(bytes, slot);
      if (read === undefined) continue;
      if (mark === undefined || !mark.id.equals(read.id)) throw damaged("the journal belongs to another store");
      if (isInUse && read.write.number >= mark.from) held.push({ kind: "put", ...read.write });
    }
    if (!isInUse) {
      this.#slots = undefined;
      void slots.close();
      return;
    }
    held.sort((a, b) => a.number - b.number);
    let next = mark.from;
    for (const { number, slots: taken } of held) {
      if (number !== numberFor(next, taken, slots.count)) throw damaged("a write in the store's journal is damaged");
      next = number + taken;
    }
    this.#held = held;
    this.#next = next;
  }

  get(key: Bytes): Bytes | undefined {
    return this.#isElsewhere(key) ? this.#view(this.#inner).get(key) : this.#inner.get(key);
  }

  peek(key: Bytes): Bytes | undefined {
    return this.#isElsewhere(key) ? this.#view(this.#inner).peek(key) : this.#inner.peek(key);
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    return this.#isElsewhere(key) ? this.#view(this.#inner).head(key, bytesMax) : this.#inner.head(key, bytesMax);
  }

  range(range: Range): Iterable<Entry> {
    return this.#covers(range) ? this.#view(this.#inner).range(range) : this.#inner.range(range);
  }

  borrow(range: Range): Iterable<Entry> {
    return this.#covers(range) ? this.#view(this.#inner).borrow(range) : this.#inner.borrow(range);
  }

  keys(range: Range): Iterable<Bytes> {
    return this.#covers(range) ? this.#view(this.#inner).keys(range) : this.#inner.keys(range);
  }

  snapshot(): Snapshot {
    const inner = this.#inner.snapshot();
    return new JournaledSnapshot(inner, this.#heldIn(inner), this.#markKey);
  }

  #isElsewhere(key: Bytes): boolean {
    return key[0] === this.#options.table || key[0] === this.#markKey[0];
  }

  /** Whether what the file holds, or the mark, may lie in a range. */
  #covers({ from, to }: Range): boolean {
    const { table } = this.#options;
    const mark = this.#markKey[0]!;
    const low = from?.[0] ?? 0;
    const high = to === undefined ? 255 : to.length > 1 ? to[0]! : (to[0] ?? 0) - 1;
    return (low <= table && table <= high) || (low <= mark && mark <= high);
  }

  #view(inner: Reader): JournaledReader {
    return new JournaledReader(inner, this.#heldIn(inner), this.#markKey);
  }

  /** A commit may have taken writes out of the file that are still listed: the mark tells as of when the view is. */
  #heldIn(inner: Reader): readonly Held[] {
    const stored = this.#held.length === 0 ? undefined : inner.get(this.#markKey);
    const from = (stored === undefined ? undefined : decodeMark(stored))?.from ?? 0;
    return this.#held.filter(({ number }) => number >= from);
  }

  async commit(ops: readonly WriteOp[], { aside = false }: CommitOptions = {}): Promise<void> {
    if (ops.length === 0) return;
    // Another one that waited too may have begun to write.
    while (this.#writing !== undefined || this.#torn !== undefined) await this.#whole();
    const lone = this.#lone(ops);
    if (lone === undefined) return this.#pass(ops, aside);
    return this.#append(lone);
  }

  /** The put that may go to the file, when it can. */
  #lone(ops: readonly WriteOp[]): Put | undefined {
    const op = ops[0]!;
    if (ops.length !== 1 || op.kind !== "put" || op.key[0] !== this.#options.table) return undefined;
    if (op.key.length + op.value.length > payloadBytesMax || this.#passing > 0 || this.#isClosed) return undefined;
    if (this.#slots === undefined) {
      if (this.#preparing === undefined && --this.#writesUntilRetry < 0) this.#preparing = this.#prepare();
      return undefined;
    }
    const { count } = this.#slots;
    const slots = slotsOf(op.key, op.value);
    if (slots > 1 && this.#mark?.isNarrow) return undefined;
    const number = numberFor(this.#next, slots, count);
    if (slots > count || number + slots > (this.#held[0]?.number ?? number) + count) return undefined;
    return this.#isAfterHeld(op.key) ? op : undefined;
  }

  /** What the file holds ascends, so that a key is held once and is found to be new at once. */
  #isAfterHeld(key: Bytes): boolean {
    const last = this.#held.at(-1);
    return last === undefined || compareBytes(key, last.key) > 0;
  }

  async #append({ key, value }: Put): Promise<void> {
    const slots = this.#slots!;
    const taken = slotsOf(key, value);
    const number = numberFor(this.#next, taken, slots.count);
    const done = slots.write(number % slots.count, encodeWrite(this.#room, this.#mark!.id, number, key, value));
    this.#writing = done.catch(() => undefined);
    try {
      await done;
    } catch (cause) {
      this.#torn = number % slots.count;
      this.#writing = undefined;
      await this.#clear();
      throw new StoreError("failed", `the store's journal could not be written: ${text(cause)}`, cause);
    }
    this.#writing = undefined;
    this.#next = number + taken;
    this.#held.push({ kind: "put", number, key, value });
  }

  /** What is refused must not come to light after a crash, so it is gone before anybody is told; unless the disk takes nothing any more. */
  async #clear(): Promise<void> {
    for (let attempt = 0; attempt < clearAttempts && this.#torn !== undefined; attempt++) {
      await this.#whole().catch(() => undefined);
    }
  }

  /** Resolves once nothing is being written and no slot may hold a write that was refused. */
  async #whole(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#torn === undefined) return;
    const done = this.#slots!.write(this.#torn, noSlot);
    this.#writing = done.catch(() => undefined);
    try {
      await done;
      this.#torn = undefined;
    } catch (cause) {
      throw new StoreError("failed", `the store's journal could not be written: ${text(cause)}`, cause);
    } finally {
      this.#writing = undefined;
    }
  }

  /** A commit of the store, with what it changes of the file. */
  async #pass(ops: readonly WriteOp[], aside: boolean): Promise<void> {
    const taken = this.#taken(ops);
    if (!aside) this.#passing++;
    try {
      await this.#inner.commit(taken === undefined ? ops : taken.ops);
    } finally {
      if (!aside) this.#passing--;
    }
    if (taken === undefined) return;
    this.#mark = taken.mark;
    // Their numbers ascend.
    let gone = 0;
    while (gone < this.#held.length && this.#held[gone]!.number < taken.mark.from) gone++;
    this.#held.splice(0, gone);
  }

  /** What a commit is that deletes or replaces writes of the file; undefined for any other. */
  #taken(ops: readonly WriteOp[]): { readonly ops: WriteOp[]; readonly mark: Mark } | undefined {
    const held = this.#held;
    if (held.length === 0) return undefined;
    const { table } = this.#options;
    const touched = new Set<string>();
    for (const { key } of ops) if (key[0] === table && !this.#isAfterHeld(key)) touched.add(nameOf(key));
    if (touched.size === 0) return undefined;
    let first = 0;
    while (first < held.length && touched.delete(nameOf(held[first]!.key))) first++;
    // Mostly the first ones go and nothing else, and the others need not be looked at.
    const after = held.slice(first);
    const kept = touched.size === 0 ? after : after.filter(({ key }) => !touched.has(nameOf(key)));
    if (kept.length === held.length) return undefined;
    // Where the first ones go, the others stay. What lies before one that goes moves to the store.
    const gone = held.length - kept.length;
    const isInOrder = kept[0] === undefined || kept[0] === held[gone];
    const from = isInOrder ? (kept[0]?.number ?? this.#next) : this.#next;
    const mark: Mark = { id: this.#mark!.id, from, isClosed: false };
    const put: Put = { kind: "put", key: this.#markKey, value: encodeMark(mark) };
    const moved: Put[] = isInOrder ? [] : kept.map(({ key, value }) => ({ kind: "put", key, value }));
    // The store may have an older value of a key.
    return { ops: [...ops, ...moved, put], mark };
  }

  /** Makes the file. Until then, and where it can't be made, everything goes to the store. */
  async #prepare(): Promise<void> {
    const { files, slots: count = slotsDefault } = this.#options;
    let slots: Slots | undefined;
    try {
      slots = await files.create(count);
      const mark: Mark = { id: randomBytes(idBytes), from: 0, isClosed: false };
      await this.#inner.commit([{ kind: "put", key: this.#markKey, value: encodeMark(mark) }]);
      this.#mark = mark;
      this.#next = 0;
      this.#slots = slots;
    } catch {
      await slots?.close().catch(() => undefined);
      this.#writesUntilRetry = retryWrites;
    } finally {
      this.#preparing = undefined;
    }
  }

  stats(): StoreStats {
    const { diskBytes, entries } = this.#inner.stats();
    const slots = this.#slots?.count ?? 0;
    return {
      diskBytes: diskBytes + slots * slotBytes,
      entries: entries + this.#held.length - (this.#mark === undefined ? 0 : 1),
    };
  }

  /** Gives the file up where nothing is left in it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#preparing;
    await this.#whole().catch(() => undefined);
    if (this.#slots !== undefined) {
      const isGivenUp = this.#held.length === 0 && this.#torn === undefined && (await this.#giveUp());
      await this.#slots.close();
      if (isGivenUp) this.#options.files.remove();
    }
    await this.#inner.close();
  }

  async #giveUp(): Promise<boolean> {
    const mark: Mark = { ...this.#mark!, from: this.#next, isClosed: true };
    try {
      await this.#inner.commit([{ kind: "put", key: this.#markKey, value: encodeMark(mark) }]);
      return true;
    } catch {
      // Without room for it the file stays, as it does after a crash.
      return false;
    }
  }
}

/** The number of the first of so many slots that follow on the ones before `next`, all in one lap of the ring. */
function numberFor(next: number, slots: number, count: number): number {
  const place = next % count;
  return place + slots > count ? next + count - place : next;
}

/** A view of the store with what the file holds and without the mark. */
class JournaledReader implements Reader {
  readonly #inner: Reader;
  readonly #held: readonly Held[];
  readonly #markKey: Bytes;

  constructor(inner: Reader, held: readonly Held[], markKey: Bytes) {
    this.#inner = inner;
    this.#held = held;
    this.#markKey = markKey;
  }

  #find(key: Bytes): Held | undefined {
    return this.#held.find((each) => compareBytes(each.key, key) === 0);
  }

  #isMark(key: Bytes): boolean {
    return compareBytes(key, this.#markKey) === 0;
  }

  get(key: Bytes): Bytes | undefined {
    const value = this.#find(key)?.value;
    if (value !== undefined) return Buffer.from(value);
    return this.#isMark(key) ? undefined : this.#inner.get(key);
  }

  peek(key: Bytes): Bytes | undefined {
    return this.#find(key)?.value ?? (this.#isMark(key) ? undefined : this.#inner.peek(key));
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    const value = this.#find(key)?.value;
    if (value !== undefined) return Buffer.from(value.subarray(0, bytesMax));
    return this.#isMark(key) ? undefined : this.#inner.head(key, bytesMax);
  }

  range(range: Range): Iterable<Entry> {
    return this.#merged(this.#inner.range(unlimited(range)), range, (value) => Buffer.from(value));
  }

  borrow(range: Range): Iterable<Entry> {
    return this.#merged(this.#inner.borrow(unlimited(range)), range, (value) => value);
  }

  *keys(range: Range): Iterable<Bytes> {
    const entries = withValues(this.#inner.keys(unlimited(range)));
    for (const { key } of this.#merged(entries, range, (value) => value)) yield key;
  }

  *#merged(stored: Iterable<Entry>, range: Range, own: (bytes: Bytes) => Bytes): Iterable<Entry> {
    // What another hides or leaves out does not count against the limit.
    const writes = opsInRange([...this.#held, { kind: "delete", key: this.#markKey }], range);
    const shown = writes.map(
      (op): WriteOp => (op.kind === "put" ? { ...op, key: own(op.key), value: own(op.value) } : op),
    );
    yield* mergeWrites(stored, shown, range);
  }
}

class JournaledSnapshot extends JournaledReader implements Snapshot {
  readonly #snapshot: Snapshot;

  constructor(inner: Snapshot, held: readonly Held[], markKey: Bytes) {
    super(inner, held, markKey);
    this.#snapshot = inner;
  }

  [Symbol.dispose](): void {
    this.#snapshot[Symbol.dispose]();
  }
}

const noBytes = Buffer.alloc(0);

function* withValues(keys: Iterable<Bytes>): Iterable<Entry> {
  for (const key of keys) yield { key, value: noBytes };
}

function unlimited({ limit: _, ...range }: Range): Range {
  return range;
}

function nameOf(key: Bytes): string {
  return asBuffer(key).toString("latin1");
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function damaged(what: string): StoreError {
  return new StoreError("damaged", `${what}; restore the data from a backup`);
}
