import assert from "node:assert/strict";
import { test } from "node:test";
import { wasmBytesMin } from "../../../port/shared-bytes.ts";
import type { Distance } from "../../schema/schema.ts";
import { parseSchema } from "../../schema/schema-parse.ts";
import { Bitset } from "../index/bitset.ts";
import { TailIndex } from "../index/tail.ts";
import { inverseNorm } from "./distance.ts";
import { rowScore, searchVectors } from "./exact.ts";

/** Seeded numbers around 0. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
}

/** Rows of uneven lengths, zero vectors, ties, and a few that are near each other; enough for a sketch. */
function fillTail(distance: Distance, dim: number, scale: number, random: () => number): TailIndex {
  const tail = new TailIndex(parseSchema({ vectors: [{ name: "v", dim, distance }] }));
  const rowCount = wasmBytesMin / (4 * dim) + 500;
  const near = Float32Array.from({ length: dim }, random);
  for (let id = 0; id < rowCount; id++) {
    const size = id % 50 === 0 ? 0 : scale * (id % 7 === 0 ? 100 : 1 + (id % 3));
    const vector = near.map((value) => (id % 10 === 1 ? value + random() / 1e3 : random()) * size);
    const copies = id % 11 === 3 && id > 0 ? tail.vectors("v")!.data.slice(-dim + id * dim, id * dim) : vector;
    tail.add(id, 1, { values: [], vectors: [copies], sparse: [] });
  }
  return tail;
}

for (const distance of ["cosine", "dot", "l2"] as const satisfies readonly Distance[]) {
  for (const dim of [32, 77, 512]) {
    test(`a sketch of ${dim} numbers rules out nothing that is near by ${distance}`, () => {
      const random = generator(dim);
      for (const scale of [1, 1e-25, 1e25]) {
        const tail = fillTail(distance, dim, scale, random);
        const rows = tail.vectors("v")!;
        assert.ok(rows.sketch !== undefined);
        const most = new Bitset(rows.rowCount);
        for (let doc = 0; doc < rows.rowCount; doc++) if (doc % 5 !== 0) most.add(doc);
        for (const queryScale of [1, 1e-20, 1e20, 0]) {
          const at = (1 + 10 * (dim % 9)) * dim;
          const query = rows.data.slice(at, at + dim).map((value) => (value / scale + random() / 100) * queryScale);
          const norm = inverseNorm(query);
          const scored = Array.from({ length: rows.rowCount }, (_, id) => ({
            id,
            score: rowScore(rows, query, norm, id),
          })).sort((x, y) => y.score - x.score || x.id - y.id);
          for (const [k, allowed] of [[1], [20], [20, most]] as const) {
            const found = searchVectors([tail], "v", query, k, allowed && [allowed]);
            const wanted = scored.filter(({ id }) => allowed === undefined || allowed.has(id)).slice(0, k);
            const label = `${k} of scales ${scale}, ${queryScale}`;
            assert.deepEqual(
              found.map(({ id, score }) => ({ id, score })),
              wanted,
              label,
            );
          }
        }
      }
    });
  }
}
