import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseSchema } from "../../schema/schema-parse.ts";
import { encodeDocument } from "../document-codec.ts";
import { encodeChanges } from "../write-record.ts";
import { CollectionIndex } from "./collection-index.ts";

const schema = parseSchema({ fields: [{ name: "t", kind: "keyword" }] });

function record(id: number): Uint8Array<ArrayBuffer> {
  const document = encodeDocument({ source: `{"t":"${id}"}`, vectors: new Map(), sparse: new Map() });
  return new Uint8Array(encodeChanges([{ id, version: 1, document }]));
}

describe("a tail that is frozen", () => {
  test("hands over what it was made of, once", () => {
    const index = new CollectionIndex(schema, 0, true);
    const records = [record(1), record(2), record(3)];
    index.apply(1, records[0]!);
    index.apply(2, records[1]!);
    index.apply(2, records[1]!);
    assert.deepEqual(index.freeze(2).changes, records.slice(0, 2));
    index.apply(3, records[2]!);
    assert.equal(index.freeze(3).changes, undefined, "the first part is no longer there");
    assert.equal(index.tailDocuments, 3);
  });

  test("has nothing to hand over where nothing is kept", () => {
    const index = new CollectionIndex(schema, 0);
    index.apply(1, record(1));
    assert.equal(index.freeze(1).changes, undefined);
  });
});
