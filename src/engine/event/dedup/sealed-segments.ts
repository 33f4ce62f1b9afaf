import type { Reader } from "../../../port/store.ts";
import { limits } from "../../limits.ts";
import type { EventPlace } from "./entry.ts";
import type { EntryTable } from "./entry-table.ts";
import { FilterGroup } from "./filter-group.ts";
import type { DedupSegment } from "./segment.ts";

/** Segments with their filters, oldest first. */
export class SealedSegments {
  readonly #segments: DedupSegment[] = [];
  /** The same, by eight. */
  #groups: FilterGroup[] = [];
  /** Another number whenever a segment comes or goes. */
  state = 0;

  /** Adds a segment that is newer than those before it, with the table that it was made of unless it was read. */
  add(segment: DedupSegment, filter: Uint8Array, table?: EntryTable): void {
    this.state++;
    this.#segments.push(segment);
    let group = this.#groups.at(-1);
    if (group === undefined || !group.hasRoom(filter.length, table !== undefined)) {
      group = new FilterGroup(filter.length, table !== undefined);
      this.#groups.push(group);
    }
    group.add(segment, filter, table);
    let bytes = 0;
    for (let i = this.#groups.length - 1; i >= 0; i--) {
      bytes += this.#groups[i]!.bytes;
      // The newest are asked for most.
      if (bytes > limits.dedupFilterBytesMax) this.#groups[i]!.forgetFilters();
    }
  }

  remove(segment: DedupSegment): void {
    this.state++;
    this.#segments.splice(this.#segments.indexOf(segment), 1);
    for (const group of this.#groups) group.remove(segment);
    this.#groups = this.#groups.filter((group) => !group.isEmpty);
  }

  find(seq: number): DedupSegment | undefined {
    return this.#segments.find((each) => each.seq === seq);
  }

  /** Where events were first written, by their number, on top of what is known of older ones. */
  findAll(
    store: Pick<Reader, "peek">,
    digests: Uint32Array,
    count: number,
    afterMs: number,
    older?: ReadonlyMap<number, EventPlace>,
  ): Map<number, EventPlace> | undefined {
    let found = older && new Map(older);
    // What is newer is found later and takes its place.
    for (const group of this.#groups) found = group.findAll(store, digests, count, afterMs, found);
    return found;
  }
}
