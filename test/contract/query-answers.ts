import assert from "node:assert/strict";
import type { Answer } from "../support/http.ts";

/** The rules of hybrid query, one by one, on a handful of documents whose scores can be worked out by hand. */

export const schema = {
  fields: [
    { name: "title", kind: "text" },
    { name: "loose", source_path: "title", kind: { text: { analyzer: "standard", positions: false } } },
    { name: "tag", kind: "keyword", fast: true },
    { name: "slow", source_path: "tag", kind: "keyword" },
    { name: "n", kind: "i64" },
    { name: "price", kind: "f64" },
    { name: "sold", kind: "bool" },
    { name: "at", kind: "date" },
    { name: "maker", source_path: "made.by", kind: "keyword", fast: true },
    { name: "extra", kind: "json" },
    { name: "kept", kind: "keyword", indexed: false, fast: false },
  ],
  vectors: [
    { name: "c", dim: 2, distance: "cosine" },
    { name: "d", dim: 2, distance: "dot" },
    { name: "l", dim: 2, distance: "l2" },
  ],
  sparse_vectors: [{ name: "s" }],
};

const titles: Readonly<Record<number, string>> = {
  1: "red apple",
  2: "green apple pie",
  3: "red red wine",
  4: "apple wine",
  5: "blue cheese",
};

const sources: Readonly<Record<number, object>> = {
  1: { title: titles[1], tag: "a", n: 1, price: 1.5, sold: true, at: "2024-01-01T00:00:00Z", made: { by: "ann" } },
  2: { title: titles[2], tag: "b", n: 2, price: 2.5, sold: false, at: "2024-01-02T00:00:00Z", made: { by: "bob" } },
  3: { title: titles[3], tag: ["a", "b"], n: 2, price: 0.5, sold: true, at: "2024-01-03T00:00:00Z", kept: "k" },
  4: { title: titles[4], tag: "c", n: 3, sold: false, made: { by: "anton" }, extra: { x: [1] }, unknown: 1 },
  5: { title: titles[5], n: 5, price: -1, sold: true },
  6: { tag: "a", n: 8 },
};

const vectors: Readonly<Record<number, object>> = {
  1: { c: [1, 0], d: [1, 0], l: [0, 0] },
  2: { c: [0, 1], d: [0, 2], l: [1, 0] },
  3: { c: [1, 1], d: [3, 3], l: [0, 2] },
  4: { c: [-1, 0], d: [-1, 0], l: [3, 4] },
  5: { c: [0, 0] },
  6: {},
};

const sparse: Readonly<Record<number, object>> = {
  1: { s: { indices: [1], values: [1] } },
  2: { s: { indices: [1, 2], values: [2, 1] } },
  3: { s: { indices: [2], values: [3] } },
};

export const ids = [1, 2, 3, 4, 5, 6];

export const upsertsOfAll = ids.map((id) => ({
  upsert: { id, source: sources[id], vectors: vectors[id], sparse_vectors: sparse[id] ?? {} },
}));

/** BM25 by its formula over the titles. */
function bm25(id: number, ...terms: string[]): number {
  const texts = Object.values(titles).map((title) => title.split(" "));
  const average = texts.flat().length / texts.length;
  const own = titles[id]!.split(" ");
  let score = 0;
  for (const term of terms) {
    const tf = own.filter((word) => word === term).length;
    const df = texts.filter((text) => text.includes(term)).length;
    const idf = Math.log(1 + (texts.length - df + 0.5) / (df + 0.5));
    score += (idf * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * own.length) / average));
  }
  return score;
}

type Scored = readonly [id: number, score: number];

export interface Row {
  readonly _id: number;
  readonly _score: number;
  readonly [name: string]: unknown;
}

export function assertScores(rows: readonly Row[], wanted: readonly Scored[]): void {
  assert.deepEqual(
    rows.map(({ _id }) => _id),
    wanted.map(([id]) => id),
  );
  for (const [i, [id, score]] of wanted.entries()) {
    const got = rows[i]!._score;
    assert.ok(Math.abs(got - score) <= 1e-5 * Math.max(1, Math.abs(score)), `${id}: ${got}, not ${score}`);
  }
}

export type Check = (json: Answer["json"]) => void;

const found = (...wanted: number[]): Check => {
  return ({ rows }) =>
    assert.deepEqual(
      rows.map(({ _id }: Row) => _id),
      wanted,
    );
};

const scored = (...wanted: Scored[]): Check => {
  return ({ rows }) => assertScores(rows, wanted);
};

export const c = (more: object = {}) => ({ vector: { field: "c", query: [1, 0], ...more } });
export const d = (more: object = {}) => ({ vector: { field: "d", query: [1, 1], ...more } });
export const text = (query: string, more: object = {}) => ({ text: { field: "title", query, ...more } });
const half = Math.SQRT1_2;
const rrf = (...ranks: number[]) => ranks.reduce((sum, rank) => sum + 1 / (60 + rank), 0);

/** By name: a body without `from`, and what must hold of its answer. */
export const answers: Readonly<Record<string, readonly [object, Check]>> = {
  "without anything all match, by _id, with score 0": [{}, scored(...ids.map((id): Scored => [id, 0]))],
  "limit and offset": [{ limit: 2, offset: 3 }, found(4, 5)],
  "an empty retrieve is none": [{ retrieve: [], filter: { term: { n: 2 } } }, scored([2, 0], [3, 0])],

  "filter term": [{ filter: { term: { tag: "a" } } }, found(1, 3, 6)],
  "filter term of a number": [{ filter: { term: { n: 2 } } }, found(2, 3)],
  "filter term of a bool": [{ filter: { term: { sold: false } } }, found(2, 4)],
  "filter term of a date": [{ filter: { term: { at: "2024-01-02T01:00:00+01:00" } } }, found(2)],
  "filter terms": [{ filter: { terms: { tag: ["b", "c", "zzz"] } } }, found(2, 3, 4)],
  "filter terms of none": [{ filter: { terms: { tag: [] } } }, found()],
  "filter range, open ends": [{ filter: { range: { n: { gt: 2, lt: 8 } } } }, found(4, 5)],
  "filter range, closed ends": [{ filter: { range: { n: { gte: 2, lte: 5 } } } }, found(2, 3, 4, 5)],
  "filter range of a date": [{ filter: { range: { at: { gte: "2024-01-02T00:00:00Z" } } } }, found(2, 3)],
  "filter range of a float": [{ filter: { range: { price: { lt: 1 } } } }, found(3, 5)],
  "filter exists": [{ filter: { exists: { field: "price" } } }, found(1, 2, 3, 5)],
  "filter prefix": [{ filter: { prefix: { maker: "an" } } }, found(1, 4)],
  "filter wildcard": [{ filter: { wildcard: { maker: "a*n" } } }, found(1, 4)],
  "filter wildcard, one character": [{ filter: { wildcard: { maker: "?ob" } } }, found(2)],
  "filter ids": [{ filter: { ids: { values: [5, 99, 2] } } }, found(2, 5)],
  "filter match has all words": [{ filter: { match: { title: "Wine, red" } } }, found(3)],
  "filter phrase": [{ filter: { phrase: { title: "red wine" } } }, found(3)],
  "filter phrase in another order": [{ filter: { phrase: { title: "wine red" } } }, found()],
  "filter match_all": [{ filter: { match_all: {} } }, found(...ids)],
  "filter and": [{ filter: { and: [{ term: { tag: "a" } }, { term: { sold: true } }] } }, found(1, 3)],
  "filter or": [{ filter: { or: [{ term: { tag: "c" } }, { term: { n: 8 } }] } }, found(4, 6)],
  "filter not takes what lacks the field": [{ filter: { not: { term: { tag: "a" } } } }, found(2, 4, 5)],
  "filter bool": [
    {
      filter: {
        bool: {
          must: [{ term: { sold: true } }],
          should: [{ term: { tag: "b" } }, { term: { n: 5 } }],
          must_not: [{ term: { price: 0.5 } }],
          filter: [{ exists: { field: "title" } }],
        },
      },
    },
    found(5),
  ],

  "vector, cosine; a zero vector has similarity 0; one without the vector is not found": [
    { retrieve: [c()] },
    scored([1, 1], [3, half], [2, 0], [5, 0], [4, -1]),
  ],
  "vector, dot": [{ retrieve: [d()] }, scored([3, 6], [2, 2], [1, 1], [4, -1])],
  "vector, l2": [
    { retrieve: [{ vector: { field: "l", query: [0, 0] } }] },
    scored([1, 1], [2, 1 / 2], [3, 1 / 5], [4, 1 / 26]),
  ],
  "a retriever returns at most its k": [{ retrieve: [c({ k: 2 })] }, found(1, 3)],
  "exact and ef change nothing here": [{ retrieve: [c({ k: 3, exact: true, ef: 10 })] }, found(1, 3, 2)],
  "one retriever keeps its own score, whatever its weight": [
    { retrieve: [c({ weight: 7, k: 2 })] },
    scored([1, 1], [3, half]),
  ],
  "ties go by _id": [
    { retrieve: [{ vector: { field: "c", query: [0, -1], k: 4 } }] },
    scored([1, 0], [4, 0], [5, 0], [3, -half]),
  ],
  sparse: [
    { retrieve: [{ sparse: { field: "s", query: { indices: [2, 1], values: [1, 0.5] } } }] },
    scored([3, 3], [2, 2], [1, 0.5]),
  ],
  "text, BM25": [{ retrieve: [text("red")] }, scored([3, bm25(3, "red")], [1, bm25(1, "red")])],
  "text, several words, any of them": [
    { retrieve: [text("apple WINE")] },
    scored([4, bm25(4, "apple", "wine")], [3, bm25(3, "wine")], [1, bm25(1, "apple")], [2, bm25(2, "apple")]),
  ],
  "text, a repeated word counts once": [
    { retrieve: [text("red red red")] },
    scored([3, bm25(3, "red")], [1, bm25(1, "red")]),
  ],
  "text, operator and": [{ retrieve: [text("apple wine", { operator: "and" })] }, found(4)],
  "text, a quoted phrase": [{ retrieve: [text('"red wine"')] }, found(3)],
  "text, a phrase and a word": [{ retrieve: [text('"red apple" cheese')] }, found(1, 5)],
  "text, quotes are nothing where no positions are kept": [
    { retrieve: [text('"pie green"', { field: "loose" })] },
    found(2),
  ],
  "text, words that nobody has": [{ retrieve: [text("zzz")] }, found()],

  "a filter comes before the top k": [{ retrieve: [c({ k: 2 })], filter: { terms: { n: [3, 5] } } }, found(5, 4)],
  "a retriever's filter is its own": [
    { retrieve: [c({ k: 2, filter: { term: { n: 2 } } }), text("cheese")] },
    scored([3, rrf(1)], [5, rrf(1)], [2, rrf(2)]),
  ],
  "both filters hold": [{ retrieve: [c({ filter: { term: { sold: true } } })], filter: { term: { n: 2 } } }, found(3)],

  "several retrievers use RRF with k 60": [
    { retrieve: [c({ k: 2 }), text("red")] },
    scored([1, rrf(1, 2)], [3, rrf(2, 1)]),
  ],
  "RRF with k and weights": [
    { retrieve: [c({ k: 2, weight: 2 }), text("red", { weight: 0.5 })], fuse: { method: "rrf", k: 1 } },
    scored([1, 2 / 2 + 0.5 / 3], [3, 2 / 3 + 0.5 / 2]),
  ],
  "fuse makes one retriever's score RRF": [{ retrieve: [c({ k: 2 })], fuse: {} }, scored([1, rrf(1)], [3, rrf(2)])],
  "weighted: scores brought to 0 … 1": [
    { retrieve: [d({ weight: 2, k: 3 }), text("red", { weight: 0.5 })], fuse: { method: "weighted" } },
    scored([3, 2 + 0.5], [2, (2 * 1) / 5], [1, 0]),
  ],
  "a weight of 0 adds nothing": [{ retrieve: [c({ k: 1, weight: 0 }), text("cheese")] }, scored([5, rrf(1)], [1, 0])],

  "min_score keeps what reaches it": [{ retrieve: [d()], min_score: 1 }, found(3, 2, 1)],
  "min_score comes after fusion": [
    { retrieve: [c({ k: 2 }), text("red wine")], min_score: rrf(2) + 1e-9 },
    found(1, 3),
  ],
  "min_score below 0": [{ retrieve: [c()], min_score: -0.5 }, found(1, 3, 2, 5)],

  "sort ascending, missing values last, ties by _id": [{ sort: [{ field: "price" }] }, found(5, 3, 1, 2, 4, 6)],
  "sort descending, missing values last": [{ sort: [{ field: "price", order: "desc" }] }, found(2, 1, 3, 5, 4, 6)],
  "sort by several keys": [{ sort: [{ field: "sold" }, { field: "n", order: "desc" }] }, found(4, 2, 5, 3, 1, 6)],
  "sort takes the least of several values ascending": [{ sort: [{ field: "tag" }] }, found(1, 3, 6, 2, 4, 5)],
  "sort takes the greatest of several values descending": [
    { sort: [{ field: "tag", order: "desc" }] },
    found(4, 2, 3, 1, 6, 5),
  ],
  "sort reorders what was retrieved": [
    { retrieve: [c({ k: 3 })], sort: [{ field: "n", order: "desc" }] },
    found(2, 3, 1),
  ],
  "sort by _score and _id": [
    { retrieve: [c()], sort: [{ field: "_score" }, { field: "_id", order: "desc" }] },
    found(1, 3, 5, 2, 4),
  ],
  "sort by _id downwards": [{ sort: [{ field: "_id", order: "desc" }], limit: 2 }, found(6, 5)],
  "pages of a retrieval": [{ retrieve: [c()], limit: 2, offset: 1 }, found(3, 2)],
  "a page beyond the end": [{ offset: 6 }, found()],

  "no select shows the schema's fields, as the source has them": [
    { filter: { ids: { values: [3, 4] } } },
    ({ rows }) =>
      assert.deepEqual(rows, [
        {
          _id: 3,
          _score: 0,
          title: "red red wine",
          loose: "red red wine",
          tag: ["a", "b"],
          slow: ["a", "b"],
          n: 2,
          price: 0.5,
          sold: true,
          at: "2024-01-03T00:00:00Z",
          kept: "k",
        },
        {
          _id: 4,
          _score: 0,
          title: "apple wine",
          loose: "apple wine",
          tag: "c",
          slow: "c",
          n: 3,
          sold: false,
          maker: "anton",
          extra: { x: [1] },
        },
      ]),
  ],
  select: [
    { filter: { ids: { values: [3] } }, select: ["n", "tag"] },
    ({ rows }) => assert.deepEqual(rows, [{ _id: 3, _score: 0, n: 2, tag: ["a", "b"] }]),
  ],
  "select of nothing leaves _id and _score": [
    { limit: 2, select: [] },
    ({ rows }) =>
      assert.deepEqual(rows, [
        { _id: 1, _score: 0 },
        { _id: 2, _score: 0 },
      ]),
  ],
  "select may name vectors": [
    { limit: 1, select: ["l", "s", "n"] },
    ({ rows }) => assert.deepEqual(rows, [{ _id: 1, _score: 0, n: 1, l: [0, 0], s: { indices: [1], values: [1] } }]),
  ],
  exclude: [
    { limit: 1, exclude: ["title", "loose", "slow", "at", "sold", "maker"] },
    ({ rows }) => assert.deepEqual(rows, [{ _id: 1, _score: 0, tag: "a", n: 1, price: 1.5 }]),
  ],
  "include_vectors, less what is excluded": [
    { filter: { ids: { values: [2, 5] } }, select: ["n"], exclude: ["d"], include_vectors: true },
    ({ rows }) =>
      assert.deepEqual(rows, [
        { _id: 2, _score: 0, n: 2, c: [0, 1], l: [1, 0], s: { indices: [1, 2], values: [2, 1] } },
        { _id: 5, _score: 0, n: 5, c: [0, 0] },
      ]),
  ],

  "highlights of a retriever": [
    { retrieve: [text("red wine")], select: [], highlight: { fields: ["title"] } },
    ({ rows }) =>
      assert.deepEqual(
        rows.map(({ _id, _highlights }: Row) => [_id, _highlights]),
        [
          [3, { title: ["<em>red</em> <em>red</em> <em>wine</em>"] }],
          [1, { title: ["<em>red</em> apple"] }],
          [4, { title: ["apple <em>wine</em>"] }],
        ],
      ),
  ],
  "highlights of a phrase and of filters; none where nothing matches": [
    {
      filter: { or: [{ phrase: { title: "red wine" } }, { match: { loose: "cheese" } }, { term: { n: 8 } }] },
      select: [],
      highlight: { fields: ["title", "loose"] },
    },
    ({ rows }) =>
      assert.deepEqual(
        rows.map(({ _id, _highlights }: Row) => [_id, _highlights]),
        [
          [3, { title: ["red <em>red</em> <em>wine</em>"] }],
          [5, { loose: ["blue <em>cheese</em>"] }],
          [6, {}],
        ],
      ),
  ],

  "groups of matches, in the order of their first row": [
    { group_by: { field: "tag", size: 2 }, select: [] },
    ({ groups, rows }) => {
      assert.equal(rows, undefined);
      assert.deepEqual(idsOfGroups(groups), [
        ["a", [1, 3]],
        ["b", [2, 3]],
        ["c", [4]],
      ]);
    },
  ],
  "groups of what was retrieved, with a page of groups": [
    { retrieve: [d()], group_by: { field: "sold" }, limit: 1, offset: 1 },
    ({ groups }) => assert.deepEqual(idsOfGroups(groups), [[false, [2, 4]]]),
  ],
  "groups keep the sort": [
    { group_by: { field: "sold", size: 1 }, sort: [{ field: "n", order: "desc" }] },
    ({ groups }) =>
      assert.deepEqual(idsOfGroups(groups), [
        [true, [5]],
        [false, [4]],
      ]),
  ],

  "facets of all matches": [
    {
      filter: { range: { n: { lt: 8 } } },
      facets: [{ field: "tag" }, { field: "sold" }, { field: "n", limit: 1 }],
      limit: 1,
    },
    ({ facets, rows }) => {
      assert.equal(rows.length, 1);
      assert.deepEqual(facets, {
        tag: [
          { value: "a", count: 2 },
          { value: "b", count: 2 },
          { value: "c", count: 1 },
        ],
        sold: [
          { value: true, count: 3 },
          { value: false, count: 2 },
        ],
        n: [{ value: 2, count: 2 }],
      });
    },
  ],
  "facets of what the retrievers returned, before min_score and the page": [
    { retrieve: [c({ k: 2 }), text("cheese")], facets: [{ field: "at" }, { field: "n" }], min_score: 1, limit: 1 },
    ({ facets, rows }) => {
      assert.deepEqual(rows, []);
      assert.deepEqual(facets, {
        at: [
          { value: "2024-01-01T00:00:00.000Z", count: 1 },
          { value: "2024-01-03T00:00:00.000Z", count: 1 },
        ],
        n: [
          { value: 1, count: 1 },
          { value: 2, count: 1 },
          { value: 5, count: 1 },
        ],
      });
    },
  ],

  "explain tells of each row and of the query": [
    { retrieve: [c({ k: 2 }), text('"red apple" wine')], explain: true, select: [] },
    ({ rows, stats }) => {
      const explained = rows.map(({ _id, _explain }: { _id: number; _explain: { retrievers: object[] } }) => [
        _id,
        _explain.retrievers.map((each) => {
          const { score: _, ...rest } = each as { score: unknown };
          return rest;
        }),
      ]);
      const vector = (rank: number | null) => ({ kind: "vector", field: "c", rank });
      const words = (rank: number | null, ...terms: string[]) => ({ kind: "text", field: "title", rank, terms });
      assert.deepEqual(explained, [
        [1, [vector(1), words(1, '"red apple"')]],
        [3, [vector(2), words(3, "wine")]],
        [4, [vector(null), words(2, "wine")]],
      ]);
      assert.equal(rows[0]._explain.retrievers[0].score, 1);
      assert.deepEqual([stats.retrieved, stats.candidates, stats.plan.limit], [[2, 3], 3, 10]);
      assert.deepEqual(stats.plan.fusion, { method: "rrf", k: 60 });
      for (const stage of ["statistics", "filters", "ranking", "facets", "explain"]) {
        assert.equal(typeof stats.times_ms[stage], "number", stage);
      }
    },
  ],
};

export function idsOfGroups(groups: readonly { key: unknown; rows: readonly Row[] }[]): unknown[] {
  return groups.map(({ key, rows }) => [key, rows.map(({ _id }) => _id)]);
}
