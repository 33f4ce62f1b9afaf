import type { Verified } from "./messages.ts";

export const recordsEach = 2;
export const partitions = 4;
export const eventPartitions = 2;
const lostShownMax = 5;
const pageBytesMax = 4 * 1024 * 1024;
const idsEach = 1_000;

/** Reads something of the server, once the load is over. */
export type Ask = (path: string, body?: unknown) => Promise<unknown>;

interface DocumentEntry {
  readonly version: number;
  readonly n: number;
}

interface Page {
  readonly records: readonly { readonly offset: number; readonly value: string }[];
  readonly next_offset: number;
  readonly high_watermark: number;
}

/**
 * What one process was told of one namespace. A run acknowledges millions of writes, so each is one number: an append's
 * base offset, an event's offset and partition, by the number that the write carries in its value.
 */
export class CompactLedger {
  readonly #process: number;
  readonly #appends: number[] = [];
  readonly #events: number[] = [];
  readonly #documents = new Map<number, DocumentEntry>();

  constructor(process: number) {
    this.#process = process;
  }

  /** The number of the next append, which is unknown until it is acknowledged. */
  nextAppend(): number {
    return this.#appends.push(-1) - 1;
  }

  nextEvent(): number {
    return this.#events.push(-1) - 1;
  }

  values(append: number): string[] {
    return Array.from({ length: recordsEach }, (_, i) => `${this.#process} ${append} ${i} `.padEnd(96, "."));
  }

  appended(append: number, baseOffset: number): void {
    this.#appends[append] = baseOffset;
  }

  eventAppended(event: number, partition: number, offset: number): void {
    this.#events[event] = offset * eventPartitions + partition;
  }

  documentWritten(id: number, version: number, n: number): void {
    const before = this.#documents.get(id);
    if (before === undefined || before.version < version) this.#documents.set(id, { version, n });
  }

  /** Reads everything back: what was acknowledged is there, at its place, with its value, and once. */
  async verify(ask: Ask, namespace: string): Promise<Verified> {
    const lost: string[] = [];
    const appends = await this.#verifyAppends(ask, namespace, lost);
    const events = await this.#verifyEvents(ask, namespace, lost);
    const documents = await this.#verifyDocuments(ask, namespace, lost);
    return { appends, events, documents, lost: lost.slice(0, lostShownMax) };
  }

  async #verifyAppends(ask: Ask, namespace: string, lost: string[]): Promise<number> {
    const seen = new Uint8Array(this.#appends.length);
    for (let partition = 0; partition < partitions; partition++) {
      for await (const { offset, value } of recordsOf(ask, namespace, "s", partition)) {
        const [process, append, i] = value.split(" ").map(Number);
        if (process !== this.#process) continue;
        if (append! % partitions !== partition) lost.push(`append ${append} is in partition ${partition}`);
        const base = this.#appends[append!]!;
        if (base >= 0 && offset !== base + i!) lost.push(`append ${append} is at ${offset} - ${i}, not at ${base}`);
        seen[append!]!++;
      }
    }
    let acknowledged = 0;
    for (const [append, base] of this.#appends.entries()) {
      if (base >= 0) acknowledged++;
      const count = seen[append]!;
      if (count === recordsEach || (base < 0 && count === 0)) continue;
      lost.push(`append ${append} (acknowledged: ${base >= 0}) has ${count} of its records`);
    }
    return acknowledged;
  }

  async #verifyEvents(ask: Ask, namespace: string, lost: string[]): Promise<number> {
    const seen = new Uint8Array(this.#events.length);
    for (let partition = 0; partition < eventPartitions; partition++) {
      for await (const { offset, value } of recordsOf(ask, namespace, "e", partition)) {
        const { process, event } = JSON.parse(value) as { process: number; event: number };
        if (process !== this.#process) continue;
        const place = this.#events[event]!;
        if (place >= 0 && place !== offset * eventPartitions + partition) lost.push(`event ${event} is elsewhere`);
        seen[event]!++;
      }
    }
    let acknowledged = 0;
    for (const [event, place] of this.#events.entries()) {
      if (place >= 0) acknowledged++;
      const count = seen[event]!;
      if (count === 1 || (place < 0 && count === 0)) continue;
      lost.push(`event ${event} (acknowledged: ${place >= 0}) is there ${count} times`);
    }
    return acknowledged;
  }

  async #verifyDocuments(ask: Ask, namespace: string, lost: string[]): Promise<number> {
    const ids = [...this.#documents.keys()];
    for (let at = 0; at < ids.length; at += idsEach) {
      const { documents } = (await ask(`/v1/namespaces/${namespace}/collections/c/documents/get`, {
        ids: ids.slice(at, at + idsEach),
      })) as { documents: { id: number; version?: number; source?: { n: number } }[] };
      for (const { id, version = 0, source } of documents) {
        const written = this.#documents.get(id)!;
        // A later write may have landed without an answer.
        const isThere = version > written.version || (version === written.version && source?.n === written.n);
        if (!isThere) lost.push(`document ${id} has version ${version}, of ${written.version} acknowledged`);
      }
    }
    return ids.length;
  }
}

async function* recordsOf(
  ask: Ask,
  namespace: string,
  stream: string,
  partition: number,
): AsyncGenerator<{ offset: number; value: string }> {
  for (let next = 0; ; ) {
    const path = `/v1/namespaces/${namespace}/streams/${stream}/partitions/${partition}/records`;
    const page = (await ask(`${path}?offset=${next}&max_bytes=${pageBytesMax}`)) as Page;
    for (const { offset, value } of page.records) {
      if (offset !== next) throw new Error(`${path}: offset ${offset} follows on ${next - 1}`);
      next++;
      yield { offset, value: Buffer.from(value, "base64").toString() };
    }
    if (page.next_offset >= page.high_watermark) return;
  }
}
