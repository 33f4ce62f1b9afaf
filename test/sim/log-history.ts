import { encodeBatch } from "../../src/engine/log/record-batch.ts";
import { partitionOfKey } from "../../src/engine/murmur2.ts";
import type { FetchResult } from "../../src/engine/stream/streams.ts";
import type { ConsistencyToken } from "../../src/engine/token.ts";
import type { Moment, WorldTime } from "./clock.ts";
import { demand } from "./outcome.ts";
import { dedupWindowMs } from "./process.ts";

/** A record as it was sent. */
export interface SentRecord {
  readonly key: string | undefined;
  readonly value: string | undefined;
  readonly timestampMs: number;
  /** Whether the sender gives the time; else it is the clock's. */
  readonly isTimed: boolean;
  /** The id of the event that it is, if it is one. */
  readonly event?: string;
}

export interface Place {
  readonly partition: number;
  readonly offset: number;
}

/** A record as it was read: `name` tells which one it is. */
export interface FoundRecord {
  readonly name: string;
  readonly offset: number;
  readonly key: string | undefined;
  readonly value: string | undefined;
  readonly timestampMs: number;
}

/**
 * `unknown`: the process ended before it answered; the next look at the whole log makes it `done` or `absent`.
 * `refused`: it was answered with an error, so nothing of it may ever be there.
 */
export type WriteState = "pending" | "done" | "refused" | "unknown" | "absent";

/** One request that writes to a stream. */
export interface LogWrite {
  readonly id: number;
  readonly records: readonly SentRecord[];
  /** Where each record is, as far as that is known. */
  readonly places: (Place | undefined)[];
  readonly sentAt: Moment;
  state: WriteState;
  endedAt: Moment;
  /** Records that another request was writing when this was sent: the engine may leave them to it. */
  readonly contested: ReadonlySet<number>;
}

interface Cell {
  readonly write: LogWrite;
  readonly index: number;
}

interface PartitionHistory {
  readonly cells: (Cell | undefined)[];
  /** The end that someone was told of: it never falls. */
  next: number;
  /** The start that someone was told of. It falls only with the clock: what was too old then may not be now. */
  start: number;
}

export interface StreamRetention {
  readonly maxAgeMs: number | null;
  readonly maxBytes: number | null;
}

interface EventCopy {
  readonly write: LogWrite;
  readonly place: Place;
  readonly timestampMs: number;
}

interface Repeat {
  readonly write: LogWrite;
  readonly index: number;
  readonly first: Place;
}

/** All that was sent to a stream and seen of it, and what must hold of it. */
export class LogHistory {
  readonly name: string;
  readonly retention: StreamRetention | undefined;
  readonly partitions: readonly PartitionHistory[];
  readonly writes = new Map<number, LogWrite>();
  readonly #time: WorldTime;
  readonly #repeats: Repeat[] = [];
  readonly #ends: Place[] = [];
  id = 0;

  constructor(name: string, partitions: number, retention: StreamRetention | undefined, time: WorldTime) {
    this.name = name;
    this.retention = retention;
    this.partitions = Array.from({ length: partitions }, () => ({
      cells: [],
      next: 0,
      start: 0,
    }));
    this.#time = time;
  }

  begin(id: number, records: readonly SentRecord[]): LogWrite {
    const places = records.map(() => undefined);
    const pending = [...this.writes.values()].filter(({ state }) => state === "pending");
    const taken = new Set(pending.flatMap((write) => write.records.flatMap(({ event }) => event ?? [])));
    const contested = new Set(records.flatMap(({ event }, i) => (event !== undefined && taken.has(event) ? [i] : [])));
    const now = this.#time.moment;
    const write: LogWrite = { id, records, places, sentAt: now, state: "pending", endedAt: now, contested };
    this.writes.set(id, write);
    return write;
  }

  /** The partition of a key, as the engine's own table of vectors fixes it. */
  partitionOf(key: string): number {
    return partitionOfKey(Buffer.from(key), this.partitions.length);
  }

  next(partition: number): number {
    return this.partitions[partition]!.next;
  }

  /** Names all that is known of a partition. */
  tokenOf(partition: number): ConsistencyToken {
    const next = this.next(partition);
    return next === 0 ? [] : [{ stream: this.id, partition, offset: next - 1 }];
  }

  /** A record of the write is there. */
  place(write: LogWrite, index: number, place: Place): void {
    const { cells } = this.partitions[place.partition]!;
    const name = `record ${write.id}.${index} at ${this.#show(place)}`;
    const there = cells[place.offset];
    demand(there === undefined || (there.write === write && there.index === index), () => {
      return `${name}, where ${there?.write.id}.${there?.index} was`;
    });
    const before = write.places[index];
    demand(before === undefined || (before.partition === place.partition && before.offset === place.offset), () => {
      return `${name} is also at ${this.#show(before!)}`;
    });
    demand(write.state !== "refused" && write.state !== "absent", () => `${name}, but the write was ${write.state}`);
    cells[place.offset] = { write, index };
    write.places[index] = place;
  }

  /** A write was acknowledged, with the offset after its last record in each partition. */
  acknowledge(write: LogWrite): void {
    write.state = "done";
    write.endedAt = this.#time.moment;
    for (const place of write.places) if (place !== undefined) this.#raise(place.partition, place.offset + 1);
  }

  refuse(write: LogWrite): void {
    write.endedAt = this.#time.moment;
    write.state = "refused";
    demand(
      write.places.every((place) => place === undefined),
      () => `write ${write.id} was refused and is there`,
    );
  }

  lose(write: LogWrite): void {
    write.endedAt = this.#time.moment;
    write.state = "unknown";
  }

  /** The engine said that an event was written before. */
  repeat(write: LogWrite, index: number, first: Place): void {
    this.#repeats.push({ write, index, first });
  }

  /** A refusal told where a partition ends: once nothing is under way, it must at least be there. */
  sawEnd(partition: number, end: number): void {
    this.#ends.push({ partition, offset: end });
  }

  /** A page from `offset` to the end of the partition; `least` is the end that was known when it was asked for. */
  sawPage(
    partition: number,
    page: Omit<FetchResult, "read">,
    found: readonly FoundRecord[],
    least: number,
    isOwners = true,
  ): void {
    const history = this.partitions[partition]!;
    const where = `${this.name}/${partition}`;
    demand(page.highWatermark >= least, () => `${where} ends at ${page.highWatermark}, but ${least} was known`);
    this.sawStart(partition, page.logStartOffset);
    demand(found.length === page.highWatermark - page.offset, () => {
      return `${where}: ${found.length} records from ${page.offset} to ${page.highWatermark}`;
    });
    for (const [i, record] of found.entries()) {
      const at = { partition, offset: page.offset + i };
      demand(record.offset === at.offset, () => `${where}: offset ${record.offset} instead of ${at.offset}`);
      this.#identify(record, at);
    }
    if (isOwners) this.#raise(partition, page.highWatermark);
    this.#checkWhole(history, where, page);
    if (page.offset === page.logStartOffset) this.#checkBytes(history, where, page);
  }

  sawStart(partition: number, start: number): void {
    const history = this.partitions[partition]!;
    const newest = history.cells[history.start - 1]?.write.sentAt;
    const isBack = start < history.start && newest?.setBacks === this.#time.moment.setBacks;
    demand(!isBack, () => `${this.name}/${partition}: the start fell from ${history.start} to ${start}`);
    history.start = start;
    const { maxAgeMs = null, maxBytes = null } = this.retention ?? {};
    demand(start === 0 || this.retention !== undefined, () => `${this.name} has no retention and starts at ${start}`);
    if (maxAgeMs === null || maxBytes !== null) return;
    for (let offset = start - 1; offset >= 0; offset--) {
      const cell = history.cells[offset];
      if (cell === undefined) continue;
      const { sentAt, endedAt, records } = cell.write;
      // A record is as old as its time tells, or its place in the log: the clock may have been set back since it was sent.
      const sinceMs = Math.min(records[cell.index]!.timestampMs, this.#time.earliestMs(sentAt, endedAt));
      const oldestMs = this.#time.latestMs(sentAt) - maxAgeMs;
      demand(sinceMs < oldestMs, () => `${this.name}/${partition}: offset ${offset} was trimmed too early`);
      return;
    }
  }

  /** The first record at or after a time. */
  sawSeek(partition: number, timestampMs: number, page: Omit<FetchResult, "read">): void {
    const { cells } = this.partitions[partition]!;
    const timeOf = (offset: number) => {
      const cell = cells[offset];
      return cell?.write.records[cell.index]?.timestampMs;
    };
    const where = `${this.name}/${partition} sought at ${timestampMs}`;
    if (page.offset < page.highWatermark) {
      const found = timeOf(page.offset);
      demand(found === undefined || found >= timestampMs, () => `${where}: offset ${page.offset} is at ${found}`);
    }
    for (let offset = page.logStartOffset; offset < page.offset; offset++) {
      const passed = timeOf(offset);
      demand(passed === undefined || passed < timestampMs, () => `${where} passed over offset ${offset} at ${passed}`);
    }
  }

  /** After the whole log was read, with nothing under way: what the crash left open is decided, and everything adds up. */
  settle(): void {
    for (const write of this.writes.values()) {
      if (write.state === "unknown") this.#decide(write);
      if (write.state === "done" && this.retention === undefined) this.#checkAtomic(write);
    }
    for (const [number, { cells, next, start }] of this.partitions.entries()) {
      for (let offset = start; offset < next; offset++) {
        demand(cells[offset] !== undefined, () => `${this.name}/${number}: nobody wrote offset ${offset}`);
      }
      demand(cells.length <= next, () => `${this.name}/${number} ends at ${next}, but ${cells.length} was written`);
    }
    for (const { partition, offset } of this.#ends.splice(0)) {
      const { next } = this.partitions[partition]!;
      demand(offset <= next, () => `${this.name}/${partition} ends at ${next}, but a writer was told ${offset}`);
    }
    this.#checkRepeats();
    this.#checkCopies();
  }

  /** The records of a partition below an offset, which must all be known. */
  *below(partition: number, offset: number): Iterable<SentRecord> {
    const { cells } = this.partitions[partition]!;
    for (let at = 0; at < offset; at++) {
      const cell = cells[at];
      demand(cell !== undefined, () => `${this.name}/${partition}: nobody wrote offset ${at}, which was applied`);
      yield cell!.write.records[cell!.index]!;
    }
  }

  #raise(partition: number, next: number): void {
    const history = this.partitions[partition]!;
    history.next = Math.max(history.next, next);
  }

  #identify(record: FoundRecord, at: Place): void {
    const [id, index] = record.name.split(".").map(Number);
    const write = this.writes.get(id!);
    demand(write !== undefined, () => `${this.#show(at)} holds ${record.name}, which nobody sent`);
    const sent = write!.records[index!]!;
    const same = sent.key === record.key && sent.value === record.value && sent.timestampMs === record.timestampMs;
    demand(same, () => `${this.#show(at)} holds ${JSON.stringify(record)} instead of ${JSON.stringify(sent)}`);
    this.place(write!, index!, at);
  }

  /** A write is seen whole or not at all, also by a reader beside it. */
  #checkWhole(history: PartitionHistory, where: string, page: Omit<FetchResult, "read">): void {
    const last = history.cells[page.highWatermark - 1];
    if (last === undefined || page.highWatermark === page.logStartOffset) return;
    const { write } = last;
    const rest = write.places.filter(
      (place, i) => i > last.index && place?.partition === write.places[last.index]?.partition,
    );
    demand(
      rest.every((place) => place!.offset < page.highWatermark),
      () => `${where} ends within write ${write.id}`,
    );
  }

  /** The newest batches that fit into the limit are kept, and at least one. */
  #checkBytes(history: PartitionHistory, where: string, page: Omit<FetchResult, "read">): void {
    const maxBytes = this.retention?.maxBytes ?? null;
    if (maxBytes === null || this.retention?.maxAgeMs !== null) return;
    let bytes = 0;
    let batches = 0;
    for (let offset = page.highWatermark - 1; offset >= page.logStartOffset; ) {
      const { write } = history.cells[offset]!;
      bytes += bytesOf(write);
      batches++;
      offset -= write.records.length;
    }
    demand(bytes <= maxBytes || batches <= 1, () => `${where} keeps ${bytes} bytes in ${batches} batches`);
    const before = history.cells[page.logStartOffset - 1];
    if (before === undefined) return;
    demand(batches > 0 && bytes + bytesOf(before.write) > maxBytes, () => `${where} was trimmed to ${bytes} bytes`);
  }

  #decide(write: LogWrite): void {
    const there = write.places.filter((place) => place !== undefined).length;
    write.state = there > 0 ? "done" : "absent";
  }

  #checkAtomic(write: LogWrite): void {
    const ends = new Map<number, number>();
    for (const [i, place] of write.places.entries()) {
      if (place === undefined) {
        if (write.contested.has(i)) continue;
        const { event } = write.records[i]!;
        demand(
          event !== undefined && this.#copies(event).length > 0,
          () => `${write.id}.${i} of ${this.name} is missing`,
        );
        continue;
      }
      const end = ends.get(place.partition);
      demand(end === undefined || place.offset === end, () => `write ${write.id} of ${this.name} is not in one piece`);
      ends.set(place.partition, place.offset + 1);
    }
  }

  #copies(event: string): EventCopy[] {
    const copies: EventCopy[] = [];
    for (const write of this.writes.values()) {
      for (const [i, place] of write.places.entries()) {
        const record = write.records[i]!;
        if (place !== undefined && record.event === event)
          copies.push({ write, place, timestampMs: record.timestampMs });
      }
    }
    return copies;
  }

  #checkRepeats(): void {
    for (const { write, index, first } of this.#repeats.splice(0)) {
      const { event } = write.records[index]!;
      const cell = this.partitions[first.partition]!.cells[first.offset];
      const copy = cell?.write.records[cell.index];
      demand(copy !== undefined && copy.event === event, () => `${event} is no duplicate of ${this.#show(first)}`);
      const ageMs = write.sentAt.wallMs - copy!.timestampMs;
      demand(ageMs < dedupWindowMs, () => `${event} is a duplicate of what was written ${ageMs} ms before`);
    }
  }

  /** No event is there twice, unless the clock had gone past its window in between. */
  #checkCopies(): void {
    const events = new Set(
      [...this.writes.values()].flatMap(({ records }) => records.flatMap(({ event }) => event ?? [])),
    );
    for (const event of events) {
      const copies = this.#copies(event).sort(
        (a, b) => a.timestampMs - b.timestampMs || a.place.offset - b.place.offset,
      );
      for (const [i, copy] of copies.entries()) {
        for (const later of copies.slice(i + 1)) {
          demand(this.#isForgotten(copy, later), () => {
            return `${event} of ${this.name} was written twice: ${this.#show(copy.place)}, ${this.#show(later.place)}`;
          });
        }
      }
    }
  }

  /** Whether the clock went past the window of the one that was written first before the other had been written. */
  #isForgotten(copy: EventCopy, later: EventCopy): boolean {
    const [first, second] = copy.write.id < later.write.id ? [copy, later] : [later, copy];
    return this.#time.latestMs(first.write.sentAt, second.write.endedAt) - first.timestampMs >= dedupWindowMs;
  }

  #show({ partition, offset }: Place): string {
    return `${this.name}/${partition}@${offset}`;
  }
}

function bytesOf(write: LogWrite): number {
  return encodeBatch(inputsOf(write), 0).bytes.length;
}

/** The records as the engine takes them; a header tells which they are. */
export function inputsOf({ id, records }: Pick<LogWrite, "id" | "records">) {
  return records.map(({ key, value, timestampMs, isTimed }, i) => ({
    key: key === undefined ? undefined : Buffer.from(key),
    value: value === undefined ? undefined : Buffer.from(value),
    headers: [{ key: "name", value: `${id}.${i}` }],
    timestampMs: isTimed ? timestampMs : undefined,
  }));
}

/** Every record from the page's offset to its end. */
export function readPage({ read, offset, highWatermark }: FetchResult): FoundRecord[] {
  const found: FoundRecord[] = [];
  let next = offset;
  for (const batch of read(offset)) {
    if (!batch.seek(next)) break;
    do {
      if (batch.offset >= highWatermark) return found;
      const name = batch.headers.find(({ key }) => key === "name" || key === "ce_name")?.value;
      found.push({
        name: Buffer.from(name ?? []).toString(),
        offset: batch.offset,
        key: batch.key?.toString(),
        value: batch.value?.toString(),
        timestampMs: batch.timestampMs,
      });
      next = batch.offset + 1;
    } while (batch.next());
  }
  return found;
}
