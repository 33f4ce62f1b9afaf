import { isDeepStrictEqual } from "node:util";
import { parseQuery } from "../../../src/engine/retrieval/parse.ts";
import { Extractor } from "../../../src/engine/search/document.ts";
import { evaluateFilter, matchesDocument } from "../../../src/engine/search/filter/evaluate.ts";
import { parseFilter } from "../../../src/engine/search/filter/parse.ts";
import { type Doc, Layout, schema } from "../../model/search/model.ts";
import { validateFilter } from "../../support/validate-filter.ts";
import { must, nothingToClose, type Target } from "../target.ts";
import { refusing } from "./properties.ts";

const words = ["ant", "bee", "the", "日", "Été", "\u{10000}", "\uffee", "re", "red", "running"];

const docs: readonly Doc[] = Array.from({ length: 24 }, (_, i) => ({
  source: {
    ...(i % 5 === 0 ? {} : { body: `${words[i % 10]} ${words[(i * 7) % 10]} ${words[(i * 3) % 10]}` }),
    note: i % 3 === 0 ? `running ${words[i % 10]}` : undefined,
    ...(i % 4 === 0 ? {} : { tag: [words[i % 10], words[(i + 3) % 10]] }),
    plain: words[(i * 7) % 10],
    meta: [{ cat: words[i % 3] }],
    n: [i - 12, i % 3],
    x: i / 4 - 3,
    flag: i % 2 === 0,
    at: i % 6 === 0 ? undefined : `2024-01-${String(i + 1).padStart(2, "0")}T00:00:00Z`,
  },
  vectors: {},
  sparse: {},
}));

function layouts(): readonly Layout[] {
  const [tail, sealed, mixed] = [new Layout(), new Layout(), new Layout()];
  for (const [id, doc] of docs.entries()) {
    for (const layout of [tail, sealed, mixed]) layout.upsert(id, doc);
    if (id === 9 || id === 15) mixed.seal();
  }
  sealed.seal();
  return [tail, sealed, mixed];
}

/** A filter is read, or refused with its place named; what was read finds the same documents in every layout. */
export const filters: Target = {
  name: "filters",
  open: async () => {
    const all = layouts();
    const extractor = new Extractor(schema);
    return {
      ...nothingToClose,
      inputs: {
        kind: "guided",
        seeds: seeds.map((seed) => JSON.stringify(seed)),
        words: dictionary,
        bytesMax: 1_500,
        sources: ["src/engine/search/filter/", "src/engine/retrieval/", "search/document.ts", "schema/date.ts"],
      },
      run: (input) => {
        const json = jsonOf(input);
        if (json === undefined) return;
        refusing(() => parseQuery(json, () => schema), "invalid_argument", "not_found");
        const filter = refusing(() => parseFilter(json, schema), "invalid_argument");
        if (filter === undefined) return;
        validateFilter(schema, filter);
        const [first, ...rest] = all.map((layout) =>
          layout.readers
            .flatMap((reader) => [...evaluateFilter(filter, reader).toArray()].map((doc) => reader.ids[doc]!))
            .sort((x, y) => x - y),
        );
        for (const found of rest) must(isDeepStrictEqual(found, first), "layouts differ", () => [first, found]);
        const id = input.length % docs.length;
        const { source, vectors, sparse } = docs[id]!;
        const alone = matchesDocument(filter, schema, id, extractor.extract(source, vectors, sparse));
        must(alone === first!.includes(id), "a document alone is matched otherwise", () => id);
      },
    };
  },
};

function jsonOf(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString());
  } catch {
    return undefined;
  }
}

const seeds: readonly unknown[] = [
  { term: { tag: "red" } },
  { terms: { n: [1, 2, -3] } },
  { range: { at: { gte: "2024-01-03T00:00:00+01:00", lt: 1705000000000 } } },
  { range: { n: { gt: -3.5, lte: 4 } } },
  { exists: { field: "body" } },
  { prefix: { plain: "re" } },
  { wildcard: { tag: "r?*\\*" } },
  { ids: { values: [1, 2, 3] } },
  { match: { body: "ant bee" } },
  { phrase: { body: "ant bee" } },
  { and: [{ match_all: {} }, { not: { term: { flag: true } } }] },
  { bool: { must: [{ term: { cat: "bee" } }], should: { term: { x: 0.25 } }, must_not: [], filter: null } },
  { or: [] },
  {
    from: "collections.c",
    retrieve: [
      { text: { field: "body", query: 'ant "bee the"', k: 3, operator: "and", weight: 0.5 } },
      { vector: { field: "c", query: [1, 0, 0], k: 2, exact: true, ef: 10, filter: { term: { flag: true } } } },
      { sparse: { field: "s", query: { indices: [1], values: [0.5] }, k: 2 } },
    ],
    fuse: { method: "rrf", k: 60 },
    sort: [{ field: "n", order: "desc" }],
    select: ["body"],
    highlight: { fields: ["body"] },
    group_by: { field: "tag", size: 2 },
    facets: [{ field: "tag", limit: 3 }],
    min_score: 0.1,
    limit: 5,
    offset: 1,
    consistency: "eventual",
    explain: true,
    include_vectors: ["c"],
  },
];

const dictionary = [
  ...["term", "terms", "range", "exists", "prefix", "wildcard", "ids", "match", "phrase", "match_all", "and", "or"],
  ...["not", "bool", "must", "should", "must_not", "filter", "gt", "gte", "lt", "lte", "field", "values", "body"],
  ...["note", "tag", "cat", "plain", "flag", "at", "retrieve", "text", "vector", "sparse", "fuse", "weighted"],
].map((word) => JSON.stringify(word));
