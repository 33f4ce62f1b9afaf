import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryObjectStore } from "../../../adapter/memory/object-store.ts";
import { EngineError } from "../../errors.ts";
import type { SegmentEntry } from "../collection-store.ts";
import { damagedObject, ObjectSegmentLoader } from "./segment-loader.ts";

const entry: SegmentEntry = {
  id: "1",
  documents: 1,
  bytes: 8,
  deleted: 1,
  path: "segments/1",
  deletesPath: "deletes/1",
  graphs: {},
  schemaVersion: 1,
};

class FailingObjects extends MemoryObjectStore {
  override get(): Promise<never> {
    return Promise.reject(new Error("input/output error"));
  }
}

for (const part of ["segment", "deletes"] as const) {
  test(`a store that fails to give the ${part} is unavailable, and nothing is damaged`, async () => {
    await assert.rejects(new ObjectSegmentLoader(new FailingObjects())[part](entry), (error: EngineError) => {
      assert.ok(error instanceof EngineError);
      assert.equal(error.reason, "unavailable");
      assert.equal(damagedObject(error), undefined);
      return true;
    });
  });

  test(`a missing object of the ${part} is damage`, async () => {
    await assert.rejects(new ObjectSegmentLoader(new MemoryObjectStore())[part](entry), (error: EngineError) => {
      assert.equal(damagedObject(error), part === "segment" ? entry.path : entry.deletesPath);
      return true;
    });
  });
}
