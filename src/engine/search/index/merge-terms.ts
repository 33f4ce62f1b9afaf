import { compareTerms, type TermDictionary } from "./reader.ts";

/** Work, counted in terms and postings, after which a step ends. */
const stepWork = 16_384;

/**
 * Visits the terms of several dictionaries in order, each once, with its ordinal in each of them (or -1). `used` marks
 * the ordinals to visit; without it all are. `visit` returns how many postings it handled.
 */
export function* mergeTerms(
  dictionaries: readonly (TermDictionary | undefined)[],
  used: readonly Uint8Array[] | undefined,
  visit: (term: string, ordinals: Int32Array) => number,
): Generator<undefined, void, undefined> {
  const lists = dictionaries.map((dictionary, d) => {
    const sorted = dictionary?.sortedOrdinals() ?? new Uint32Array(0);
    return used === undefined ? sorted : sorted.filter((ordinal) => used[d]![ordinal] === 1);
  });
  yield;
  const heads = new Uint32Array(lists.length);
  const terms: (string | undefined)[] = lists.map((list, d) =>
    list.length === 0 ? undefined : dictionaries[d]!.term(list[0]!),
  );
  const ordinals = new Int32Array(lists.length);
  for (let work = 0; ; ) {
    let least: string | undefined;
    for (const term of terms) {
      if (term !== undefined && (least === undefined || compareTerms(term, least) < 0)) least = term;
    }
    if (least === undefined) return;
    for (let d = 0; d < lists.length; d++) {
      ordinals[d] = -1;
      if (terms[d] !== least) continue;
      const list = lists[d]!;
      ordinals[d] = list[heads[d]!]!;
      const head = ++heads[d]!;
      terms[d] = head < list.length ? dictionaries[d]!.term(list[head]!) : undefined;
    }
    work += 1 + visit(least, ordinals);
    if (work < stepWork) continue;
    work = 0;
    yield;
  }
}
