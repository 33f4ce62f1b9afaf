import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SegmentEntry } from "./collection-store.ts";
import { chooseMerge } from "./merge-policy.ts";

function segments(...sizes: readonly (number | readonly [number, number])[]): SegmentEntry[] {
  return sizes.map((size, i) => {
    const [documents, deleted] = typeof size === "number" ? [size, 0] : size;
    return {
      id: `${i}`,
      documents,
      deleted,
      bytes: documents,
      deletesPath: null,
      path: `${i}`,
      graphs: {},
      schemaVersion: 1,
    };
  });
}

const few = [10_000, 10_000, 10_000, 10_000];

describe("which segments are merged", () => {
  for (const [what, sizes, pace, wanted] of [
    ["none below a full tier", [10_000, 10_000, 10_000], "paused", ""],
    ["a full tier", [90_000, ...few], "paused", "1,2,3,4"],
    ["a full tier first", [90_000, ...few], "quiet", "1,2,3,4"],
    ["small ones at once", [1, 100, 1_999, 5, 90_000], "written", "0,1,2,3"],
    ["a large merge not while documents are written", few, "written", ""],
    ["a large merge all the same when there are many segments", [...few, ...few], "written", "0,1,2,3,4,5,6,7"],
    ["one that is mostly deleted", [10_000, [10_000, 5_000]], "paused", "1"],
    ["all after a rest", [20_000, 70_000], "quiet", "0,1"],
    ["none after a rest where the others are small", [10_000, 90_000], "quiet", ""],
    ["none after a rest where there is one", [10_000], "quiet", ""],
    ["none after a rest where there is too much", [400 * 2 ** 20, 200 * 2 ** 20], "quiet", ""],
  ] as const) {
    test(what, () => {
      const chosen = chooseMerge(segments(...sizes), pace).map(({ id }) => id);
      assert.equal(chosen.join(","), wanted);
    });
  }
});
