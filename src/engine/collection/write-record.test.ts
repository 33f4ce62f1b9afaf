import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { changedIds, decodeChanges, encodeChanges, encodeNames, loggedDeletes, withDocuments } from "./write-record.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const changes = [
  { id: 7, version: 1, document: bytes("seven") },
  { id: 2 ** 40, version: 3, document: undefined },
  { id: 9, version: 2, document: bytes("") },
];

function shown(given: Uint8Array) {
  return [...decodeChanges(given)].map(({ id, version, document }) => ({
    id,
    version,
    text: document === undefined ? undefined : new TextDecoder().decode(document),
  }));
}

describe("records of a collection's log", () => {
  const stored = new Map([
    [7, { version: 1, document: bytes("seven") }],
    [9, { version: 2, document: bytes("") }],
  ]);
  const find = (id: number, version: number) => {
    const found = stored.get(id);
    return found?.version === version ? found.document : undefined;
  };

  test("with the documents found under their keys they are the changes themselves", () => {
    const outdated = new Set<number>();
    const logged = encodeNames(changes);
    assert.deepEqual(shown(withDocuments([logged], find, outdated)), shown(encodeChanges(changes)));
    assert.equal(outdated.size, 0);
    assert.deepEqual([...changedIds(logged)], [7, 2 ** 40, 9]);
  });

  test("those of earlier releases, which hold the documents, need none of the store", () => {
    const logged = encodeChanges(changes);
    const none = () => assert.fail("the document is in the record");
    assert.deepEqual(shown(withDocuments([logged], none)), shown(logged));
    assert.deepEqual([...changedIds(logged)], [7, 2 ** 40, 9]);
  });

  test("a document that has changed since is told of by a later record", () => {
    const outdated = new Set<number>();
    const first = encodeNames([{ id: 9, version: 1, document: bytes("before") }, changes[0]!]);
    assert.deepEqual(
      shown(withDocuments([first], find, outdated)).map(({ id }) => id),
      [7],
    );
    assert.deepEqual([...outdated], [9]);
    withDocuments([encodeNames([changes[2]!])], find, outdated);
    assert.equal(outdated.size, 0);
  });

  test("the end of a document that was found too new counts as telling of it", () => {
    const outdated = new Set<number>();
    withDocuments([encodeNames([{ id: 1, version: 1, document: bytes("gone") }])], find, outdated);
    assert.deepEqual([...outdated], [1]);
    withDocuments([encodeNames([{ id: 1, version: 2, document: undefined }])], find, outdated);
    assert.equal(outdated.size, 0);
  });

  test("the deletes alone", () => {
    for (const logged of [encodeNames(changes), encodeChanges(changes)]) {
      assert.deepEqual(shown(loggedDeletes(logged)), [{ id: 2 ** 40, version: 3, text: undefined }]);
    }
  });

  test("a name is no change until its document was looked up", () => {
    assert.throws(() => [...decodeChanges(encodeNames(changes))], /was not looked up/);
  });
});
