import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSchema } from "../schema/schema-parse.ts";
import { extract } from "../search/document.ts";
import { evaluateFilter } from "../search/filter/evaluate.ts";
import { openSegment, SegmentReader } from "../search/index/segment.ts";
import { mergeSegments } from "../search/index/segment-writer.ts";
import { TailIndex } from "../search/index/tail.ts";
import { pinReaders } from "./pin.ts";

const schema = parseSchema({ fields: [{ name: "n", kind: "i64" }] });

function tailOf(ids: readonly number[]): TailIndex {
  const tail = new TailIndex(schema);
  for (const id of ids) tail.add(id, 1, extract(schema, { n: id }));
  return tail;
}

test("a pinned tail keeps the documents it had, replaced and deleted since or not", () => {
  const tail = tailOf([5, 3, 9]);
  tail.delete(9);
  const [pinned] = pinReaders([tail]);
  tail.add(5, 2, extract(schema, { n: 50 }));
  tail.delete(3);
  tail.add(9, 2, extract(schema, { n: 9 }));
  assert.deepEqual(
    [5, 3, 9, 4].map((id) => pinned!.find(id)),
    [0, 1, -1, -1],
  );
  const found = (filter: Parameters<typeof evaluateFilter>[0]) => [...evaluateFilter(filter, pinned!).toArray()];
  assert.deepEqual(found({ kind: "ids", ids: [5, 9] }), [0]);
  assert.deepEqual(found({ kind: "range", field: "n", range: { gte: 0 } }), [0, 1]);
  assert.deepEqual(found({ kind: "not", filter: { kind: "terms", field: "n", values: [5] } }), [1]);
  assert.equal(pinned!.liveCount, 2);
});

test("a pinned segment keeps the documents that are deleted later", () => {
  const segment = new SegmentReader(openSegment(mergeSegments(schema, [tailOf([7, 1, 4])])));
  const [before] = pinReaders([segment]);
  segment.delete(4);
  const [after] = pinReaders([segment]);
  segment.delete(7);
  assert.deepEqual(
    [1, 4, 7, 5].map((id) => before!.find(id)),
    [0, 1, 2, -1],
  );
  assert.deepEqual(
    [1, 4, 7].map((id) => after!.find(id)),
    [0, -1, 2],
  );
  assert.deepEqual([...evaluateFilter({ kind: "all" }, after!).toArray()], [0, 2]);
});
