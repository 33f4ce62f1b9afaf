import assert from "node:assert/strict";
import { test } from "node:test";
import { addFields, parseFields, parseSchema } from "../../schema/schema-parse.ts";
import { extract } from "../document.ts";
import { evaluateFilter } from "../filter/evaluate.ts";
import { parseFilter } from "../filter/parse.ts";
import { searchVectors } from "../vector/exact.ts";
import { Bitset } from "./bitset.ts";
import { Deletes } from "./deletes.ts";
import { compareTerms } from "./reader.ts";
import { openSegment, SegmentReader } from "./segment.ts";
import { buildSegment, mergeSegments, segmentSteps } from "./segment-writer.ts";
import { TailIndex } from "./tail.ts";

const schema = parseSchema({ fields: [{ name: "t", kind: "text" }], vectors: [{ name: "v", dim: 2 }] });

function document(id: number, text: string) {
  return { id, version: id + 1, document: extract(schema, { t: text }, { v: [id, 1] }) };
}

const bytes = buildSegment(schema, [document(9, "nine"), document(2, "two"), document(2, "two again")]);

test("a segment holds the last of each id, by id", () => {
  const reader = new SegmentReader(openSegment(bytes));
  assert.deepEqual([...reader.ids], [2, 9]);
  assert.deepEqual([...reader.versions], [3, 10]);
  assert.equal(reader.find(9), 1);
  assert.equal(reader.find(5), -1);
  assert.equal(reader.text("t")!.liveLength, 3);
  assert.deepEqual([...reader.vectors("v")!.data], [2, 1, 9, 1]);
});

test("a segment opens at any place of a buffer", () => {
  const shifted = new Uint8Array(bytes.length + 3);
  shifted.set(bytes, 3);
  assert.equal(openSegment(shifted.subarray(3)).docOf(9), 1);
});

test("a segment opens in memory that threads share", () => {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  const segment = openSegment(shared);
  segment.verify();
  const reader = new SegmentReader(segment);
  assert.equal(reader.text("t")!.ordinal("again"), 0);
  assert.deepEqual(
    searchVectors([reader], "v", Float32Array.of(1, 0), 1).map(({ id }) => id),
    [9],
  );
});

test("damage is found: in the header at opening, elsewhere by verify", () => {
  openSegment(bytes).verify();
  for (const at of [0, 4, 20, bytes.length - 1]) {
    const damaged = bytes.slice();
    damaged[at]! ^= 1;
    assert.throws(() => openSegment(damaged).verify(), { reason: "internal" }, `byte ${at}`);
  }
  assert.throws(() => openSegment(bytes.slice(0, bytes.length - 8)), { reason: "internal" });
  assert.throws(() => openSegment(new Uint8Array(3)), { reason: "internal" });
});

test("the same id live in two parts is a bug, not a merge", () => {
  const readers = [new SegmentReader(openSegment(bytes)), new SegmentReader(openSegment(bytes))];
  assert.throws(() => mergeSegments(schema, readers), { reason: "internal" });
});

test("fields added later are missing from older segments, and empty after a merge", () => {
  const wider = {
    ...schema,
    fields: [...schema.fields, ...parseSchema({ fields: [{ name: "k", kind: "keyword" }] }).fields],
  };
  const old = new SegmentReader(openSegment(bytes));
  assert.equal(old.strings("k"), undefined);
  const tail = new TailIndex(wider);
  tail.add(5, 1, extract(wider, { t: "five", k: "x" }));
  const merged = new SegmentReader(openSegment(mergeSegments(wider, [old, tail])));
  assert.deepEqual(merged.present("k")!.toArray(), Uint32Array.of(1));
  assert.deepEqual([...merged.ids], [2, 5, 9]);
});

test("a tail takes over more fields, which its documents so far do not have", () => {
  const tail = new TailIndex(schema);
  tail.add(1, 1, extract(schema, { t: "one", k: "early" }));
  const more = [
    { name: "k", kind: "keyword" },
    { name: "u", kind: "text" },
    { name: "n", kind: "i64" },
    { name: "j", kind: "json" },
    { name: "m", kind: "i64" },
  ];
  const wider = addFields(schema, parseFields("fields", more));
  tail.extend(wider);
  tail.add(2, 1, extract(wider, { t: "two", k: "x", u: "words", n: 5, m: 6 }));
  tail.add(1, 2, extract(wider, { t: "one", n: 7 }));
  for (const reader of [tail, new SegmentReader(openSegment(mergeSegments(wider, [tail])))]) {
    const found = (filter: unknown) =>
      [...evaluateFilter(parseFilter(filter, wider), reader).toArray()].map((doc) => reader.ids[doc]);
    assert.deepEqual(found({ term: { k: "x" } }), [2]);
    assert.deepEqual(found({ term: { k: "early" } }), []);
    assert.deepEqual(found({ match: { u: "words" } }), [2]);
    assert.deepEqual(found({ range: { n: { gt: 5 } } }), [1]);
    assert.deepEqual(found({ exists: { field: "m" } }), [2]);
    assert.equal(reader.text("u")!.liveDocs, 1);
  }
});

test("an empty segment is a segment", () => {
  const reader = new SegmentReader(openSegment(buildSegment(schema, [])));
  assert.deepEqual([reader.docCount, reader.text("t")!.liveDocs, reader.find(0)], [0, 0, -1]);
});

test("writing takes more steps for more documents", () => {
  const stepsFor = (count: number) => {
    const tail = new TailIndex(schema);
    for (let id = 0; id < count; id++) tail.add(id, 1, extract(schema, { t: `word w${id}` }, { v: [1, id] }));
    return [...segmentSteps(schema, [tail])].length;
  };
  assert.ok(stepsFor(20_000) >= stepsFor(10) + 5);
});

test("deletes are remembered in order, and their snapshots stay", () => {
  const deletes = new Deletes(100);
  assert.ok(deletes.add(40) && deletes.add(7) && !deletes.add(40) && !deletes.add(100));
  const before = deletes.snapshot();
  deletes.add(8);
  assert.deepEqual([before.count, before.has(8), deletes.has(8)], [2, false, true]);
  const stored = Deletes.fromWords(100, deletes.toWords());
  assert.deepEqual(stored.live.words, deletes.live.words);
  assert.equal(stored.count, 3);
});

test("a set of bits and what is not in it make up the whole", () => {
  for (const size of [0, 1, 31, 32, 33, 100]) {
    const set = new Bitset(size);
    for (let doc = 0; doc < size; doc += 3) set.add(doc);
    const members = [...set.toArray()];
    assert.deepEqual(
      members,
      [...Array(size).keys()].filter((doc) => doc % 3 === 0),
    );
    assert.equal(set.clone().invert().count(), size - members.length);
    assert.equal(Bitset.full(size).andNot(set).or(set).count(), size);
  }
});

test("terms are ordered as their bytes", () => {
  const terms = ["", "a", "ab", "b", "é", "\uffee", "\u{10000}", "\u{10ffff}", "\ue000"];
  const byBytes = [...terms].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
  assert.deepEqual([...terms].sort(compareTerms), byBytes);
});
