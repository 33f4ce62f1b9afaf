import type { FieldSpec } from "../schema/schema.ts";
import type { Steps } from "../turns.ts";
import type { Bitset } from "./index/bitset.ts";
import type { IndexReader } from "./index/reader.ts";
import type { Hit } from "./index/top-k.ts";
import { stepDocs } from "./limits.ts";
import { comparator, Firsts, type Keyed, keyed, type SortKey } from "./sort.ts";
import { type ClientValue, clientValue, valuesOf } from "./values.ts";

export interface Group<H> {
  readonly key: ClientValue;
  readonly hits: readonly H[];
}

/**
 * Puts ranked hits into groups by a field: groups in the order of their best hit, at most `size` hits each, at most
 * `limit` groups after the first `offset`. A document with several values stands in each of their groups; one without
 * a value is in none.
 */
export function groupHits<H extends Pick<Hit, "reader" | "doc">>(
  readers: readonly IndexReader[],
  field: FieldSpec,
  hits: Iterable<H>,
  size: number,
  limit: number,
  offset = 0,
): Group<H>[] {
  const groups = new Map<string | number, H[]>();
  for (const hit of hits) {
    for (const value of valuesOf(readers[hit.reader]!, field.name, hit.doc)) {
      const group = groups.get(value);
      if (group === undefined) {
        if (groups.size < offset + limit) groups.set(value, [hit]);
      } else if (group.length < size) group.push(hit);
    }
  }
  return [...groups].slice(offset).map(([value, group]) => ({ key: clientValue(field, value), hits: group }));
}

interface Best {
  readonly entry: Keyed<Hit>;
  /** The place of the group's value among those of its best hit: one hit may lead several groups. */
  readonly place: number;
}

/**
 * The same over all matches, given per part, in the order of the sort keys. Two passes, so that memory is bounded by the
 * groups asked for and not by the matches: the first finds the groups by their best hits, the second their members.
 */
export function* groupMatchesSteps(
  readers: readonly IndexReader[],
  field: FieldSpec,
  keys: readonly SortKey[],
  matches: readonly Bitset[],
  size: number,
  limit: number,
  offset: number,
): Steps<Group<Hit>[]> {
  const order = comparator<Hit>(keys);
  const wanted = offset + limit;
  let bests = new Map<string | number, Best>();
  let worst: Keyed<Hit> | undefined;
  const prune = () => {
    const ordered = [...bests].sort(([, x], [, y]) => order(x.entry, y.entry) || x.place - y.place).slice(0, wanted);
    worst = ordered.length < wanted ? undefined : ordered.at(-1)![1].entry;
    bests = new Map(ordered);
  };
  yield* forEachMatch(readers, matches, (hit, reader) => {
    const entry = keyed(readers, keys, hit);
    // A group that was dropped comes back only by a hit that is better than all it had before.
    if (worst !== undefined && order(entry, worst) > 0) return;
    valuesOf(reader, field.name, hit.doc).forEach((value, place) => {
      const best = bests.get(value);
      if (best === undefined || order(entry, best.entry) < 0) bests.set(value, { entry, place });
    });
    if (bests.size >= Math.max(2 * wanted, 1024)) prune();
  });
  prune();
  const members = new Map([...bests.keys()].slice(offset).map((value) => [value, new Firsts(size, order)]));
  yield* forEachMatch(readers, matches, (hit, reader) => {
    let entry: Keyed<Hit> | undefined;
    for (const value of valuesOf(reader, field.name, hit.doc)) {
      const group = members.get(value);
      if (group === undefined) continue;
      entry ??= keyed(readers, keys, hit);
      group.offer(entry);
    }
  });
  return [...members].map(([value, group]) => ({
    key: clientValue(field, value),
    hits: group.finish().map(({ hit }) => hit),
  }));
}

function* forEachMatch(
  readers: readonly IndexReader[],
  matches: readonly Bitset[],
  visit: (hit: Hit, reader: IndexReader) => void,
): Steps<void> {
  let visited = 0;
  for (const [r, reader] of readers.entries()) {
    const set = matches[r]!;
    for (let doc = set.next(0); doc !== -1; doc = set.next(doc + 1)) {
      visit({ id: reader.ids[doc]!, score: 0, reader: r, doc }, reader);
      if (++visited % stepDocs === 0) yield;
    }
  }
}
