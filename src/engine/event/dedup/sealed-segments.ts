import type { Reader } from "../../../port/store.ts";
import { limits } from "../../limits.ts";
import { runSteps, type Steps } from "../../turns.ts";
import type { EventPlace } from "./entry.ts";
import type { EntryTable } from "./entry-table.ts";
import { FilterGroup, spreadFilter } from "./filter-group.ts";
import type { DedupSegment } from "./segment.ts";
import { Sieve } from "./sieve.ts";

/**
 * Groups that share a sieve at most, where a look at each would wait for memory once more: three take half of the time. It has a
 * word for about four events of full segments; larger ones, which a stalled store leaves behind, have one with fewer others.
 */
const groupsPerSieveMax = 4;
const sieveWordsMax = 2 ** 21;

/** Groups next to each other, oldest first. Segments that were read from the store have no table to make a sieve of. */
interface Shelf {
  readonly groups: FilterGroup[];
  readonly groupsMax: number;
  sieve: Sieve | undefined;
  readonly filterBytes: number;
}

/** A place that was taken for a segment. */
export interface SegmentPlace {
  readonly group: FilterGroup;
  readonly number: number;
}

/** Used again by every look. */
let candidates = new Uint32Array(1024);

/** Segments with their filters, oldest first. */
export class SealedSegments {
  readonly #segments: DedupSegment[] = [];
  #shelves: Shelf[] = [];
  readonly #filterBytesMax: number;
  /** Another number whenever a segment comes or goes. */
  state = 0;
  /** The newest sieve. Looks add to it what they look for, so that tables begun since then need not be added. An earlier one never comes back. */
  #sifting: Sieve | undefined;

  constructor(filterBytesMax: number = limits.dedupFilterBytesMax) {
    this.#filterBytesMax = filterBytesMax;
  }

  /** What looks add to from now on, until it is another one or none. A table is begun while no place waits to be filled. */
  get sifting(): object | undefined {
    return this.#sifting?.isFull === true ? undefined : this.#sifting;
  }

  /** Adds a segment that was read from the store and is newer than those before it. */
  add(segment: DedupSegment, filter: Uint8Array): void {
    const place = runSteps(this.reserveSteps(filter.length));
    const { bits } = place.group;
    if (bits !== undefined) spreadFilter(bits, place.number, filter);
    this.fill(place, segment);
  }

  /**
   * Takes a place for a segment that is newer than those before it, with the table that it is made of unless it was read, to be
   * filled once the segment is stored and its filter laid there. `sifted` is what looks added to when the table was begun.
   */
  *reserveSteps(filterBytes: number, table?: EntryTable, sifted?: object): Steps<SegmentPlace> {
    const shelf = this.#shelfFor(filterBytes, table !== undefined);
    let group = shelf.groups.at(-1);
    if (group?.hasRoom(filterBytes) !== true) {
      group = new FilterGroup(filterBytes);
      shelf.groups.push(group);
    }
    const place = { group, number: group.reserve(filterBytes) };
    this.#boundMemory();
    const isSifted = sifted === this.sifting && sifted === shelf.sieve;
    if (table !== undefined && shelf.sieve !== undefined && !isSifted) yield* shelf.sieve.addSteps(table);
    return place;
  }

  fill({ group, number }: SegmentPlace, segment: DedupSegment): void {
    this.state++;
    this.#segments.push(segment);
    group.fill(number, segment);
  }

  #shelfFor(filterBytes: number, isNew: boolean): Shelf {
    const last = this.#shelves.at(-1);
    if (last !== undefined && isNew === (last.sieve !== undefined) && filterBytes <= last.filterBytes) {
      if (last.groups.length < last.groupsMax || last.groups.at(-1)!.hasRoom(filterBytes)) return last;
    }
    const groupsMax = Math.max(1, Math.min(groupsPerSieveMax, sieveWordsMax / filterBytes));
    const sieve = isNew ? new Sieve(groupsMax * filterBytes) : undefined;
    const shelf: Shelf = { groups: [], groupsMax, sieve, filterBytes };
    this.#shelves.push(shelf);
    this.#sifting = sieve ?? this.#sifting;
    return shelf;
  }

  /** The newest are asked for most. */
  #boundMemory(): void {
    let bytes = 0;
    for (const shelf of this.#shelves.toReversed()) {
      bytes += shelf.sieve?.bytes ?? 0;
      if (bytes > this.#filterBytesMax) shelf.sieve = undefined;
      for (const group of shelf.groups.toReversed()) {
        bytes += group.bytes;
        if (bytes > this.#filterBytesMax) group.forgetFilters();
      }
    }
    this.#endSifting();
  }

  /** Where the newest sieve is gone, an earlier one does not take its place: it lacks what came since. */
  #endSifting(): void {
    if (!this.#shelves.some(({ sieve }) => sieve === this.#sifting)) this.#sifting = undefined;
  }

  remove(segment: DedupSegment): void {
    this.state++;
    this.#segments.splice(this.#segments.indexOf(segment), 1);
    for (const { groups } of this.#shelves) for (const group of groups) group.remove(segment);
    this.#shelves = this.#shelves.filter(({ groups }) => groups.some((group) => !group.isEmpty));
    this.#endSifting();
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
    if (count > candidates.length) candidates = new Uint32Array(2 * count);
    let found = older && new Map(older);
    // What is newer is found later and takes its place.
    for (const { groups, sieve } of this.#shelves) {
      const sifted = sieve?.candidatesOf(digests, count, candidates, sieve === this.sifting);
      for (const group of groups) {
        const wanted = sifted ?? group.candidatesOf(digests, count, candidates);
        found = group.findThose(store, digests, candidates, wanted, afterMs, found);
      }
    }
    return found;
  }
}
