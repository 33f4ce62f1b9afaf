import { EngineError } from "../../errors.ts";
import type { IndexReader } from "./reader.ts";

export const unmapped = 0xffffffff;

/** Where each live document of several parts goes when they become one, in the order of the ids. */
export interface DocMaps {
  readonly count: number;
  /** By new number: the part and the old number. */
  readonly readerOf: Uint16Array;
  readonly docOf: Uint32Array;
  /** By part and old number: the new number, or `unmapped`. */
  readonly newDocs: readonly Uint32Array[];
}

/** The live documents of one part by id. */
function sortedDocs(reader: IndexReader): Uint32Array {
  const { live } = reader;
  const docs = live === undefined ? Uint32Array.from({ length: reader.docCount }, (_, doc) => doc) : live.toArray();
  if (reader.idsAscending) return docs;
  const { ids } = reader;
  return docs.sort((a, b) => ids[a]! - ids[b]!);
}

export function* mapDocs(readers: readonly IndexReader[]): Generator<undefined, DocMaps, undefined> {
  const lists = readers.map(sortedDocs);
  yield;
  const count = lists.reduce((sum, list) => sum + list.length, 0);
  const readerOf = new Uint16Array(count);
  const docOf = new Uint32Array(count);
  const newDocs = readers.map((reader) => new Uint32Array(reader.docCount).fill(unmapped));
  const heads = new Uint32Array(readers.length);
  let before = -1;
  for (let doc = 0; doc < count; doc++) {
    let best = -1;
    let bestId = Number.POSITIVE_INFINITY;
    for (let r = 0; r < readers.length; r++) {
      const head = heads[r]!;
      if (head === lists[r]!.length) continue;
      const id = readers[r]!.ids[lists[r]![head]!]!;
      if (id < bestId) {
        best = r;
        bestId = id;
      }
    }
    if (bestId === before) throw new EngineError("internal", `document ${bestId} is live in two parts of the index`);
    before = bestId;
    const old = lists[best]![heads[best]!++]!;
    readerOf[doc] = best;
    docOf[doc] = old;
    newDocs[best]![old] = doc;
    if (doc % 65_536 === 0) yield;
  }
  return { count, readerOf, docOf, newDocs };
}
