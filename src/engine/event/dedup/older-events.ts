import { hash } from "node:crypto";
import type { Reader } from "../../../port/store.ts";
import { prefixRange, readU64, tables } from "../../keys.ts";
import { openValue } from "../../stored-value.ts";
import { digestWordCount, type EventPlace, eventMessage } from "./entry.ts";
import { EntryTable } from "./entry-table.ts";
import { entriesOfRun } from "./run.ts";
import { SealedSegments } from "./sealed-segments.ts";
import { DedupSegment } from "./segment.ts";

/** The segments last: until they are gone, a process that ended meanwhile finds out that something is left. */
export const olderTables = [tables.olderDedupRun, tables.olderDedupPage, tables.olderDedupSegment] as const;

/**
 * Events that builds before format 8 have remembered, by the first 16 bytes of a SHA-256. A digest can't be made into another one, so
 * new events are looked for by theirs here, too, until the window has passed over the last of these.
 */
export class OlderEvents {
  readonly #segments = new SealedSegments();
  /** Of runs that were not part of a segment yet. */
  readonly #table = new EntryTable();
  /** When the newest was written. */
  readonly lastMs: number;

  private constructor(store: Reader) {
    let lastMs = 0;
    let lastSeq = 0;
    for (const { key, value } of store.range(prefixRange(tables.olderDedupSegment))) {
      lastSeq = readU64(key, 1);
      const { segment, filter } = DedupSegment.decode(lastSeq, openValue(value), tables.olderDedupPage);
      this.#segments.add(segment, filter);
      lastMs = Math.max(lastMs, segment.lastMs);
    }
    for (const { key, value } of store.range(prefixRange(tables.olderDedupRun))) {
      // The runs of a listed segment are left over from its sealing.
      if (readU64(key, 1) > lastSeq) this.#table.addStored(entriesOfRun(value));
    }
    this.lastMs = Math.max(lastMs, this.#table.lastMs);
  }

  /** Undefined where there are none. */
  static read(store: Reader): OlderEvents | undefined {
    for (const table of olderTables)
      for (const _ of store.keys({ ...prefixRange(table), limit: 1 })) return new OlderEvents(store);
    return undefined;
  }

  findAll(
    store: Pick<Reader, "peek">,
    digests: Uint32Array,
    count: number,
    afterMs: number,
  ): Map<number, EventPlace> | undefined {
    let found = this.#segments.findAll(store, digests, count, afterMs);
    for (let i = 0; i < count; i++) {
      const entry = this.#table.find(digests, i * digestWordCount, afterMs, Number.MAX_SAFE_INTEGER);
      if (entry < 0) continue;
      found ??= new Map();
      found.set(i, this.#table.place(entry));
    }
    return found;
  }
}

/** The digests by which older events are found. */
export function olderDigests(stream: number, events: readonly { source: string; id: string }[]): Uint32Array {
  const digests = Buffer.alloc(events.length * digestWordCount * 4);
  for (const [i, { source, id }] of events.entries()) {
    const digest = hash("sha256", eventMessage(stream, source, id), "buffer");
    digest.copy(digests, i * digestWordCount * 4, 0, digestWordCount * 4);
  }
  return new Uint32Array(digests.buffer, digests.byteOffset, events.length * digestWordCount);
}
