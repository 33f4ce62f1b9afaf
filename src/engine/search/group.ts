import type { FieldSpec } from "../collection/schema.ts";
import type { IndexReader } from "./index/reader.ts";
import type { Hit } from "./index/top-k.ts";
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
